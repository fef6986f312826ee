"""The bytes of an answer: status line, headers and body."""

from __future__ import annotations

import time
from email.utils import formatdate
from functools import cache, lru_cache
from http import HTTPStatus
from math import ceil
from typing import TypeAlias

import msgspec

from laissez.wire.problems import Code, ProblemError

Headers: TypeAlias = list[tuple[bytes, bytes]]

JSON = b"application/json"
PROBLEM = b"application/problem+json"
RETRY_AFTER_S = 60  # where it is not known when it will be possible
REPLAYED = (b"idempotency-replayed", b"true")
EVERY: Headers = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]

encode = msgspec.json.Encoder().encode


def lines(headers: Headers) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


@cache
def status_line(status: int) -> bytes:
    return b"HTTP/1.1 %d %b\r\n" % (status, HTTPStatus(status).phrase.encode())


@cache
def common_head(status: int, media: bytes) -> bytes:
    """What all answers of this status and media type begin with."""
    return status_line(status) + lines([(b"content-type", media), *EVERY])


def head_of(status: int, media: bytes, size: int, more: Headers) -> bytes:
    """Status line and headers, without the date and the empty line."""
    head = common_head(status, media) + b"content-length: %d\r\n" % size
    return head + lines(more) if more else head


def date_line() -> bytes:
    return _date_line(time.time_ns() // 1_000_000_000)


@lru_cache(1)
def _date_line(second: int) -> bytes:
    """The `Date` header, formatted once a second."""
    return b"date: %b\r\n" % formatdate(second, usegmt=True).encode()


def problem_headers(problem: ProblemError) -> Headers:
    if problem.status == 401:
        return [(b"www-authenticate", b"Bearer")]
    if problem.status == 429 or problem.retry_after is not None:
        seconds = RETRY_AFTER_S if problem.retry_after is None else problem.retry_after
        return [(b"retry-after", b"%d" % max(1, ceil(seconds)))]
    return []


def problem_parts(problem: ProblemError, more: Headers) -> tuple[bytes, bytes]:
    """Head and body of the answer to a request that is refused."""
    body = encode(problem.problem())
    head = head_of(problem.status, PROBLEM, len(body), [*problem_headers(problem), *more])
    return head, body


INTERNAL = ProblemError(
    Code.INTERNAL,
    "the service met a bug; whether anything was done is not known: ask before you try again",
)
