"""The operator's stream followed from the first event on, with some hosts of the market given to
the auditor of events."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from laissez_bench.cores import give_way
from laissez_check.part_audit import PartAudit

HOSTS = 16  # of 8 leaves: at 3,000 commands per second, auditing them takes a tenth of a core
AGAIN_S = 0.2
BEHIND_S_MAX = 120.0  # for the last events, after the load has ended
DOUBTS_MAX = 20


class Following(threading.Thread):
    """A stream that breaks off is resumed."""

    def __init__(self, host: str, port: int, key: str, leaves: Sequence[str], seed: int) -> None:
        super().__init__(daemon=True)
        self.n = 0  # of the last event
        self.concerned = 0  # events that were about what is audited
        self.gaps: list[str] = []
        self.parts = _drawn_parts(leaves, seed)
        self._address = host, port
        self._headers = {"Authorization": f"Bearer {key}"}
        self._over = False
        self.start()

    def run(self) -> None:
        give_way()  # to the server and the load, whose times are being taken
        while not self._over:
            with suppress(OSError, http.client.HTTPException):
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
        return [*self.gaps, *(f"events: {doubt}" for part in self.parts for doubt in part.doubts)][
            :DOUBTS_MAX
        ]

    @property
    def leaves(self) -> int:
        """How many are audited."""
        return sum(len(part.leaves) for part in self.parts)

    def _events(self) -> Iterator[dict[str, Any]]:
        connection = http.client.HTTPConnection(*self._address, timeout=60)
        try:
            connection.request(
                "GET",
                f"/v1/events?after={self.n}",
                headers={**self._headers, "Accept": "text/event-stream"},
            )
            answer = connection.getresponse()
            if answer.status != 200:
                raise http.client.HTTPException(answer.read().decode())
            is_event = False
            for line in answer:
                if line.startswith(b"event: "):
                    is_event = line.strip() != b"event: notice"
                elif line.startswith(b"data: ") and is_event:
                    yield msgspec.json.decode(line[6:])
        finally:
            connection.close()

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
        """When nothing happens any more: take all events, and compare what they make with what the
        service shows."""
        self.catch_up(until)
        self._over = True
        for part in self.parts:
            shown = self._shown(part)
            for one in shown:
                part.compare(one)
            if missing := part.leaves - {one["leaf"] for one in shown}:
                self.gaps.append(
                    f"leaves: {min(missing)} was expected to be shown, and {len(missing)} are not"
                )

    def _shown(self, part: PartAudit) -> list[dict[str, Any]]:
        connection = http.client.HTTPConnection(*self._address, timeout=60)
        try:
            connection.request(
                "GET",
                f"/v1/resources?limit=1000&under={_host_of(min(part.leaves))}",
                headers=self._headers,
            )
            answer = connection.getresponse()
            page = msgspec.json.decode(answer.read())
            if answer.status != 200:
                raise http.client.HTTPException(str(page))
            return list(page["data"])
        finally:
            connection.close()


def _drawn_parts(leaves: Sequence[str], seed: int) -> list[PartAudit]:
    hosts: dict[str, list[str]] = {}
    for leaf in leaves:
        hosts.setdefault(_host_of(leaf), []).append(leaf)
    return [
        PartAudit(hosts[host])
        for host in random.Random(seed).sample(sorted(hosts), min(HOSTS, len(hosts)))
    ]


def _host_of(leaf: str) -> str:
    return leaf.rpartition("/")[0]
