"""Sending answers: one message for the head, one for the body, and the headers that every answer
has."""

from __future__ import annotations

from math import ceil
from typing import TypeAlias

import msgspec

from laissez.server.http.call import Send
from laissez.wire.problems import Code, ProblemError

Headers: TypeAlias = list[tuple[bytes, bytes]]

JSON = b"application/json"
PROBLEM = b"application/problem+json"
RETRY_AFTER_S = 60  # where nobody knows when it will be possible
REPLAYED = (b"idempotency-replayed", b"true")
EVERY: Headers = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]

encode = msgspec.json.Encoder().encode


async def send_bytes(
    send: Send, status: int, media: bytes, body: bytes, more: Headers, head_only: bool = False
) -> None:
    headers = [(b"content-type", media), (b"content-length", b"%d" % len(body)), *EVERY, *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head_only else body})


def problem_headers(problem: ProblemError) -> Headers:
    if problem.status == 401:
        return [(b"www-authenticate", b"Bearer")]
    if problem.status == 429 or problem.retry_after is not None:
        return [
            (
                b"retry-after",
                b"%d"
                % (
                    RETRY_AFTER_S
                    if problem.retry_after is None
                    else max(1, ceil(problem.retry_after))
                ),
            )
        ]
    return []


async def send_problem(
    send: Send, problem: ProblemError, more: Headers, head_only: bool = False
) -> None:
    await send_bytes(
        send,
        problem.status,
        PROBLEM,
        encode(problem.problem()),
        [*problem_headers(problem), *more],
        head_only,
    )


INTERNAL = ProblemError(
    Code.INTERNAL,
    "the service met a bug; whether anything was done is not known: ask before you try again",
)
