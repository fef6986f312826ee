"""Requests that are wrong around their body: first lines, headers, sizes, chunks, addresses,
queries, cookies; and those without end."""

from __future__ import annotations

import gzip
import zlib

from laissez_check.wire.bad_bodies import GOOD, plain
from laissez_check.wire.bad_inputs import (
    AS_OPERATOR,
    AS_TENANT,
    END,
    JSON_TYPE,
    TENANT_KEY,
    Request,
    Wanted,
    bad,
    request,
)

UNREADABLE = "cannot be read as one"
ORDER = plain(GOOD)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
BOMB = 50_000_000  # bytes, of which 50 KB come over the wire
LONG = "x" * 2_000
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def _raw(first: bytes, headers: bytes = b"Host: x\r\n", rest: bytes = b"") -> bytes:
    return first + b"\r\n" + headers + AS_TENANT + b"\r\n" + rest


def _posted(headers: bytes, rest: bytes) -> bytes:
    """An order, framed by hand."""
    return (
        b"POST /v1/orders HTTP/1.1\r\nHost: x\r\n"
        + AS_TENANT
        + JSON_TYPE
        + headers
        + b"\r\n"
        + rest
    )


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def first_lines() -> list[Request]:
    lines = {
        "no method": b"/v1/orders HTTP/1.1",
        "a method of no letters": b"1234 /v1/orders HTTP/1.1",
        "a method in small letters": b"get /v1/orders HTTP/1.1",
        "a method that nobody knows": b"BUY /v1/orders HTTP/1.1",
        "no address": b"GET HTTP/1.1",
        "no version": b"GET /v1/orders",
        "a version of another protocol": b"GET /v1/orders SPDY/3",
        "version 9.9": b"GET /v1/orders HTTP/9.9",
        "version 2 by hand": b"GET /v1/orders HTTP/2.0",
        "version 1.": b"GET /v1/orders HTTP/1.",
        "two spaces and a word": b"GET /v1/orders and more HTTP/1.1",
        "a tab for a space": b"GET\t/v1/orders\tHTTP/1.1",
        "a NUL in the address": b"GET /v1/\x00orders HTTP/1.1",
        "an address that begins with no slash": b"GET v1/orders HTTP/1.1",
        "bytes above ASCII in the address": b"GET /v1/orders/\xff\xfe HTTP/1.1",
        "a space in the address": b"GET /v1/orders /x HTTP/1.1",
        "the beginning of HTTP/2": b"PRI * HTTP/2.0",
        "the beginning of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "SSH": b"SSH-2.0-OpenSSH_9.6",
        "an answer": b"HTTP/1.1 200 OK",
        "JSON": ORDER,
        "a tunnel": b"CONNECT example.org:443 HTTP/1.1",
        "an address without a path": b"GET http://example.org HTTP/1.1",
        "an address without a path and with a query": b"GET http://example.org?limit=1 HTTP/1.1",
        "an address whose port is none": b"GET http://example.org:99999/v1/orders HTTP/1.1",
    }
    return [
        bad(f"a first line with {name}", _raw(line), "expected") for name, line in lines.items()
    ]


def headers() -> list[Request]:
    rows = {
        "a space before the colon": (b"Host: x\r\nAccept : */*\r\n", UNREADABLE),
        "a space before the name": (b"Host: x\r\n Accept: */*\r\n", UNREADABLE),
        "a line that goes on": (b"Host: x\r\nAccept: */*\r\n ,text/html\r\n", UNREADABLE),
        "no colon": (b"Host: x\r\nAccept\r\n", UNREADABLE),
        "no name": (b"Host: x\r\n: y\r\n", UNREADABLE),
        "a NUL in a value": (b"Host: x\r\nAccept: */*\x00\r\n", UNREADABLE),
        "a NUL in a name": (b"Host: x\r\nAc\x00cept: */*\r\n", UNREADABLE),
        "a carriage return alone in a value": (b"Host: x\r\nAccept: */*\rX: y\r\n", UNREADABLE),
        "a line feed alone": (b"Host: x\nAccept: */*\r\n", UNREADABLE),
        "a bracket in a name": (b"Host: x\r\nAcc(ept: */*\r\n", UNREADABLE),
        "no host": (b"", "host once"),
        "two hosts": (b"Host: x\r\nHost: y\r\n", "host once"),
        "a size and chunks": (
            b"Host: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            UNREADABLE,
        ),
        "chunks and a size": (
            b"Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            UNREADABLE,
        ),
        "two sizes": (b"Host: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n", UNREADABLE),
        "the same size twice": (
            b"Host: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n",
            UNREADABLE,
        ),
        "two sizes in one": (b"Host: x\r\nContent-Length: 5, 6\r\n", UNREADABLE),
        "a size below zero": (b"Host: x\r\nContent-Length: -1\r\n", UNREADABLE),
        "a size with a sign": (b"Host: x\r\nContent-Length: +5\r\n", UNREADABLE),
        "a size in hexadecimal": (b"Host: x\r\nContent-Length: 0x5\r\n", UNREADABLE),
        "a size that is a word": (b"Host: x\r\nContent-Length: five\r\n", UNREADABLE),
        "a size beyond 64 bits": (
            b"Host: x\r\nContent-Length: 99999999999999999999999\r\n",
            UNREADABLE,
        ),
        "chunks, but not last": (b"Host: x\r\nTransfer-Encoding: chunked, gzip\r\n", UNREADABLE),
        "an unknown transfer": (b"Host: x\r\nTransfer-Encoding: xchunked\r\n", UNREADABLE),
        "chunks twice": (
            b"Host: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
            UNREADABLE,
        ),
        "more than may be": (
            b"Host: x\r\n"
            + b"".join(b"X-%d: %b\r\n" % (index, b"y" * 1_000) for index in range(70)),
            "at most 65536",
        ),
        "one that is too long": (b"Host: x\r\nX: " + b"y" * 70_000 + b"\r\n", "at most 65536"),
        "a great many": (b"Host: x\r\n" + b"a:b\r\n" * 20_000, "at most 65536"),
    }
    return [
        bad(f"headers with {name}", _raw(b"POST /v1/orders HTTP/1.1", given), word)
        for name, (given, word) in rows.items()
    ]


def handshakes() -> list[Request]:
    """Requests for a session that none can be made from. Nobody may wait for what does not come."""
    given = {
        b"Upgrade": b"websocket",
        b"Connection": b"Upgrade",
        b"Sec-WebSocket-Version": b"13",
        b"Sec-WebSocket-Key": b"AAAAAAAAAAAAAAAAAAAAAA==",
    }

    def asked(
        method: bytes = b"GET", more: bytes = b"", rest: bytes = b"", **changed: bytes | None
    ) -> bytes:
        headers = {
            **given,
            **{name.replace("_", "-").encode(): value for name, value in changed.items()},
        }
        lines = b"".join(
            b"%b: %b\r\n" % (name, value) for name, value in headers.items() if value is not None
        )
        return _raw(method + b" /v1/session HTTP/1.1", b"Host: x\r\n" + lines + more, rest)

    rows = {
        "no key of its own": (asked(Sec_WebSocket_Key=None), "Sec-WebSocket-Key"),
        "a key that is none": (asked(Sec_WebSocket_Key=b"!"), "base64"),
        "two keys of its own": (
            asked(more=b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"),
            "Sec-WebSocket-Key",
        ),
        "no version": (asked(Sec_WebSocket_Version=None), "Sec-WebSocket-Version"),
        "an old version": (asked(Sec_WebSocket_Version=b"8"), "Sec-WebSocket-Version"),
        "a POST": (asked(b"POST"), "POST"),
        "a body": (asked(more=b"Content-Length: 5\r\n", rest=b"hello"), "body"),
        "chunks": (asked(more=CHUNKED, rest=b"5\r\nhello\r\n0\r\n\r\n"), "transfer codings"),
        "a great many headers": (asked(more=b"a: b\r\n" * 300), "headers"),
        "a header that is too long": (asked(more=b"a: " + b"b" * 20_000 + b"\r\n"), "20005 bytes"),
        "forms that are none": (asked(Sec_WebSocket_Protocol=b"\xff,;;"), "Sec-WebSocket-Protocol"),
    }
    found = [bad(f"a handshake with {name}", sent, word) for name, (sent, word) in rows.items()]
    elsewhere = asked(more=END.removesuffix(b"\r\n")).replace(b"/v1/session", b"/v1/nothing")
    found.append(
        bad(
            "a handshake where there are no sessions",
            elsewhere,
            "there is nothing at",
            404,
            "not_found",
        )
    )
    found.append(
        bad(
            "a handshake before an answer",
            HEALTH + asked(),
            "once all before it on the connection is answered",
            good_before=1,
        )
    )
    return found


def meanings() -> list[Request]:
    """Headers that can be read and mean nothing here."""
    media = (
        "",
        "text/plain",
        "text/json",
        "application/json; charset=latin-1",
        "application/json; charset=utf-16",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "application/msgpack",
        "application/json, text/plain",
        "application/problem+json",
        "application/json; boundary=x",
        "\\",
    )
    rows = [
        bad(
            f"a body that says {kind!r}",
            request("POST", "/v1/orders", b"Content-Type: " + kind.encode() + b"\r\n", ORDER),
            "Content-Type: expected",
            415,
            "unsupported_media_type",
        )
        for kind in media
    ]
    rows += [
        bad(
            f"a body encoded as {name}",
            request(
                "POST",
                "/v1/orders",
                JSON_TYPE + b"Content-Encoding: " + name.encode() + b"\r\n",
                body,
            ),
            "Content-Encoding: expected none",
            415,
            "unsupported_media_type",
        )
        for name, body in (
            ("gzip", gzip.compress(ORDER)),
            ("deflate", zlib.compress(ORDER)),
            ("br", b"x"),
            ("zstd", b"x"),
            ("gzip, gzip", gzip.compress(ORDER)),
        )
    ]
    bomb = zlib.compress(b" " * BOMB, 9)
    zipped = request("POST", "/v1/batch", JSON_TYPE + b"Content-Encoding: deflate\r\n", bomb)
    rows.append(
        bad(
            "a bomb: 50 MB of spaces in 50 KB",
            zipped,
            "Content-Encoding: expected none",
            415,
            "unsupported_media_type",
        )
    )
    once = "once, found it more often"
    rows += [
        bad(
            f"{name.decode()} twice",
            request(
                "POST",
                "/v1/orders",
                name + b": " + value + b"\r\n" + name + b": " + value + b"\r\n",
                ORDER,
            ),
            once,
        )
        for name, value in (
            (b"Content-Type", b"application/json"),
            (b"Idempotency-Key", b"k"),
            (b"Content-Encoding", b"identity"),
        )
    ]
    rows.append(bad("two keys", request("GET", "/v1/orders", AS_TENANT), once))
    rows += [
        bad(
            f"an Idempotency-Key that is {name}",
            request("POST", "/v1/orders", JSON_TYPE + b"Idempotency-Key: " + key + b"\r\n", ORDER),
            "visible ASCII",
        )
        for name, key in (
            ("empty", b""),
            ("too long", b"k" * 65),
            ("two words", b"a b"),
            ("no ASCII", b"\xe9"),
            ("a tab", b"a\tb"),
        )
    ]
    for accept in ("text/html", "application/xml", "application/jsonx", ";;;"):
        wanted = f"Accept: {accept}\r\n".encode()
        rows.append(
            bad(
                f"nothing accepted but {accept}",
                request("GET", "/v1/orders", wanted),
                "Accept: expected",
                406,
                "not_acceptable",
            )
        )
    rows.append(
        bad(
            "a stream that goes on after no number",
            request("GET", "/v1/events", b"Accept: text/event-stream\r\nLast-Event-ID: x\r\n"),
            "Last-Event-ID",
        )
    )
    nobody = (
        b"",
        b"Authorization: Bearer\r\n",
        b"Authorization: Basic YW5uOmFubg==\r\n",
        b"Authorization: Bearer lz_0_x\r\n",
        b"Authorization: Bearer \xff\xfe\r\n",
        b"Authorization: Bearer " + b"k" * 10_000 + b"\r\n",
        b"Authorization: @tenant-key@\r\n",
        b"Authorization: Bearer @tenant-key@x\r\n",
        b"Cookie: laissez_signin=x\r\n",
        b"Cookie: ;;;=;\r\n",
        b'Cookie: laissez_signin="\r\n',
        b"Cookie: " + b"a=b; " * 2_000 + b"\r\n",
        b"Cookie: laissez_signin=\xff\r\n",
    )
    rows += [
        bad(
            f"a request of nobody ({index})",
            request("GET", "/v1/orders", who=who),
            "expected a key that is in force",
            401,
            "unauthenticated",
        )
        for index, who in enumerate(nobody)
    ]
    rows += [
        bad(
            f"an address that is none, {name}",
            request(method, path, b"X-Forwarded-For: " + address + b"\r\n", who=b""),
            word,
            status,
            code,
        )
        for name, method, path, address, word, status, code in (
            ("of nobody", "GET", "/v1/orders", b"a:b:c", "expected a key", 401, "unauthenticated"),
            (
                "of nothing",
                "GET",
                "/v1/nothing",
                b"1::2::3",
                "there is nothing at",
                404,
                "not_found",
            ),
            ("a key", "GET", "/v1/orders", TENANT_KEY, "expected a key", 401, "unauthenticated"),
        )
    ]
    return rows


def framings() -> list[Request]:
    most = b"Content-Length: 16385\r\n"
    rows = [
        bad(
            "a body one byte too long",
            _posted(most, b" " * 16_385),
            "at most 16384",
            413,
            "body_too_large",
        ),
        bad(
            "a body that says it is too long",
            _posted(b"Content-Length: 99999999999\r\n", b"{"),
            "at most 16384",
            413,
            "body_too_large",
        ),
        bad(
            "chunks that are too long together",
            _posted(CHUNKED, _chunk(b" " * 1_000) * 20 + b"0\r\n\r\n"),
            "at most 16384",
            413,
            "body_too_large",
        ),
        bad("no body", _posted(b"Content-Length: 0\r\n", b""), "expected a JSON body"),
        bad("no body and no size", _posted(b"", b""), "expected a JSON body"),
        bad("chunks of nothing", _posted(CHUNKED, b"0\r\n\r\n"), "expected a JSON body"),
        bad(
            "a body where none belongs",
            request("GET", "/v1/orders", b"", b"{}"),
            "expected no body",
        ),
        bad(
            "a body with a DELETE",
            request("DELETE", "/v1/orders/ord_x", b"", b"{}"),
            "expected no body",
        ),
        bad(
            "chunks with a GET",
            b"GET /v1/orders HTTP/1.1\r\nHost: x\r\n"
            + AS_TENANT
            + CHUNKED
            + b"\r\n"
            + _chunk(b"x")
            + b"0\r\n\r\n",
            "expected no body",
        ),
    ]
    chunks = {
        "a size that is no number": b"xyz\r\n",
        "a size below zero": b"-5\r\n",
        "a size beyond 64 bits": b"fffffffffffffffff\r\n",
        "a size in words": b"five\r\nhello\r\n",
        "a chunk longer than it says": b"2\r\nabcd\r\n0\r\n\r\n",
        "a size and a line feed alone": b"5\nhello\r\n0\r\n\r\n",
        "no line end after a chunk": b"5\r\nhello0\r\n\r\n",
        "a space before the size": b" 5\r\nhello\r\n0\r\n\r\n",
        "a NUL in the size": b"5\x00\r\nhello\r\n0\r\n\r\n",
        "a trailer with a space in its name": b"0\r\nX y: z\r\n\r\n",
        "an empty size": b"\r\nhello\r\n",
    }
    rows += [
        bad(f"chunks with {name}", _posted(CHUNKED, sent), UNREADABLE)
        for name, sent in chunks.items()
    ]
    rows += [
        Request(
            name,
            (_posted(CHUNKED, begun), more, more),
            Wanted(400, "bad_request", "trailers of at most"),
            pause_s=0.01,
        )
        for name, begun, more in (
            ("trailers without end", _chunk(b"{}") + b"0\r\n", b"X: y\r\n" * 10_000),
            ("one trailer without end", _chunk(b"{}") + b"0\r\nX: ", b"y" * 60_000),
            ("a chunk's extension without end", b"5;a=", b"b" * 60_000),
        )
    ]
    key = b"0\r\nAuthorization: Bearer @tenant-key@\r\n\r\n"
    smuggled = b"GET /v1/orders HTTP/1.1\r\nHost: x\r\n" + CHUNKED + b"\r\n" + key
    rows.append(bad("a key in a trailer", smuggled, "expected a key", 401, "unauthenticated"))
    return rows


def addresses() -> list[Request]:
    absent = (
        "/v1",
        "/v1/",
        "/v2/orders",
        "/v1/order",
        "/v1/orders/",
        "/v1/orders/a/b",
        "/V1/orders",
        "//v1/orders",
        "/v1//orders",
        "/v1/session",
        "/console",
        "/console/",
        "/console/../../../etc/passwd",
        "/console/..%2f..%2fetc/passwd",
        "/console/%2e%2e/index.html",
        "/../etc/passwd",
        "/console/....//etc/passwd",
        "/console/index.html%00.js",
        "/console//main.js",
        "/console/C:\\windows",
        "/static/",
        "/.git/config",
        "/.env",
        "*",
        "/docs/",
        "/openapi.yaml",
        "/admin",
        "/v1/orders;x=1",
        "/v1/%6frders/x/y",
        "/healthz/",
        "/" + LONG,
    )
    rows = [
        bad(
            f"nothing at {path[:40]}", request("GET", path), "there is nothing at", 404, "not_found"
        )
        for path in absent
    ]
    rows += [
        bad(
            f"an address with {name}", request("GET", f"/v1/orders/{path}"), "percent-encoded UTF-8"
        )
        for name, path in (
            ("half an escape", "%4"),
            ("a percent sign", "100%"),
            ("no hexadecimal", "%zz"),
            ("bytes that are no UTF-8", "%ff%fe"),
            ("a surrogate", "%ed%a0%80"),
            ("a byte too many", "%c0%af"),
        )
    ]
    rows += [
        bad(
            f"an id that is {name}",
            request("GET", f"/v1/orders/{id}"),
            "you have no open order",
            404,
            "not_your_order",
        )
        for name, id in (
            ("a NUL", "%00"),
            ("a line break", "%0d%0aSet-Cookie:%20a=b"),
            ("nobody's", "ord_x"),
            ("a lease's", "lse_x1"),
            ("long", "x" * 500),
            ("an emoji", "%f0%9f%8d%95"),
            ("a quote", "'%20OR%201=1--"),
            ("a template", "{{7*7}}"),
        )
    ]
    rows += [
        bad(f"{method} at {path}", request(method, path), "expected", 405, "method_not_allowed")
        for method, path in (
            ("PATCH", "/v1/orders"),
            ("DELETE", "/v1/orders"),
            ("POST", "/v1/orders/x"),
            ("TRACE", "/v1/orders"),
            ("PUT", "/v1/me"),
            ("POST", "/healthz"),
            ("DELETE", "/"),
            ("PROPFIND", "/v1/orders"),
            ("GET", "/v1/batch"),
            ("GET", "/v1/floors/gpu"),
        )
    ]
    return rows


def queries() -> list[Request]:
    rows: list[tuple[str, str]] = [
        ("colour=red", "unknown query parameter"),
        ("limit=0", "limit: expected"),
        ("limit=-1", "limit: expected"),
        ("limit=1001", "limit: expected"),
        ("limit=1e3", "limit: expected"),
        ("limit=1.0", "limit: expected"),
        ("limit=ten", "limit: expected"),
        ("limit=", "limit: expected"),
        ("limit=%D9%A1", "limit: expected"),
        ("limit=99999999999999999999", "limit: expected"),
        ("limit=1&limit=2", "once"),
        ("limit", "cannot be read"),
        ("&&", "cannot be read"),
        ("=1", "unknown query parameter"),
        ("limit=%00", "limit: expected"),
        ("cursor=", "cursor: expected"),
        ("cursor=AAAA", "cursor: expected"),
        ("cursor=@cursor@", "cursor: expected"),
        ("cursor=" + "A" * 3_000, "cursor: expected"),
        ("cursor=%F0%9F%8D%95", "cursor: expected"),
        ("cursor=k6ZvcmRlcnOgCg%3D%3D%3D%3D%3D", "cursor: expected"),
        ("limit=%ff", "percent-encoded"),
        ("limit=%4", "percent-encoded"),
        ("a=1&" * 30, "cannot be read"),
        ("LIMIT=1", "unknown query parameter"),
        ("limit[]=1", "unknown query parameter"),
    ]
    found = [
        bad(f"a list with ?{query[:40]}", request("GET", f"/v1/orders?{query}"), word)
        for query, word in rows
    ]
    others = (
        ("/v1/events?after=-1", "after"),
        ("/v1/events?after=1e400", "after"),
        ("/v1/events?after=9999999999999999999999", "after"),
        ("/v1/events?after=NaN", "after"),
        ("/v1/bills?since=now", "since"),
        ("/v1/bills?since=2026-13-01T00:00:00Z", "since"),
        ("/v1/bills?since=2026-01-01", "since"),
        ("/v1/bills?since=1e400", "since"),
        ("/v1/bills?until=0000-00-00T00:00:00Z", "until"),
        ("/v1/bills?format=xml", "format"),
        ("/v1/bills?format=", "format"),
        ("/v1/bills?format=json&format=csv", "once"),
        ("/v1/prices?scope=gpu&limit=1", "scope"),
    )
    found += [bad(f"{path}", request("GET", path), word) for path, word in others]
    found += [
        bad(
            "a bill that ends tomorrow",
            request("GET", "/v1/bills?until=2254-01-01T00:00:00Z"),
            "until: expected",
            422,
            "period_invalid",
        ),
        bad(
            "a bill of the year 9999",
            request("GET", "/v1/bills?since=9999-01-01T00:00:00Z"),
            "since: expected",
            422,
            "time_out_of_range",
        ),
        bad(
            "another tenant by name",
            request("GET", "/v1/orders?tenant=bob"),
            "only the operator",
            403,
            "forbidden",
        ),
        bad(
            "a tenant that is none",
            request("GET", "/v1/orders?tenant=nobody", who=AS_OPERATOR),
            "there is no tenant",
            404,
            "not_found",
        ),
        bad("a price of nothing", request("GET", "/v1/prices?scope="), "", 404, "scope_unknown"),
        bad(
            "a price of the moon", request("GET", "/v1/prices?scope=moon"), "", 404, "scope_unknown"
        ),
        bad(
            "an operation of the operator",
            request("PUT", "/v1/floors/gpu", JSON_TYPE, b'{"price":"1"}'),
            "expected a key",
            403,
            "forbidden",
        ),
        bad(
            "an order of the operator",
            request("POST", "/v1/orders", JSON_TYPE, ORDER, AS_OPERATOR),
            "expected a key",
            403,
            "forbidden",
        ),
        bad(
            "signing in from elsewhere",
            request("POST", "/v1/signin", JSON_TYPE, b'{"key":"lz_x"}', b""),
            "X-Laissez-Console",
            403,
            "forbidden",
        ),
        bad(
            "signing in with no key",
            request(
                "POST",
                "/v1/signin",
                JSON_TYPE + b"X-Laissez-Console: 1\r\n",
                b'{"key":"lz_x"}',
                b"",
            ),
            "expected a key",
            401,
            "unauthenticated",
        ),
        bad(
            "signing in with a number",
            request(
                "POST", "/v1/signin", JSON_TYPE + b"X-Laissez-Console: 1\r\n", b'{"key":7}', b""
            ),
            "`$.key`",
        ),
    ]
    return found


def slow() -> list[Request]:
    """What never comes to an end. Each is told so in time, and takes nobody else's."""
    begun = b"POST /v1/orders HTTP/1.1\r\nHost: x\r\n"
    head, body = "expected the address and the headers within", "expected the whole body within"
    rows: list[tuple[str, tuple[bytes, ...], str]] = [
        ("one byte and no more", (b"G",), head),
        ("a first line without its end", (b"GET /v1/orders HTTP/1.1",), head),
        ("headers without their end", (begun + AS_TENANT,), head),
        ("a head byte by byte", tuple(bytes([byte]) for byte in begun), head),
        ("a header byte by byte", (begun + b"X: ", *[b"y"] * 40), head),
        ("headers line by line", (begun, *[b"X: y\r\n"] * 40), head),
        ("a body that does not come", (_posted(b"Content-Length: 45\r\n", b""),), body),
        ("half a body", (_posted(b"Content-Length: 45\r\n", ORDER[:20]),), body),
        ("a body byte by byte", (_posted(b"Content-Length: 90\r\n", b""), *[b" "] * 40), body),
        ("chunks without the last", (_posted(CHUNKED, _chunk(ORDER)),), body),
        ("half a chunk", (_posted(CHUNKED, b"50\r\nabc"),), body),
        (
            "trailers line by line",
            (_posted(CHUNKED, _chunk(ORDER) + b"0\r\n"), *[b"X: y\r\n"] * 40),
            body,
        ),
    ]
    second = Request(
        "slow: a second request that stops",
        (HEALTH + b"GET /v1/or",),
        Wanted(408, "request_timeout", head),
        good_before=1,
    )
    return [
        *(
            Request(f"slow: {name}", sent, Wanted(408, "request_timeout", word), pause_s=0.02)
            for name, sent, word in rows
        ),
        second,
    ]


def requests() -> list[Request]:
    return [
        *first_lines(),
        *headers(),
        *handshakes(),
        *meanings(),
        *framings(),
        *addresses(),
        *queries(),
        *_after_a_good_one(),
    ]


def _after_a_good_one() -> list[Request]:
    """The good one is answered first, and then the bad one."""
    good = HEALTH
    return [
        bad("garbage after a request", good + b"\x00\x01\x02\r\n\r\n", UNREADABLE, good_before=1),
        bad(
            "a second request without a host",
            good + b"GET /v1/orders HTTP/1.1\r\n" + END,
            "host once",
            good_before=1,
        ),
        bad(
            "a second request with broken chunks",
            good + _posted(CHUNKED, b"zz\r\n"),
            UNREADABLE,
            good_before=1,
        ),
        bad(
            "a third request that is none", good + good + b"GET\r\n\r\n", UNREADABLE, good_before=2
        ),
    ]
