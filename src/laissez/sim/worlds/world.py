"""The true course of a tenant's work. The application has only beliefs; its world has the facts.

A world gets and loses nodes and lets time pass. Its application learns from it what a real one
would observe (load, progress, lost work). The world keeps account of the time of every node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import msgspec

from laissez.tenants import Application


class NodeTime(msgspec.Struct):
    """Node-microseconds, each in exactly one account. `lost` is work that must be repeated;
    `surplus` is time of nodes that were not needed."""

    useful: int = 0
    reconfiguring: int = 0
    lost: int = 0
    surplus: int = 0

    @property
    def held(self) -> int:
        return self.useful + self.reconfiguring + self.lost + self.surplus

    def lose(self, work: int) -> None:
        """Move useful work to the lost."""
        self.useful -= work
        self.lost += work


class World(ABC):
    """`nodes` are the usable leaves, each with the time from which it is warm."""

    app: Application

    def __init__(self, start: int) -> None:
        self.start = self.at = start
        self.nodes: dict[str, int] = {}
        self.node_time = NodeTime()

    def advance(self, now: int) -> None:
        """Let time pass until `now`."""
        if now > self.at:
            self._pass(now)
            self.at = now

    def gain(self, leaf: str, now: int) -> None:
        self.advance(now)
        self._gained(leaf)

    def lose(self, leaf: str, now: int, voluntary: bool) -> None:
        """A node is relinquished in good order (`voluntary`) or taken without warning. A node that
        was never usable is ignored."""
        self.advance(now)
        if leaf in self.nodes:
            self._lost(leaf, voluntary)

    @abstractmethod
    def is_over(self) -> bool:
        """Whether there is nothing left to do."""

    @abstractmethod
    def performance(self) -> float:
        """The achieved part of the objective so far, from 0 to 1."""

    @abstractmethod
    def _pass(self, now: int) -> None:
        """Let time pass from `self.at` until `now`, which is later."""

    @abstractmethod
    def _gained(self, leaf: str) -> None: ...

    @abstractmethod
    def _lost(self, leaf: str, voluntary: bool) -> None: ...
