"""When to send a request again, and the conclusion when retries end. This module never sends or
sleeps.

Retrying is safe because all attempts carry the same idempotency key. If an attempt may have been
carried out and no later answer settles that, the result is `OutcomeUnknown`, never a guess.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Final, Generic, TypeAlias, TypeVar

import httpx
import msgspec

from laissez.client.errors import (
    ApiError,
    ConnectionFailed,
    LaissezError,
    OutcomeUnknown,
    UnexpectedAnswer,
    api_error,
    is_transient,
    settles_outcome,
)
from laissez.client.request import Request
from laissez.wire.problems import NOTHING_WAS_DONE, Problem

T = TypeVar("T")
Outcome: TypeAlias = httpx.Response | httpx.RequestError

DELAY_FIRST_S: Final = 0.1
DELAY_MAX_S: Final = 5.0
RETRY_AFTER_MAX_S: Final = 30.0  # the caller decides about longer waits
_NEVER_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
_PROBLEM: Final = msgspec.json.Decoder(Problem)


def backoff_s(attempts: int, error: LaissezError) -> float:
    """The delay after `attempts` failures: exponential, with jitter, and longer than the server's
    `retry_after`."""
    longest: float = min(DELAY_MAX_S, DELAY_FIRST_S * 2 ** min(attempts, 16))
    return _retry_after_s(error) + random.uniform(longest / 2, longest)


def _retry_after_s(error: LaissezError) -> float:
    return (error.retry_after if isinstance(error, ApiError) else None) or 0.0


def response_error(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error in a response, which may come from a proxy instead of the server."""
    text = headers.get("Retry-After") or ""
    # The other form of the header, a date, would need a clock that agrees with the server's.
    retry_after = float(text) if text.isascii() and text.isdigit() else None
    try:
        problem = _PROBLEM.decode(body)
    except msgspec.DecodeError:
        detail = (
            f"expected an answer of a LaissezCloud server, found HTTP status {status}; check the"
            " URL and what lies between"
        )
        return api_error(f"http_{status}", detail, status, retry_after)
    return api_error(problem.code, problem.detail, status, problem.retry_after or retry_after)


def unreachable(server: str, error: Exception, wanted: str = "answer") -> ConnectionFailed:
    return ConnectionFailed(f"no {wanted} from {server}: {str(error) or type(error).__name__}")


class Retries(Generic[T]):
    """The attempts to make one request. Call `delay_after` with the outcome of each until it
    returns None; then `answer` is set."""

    answer: T

    def __init__(self, request: Request[T], retries_max: int) -> None:
        self._request = request
        self._retries_max = retries_max
        self._attempts = 0
        self._may_have_happened = False

    def delay_after(self, outcome: Outcome) -> float | None:
        """Seconds to wait before the next attempt, or None if this one was answered. Raises if
        there is no point in another attempt."""
        if isinstance(outcome, httpx.Response) and (
            outcome.is_success or outcome.status_code in self._request.statuses
        ):
            self.answer = self._decode(outcome)
            return None
        error = outcome_error(outcome, "answer")
        if self._request.idempotency_key is not None and _may_have_happened(outcome, error):
            self._may_have_happened = True
        self._attempts += 1
        if (
            not is_transient(error)
            or self._attempts > self._retries_max
            or _retry_after_s(error) > RETRY_AFTER_MAX_S
        ):
            cause = error if isinstance(outcome, httpx.Response) else outcome
            raise self._conclusion(error) from cause
        return backoff_s(self._attempts - 1, error)

    def _decode(self, response: httpx.Response) -> T:
        try:
            return self._request.decode(response.content)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UnexpectedAnswer(
                f"{self._request.method} {self._request.path} was answered with status"
                f" {response.status_code} and a body that cannot be read: {error}"
            ) from None

    def _conclusion(self, error: LaissezError) -> LaissezError:
        key = self._request.idempotency_key
        if key is None or not self._may_have_happened or settles_outcome(error):
            return error
        return OutcomeUnknown(key, f"{self._request.method} {self._request.path}: {error}")


def outcome_error(outcome: Outcome, wanted: str) -> LaissezError:
    if isinstance(outcome, httpx.Response):
        return response_error(outcome.status_code, outcome.headers, outcome.content)
    return unreachable(outcome.request.url.netloc.decode("ascii"), outcome, wanted)


def _may_have_happened(outcome: Outcome, error: LaissezError) -> bool:
    if isinstance(error, ApiError):
        return error.status >= 500 and error.code not in NOTHING_WAS_DONE
    return not isinstance(outcome, _NEVER_SENT)


class Reconnection:
    """The delays between attempts to connect, for at most `timeout_s` after the last success."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self.succeeded()

    def succeeded(self) -> None:
        self._failing_since: float | None = None
        self._attempts = 0

    def delay(self, now: float, error: LaissezError) -> float:
        """Seconds to wait before the next attempt. Raises `error` if it is permanent or the time is
        up. `now` is any monotonic clock."""
        if self._failing_since is None:
            self._failing_since = now
        delay = backoff_s(self._attempts, error)
        self._attempts += 1
        if not is_transient(error) or now + delay > self._failing_since + self._timeout_s:
            raise error
        return delay
