"""The stream of server-sent events: parsing it, and resuming it after a lost connection.

The id of a message is the number of its event; a notice has no id. An id without data only moves
the number to resume after.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import httpx
import msgspec

from laissez.client.errors import ConnectionFailed, LaissezError, UnexpectedAnswer
from laissez.client.retries import Outcome, Reconnection, outcome_error
from laissez.wire.events import Notice, Numbered
from laissez.wire.limits import DEAD_AFTER_S, OUTBOUND_BYTES_MAX

EventOrNotice: TypeAlias = Numbered | Notice

_NUMBERED: Final = msgspec.json.Decoder(Numbered)
_NOTICE: Final = msgspec.json.Decoder(Notice)
_NOTICE_TYPES: Final = frozenset({"rate.changed", "limit.near"})


class EventStream:
    """One reader's stream over any number of connections. Only a line feed ends a line: other line
    separators of Unicode may occur within texts."""

    def __init__(self, after: int | None = None, reconnect_timeout_s: float = 60.0) -> None:
        self.last = after  # the number to resume after
        self._reconnection = Reconnection(reconnect_timeout_s)
        self._restart()

    def _restart(self) -> None:
        """Discard what the previous connection left half read."""
        self._rest = b""
        self._data: list[bytes] = []
        self._type = ""
        self._id: int | None = None

    def request(self) -> dict[str, Any]:
        """The arguments of httpx's `stream` for the next connection."""
        self._restart()
        headers = {"Accept": "text/event-stream"}
        if self.last is not None:
            headers["Last-Event-ID"] = str(self.last)
        # The server sends heartbeats, so a longer silence means a dead peer.
        timeout = httpx.Timeout(10.0, read=DEAD_AFTER_S)
        return {"method": "GET", "url": "/v1/events", "headers": headers, "timeout": timeout}

    def delay_after(self, outcome: Outcome) -> float:
        """Seconds to wait before connecting again, after a stream that ended, was refused or broke.
        Raises when it is time to give up."""
        if isinstance(outcome, httpx.Response) and outcome.is_success:
            server = outcome.request.url.netloc.decode("ascii")
            error: LaissezError = ConnectionFailed(f"no events from {server}: the stream ended")
        else:
            error = outcome_error(outcome, "events")
        return self._reconnection.delay(time.monotonic(), error)

    def feed(self, chunk: bytes) -> Iterator[EventOrNotice]:
        """The events that the chunk completes."""
        self._reconnection.succeeded()
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > OUTBOUND_BYTES_MAX:
            raise UnexpectedAnswer(
                f"expected lines of at most {OUTBOUND_BYTES_MAX} bytes in the stream of events,"
                " found a longer one"
            )
        for line in lines:
            event = self._line(line.removesuffix(b"\r"))
            if event is not None:
                yield event

    def _line(self, line: bytes) -> EventOrNotice | None:
        if not line:
            return self._message()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._type = value.decode()
        elif name == b"id" and value.isdigit():
            self._id = int(value)
        return None

    def _message(self) -> EventOrNotice | None:
        data, type, id = b"\n".join(self._data), self._type, self._id
        self._data, self._type, self._id = [], "", None
        if not data:
            self.last = self.last if id is None else max(id, self.last or 0)
            return None
        try:
            if id is None:
                return _NOTICE.decode(data) if type in _NOTICE_TYPES else None
            event = _NUMBERED.decode(data)
        except msgspec.DecodeError as error:
            raise UnexpectedAnswer(
                f"the stream of events holds a message that cannot be read: {error}"
            ) from None
        if self.last is not None and event.n <= self.last:
            return None
        self.last = event.n
        return event
