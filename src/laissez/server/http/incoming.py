"""Reading a request strictly: what is not understood is refused with what was expected, and nothing
is guessed."""

from __future__ import annotations

from ipaddress import IPv6Address
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from laissez.server.audit.collecting import address
from laissez.server.http.call import Receive, Scope
from laissez.server.reading import unreadable
from laissez.server.twice import GivenTwice
from laissez.server.twice import check_json as check_once
from laissez.wire.limits import BATCH_BYTES_MAX, CLIENT_ID_MAX
from laissez.wire.problems import Code, ProblemError

JSON = b"application/json"
QUERY_FIELDS_MAX = 20
WANTED = frozenset(
    {
        b"accept",
        b"authorization",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"cookie",
        b"host",
        b"idempotency-key",
        b"last-event-id",
        b"sec-fetch-site",
        b"transfer-encoding",
        b"x-forwarded-proto",
        b"x-laissez-console",
    }
)
# may come in several pieces, which are one list
LISTS = {b"accept": b",", b"cookie": b"; ", b"x-forwarded-proto": b","}


def read_headers(scope: Scope) -> dict[bytes, bytes]:
    """The headers that matter here. One that comes twice is refused, unless it is a list: which of
    the two counts would be a guess."""
    headers: dict[bytes, bytes] = {}
    # put together at the end: to add each to those before would take ever longer
    more: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        if name in WANTED:
            if name not in headers:
                headers[name] = value
            elif name in LISTS:
                more.setdefault(name, []).append(value)
            else:
                raise ProblemError(
                    Code.BAD_REQUEST,
                    f"expected the header {name.decode()} once, found it more often",
                )
    for name, values in more.items():
        headers[name] = LISTS[name].join([headers[name], *values])
    return headers


def read_secret(headers: dict[bytes, bytes]) -> str:
    """The key of `Authorization: Bearer <key>`; empty, which is nobody's key, if there is none."""
    scheme, _, secret = headers.get(b"authorization", b"").partition(b" ")
    return secret.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""


def read_key(headers: dict[bytes, bytes]) -> str:
    key = headers.get(b"idempotency-key")
    if key is None:
        return ""
    if not 1 <= len(key) <= CLIENT_ID_MAX or not all(0x21 <= byte <= 0x7E for byte in key):
        raise ProblemError(
            Code.BAD_REQUEST,
            f"Idempotency-Key: expected 1 to {CLIENT_ID_MAX} visible ASCII characters, found"
            f" {key[:CLIENT_ID_MAX].decode('latin-1')!r}",
        )
    return key.decode()


def line_of_address(scope: Scope) -> str:
    """The line of those who show no good key. No tenant's name has a '/'. Whoever has one address
    of IPv6 has all those around it."""
    host = address(scope)
    return f"/{_neighbourhood(host) if ':' in host else host}"


def _neighbourhood(host: str) -> str:
    full = IPv6Address(host)
    return str(full.ipv4_mapped or IPv6Address(int(full) >> 64 << 64))


def body_size(scope: Scope) -> int:
    """As far as it was said, and not more than is read."""
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return min(int(declared), BATCH_BYTES_MAX) if declared.isdigit() and len(declared) < 20 else 0


def read_query(raw: bytes, expected: tuple[str, ...]) -> dict[str, str]:
    if not raw:
        return {}
    query: dict[str, str] = {}
    try:
        pairs = parse_qsl(
            raw.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=QUERY_FIELDS_MAX,
        )
    except ValueError:  # a UnicodeDecodeError is one
        raise ProblemError(
            Code.BAD_REQUEST,
            "the query cannot be read: expected name=value pairs joined by '&', percent-encoded"
            " UTF-8",
        ) from None
    for name, value in pairs:
        if name not in expected:
            known = ", ".join(expected) if expected else "none"
            raise ProblemError(
                Code.BAD_REQUEST, f"unknown query parameter {name[:64]!r}: expected {known}"
            )
        if name in query:
            raise ProblemError(Code.BAD_REQUEST, f"{name}: expected once, found more often")
        query[name] = value
    return query


async def read_body(headers: dict[bytes, bytes], receive: Receive, bytes_max: int) -> bytes:
    """The whole body, refused as soon as it is too large."""
    check_json(headers)
    declared = headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared[:20]) > bytes_max:
        raise too_large(bytes_max)
    message = await receive()
    body: bytes = message.get("body", b"")
    if (
        message["type"] == "http.request"
        and not message.get("more_body", False)
        and len(body) <= bytes_max
    ):
        return body  # nearly always in one piece
    pieces = [body]
    size = len(body)
    while size <= bytes_max and message.get("more_body", False):
        message = await receive()
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
    # what has come may be readable by itself, and is still not what was asked for
    if message["type"] == "http.disconnect":
        raise ProblemError(
            Code.BAD_REQUEST,
            "the connection was closed in the middle of the body; nothing was done",
        )
    if size > bytes_max:
        raise too_large(bytes_max)
    return b"".join(pieces)


async def no_body(headers: dict[bytes, bytes], receive: Receive) -> None:
    if headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in headers:
        return
    message = await receive()
    while not message.get("body", b"") and message.get("more_body", False):
        message = await receive()
    if message.get("body", b""):
        raise ProblemError(Code.BAD_REQUEST, "expected no body, found one")


def check_json(headers: dict[bytes, bytes]) -> None:
    media = headers.get(b"content-type", b"")
    if media != JSON:
        kind, _, parameters = media.partition(b";")
        charset = parameters.strip().lower().removeprefix(b"charset=").strip(b'"')
        if kind.strip().lower() != JSON or charset not in (b"", b"utf-8"):
            raise ProblemError(
                Code.UNSUPPORTED_MEDIA_TYPE,
                f"Content-Type: expected application/json, found {media[:100].decode('latin-1')!r}",
            )
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        found = headers[b"content-encoding"][:40].decode("latin-1")
        raise ProblemError(
            Code.UNSUPPORTED_MEDIA_TYPE, f"Content-Encoding: expected none, found {found!r}"
        )


def decode(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    if not body:
        raise ProblemError(Code.BAD_REQUEST, "expected a JSON body, found none")
    try:
        read = decoder.decode(body)
        check_once(body, read)
        return read
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, GivenTwice) as error:
        raise ProblemError(
            Code.BAD_REQUEST, f"the body cannot be read: {unreadable(error)}"
        ) from None


def too_large(bytes_max: int) -> ProblemError:
    return ProblemError(
        Code.BODY_TOO_LARGE, f"expected a body of at most {bytes_max} bytes, found more"
    )


def check_accept(accept: bytes, offered: tuple[str, ...]) -> None:
    """Something of what is offered must be wanted. Nothing said means anything."""
    if not accept or b"*/*" in accept:
        return
    wanted = [one.partition(";")[0].strip().lower() for one in accept.decode("latin-1").split(",")]
    for media in offered:
        if media in wanted or media.partition("/")[0] + "/*" in wanted:
            return
    raise ProblemError(
        Code.NOT_ACCEPTABLE,
        f"Accept: expected one of {', '.join(offered)}, found {accept[:100].decode('latin-1')!r}",
    )
