"""When to try again, and what to conclude when trying has ended. Decisions only: sending and
sleeping is left to whoever asks.

A request may be sent again because every attempt carries the same idempotency key. If an attempt
may have been carried out and no later answer settles whether it was, the end is `OutcomeUnknown`:
never a guess.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Final, Generic, TypeVar

import httpx
import msgspec

from laissez.client.call import Call
from laissez.client.errors import (
    ApiError,
    ConnectionFailed,
    LaissezError,
    OutcomeUnknown,
    UnexpectedAnswer,
    api_error,
    is_passing,
    settles,
)
from laissez.wire.problems import NOTHING_WAS_DONE, Problem

T = TypeVar("T")

PAUSE_FIRST_S: Final = 0.1
PAUSE_MAX_S: Final = 5.0
# a server that asks for more patience than this is answered by telling the caller
RETRY_AFTER_MAX_S: Final = 30.0
_NEVER_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
_PROBLEM: Final = msgspec.json.Decoder(Problem)


def pause_s(tried: int, retry_after: float | None = None) -> float:
    """How long to wait after `tried` attempts: doubling, with jitter so that many clients do not
    come back at once; at least `retry_after`."""
    longest: float = min(PAUSE_MAX_S, PAUSE_FIRST_S * 2 ** min(tried, 16))
    return (retry_after or 0.0) + random.uniform(longest / 2, longest)


def error_of(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error in an answer that is one, whoever wrote it."""
    try:
        problem = _PROBLEM.decode(body)
    except msgspec.DecodeError:
        detail = (
            f"expected an answer of a LaissezCloud server, found HTTP status {status}; check the"
            " URL and what lies between"
        )
        return api_error(f"http_{status}", detail, status, _seconds(headers.get("Retry-After")))
    return api_error(
        problem.code,
        problem.detail,
        status,
        problem.retry_after or _seconds(headers.get("Retry-After")),
    )


def _seconds(text: str | None) -> float | None:
    """`Retry-After` in seconds; its other form, a date, is not worth a clock."""
    return float(text) if text is not None and text.isascii() and text.isdigit() else None


class Attempts(Generic[T]):
    """The attempts to make one call. Give it what came of each until `pause_after` returns None;
    then `answer` is there."""

    answer: T

    def __init__(self, call: Call[T], retries: int) -> None:
        self._call = call
        self._retries = retries
        self._tried = 0
        self._may_have_happened = False

    def pause_after(self, outcome: httpx.Response | httpx.RequestError) -> float | None:
        """Seconds to wait before sending again, or None for answered. Raises when there is no point
        in going on."""
        if isinstance(outcome, httpx.Response) and (
            outcome.is_success or outcome.status_code in self._call.answers
        ):
            self.answer = self._read(outcome)
            return None
        error = _error(outcome)
        self._may_have_happened |= self._call.idempotency_key is not None and _may_have_happened(
            outcome, error
        )
        retry_after = error.retry_after if isinstance(error, ApiError) else None
        self._tried += 1
        if (
            not is_passing(error)
            or self._tried > self._retries
            or (retry_after or 0.0) > RETRY_AFTER_MAX_S
        ):
            raise self._conclusion(error) from (
                error if isinstance(outcome, httpx.Response) else outcome
            )
        return pause_s(self._tried - 1, retry_after)

    def _read(self, response: httpx.Response) -> T:
        try:
            return self._call.read(response.content)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            place = f"{self._call.method} {self._call.path}"
            raise UnexpectedAnswer(
                f"{place} was answered with status {response.status_code} and a body that cannot be"
                f" read: {error}"
            ) from None

    def _conclusion(self, error: LaissezError) -> LaissezError:
        key = self._call.idempotency_key
        if key is None or not self._may_have_happened or settles(error):
            return error
        return OutcomeUnknown(key, f"{self._call.method} {self._call.path}: {error}")


def _error(outcome: httpx.Response | httpx.RequestError) -> LaissezError:
    if isinstance(outcome, httpx.Response):
        return error_of(outcome.status_code, outcome.headers, outcome.content)
    return unreachable(outcome.request.url.netloc.decode("ascii"), outcome)


def unreachable(server: str, error: Exception) -> ConnectionFailed:
    return ConnectionFailed(f"no answer from {server}: {str(error) or type(error).__name__}")


def _may_have_happened(outcome: httpx.Response | httpx.RequestError, error: LaissezError) -> bool:
    if isinstance(error, ApiError):
        return error.status >= 500 and error.code not in NOTHING_WAS_DONE
    return not isinstance(outcome, _NEVER_SENT)


class Patience:
    """How long to go on trying to reach a server that was reached before, or should be there:
    `seconds`, anew after every success."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: float | None = None
        self._tried = 0

    def renew(self) -> None:
        self._since = None
        self._tried = 0

    def pause(self, now: float, error: LaissezError) -> float:
        """Seconds to wait before the next attempt; raises `error` if it will not pass or it has
        been long enough. `now` is any rising clock."""
        if self._since is None:
            self._since = now
        pause = pause_s(self._tried, error.retry_after if isinstance(error, ApiError) else None)
        self._tried += 1
        if not is_passing(error) or now + pause > self._since + self._seconds:
            raise error
        return pause
