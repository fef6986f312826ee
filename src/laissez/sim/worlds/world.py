"""What a tenant runs, as it really goes: the application only believes; its world knows.

A world is told which nodes it has and lets time pass. It tells its application what an application
would find out (load seen, work done, work lost) and keeps account of what each node's time was good
for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import msgspec

from laissez.tenants import Application


class World(ABC):
    """`nodes` are the leaves it can use, each with the instant from which it is warm."""

    app: Application

    def __init__(self, start: int) -> None:
        self.start = self.at = start
        self.nodes: dict[str, int] = {}
        self.node_time = NodeTime()

    def advance(self, now: int) -> None:
        """Time passes until `now`."""
        if now > self.at:
            self._pass(now)
            self.at = now

    def gain(self, leaf: str, now: int) -> None:
        self.advance(now)
        self._gained(leaf)

    def lose(self, leaf: str, now: int, voluntary: bool) -> None:
        """A node is gone: given up in good order (`voluntary`), or taken without warning. One that
        is not there yet is not missed."""
        self.advance(now)
        if leaf in self.nodes:
            self._lost(leaf, voluntary)

    @abstractmethod
    def is_over(self) -> bool:
        """Whether there is nothing left to do."""

    @abstractmethod
    def performance(self) -> float:
        """What was achieved of the objective until now, from 0 to 1."""

    @abstractmethod
    def _pass(self, now: int) -> None:
        """From `self.at` until `now`, which is later, with the nodes as they are."""

    @abstractmethod
    def _gained(self, leaf: str) -> None: ...

    @abstractmethod
    def _lost(self, leaf: str, voluntary: bool) -> None: ...


class NodeTime(msgspec.Struct):
    """Node-microseconds. `lost` is work that was done and had to be done again; `surplus` is a node
    that was there and not needed."""

    useful: int = 0
    reconfiguring: int = 0
    lost: int = 0
    surplus: int = 0

    @property
    def held(self) -> int:
        return self.useful + self.reconfiguring + self.lost + self.surplus

    def lose(self, work: int) -> None:
        """That much of the useful work was for nothing."""
        self.useful -= work
        self.lost += work
