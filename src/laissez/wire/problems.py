"""What can go wrong, as `application/problem+json`: one stable code each, its HTTP status, and
whether to try again."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from laissez.market.reasons import Reason


class Code(StrEnum):
    """Why the service, not the market, turned a request away. A refusal of the market has its
    `Reason` as its code."""

    BAD_REQUEST = "bad_request"  # not readable as what was expected there
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"  # the key lacks the scope
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    NOT_ACCEPTABLE = "not_acceptable"
    REQUEST_TIMEOUT = "request_timeout"  # its head or body did not come in time
    CONFLICT = "conflict"  # it exists already, or is not as the request takes it to be
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"  # this key was used for another request
    BODY_TOO_LARGE = "body_too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    BUDGET_SPENT = "budget_spent"  # the tenant's own budget stands against it
    CAP_EXCEEDED = "cap_exceeded"  # it would come to more per hour than the tenant may spend
    TOO_MANY_KEYS = "too_many_keys"
    TOO_MANY_WEBHOOKS = "too_many_webhooks"
    URL_NOT_ALLOWED = "url_not_allowed"  # no webhook may be sent there
    TOO_MANY_SESSIONS = "too_many_sessions"
    RATE_LIMITED = "rate_limited"
    HISTORY_GONE = "history_gone"  # events older than what is kept were asked for
    PERIOD_INVALID = "period_invalid"
    OVERLOADED = "overloaded"  # try again in a moment: nothing was done
    STOPPING = "stopping"  # the server is being stopped: nothing was done
    # the disk failed: what was not acknowledged may or may not be kept
    JOURNAL_FAILED = "journal_failed"
    INTERNAL = "internal"  # a bug


STATUS: dict[str, int] = {
    Code.BAD_REQUEST: 400,
    Code.UNAUTHENTICATED: 401,
    Code.FORBIDDEN: 403,
    Code.NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.NOT_ACCEPTABLE: 406,
    Code.REQUEST_TIMEOUT: 408,
    Code.CONFLICT: 409,
    Code.IDEMPOTENCY_CONFLICT: 409,
    Code.BODY_TOO_LARGE: 413,
    Code.UNSUPPORTED_MEDIA_TYPE: 415,
    Code.BUDGET_SPENT: 402,
    Code.CAP_EXCEEDED: 402,
    Code.TOO_MANY_KEYS: 409,
    Code.TOO_MANY_WEBHOOKS: 409,
    Code.URL_NOT_ALLOWED: 422,
    Code.TOO_MANY_SESSIONS: 429,
    Code.RATE_LIMITED: 429,
    Code.HISTORY_GONE: 410,
    Code.PERIOD_INVALID: 422,
    Code.OVERLOADED: 503,
    Code.STOPPING: 503,
    Code.JOURNAL_FAILED: 503,
    Code.INTERNAL: 500,
    Reason.MALFORMED: 400,
    Reason.TIME_BACKWARDS: 409,
    Reason.TIME_OUT_OF_RANGE: 422,
    Reason.TENANT_INVALID: 422,
    Reason.NOT_YOUR_ORDER: 404,
    Reason.ALREADY_FILLED: 409,
    Reason.NOT_YOUR_LEASE: 404,
    Reason.ALTERNATIVES_COUNT: 422,
    Reason.SCOPE_UNKNOWN: 404,
    Reason.SCOPE_REPEATED: 422,
    Reason.NOT_A_LEAF: 422,
    Reason.PRICE_OUT_OF_RANGE: 422,
    Reason.LIMIT_BELOW_BID: 422,
    Reason.TOO_MANY_ORDERS: 409,
    Reason.TOO_MANY_TENANTS: 409,
    Reason.CONTROLS_INVALID: 422,
    Reason.ALREADY_OFFLINE: 409,
    Reason.ALREADY_ONLINE: 409,
    Reason.BOOKS_CLOSED: 409,
}

# Safe to send again as it is.
NOTHING_WAS_DONE = frozenset(
    {
        Code.REQUEST_TIMEOUT,
        Code.OVERLOADED,
        Code.STOPPING,
        Code.RATE_LIMITED,
        Code.TOO_MANY_SESSIONS,
    }
)


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of an error (RFC 9457). `code` is stable; `detail` says what was found and what was
    expected."""

    code: str
    detail: str
    status: int
    title: str = ""
    type: str = "about:blank"
    retry_after: float | None = None  # seconds


class ProblemError(Exception):
    """A request that cannot be served, on its way to becoming a `Problem`."""

    def __init__(self, code: str, detail: str, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.retry_after = retry_after

    @property
    def status(self) -> int:
        return STATUS[self.code]

    def problem(self) -> Problem:
        return Problem(
            self.code,
            self.detail,
            self.status,
            self.code.replace("_", " "),
            "about:blank",
            self.retry_after,
        )
