"""Who owns what, kept from the operator's events alone while they come, and compared with what the service says at the end."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

QUIET_S = 1.0  # without an event, for so long after the load has ended: there are no more
AGAIN_S = 0.2
DOUBTS_MAX = 20


class Owners:
    """Give it every event in order."""

    def __init__(self) -> None:
        self.n = 0  # of the last event
        self.leases: dict[str, tuple[str, str]] = {}  # by leaf: tenant and lease
        self.doubts: list[str] = []

    def take(self, numbered: dict[str, Any]) -> None:
        event, tenant = numbered["event"], str(numbered.get("tenant"))
        if numbered["n"] != self.n + 1:
            self._doubt(f"event {self.n + 1} was expected next, {numbered['n']} came")
        self.n = numbered["n"]
        if event["type"] == "lease.started":
            if event["leaf"] in self.leases:
                self._doubt(f"event {self.n}: a lease of {event['leaf']} starts while it is leased")
            self.leases[event["leaf"]] = tenant, event["lease"]
        elif event["type"] == "lease.ended" and self.leases.pop(event["leaf"], None) != (tenant, event["lease"]):
            self._doubt(f"event {self.n}: {event['lease']} of {tenant} ends, which did not hold {event['leaf']}")

    def compare(self, listed: dict[str, tuple[str, str]]) -> None:
        for leaf in sorted(self.leases.keys() | listed.keys()):
            if self.leases.get(leaf) != listed.get(leaf):
                self._doubt(f"{leaf}: the events say {self.leases.get(leaf)}, the list says {listed.get(leaf)}")

    def _doubt(self, words: str) -> None:
        if len(self.doubts) < DOUBTS_MAX:
            self.doubts.append(words)


class Following(threading.Thread):
    """Follows the operator's stream from the first event on; one that breaks off is resumed."""

    def __init__(self, host: str, port: int, key: str) -> None:
        super().__init__(daemon=True)
        self.owners = Owners()
        self._address = host, port
        self._headers = {"Authorization": f"Bearer {key}"}
        self._heard_at = time.monotonic()
        self._over = False
        self.start()

    def run(self) -> None:
        while not self._over:
            with suppress(OSError, http.client.HTTPException):
                for numbered in self._events():
                    self.owners.take(numbered)
                    self._heard_at = time.monotonic()
            time.sleep(AGAIN_S)

    def _events(self) -> Iterator[dict[str, Any]]:
        connection = http.client.HTTPConnection(*self._address, timeout=60)
        try:
            connection.request("GET", f"/v1/events?after={self.owners.n}", headers={**self._headers, "Accept": "text/event-stream"})
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

    def finish(self) -> Owners:
        """Wait until nothing more comes, and compare with the list of leases."""
        while time.monotonic() - self._heard_at < QUIET_S:
            time.sleep(AGAIN_S)
        self._over = True
        self.owners.compare(self._listed())
        return self.owners

    def _listed(self) -> dict[str, tuple[str, str]]:
        connection = http.client.HTTPConnection(*self._address, timeout=60)
        found: dict[str, tuple[str, str]] = {}
        path = "/v1/leases?limit=1000"
        while path:
            connection.request("GET", path, headers=self._headers)
            answer = connection.getresponse()
            page = msgspec.json.decode(answer.read())
            if answer.status != 200:
                raise http.client.HTTPException(str(page))
            found |= {one["leaf"]: (one["tenant"], one["id"]) for one in page["data"]}
            path = f"/v1/leases?limit=1000&cursor={page['cursor']}" if page["has_more"] else ""
        connection.close()
        return found
