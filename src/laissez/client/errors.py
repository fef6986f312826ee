"""The errors of the client. Each class implies the caller's next step.

`ApiError` is an answer of the server: nothing changed, and the class says why. `ConnectionFailed`
means that the server was not reached, so nothing changed. `OutcomeUnknown` means that the request
was sent and no answer came: it may have been carried out. Sending it again with the same
idempotency key settles that. No message ever contains an access key.
"""

from __future__ import annotations

from typing import Final

from laissez.wire.problems import Code
from laissez.wire.session import Refused as RefusedMessage


class LaissezError(Exception):
    """Base class of the errors of this package."""


class UsageError(LaissezError, ValueError):
    """The arguments are invalid. Nothing was sent."""


class ConnectionFailed(LaissezError):
    """The server could not be reached, or a read was not answered. Nothing changed."""


class OutcomeUnknown(LaissezError):
    """The request was sent and no answer came. Send it again with `idempotency_key` to learn the
    outcome; it is carried out at most once."""

    def __init__(self, idempotency_key: str, why: str) -> None:
        super().__init__(idempotency_key, why)
        self.idempotency_key = idempotency_key
        self.why = why

    def __str__(self) -> str:
        return (
            f"{self.why}; it may or may not have been carried out: send it again with the key"
            f" {self.idempotency_key!r} to find out"
        )


class UnexpectedAnswer(LaissezError):
    """The answer cannot be decoded. It may come from a proxy, or from a server of another
    version."""


class SessionFull(LaissezError):
    """Too many commands await an answer; `await session.room()` first. Nothing was sent."""


class SessionClosed(LaissezError):
    """The session was closed. Nothing was sent."""


class EventsMissed(LaissezError):
    """Events after number `after` were dropped; read them with `Client.events(after=...)`. Later
    events follow."""

    def __init__(self, after: int, why: str) -> None:
        super().__init__(after, why)
        self.after = after
        self.why = why

    def __str__(self) -> str:
        return (
            f"events after number {self.after} were missed: {self.why}; read them with"
            f" Client.events(after={self.after})"
        )


class ApiError(LaissezError):
    """The server refused the request. `code` is stable, `detail` is for people, and `retry_after`
    is in seconds if the server gave it."""

    def __init__(
        self, code: str, detail: str, status: int, retry_after: float | None = None
    ) -> None:
        super().__init__(code, detail, status, retry_after)
        self.code = code
        self.detail = detail
        self.status = status
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.detail} ({self.code})"


class NotFound(ApiError):
    """The object does not exist, or this key may not see it."""


class Conflict(ApiError):
    """The state does not allow the request: the order is filled already, the name is taken, or the
    idempotency key was used for another request."""


class Refused(ApiError):
    """The request breaks a rule of the market or of the API."""


class HistoryGone(ApiError):
    """Events that old are no longer kept."""


class Unauthenticated(ApiError):
    """The key is missing, unknown or revoked."""


class Forbidden(ApiError):
    """The key lacks the scope."""


class RateLimited(ApiError):
    """The rate limit is exceeded. Nothing was done."""


class Unavailable(ApiError):
    """The server cannot serve requests now."""


_BY_STATUS: Final[dict[int, type[ApiError]]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: HistoryGone,
    429: RateLimited,
}
_BEFORE_IDEMPOTENCY: Final = frozenset(
    {Code.UNAUTHENTICATED, Code.FORBIDDEN, Code.RATE_LIMITED, Code.TOO_MANY_SESSIONS}
)


def api_error(code: str, detail: str, status: int, retry_after: float | None = None) -> ApiError:
    """The error whose class fits the status."""
    otherwise = Refused if 400 <= status < 500 else Unavailable if status >= 500 else ApiError
    return _BY_STATUS.get(status, otherwise)(code, detail, status, retry_after)


def refusal(message: RefusedMessage) -> ApiError:
    """The error in a message of a session."""
    return api_error(message.code, message.detail, message.status, message.retry_after)


def is_transient(error: LaissezError) -> bool:
    """Whether the same request may succeed a moment later."""
    if isinstance(error, ApiError):
        return error.status in (429, 502, 503, 504)
    return isinstance(error, ConnectionFailed)


def settles_outcome(error: LaissezError) -> bool:
    """Whether this answer to a retry settles the outcome of earlier attempts. A refusal made before
    the server looks at idempotency keys does not."""
    return (
        isinstance(error, ApiError) and error.status < 500 and error.code not in _BEFORE_IDEMPOTENCY
    )
