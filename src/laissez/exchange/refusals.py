"""Refusals of the exchange: a reason, a subject and numbers. `laissez.wire.texts` writes the
sentence."""

from __future__ import annotations

from enum import StrEnum
from typing import Self, TypeAlias

import msgspec

from laissez.market.reasons import Reason


class Denial(StrEnum):
    """Reasons of the exchange, beside those of the market, each with its error code in the API (the
    market's reasons are codes themselves). `laissez.wire.texts` shows the subject and the numbers
    of each."""

    code: str

    def __new__(cls, reason: str, code: str) -> Self:
        self = str.__new__(cls, reason)
        self._value_, self.code = reason, code
        return self

    NO_BUDGET = "no_budget", "not_found"
    AMOUNT_OUT_OF_RANGE = "amount_out_of_range", "bad_request"
    BUDGET_BELOW_FEES = "budget_below_fees", "budget_spent"
    BUDGET_BLOCKS_ORDERS = "budget_blocks_orders", "budget_spent"
    BUDGET_BLOCKS_LIMITS = "budget_blocks_limits", "budget_spent"
    FEES_ABOVE_BUDGET = "fees_above_budget", "budget_spent"
    RATE_CAP = "rate_cap", "cap_exceeded"
    WORST_RATE_CAP = "worst_rate_cap", "cap_exceeded"
    OPEN_ORDERS_CAP = "open_orders_cap", "too_many_orders"
    SPENDING_CAP_INVALID = "spending_cap_invalid", "bad_request"
    CAP_INVALID = "cap_invalid", "bad_request"
    TENANT_NAME_INVALID = "tenant_name_invalid", "tenant_invalid"
    TENANT_EXISTS = "tenant_exists", "conflict"
    TENANT_UNKNOWN = "tenant_unknown", "not_found"
    KEY_SCOPES_INVALID = "key_scopes_invalid", "bad_request"
    KEY_NAME_INVALID = "key_name_invalid", "bad_request"
    TOO_MANY_KEYS = "too_many_keys", "too_many_keys"
    TOO_MANY_KEY_NAMES = "too_many_key_names", "too_many_keys"
    KEY_UNKNOWN = "key_unknown", "not_found"
    LAST_OPERATOR_KEY = "last_operator_key", "conflict"
    TOO_MANY_WEBHOOKS = "too_many_webhooks", "too_many_webhooks"
    WEBHOOK_UNKNOWN = "webhook_unknown", "not_found"
    WEBHOOK_SECRET_FRESH = "webhook_secret_fresh", "conflict"
    EVENT_NUMBER_INVALID = "event_number_invalid", "bad_request"
    CLOSING_TIME_INVALID = "closing_time_invalid", "books_closed"
    TENANT_TAG_TAKEN = "tenant_tag_taken", "tenant_invalid"


AnyReason: TypeAlias = Reason | Denial


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """A refused request changed nothing. The numbers of the market's refusals are the value found
    and the bound it violated."""

    reason: AnyReason
    subject: str = ""
    numbers: tuple[int | None, ...] = ()


class Refused(Exception):
    """Raised and caught inside the exchange, before anything is changed."""

    def __init__(self, reason: AnyReason, subject: str = "", *numbers: int | None) -> None:
        super().__init__(reason)
        self.refusal = Refusal(reason, subject, numbers)


# The journal stores these numbers: add new reasons at the end of either list.
REASONS: dict[int, AnyReason] = {
    **dict(enumerate(Reason)),
    **dict(enumerate(Denial, start=100)),
}
