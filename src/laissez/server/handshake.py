"""What is wrong with a request for a session, found out before it becomes one: to what it cannot
read as a handshake, the connection of a session says nothing, and waits for ever.
"""

from __future__ import annotations

from logging import Logger
from typing import cast

from websockets.http11 import Request
from websockets.server import ServerProtocol

from laissez.wire.problems import Code, ProblemError

SWITCHING = 101


def no_handshake(
    method: bytes, url: bytes, headers: list[tuple[bytes, bytes]], logger: Logger
) -> ProblemError | None:
    """`logger` has a level so high that headers, and keys in them, are not logged."""
    head = [
        b"%b %b HTTP/1.1\r\n" % (method, url),
        *(b"%b: %b\r\n" % header for header in headers),
        b"\r\n",
    ]
    handshake = ServerProtocol(logger=logger)
    handshake.receive_data(b"".join(head))
    read = handshake.events_received()
    if read and handshake.accept(cast(Request, read[0])).status_code == SWITCHING:
        return None
    error = handshake.handshake_exc
    why = error.__cause__ or error if error is not None else ""
    return ProblemError(
        Code.BAD_REQUEST,
        "expected the handshake of a WebSocket, found what cannot be read as one:"
        f" {str(why)[:200]}",
    )
