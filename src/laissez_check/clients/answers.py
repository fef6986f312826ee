"""Answers from the wire: the outcome of each command, and signs of a bug of the service."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any, TypeGuard

import httpx
import msgspec

from laissez.client.errors import ApiError
from laissez.client.retries import response_error
from laissez.wire.problems import STATUS
from laissez_check.clients.ledger import PASSING, Answer, Asked, Json, Part

TRUST = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used, and slow to make
UNAVAILABLE = 503
NOT_AN_ANSWER = PASSING | {"journal_failed", "unauthenticated"}
DOCUMENTED = frozenset(code for code, status in STATUS.items() if status == UNAVAILABLE)


def tells_of_bug(error: ApiError) -> bool:
    """Every 5xx is a bug, except a 503 with a documented code."""
    return error.status >= 500 and (error.status != UNAVAILABLE or error.code not in DOCUMENTED)


def is_answer(error: BaseException) -> TypeGuard[ApiError]:
    """Whether an error tells the outcome of a request."""
    return isinstance(error, ApiError) and error.status < 500 and error.code not in NOT_AN_ANSWER


def refusal(error: ApiError) -> Part:
    return Part((error.code, error.detail), ())


class Watched(httpx.AsyncHTTPTransport):
    """A transport that sees every answer, also those that the client hides: it retries by itself,
    or reports an unknown outcome."""

    def __init__(self, breaks: Callable[[str], None]) -> None:
        super().__init__(verify=TRUST)
        self._breaks = breaks

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if response.status_code >= 500:
            body = await response.aread()
            if tells_of_bug(response_error(response.status_code, response.headers, body)):
                self._breaks(
                    f"B1: {request.method} {request.url.path} was answered with"
                    f" {response.status_code} {body!r}"
                )
        return response


def plain(one: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(one))


def read(asked: Asked, content: bytes) -> Answer:
    body = msgspec.json.decode(content)
    told = body["results"] if asked.kind == "batch" else [body] if "events" in body else []
    return Answer(tuple(map(_part, told)), 200, content)


def _part(told: Json) -> Part:
    if told.get("status", 200) >= 400:
        return Part((told["code"], told["detail"]), ())
    return Part(None, tuple(told.get("events", ())))
