"""Errors as `application/problem+json`: stable codes, their HTTP status, and which are safe to
retry."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

import msgspec

from laissez.market.reasons import Reason


class Code(StrEnum):
    """The error codes of the service, each with its HTTP status. The market's refusals use their
    `Reason` as code."""

    status: int

    def __new__(cls, code: str, status: int) -> Self:
        self = str.__new__(cls, code)
        self._value_, self.status = code, status
        return self

    BAD_REQUEST = "bad_request", 400  # malformed
    UNAUTHENTICATED = "unauthenticated", 401
    FORBIDDEN = "forbidden", 403  # the key lacks the scope
    NOT_FOUND = "not_found", 404
    METHOD_NOT_ALLOWED = "method_not_allowed", 405
    NOT_ACCEPTABLE = "not_acceptable", 406
    REQUEST_TIMEOUT = "request_timeout", 408  # head or body did not arrive in time
    CONFLICT = "conflict", 409  # exists already, or is not in the state that the request needs
    IDEMPOTENCY_CONFLICT = "idempotency_conflict", 409  # the key was used for another request
    BODY_TOO_LARGE = "body_too_large", 413
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type", 415
    BUDGET_SPENT = "budget_spent", 402  # the tenant's own budget forbids it
    CAP_EXCEEDED = "cap_exceeded", 402  # more per hour than the tenant may spend
    TOO_MANY_KEYS = "too_many_keys", 409
    TOO_MANY_WEBHOOKS = "too_many_webhooks", 409
    URL_NOT_ALLOWED = "url_not_allowed", 422  # webhooks may not be sent there
    TOO_MANY_SESSIONS = "too_many_sessions", 429
    RATE_LIMITED = "rate_limited", 429
    HISTORY_GONE = "history_gone", 410  # the events are older than the history that is kept
    PERIOD_INVALID = "period_invalid", 422
    OVERLOADED = "overloaded", 503  # nothing was done: try again in a moment
    STOPPING = "stopping", 503  # the server is stopping, nothing was done
    # the disk failed: unacknowledged commands may or may not be kept
    JOURNAL_FAILED = "journal_failed", 503
    INTERNAL = "internal", 500  # a bug


STATUS: dict[str, int] = {
    **{code: code.status for code in Code},
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

# Safe to retry unchanged.
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
    """The body of an error (RFC 9457). `code` is stable; `detail` explains the error in English."""

    code: str
    detail: str
    status: int
    title: str = ""
    type: str = "about:blank"
    retry_after: float | None = None  # seconds


class ProblemError(Exception):
    """Refuses a request with a `Problem`."""

    def __init__(self, code: str, detail: str, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.retry_after = retry_after

    @property
    def status(self) -> int:
        return STATUS[self.code]

    def problem(self) -> Problem:
        title = self.code.replace("_", " ")
        return Problem(self.code, self.detail, self.status, title, retry_after=self.retry_after)
