"""HTTP messages: strict reading of requests, and the bytes of answers.

Invalid input is refused with the expected form; nothing is guessed.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from email.utils import formatdate
from functools import cache, lru_cache
from http import HTTPStatus
from ipaddress import IPv6Address
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import parse_qsl, unquote, unquote_to_bytes

import httptools
import msgspec

from laissez.server.audit.refusals import address
from laissez.wire.codec import DuplicateKey
from laissez.wire.codec import check_json as check_once
from laissez.wire.decoding import unreadable
from laissez.wire.limits import CLIENT_ID_MAX
from laissez.wire.problems import Code, ProblemError

if TYPE_CHECKING:
    from laissez.server.http.protocol import HttpConnection

Headers: TypeAlias = list[tuple[bytes, bytes]]

QUERY_FIELDS_MAX = 20
BODY_BUFFER_BYTES = 65_536  # of a body that is not read yet
NO_PARAMS: Mapping[str, str] = MappingProxyType({})
RETRY_AFTER_S = 60  # where the time is unknown
# These may come only once: it would be unclear which one counts.
ONCE = frozenset(
    b"authorization content-encoding content-length content-type host idempotency-key last-event-id"
    b" sec-fetch-site transfer-encoding x-laissez-console".split()
)
# may come in several pieces that form one list
LISTS = {b"accept": b",", b"cookie": b"; ", b"x-forwarded-proto": b","}
_PERCENT_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")

JSON = "application/json"
PROBLEM = "application/problem+json"
EVERY = "cache-control: no-store\r\nx-content-type-options: nosniff\r\n"

encode = msgspec.json.Encoder().encode


class Request:
    """A request whose head has arrived. Call `answer`, or `begin_stream` and `end_stream`, once. On
    a lost connection they do nothing."""

    def __init__(
        self,
        connection: HttpConnection,
        method: str,
        target: bytes,
        version: str,
        headers: dict[bytes, bytes],
    ) -> None:
        self.connection = connection
        self.method = method
        self.target = target  # undecoded
        self.path, self.query = read_target(target)  # the path decoded, the query not
        self.path_params: Mapping[str, str] = NO_PARAMS
        self.version = version
        self.headers = headers  # by name in lower case; the first of repeated ones
        self.repeated: Headers = []  # headers whose name came before
        # declared by the head; the parser has checked that it is a number
        self.size = int(headers[b"content-length"]) if b"content-length" in headers else 0
        self.client = ""  # the address according to the network or a trusted proxy
        self.keep_alive = True
        self.expects_continue = False
        self.is_begun = False  # by an operation; until then it waits in the queue
        self.is_complete = False  # all of its body has arrived
        self.is_started = False  # the head of the answer was sent
        self.is_gone = False  # the client is gone
        self.body_bytes = 0  # arrived and not discarded
        self.body_bytes_max = BODY_BUFFER_BYTES  # beyond it the connection stops reading
        self._pieces: list[bytes] = []
        self._arrived: asyncio.Future[None] | None = None
        self._tell_gone: Callable[[], None] | None = None

    @property
    def scope(self) -> Mapping[str, Any]:
        """The address in the form of the audit log."""
        return {"client": (self.client, 0)}

    def all_of(self, name: bytes) -> bytes:
        """A header that is a list, which may come in several pieces."""
        more = [value for repeated, value in self.repeated if repeated == name]
        return b",".join([self.headers.get(name, b""), *more])

    def check_repeated(self) -> None:
        """Join lists that came in pieces; refuse other headers that came twice."""
        more: dict[bytes, list[bytes]] = {}
        for name, value in self.repeated:
            if name in ONCE:
                raise bad_request(f"expected the header {name.decode()} once, found it more often")
            if name in LISTS:
                # joined at the end: appending one at a time would take quadratic time
                more.setdefault(name, [self.headers[name]]).append(value)
        for name, values in more.items():
            self.headers[name] = LISTS[name].join(values)

    # -- the body

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.body_bytes += len(piece)
        if self._arrived is not None:
            self._wake()

    def complete(self) -> None:
        """All of the body has arrived."""
        self.is_complete = True
        if self._arrived is not None:
            self._wake()

    def _wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    def lose(self) -> None:
        """The connection is lost, or the rest of the body will not come."""
        self.is_gone = True
        self._wake()
        if self._tell_gone is not None:
            self._tell_gone()

    def discard_body(self) -> None:
        """Drop the body, which will not be read."""
        self._pieces.clear()
        self.body_bytes = 0

    def body(self, bytes_max: int) -> bytes:
        """The body, as far as it has arrived."""
        self._check_size(bytes_max)
        return b"".join(self._pieces)

    def _check_size(self, bytes_max: int) -> None:
        if self.body_bytes > bytes_max:
            raise too_large(bytes_max)

    async def whole_body(self, bytes_max: int) -> bytes:
        """Wait for the whole body. Refuse it as soon as it is too large."""
        self.body_bytes_max = max(bytes_max, BODY_BUFFER_BYTES)
        while not self.is_complete:
            self._check_size(bytes_max)
            # a part of a body may be valid by itself, but is not the request
            if self.is_gone:
                raise bad_request(
                    "the connection was closed in the middle of the body; nothing was done"
                )
            self.connection.wants_body(self)
            self._arrived = asyncio.get_running_loop().create_future()
            await self._arrived
        return self.body(bytes_max)

    # -- the answer

    def answer(self, head: str, body: bytes) -> None:
        """`head` is without the date and the empty line."""
        if self._can_send():
            self._start(head, b"" if self.method == "HEAD" else body)
            self.connection.answered(self)

    def begin_stream(self, head: str) -> None:
        """Begin an answer of unknown length: in chunks, or for HTTP/1.0 until the connection
        ends."""
        chunked = "transfer-encoding: chunked\r\n" if self.version == "1.1" else ""
        if self._can_send():
            self._start(head + chunked, b"")

    def _start(self, head: str, body: bytes) -> None:
        assert not self.is_started
        self.is_started = True
        last = "" if self.keep_alive else "connection: close\r\n"
        self.connection.transport.write(written(head, last) + body)

    def _can_send(self) -> bool:
        return not self.is_gone and not self.connection.transport.is_closing()

    async def send(self, piece: bytes) -> None:
        """Send a piece of a stream. Wait while the peer does not read."""
        await self.connection.until_writable()
        if self._can_send():
            chunk = b"%x\r\n%b\r\n" % (len(piece), piece)
            self.connection.transport.write(chunk if self.version == "1.1" else piece)

    def end_stream(self) -> None:
        if self._can_send():
            if self.version == "1.1":
                self.connection.transport.write(b"0\r\n\r\n")
            self.connection.answered(self)

    def break_off(self) -> None:
        """Close the connection after a bug."""
        if self.is_started:
            self.connection.transport.abort()
        else:
            self.answer(*problem_parts(INTERNAL))

    def when_gone(self, tell: Callable[[], None]) -> None:
        """Call `tell` when the peer has closed the connection."""
        self._tell_gone = tell
        if self.is_gone:
            tell()


# -- the head of a request


def bad_request(detail: str) -> ProblemError:
    return ProblemError(Code.BAD_REQUEST, detail)


def read_target(target: bytes) -> tuple[str, str]:
    """The decoded path and the raw query of a request target."""
    url = target.decode("ascii")
    if url.startswith("/") and "#" not in url:
        path, _, query = url.partition("?")
    else:
        parsed = httptools.parse_url(target)
        if parsed.path is None:
            raise bad_request(f"expected an address with a path, found {url[:200]!r}")
        path, query = parsed.path.decode(), (parsed.query or b"").decode()
    if "%" not in url:
        return path, query
    try:
        if _PERCENT_BROKEN.search(url):
            raise ValueError
        unquote_to_bytes(url).decode()
    except ValueError:
        raise bad_request("the address cannot be read: expected percent-encoded UTF-8") from None
    return unquote(path), query


def read_query(raw: str, expected: tuple[str, ...]) -> dict[str, str]:
    query: dict[str, str] = {}
    try:
        pairs = parse_qsl(
            raw,
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=QUERY_FIELDS_MAX,
        )
    except ValueError:  # including UnicodeDecodeError
        raise bad_request(
            "the query cannot be read: expected name=value pairs joined by '&', percent-encoded"
            " UTF-8"
        ) from None
    for name, value in pairs:
        if name not in expected:
            known = ", ".join(expected) if expected else "none"
            raise bad_request(f"unknown query parameter {name[:64]!r}: expected {known}")
        if name in query:
            raise bad_request(f"{name}: expected once, found more often")
        query[name] = value
    return query


def read_secret(authorization: bytes) -> str:
    """The key in `Authorization: Bearer <key>`; empty without one. No key is empty."""
    scheme, _, secret = authorization.partition(b" ")
    return secret.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""


def read_key(sent: bytes) -> str:
    key = sent.decode("latin-1")
    if not (
        0 < len(key) <= CLIENT_ID_MAX and key.isascii() and key.isprintable() and " " not in key
    ):
        raise bad_request(
            f"Idempotency-Key: expected 1 to {CLIENT_ID_MAX} visible ASCII characters, found"
            f" {key[:CLIENT_ID_MAX]!r}"
        )
    return key


def check_accept(accept: bytes, offered: tuple[str, ...]) -> None:
    """Refuse unless the client accepts one of the offered types."""
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


def line_of_address(scope: Mapping[str, Any]) -> str:
    """The fair queue's line for callers without a valid key. No tenant's name has a '/'. An IPv6
    address stands for its /64 network, which usually belongs to one caller."""
    host = address(scope)
    if ":" not in host:
        return f"/{host}"
    full = IPv6Address(host)
    return f"/{full.ipv4_mapped or IPv6Address(int(full) >> 64 << 64)}"


# -- the body of a request


def check_json(headers: Mapping[bytes, bytes]) -> None:
    media = headers.get(b"content-type", b"")
    if media != b"application/json":
        kind, _, parameters = media.partition(b";")
        charset = parameters.strip().lower().removeprefix(b"charset=").strip(b'"')
        if kind.strip().lower() != b"application/json" or charset not in (b"", b"utf-8"):
            raise ProblemError(
                Code.UNSUPPORTED_MEDIA_TYPE,
                f"Content-Type: expected application/json, found {media[:100].decode('latin-1')!r}",
            )
    encoding = headers.get(b"content-encoding")
    if encoding is not None and encoding.lower() != b"identity":
        found = encoding[:40].decode("latin-1")
        raise ProblemError(
            Code.UNSUPPORTED_MEDIA_TYPE, f"Content-Encoding: expected none, found {found!r}"
        )


def decode(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    if not body:
        raise bad_request("expected a JSON body, found none")
    try:
        read = decoder.decode(body)
        check_once(body, read)
        return read
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, DuplicateKey) as error:
        raise bad_request(f"the body cannot be read: {unreadable(error)}") from None


def too_large(bytes_max: int) -> ProblemError:
    if bytes_max == 0:
        return bad_request("expected no body, found one")
    return ProblemError(
        Code.BODY_TOO_LARGE, f"expected a body of at most {bytes_max} bytes, found more"
    )


# -- the head of an answer, as text without the date and the empty line


def head_of(status: int, media: str, size: int, more: str = "") -> str:
    """Status line and headers; `more` are whole lines."""
    return f"{common_head(status, media)}content-length: {size}\r\n{more}"


@cache
def common_head(status: int, media: str) -> str:
    """The beginning of all heads with this status and media type."""
    return f"{status_line(status)}content-type: {media}\r\n{EVERY}"


@cache
def status_line(status: int) -> str:
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"


def lines(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])


def written(head: str, last: str = "") -> bytes:
    """The bytes of a head, with the date and the empty line added."""
    return f"{head}{_date_line(int(time.time()))}{last}\r\n".encode("latin-1")


@lru_cache(1)
def _date_line(second: int) -> str:
    """The `Date` header, formatted once a second."""
    return f"date: {formatdate(second, usegmt=True)}\r\n"


def problem_parts(problem: ProblemError, more: str = "") -> tuple[str, bytes]:
    """Head and body of a refusal."""
    if problem.status == 401:
        more += "www-authenticate: Bearer\r\n"
    elif problem.status == 429 or problem.retry_after is not None:
        seconds = RETRY_AFTER_S if problem.retry_after is None else problem.retry_after
        more += f"retry-after: {max(1, ceil(seconds))}\r\n"
    body = encode(problem.problem())
    return head_of(problem.status, PROBLEM, len(body), more), body


INTERNAL: Final = ProblemError(
    Code.INTERNAL,
    "internal error; the request may or may not have been carried out: check before you retry",
)
