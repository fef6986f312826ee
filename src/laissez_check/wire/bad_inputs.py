"""What a bad input is: what is sent, and what must be answered. The tables are in `bad_bodies.py`,
`bad_requests.py` and `bad_frames.py`.

Every input is bytes on a connection of its own, so that it can be as wrong as it likes. Words in it
that stand for something of the running market (a key, a cursor) are put in when it is sent.
"""

from __future__ import annotations

import msgspec

from laissez.wire.ids import lease_id, tag_of

TENANT_KEY, OPERATOR_KEY = b"@tenant-key@", b"@operator-key@"
CURSOR = b"@cursor@"  # of another list
TENANT, OTHER_TENANT = "ann", "bob"
LEASE = lease_id(tag_of(TENANT), 1)

AS_TENANT = b"Authorization: Bearer " + TENANT_KEY + b"\r\n"
AS_OPERATOR = b"Authorization: Bearer " + OPERATOR_KEY + b"\r\n"
JSON_TYPE = b"Content-Type: application/json\r\n"
END = b"Connection: close\r\n\r\n"


class Wanted(msgspec.Struct, frozen=True):
    """A problem with this status and code whose detail has this word in it."""

    status: int
    code: str
    word: str


class Request(msgspec.Struct, frozen=True):
    """Sent piece by piece, each after a pause of `pause_s`; nothing more comes, and the connection
    stays open until the server ends it."""

    name: str
    pieces: tuple[bytes, ...]
    wanted: Wanted
    pause_s: float = 0.0
    good_before: int = 0  # requests before it on the same connection, which are answered with 200


class Refused(msgspec.Struct, frozen=True):
    """A message `refused` with this code, whose detail has this word in it; the session goes on."""

    code: str
    word: str


class Closed(msgspec.Struct, frozen=True):
    """The connection is closed with this code; its reason, or the refusal before it, has this word
    in it."""

    code: int
    word: str = ""


class Frames(msgspec.Struct, frozen=True):
    """What is sent once a session is open; unless `greets`, before anybody has said hello. The
    bytes are frames as they are on the wire."""

    name: str
    sent: tuple[bytes, ...]
    wanted: Refused | Closed
    packed: bool = False  # the form of the session is MessagePack
    greets: bool = True
    of_operator: bool = False
    pause_s: float = 0.0


def request(
    method: str,
    target: str | bytes,
    headers: bytes = b"",
    body: bytes | None = None,
    who: bytes = AS_TENANT,
) -> bytes:
    """A request in which only what is given is wrong."""
    address = target.encode() if isinstance(target, str) else target
    framed = b"" if body is None else b"Content-Length: %d\r\n" % len(body)
    return b"%b %b HTTP/1.1\r\nHost: x\r\n%b%b%b%b%b" % (
        method.encode(),
        address,
        who,
        headers,
        framed,
        END,
        body or b"",
    )


def bad(
    name: str,
    sent: bytes,
    word: str,
    status: int = 400,
    code: str = "bad_request",
    good_before: int = 0,
) -> Request:
    return Request(name, (sent,), Wanted(status, code, word), good_before=good_before)
