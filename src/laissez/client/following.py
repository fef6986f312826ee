"""Reading the stream of events: server-sent events out of bytes, and where to resume after a break.

A numbered event carries its number as the id of the message; a notice has none. An id without data
is a bookmark: the number to resume after.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final, TypeAlias

import httpx
import msgspec

from laissez.client.attempts import Patience, error_of
from laissez.client.errors import ConnectionFailed, UnexpectedAnswer
from laissez.wire.events import Notice, Numbered
from laissez.wire.limits import DEAD_AFTER_S, OUTBOUND_BYTES_MAX

Told: TypeAlias = Numbered | Notice

_NUMBERED: Final = msgspec.json.Decoder(Numbered)
_NOTICE: Final = msgspec.json.Decoder(Notice)
_NOTICES: Final = frozenset({"rate.changed", "limit.near"})


class Messages:
    """Server-sent events, cut out of chunks of bytes. Lines end at a line feed only: other
    characters that look like line ends may stand in texts."""

    def __init__(self, after: int | None = None) -> None:
        self.last = after  # the number to resume after
        self.restart()

    def restart(self) -> None:
        """A new connection: what was half read is void."""
        self._rest = b""
        self._data: list[bytes] = []
        self._kind = ""
        self._id: int | None = None

    def feed(self, chunk: bytes) -> Iterator[Told]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > OUTBOUND_BYTES_MAX:
            raise UnexpectedAnswer(
                f"expected lines of at most {OUTBOUND_BYTES_MAX} bytes in the stream of events,"
                " found a longer one"
            )
        for line in lines:
            told = self._line(line.removesuffix(b"\r"))
            if told is not None:
                yield told

    def _line(self, line: bytes) -> Told | None:
        if not line:
            return self._message()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._kind = value.decode()
        elif name == b"id" and value.isdigit():
            self._id = int(value)
        return None

    def _message(self) -> Told | None:
        data, kind, id = b"\n".join(self._data), self._kind, self._id
        self._data, self._kind, self._id = [], "", None
        if not data:
            self.last = self.last if id is None else max(id, self.last or 0)
            return None
        try:
            if id is not None:
                return self._numbered(_NUMBERED.decode(data))
            return _NOTICE.decode(data) if kind in _NOTICES else None
        except msgspec.DecodeError as error:
            raise UnexpectedAnswer(
                f"the stream of events holds a message that cannot be read: {error}"
            ) from None

    def _numbered(self, told: Numbered) -> Numbered | None:
        if self.last is not None and told.n <= self.last:
            return None
        self.last = told.n
        return told


class Following:
    """One reader of the stream over as many connections as it takes."""

    def __init__(self, after: int | None, patience_s: float) -> None:
        self._messages = Messages(after)
        self._patience = Patience(patience_s)

    def request(self) -> dict[str, object]:
        """What to ask for, given what has been seen: arguments of httpx's `stream`."""
        self._messages.restart()
        headers = {"Accept": "text/event-stream"}
        if self._messages.last is not None:
            headers["Last-Event-ID"] = str(self._messages.last)
        # Silence for as long as a dead peer may be silent means that this one is dead.
        return {
            "method": "GET",
            "url": "/v1/events",
            "headers": headers,
            "timeout": httpx.Timeout(10.0, read=DEAD_AFTER_S),
        }

    def feed(self, chunk: bytes) -> Iterator[Told]:
        self._patience.renew()
        return self._messages.feed(chunk)

    def pause_after(self, outcome: httpx.Response | httpx.RequestError) -> float:
        """Seconds to wait before connecting again, after a stream that ended, was refused or broke;
        raises when it is time to give up."""
        if isinstance(outcome, httpx.Response) and not outcome.is_success:
            return self._patience.pause(
                time.monotonic(), error_of(outcome.status_code, outcome.headers, outcome.content)
            )
        why = (
            "the stream ended"
            if isinstance(outcome, httpx.Response)
            else str(outcome) or type(outcome).__name__
        )
        return self._patience.pause(
            time.monotonic(),
            ConnectionFailed(f"no events from {outcome.request.url.netloc.decode('ascii')}: {why}"),
        )
