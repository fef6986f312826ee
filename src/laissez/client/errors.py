"""What can go wrong for a caller, told apart by what to do next.

`ApiError` is an answer: nothing was changed, and its class says why. `ConnectionFailed` means that
nothing was changed because nobody was reached. `OutcomeUnknown` is neither: the request was sent
and no answer came, so it may or may not have been carried out; sending it again with the same key
settles which. No message ever holds an access key.
"""

from __future__ import annotations

from typing import Final

from laissez.wire.problems import Code
from laissez.wire.session import Refused as RefusedMessage


class LaissezError(Exception):
    """Base of everything this package raises on purpose."""


class UsageError(LaissezError, ValueError):
    """The call cannot be made as asked; nothing was sent."""


class ConnectionFailed(LaissezError):
    """The server could not be reached, or a question was not answered. Nothing was changed."""


class OutcomeUnknown(LaissezError):
    """The request was sent and no answer came. Send it again with `idempotency_key` to learn what
    became of it; it is carried out at most once."""

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
    """The server answered with something this client cannot read: a server of another kind or
    version, or a proxy's page."""


class SessionFull(LaissezError):
    """More commands wait for an answer than the session may hold; `await session.room()` first.
    Nothing was sent."""


class SessionClosed(LaissezError):
    """The session was closed by its owner. Nothing was sent."""


class EventsMissed(LaissezError):
    """Events after number `after` did not reach this reader; read them with
    `Client.events(after=...)`. Later events follow."""

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
    """The server said no. `code` is stable, `detail` is for people; `retry_after` is in seconds,
    where the server names one."""

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
    """No such thing, or none that this key may see."""


class Conflict(ApiError):
    """It is not as the request takes it to be: filled already, there already, or the idempotency
    key was used for something else."""


class Refused(ApiError):
    """The request breaks a rule, of the market or of the API."""


class HistoryGone(ApiError):
    """Events that old are no longer kept."""


class Unauthenticated(ApiError):
    """No key, or one that is unknown or revoked."""


class Forbidden(ApiError):
    """The key lacks the scope."""


class RateLimited(ApiError):
    """Too much at once. Nothing was done."""


class Unavailable(ApiError):
    """The server cannot serve now."""


_BY_STATUS: Final[dict[int, type[ApiError]]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: HistoryGone,
    429: RateLimited,
}


def api_error(code: str, detail: str, status: int, retry_after: float | None = None) -> ApiError:
    """The error of the class that fits the status."""
    otherwise = Refused if 400 <= status < 500 else Unavailable if status >= 500 else ApiError
    return _BY_STATUS.get(status, otherwise)(code, detail, status, retry_after)


def refusal(message: RefusedMessage) -> ApiError:
    """The same, from a message of a session."""
    return api_error(message.code, message.detail, message.status, message.retry_after)


def is_passing(error: LaissezError) -> bool:
    """Whether the same request may well succeed a moment later."""
    if isinstance(error, ApiError):
        return error.status in (429, 502, 503, 504)
    return isinstance(error, ConnectionFailed)


def settles(error: LaissezError) -> bool:
    """Whether this answer to a repeated request tells what became of the first: it came from where
    idempotency keys are known, not from before."""
    return isinstance(error, ApiError) and error.status < 500 and error.code not in _BEFORE_THE_KEY


_BEFORE_THE_KEY: Final = frozenset(
    {Code.UNAUTHENTICATED, Code.FORBIDDEN, Code.RATE_LIMITED, Code.TOO_MANY_SESSIONS}
)
