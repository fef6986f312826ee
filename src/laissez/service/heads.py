"""The head of a request, its address and headers, is no longer than it may be. uvicorn keeps one of any length in memory, whoever sends it."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from laissez.wire.limits import HEAD_BYTES_MAX


class BoundedHeads(HttpToolsProtocol):
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._in_head = False
        self._head_bytes = 0

    def data_received(self, data: bytes) -> None:
        """A head that is there at once is as long as one piece may be; what comes piece by piece is counted."""
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self.send_400_response(f"expected an address and headers of at most {HEAD_BYTES_MAX} bytes, found more")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()
