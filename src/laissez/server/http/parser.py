"""Requests from bytes. httptools parses; here are the limits on what arrives piece by piece.

A body is bounded by the operation that reads it. A head, and the chunk sizes and trailers around a
body, are bounded here, so no client can make a connection keep more than a few kilobytes of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httptools

from laissez.server.http.request import Request, bad_request, read_target
from laissez.server.http.response import Headers
from laissez.wire.limits import HEAD_BYTES_MAX
from laissez.wire.problems import ProblemError

if TYPE_CHECKING:
    from laissez.server.http.protocol import HttpConnection

VERSIONS = ("1.0", "1.1")
HEAD = "an address and headers"
TRAILERS = "chunk sizes and trailers"


class RequestParser:
    """Hands the requests of one connection to it as they arrive."""

    def __init__(self, connection: HttpConnection) -> None:
        self._connection = connection
        self._parser = httptools.HttpRequestParser(self)
        self.begun = 0  # requests
        self.in_head = False
        self.in_body = False
        self.body_left = 0  # as far as its length is known
        self._url = b""
        self._headers: Headers = []
        self._head_bytes = 0
        self._body_bytes = 0
        self._frame_bytes = 0  # that came with a body and are not of it: chunk sizes, trailers
        self._trailer_bytes = 0

    def feed(self, data: bytes) -> bool:
        """Says whether an upgrade was asked for; what follows it is not parsed. Raises a problem
        with what cannot be read."""
        was_in_body, body_before = self.in_body, self._body_bytes
        # if no more are begun, all of the data is of one request
        alone = self.begun + (not self.in_head and not was_in_body)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.in_body = False
            return True
        except httptools.HttpParserError as error:
            raise _problem(error) from None
        if self.begun <= alone:
            self._count(len(data), was_in_body, self._body_bytes - body_before)
        return False

    def _count(self, size: int, was_in_body: bool, body_size: int) -> None:
        """Bound a head that is not complete, and what surrounds a body. The piece in which a
        request begins behind others is not counted: it is no longer than what is read at once."""
        if self.in_head:
            self._head_bytes += size
            if self._head_bytes > HEAD_BYTES_MAX:
                raise _too_long(HEAD)
        elif was_in_body and self.in_body:
            self._frame_bytes += size - body_size
            if self._frame_bytes > HEAD_BYTES_MAX:
                raise _too_long(TRAILERS)

    # -- called by httptools

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers = []
        self.in_head = True
        self.begun += 1
        self._head_bytes = self._body_bytes = self._frame_bytes = self._trailer_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A trailer is passed over: it comes after what it would change has been decided."""
        if self.in_head:
            self._headers.append((name.lower(), value))
            return
        self._trailer_bytes += len(name) + len(value) + 4
        if self._trailer_bytes > HEAD_BYTES_MAX:
            raise _too_long(TRAILERS)

    def on_headers_complete(self) -> None:
        parser = self._parser
        version = parser.get_http_version()
        expects_continue = self._check_head(version)
        path, query = read_target(self._url)
        self.in_head, self.in_body = False, True
        method = parser.get_method().decode()
        request = Request(self._connection, method, path, query, self._headers)
        request.target = self._url
        request.version = version
        # Nobody can tell in which protocol more would come after an upgrade: it is the last.
        request.is_upgrade = parser.should_upgrade()
        request.keep_alive = (
            version == "1.1" and not request.is_upgrade and parser.should_keep_alive()
        )
        request.expects_continue = expects_continue and version == "1.1"
        self._connection.head_arrived(request)

    def _check_head(self, version: str) -> bool:
        """Says whether the client waits for `100 Continue`."""
        size, hosts, expects_continue, self.body_left = len(self._url), 0, False, 0
        for name, value in self._headers:
            size += len(name) + len(value) + 4
            if name == b"host":
                hosts += 1
            elif name == b"content-length":
                self.body_left = int(value)
            elif name == b"expect":
                expects_continue = value.lower() == b"100-continue"
        if size > HEAD_BYTES_MAX:
            raise _too_long(HEAD)
        if version not in VERSIONS:
            raise bad_request(f"expected a request of HTTP/1.1 or 1.0, found one of {version}")
        if hosts != 1 and version == "1.1":
            raise bad_request(f"expected the header host once, found it {hosts} times")
        return expects_continue

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        self.body_left = max(0, self.body_left - len(body))
        self._connection.body_arrived(body)

    def on_message_complete(self) -> None:
        self.in_body = False
        self.body_left = 0
        self._connection.request_complete()


def _problem(error: httptools.HttpParserError) -> ProblemError:
    cause = error.__context__  # of an error in one of our own methods, which the parser calls
    if isinstance(cause, ProblemError):
        return cause
    words = str(error).strip() if cause is None else f"invalid request target: {cause}"
    return bad_request(
        f"expected a request of HTTP/1.1, found what cannot be read as one: {words[:200]}"
    )


def _too_long(what: str) -> ProblemError:
    return bad_request(f"expected {what} of at most {HEAD_BYTES_MAX} bytes, found more")
