"""The operator's stream, followed from the first event on, with an audit of some hosts of the
market."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from http.client import HTTPException
from typing import Any

import msgspec

from laissez_bench.processes import Server
from laissez_check.event_audit import PartAudit

HOSTS = 16  # of 8 leaves: at 3,000 commands per second, auditing them takes a tenth of a core
AGAIN_S = 0.2
BEHIND_S_MAX = 120.0  # for the last events, after the load has ended
DOUBTS_MAX = 20


class Following(threading.Thread):
    """Resumes a stream that breaks off."""

    def __init__(self, server: Server, leaves: Sequence[str]) -> None:
        super().__init__(daemon=True)
        self.n = 0  # of the last event
        self.concerned = 0  # events about the leaves audited
        self.gaps: list[str] = []
        self.parts = _drawn_parts(leaves)
        self._server = server
        self._over = False
        self.start()

    def run(self) -> None:
        os.nice(19)  # this thread alone: the server and the load are being timed
        while not self._over:
            with suppress(OSError, HTTPException):
                for numbered in self._events():
                    self.take(numbered)
            time.sleep(AGAIN_S)

    def take(self, numbered: dict[str, Any]) -> None:
        if numbered["n"] != self.n + 1:
            self.gaps.append(f"events: {self.n + 1} was expected next, {numbered['n']} came")
        self.concerned += any([part.take(numbered) for part in self.parts])
        self.n = numbered["n"]

    @property
    def doubts(self) -> list[str]:
        doubts = [f"events: {doubt}" for part in self.parts for doubt in part.doubts]
        return [*self.gaps, *doubts][:DOUBTS_MAX]

    @property
    def leaves(self) -> int:
        """The number of leaves audited."""
        return sum(len(part.leaves) for part in self.parts)

    def _events(self) -> Iterator[dict[str, Any]]:
        is_event = False
        with self._server.get(f"/v1/events?after={self.n}", "text/event-stream") as stream:
            for line in stream:
                if line.startswith(b"event: "):
                    is_event = line.strip() != b"event: notice"
                elif line.startswith(b"data: ") and is_event:
                    yield msgspec.json.decode(line[6:])

    def catch_up(self, until: int) -> None:
        """Wait for this event; one that never comes is a gap."""
        deadline = time.monotonic() + BEHIND_S_MAX
        while self.n < until:
            if time.monotonic() > deadline:
                self.gaps.append(
                    f"events: {until} was expected to come, {self.n} is the last that did"
                )
                return
            time.sleep(AGAIN_S)

    def finish(self, until: int) -> None:
        """After the load: take all events, and compare the state that they lead to with the state
        that the service shows."""
        self.catch_up(until)
        self._over = True
        for part in self.parts:
            shown = self._shown(_host_of(min(part.leaves)))
            for one in shown:
                part.compare(one)
            if missing := part.leaves - {one["leaf"] for one in shown}:
                self.gaps.append(
                    f"leaves: {min(missing)} was expected to be shown, and {len(missing)} are not"
                )

    def _shown(self, host: str) -> list[dict[str, Any]]:
        with self._server.get(f"/v1/resources?limit=1000&under={host}") as answer:
            return list(msgspec.json.decode(answer.read())["data"])


def _drawn_parts(leaves: Sequence[str]) -> list[PartAudit]:
    hosts: dict[str, list[str]] = {}
    for leaf in leaves:
        hosts.setdefault(_host_of(leaf), []).append(leaf)
    drawn = random.Random(1).sample(sorted(hosts), min(HOSTS, len(hosts)))
    return [PartAudit(hosts[host]) for host in drawn]


def _host_of(leaf: str) -> str:
    return leaf.rpartition("/")[0]
