"""One HTTP request: its head, its body as it arrives, and the way to answer it.

Requests are read strictly: what is not understood is refused with what was expected, and nothing
is guessed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, unquote_to_bytes

import httptools
import msgspec

from laissez.server.audit.refusals import address
from laissez.server.http.response import JSON, Headers, problem_parts
from laissez.wire.decoding import unreadable
from laissez.wire.duplicate_keys import DuplicateKey
from laissez.wire.duplicate_keys import check_json as check_once
from laissez.wire.limits import BATCH_BYTES_MAX, CLIENT_ID_MAX
from laissez.wire.problems import Code, ProblemError

if TYPE_CHECKING:
    from laissez.server.http.protocol import HttpConnection

QUERY_FIELDS_MAX = 20
# the headers that matter here
WANTED = frozenset(
    b"accept authorization content-encoding content-length content-type cookie host idempotency-key"
    b" last-event-id sec-fetch-site transfer-encoding x-forwarded-proto x-laissez-console".split()
)
# may come in several pieces, which are one list
LISTS = {b"accept": b",", b"cookie": b"; ", b"x-forwarded-proto": b","}
_PERCENT_BROKEN = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class Request:
    """A request whose head has arrived. `answer`, or `begin_stream` and what follows it, is called
    once; on a connection that is gone it does nothing."""

    def __init__(
        self,
        connection: HttpConnection,
        method: str,
        path: str,
        query: bytes,
        headers: Headers,
    ) -> None:
        self._connection = connection
        self.method = method
        self.path = path  # decoded
        self.query = query
        self.headers = headers  # as they came, with names in lower case
        self.client = ""  # the address, as the network or a trusted proxy says
        self.path_params: dict[str, str] = {}
        self.target = b""  # as it came
        self.version = "1.1"
        self.is_upgrade = False  # to another protocol, such as WebSocket
        self.keep_alive = True
        self.expects_continue = False
        self.is_begun = False  # by an operation; until then it waits in line
        self.is_complete = False  # all of its body has arrived
        self.is_started = False  # the head of the answer was sent
        self.is_gone = False  # nobody is there to be answered
        self.body_bytes = 0  # that have arrived and were not taken
        self._pieces: list[bytes] = []
        self._arrived: asyncio.Future[None] | None = None

    @property
    def scope(self) -> Mapping[str, Any]:
        """Where it came from, as the audit log takes it."""
        return {"client": (self.client, 0)}

    # -- the body

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.body_bytes += len(piece)
        self.wake()

    def wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    def lose(self) -> None:
        """The connection is gone, or nothing more of the body will come."""
        self.is_gone = True
        self.wake()

    def discard_body(self) -> None:
        """Nobody will read it any more."""
        self._pieces.clear()
        self.body_bytes = 0

    async def read(self) -> bytes:
        """The next piece of the body; empty at its end, or if the rest will not come."""
        while not self._pieces and not self.is_complete and not self.is_gone:
            self._connection.wants_body(self)
            self._arrived = asyncio.get_running_loop().create_future()
            await self._arrived
        pieces, self._pieces, self.body_bytes = self._pieces, [], 0
        return b"".join(pieces)

    async def read_all(self, bytes_max: int) -> bytes:
        """The whole body, refused as soon as it is too large."""
        pieces: list[bytes] = []
        size = 0
        while piece := await self.read():
            pieces.append(piece)
            size += len(piece)
            if size > bytes_max:
                raise too_large(bytes_max)
        # a part may be readable by itself, and is still not what was asked for
        if not self.is_complete:
            raise bad_request(
                "the connection was closed in the middle of the body; nothing was done"
            )
        return b"".join(pieces)

    # -- the answer

    def answer(self, head: bytes, body: bytes) -> None:
        """`head` is the status line and the headers, without the date and the empty line."""
        self._connection.answer(self, head, b"" if self.method == "HEAD" else body)

    def refuse(self, problem: ProblemError, more: Headers) -> None:
        self.answer(*problem_parts(problem, more))

    def begin_stream(self, head: bytes) -> None:
        """Begin an answer of unknown length."""
        self._connection.begin_stream(self, head)

    async def send(self, piece: bytes) -> None:
        """Send a piece of a stream, and wait while the peer does not read."""
        await self._connection.send_piece(self, piece)

    def end_stream(self) -> None:
        self._connection.end_stream(self)

    async def gone(self) -> None:
        """Wait until the other side has closed the connection."""
        while not self.is_gone:
            self._arrived = asyncio.get_running_loop().create_future()
            await self._arrived


def bad_request(detail: str) -> ProblemError:
    return ProblemError(Code.BAD_REQUEST, detail)


def read_target(url: bytes) -> tuple[str, bytes]:
    """The decoded path and the raw query of a request target."""
    if url.startswith(b"/") and b"#" not in url:
        path, _, query = url.partition(b"?")
    else:
        parsed = httptools.parse_url(url)
        if parsed.path is None:
            found = url[:200].decode("latin-1")
            raise bad_request(f"expected an address with a path, found {found!r}")
        path, query = parsed.path, parsed.query or b""
    if b"%" not in url:
        return path.decode("ascii"), query
    try:
        if _PERCENT_BROKEN.search(url):
            raise ValueError
        unquote_to_bytes(url).decode()
    except ValueError:
        raise bad_request("the address cannot be read: expected percent-encoded UTF-8") from None
    return unquote(path.decode("ascii")), query


def read_headers(sent: Headers) -> dict[bytes, bytes]:
    """The headers that matter here. A repeated one is refused unless it is a list: which one counts
    would be a guess."""
    headers: dict[bytes, bytes] = {}
    # joined at the end: adding each to those before would take quadratic time
    more: dict[bytes, list[bytes]] = {}
    for name, value in sent:
        if name in WANTED:
            if name not in headers:
                headers[name] = value
            elif name in LISTS:
                more.setdefault(name, []).append(value)
            else:
                raise bad_request(f"expected the header {name.decode()} once, found it more often")
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
        raise bad_request(
            f"Idempotency-Key: expected 1 to {CLIENT_ID_MAX} visible ASCII characters, found"
            f" {key[:CLIENT_ID_MAX].decode('latin-1')!r}"
        )
    return key.decode()


def line_of_address(scope: Mapping[str, Any]) -> str:
    """The line in the fair queue of callers without a good key. No tenant's name has a '/'. An IPv6
    address stands for its /64 network, which usually belongs to one caller."""
    host = address(scope)
    if ":" not in host:
        return f"/{host}"
    full = IPv6Address(host)
    return f"/{full.ipv4_mapped or IPv6Address(int(full) >> 64 << 64)}"


def body_size(request: Request) -> int:
    """The declared size, at most what is read."""
    declared = next((value for name, value in request.headers if name == b"content-length"), b"")
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


async def read_body(request: Request, headers: dict[bytes, bytes], bytes_max: int) -> bytes:
    """The whole body of JSON."""
    check_json(headers)
    declared = headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared[:20]) > bytes_max:
        raise too_large(bytes_max)
    return await request.read_all(bytes_max)


async def no_body(request: Request, headers: dict[bytes, bytes]) -> None:
    if headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in headers:
        return
    if await request.read():
        raise bad_request("expected no body, found one")


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
        raise bad_request("expected a JSON body, found none")
    try:
        read = decoder.decode(body)
        check_once(body, read)
        return read
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, DuplicateKey) as error:
        raise bad_request(f"the body cannot be read: {unreadable(error)}") from None


def too_large(bytes_max: int) -> ProblemError:
    return ProblemError(
        Code.BODY_TOO_LARGE, f"expected a body of at most {bytes_max} bytes, found more"
    )


def check_accept(accept: bytes, offered: tuple[str, ...]) -> None:
    """The client must accept one of the offered types; without the header it accepts any."""
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
