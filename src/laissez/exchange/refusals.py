"""Refusals of the exchange: a reason, a subject and numbers. `laissez.wire.texts` writes the
sentence."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import msgspec

from laissez.market.reasons import Reason


class Denial(StrEnum):
    """Reasons of the exchange, beside those of the market. `laissez.wire.texts` shows the subject
    and the numbers of each."""

    NO_BUDGET = "no_budget"
    AMOUNT_OUT_OF_RANGE = "amount_out_of_range"
    BUDGET_BELOW_FEES = "budget_below_fees"
    BUDGET_BLOCKS_ORDERS = "budget_blocks_orders"
    BUDGET_BLOCKS_LIMITS = "budget_blocks_limits"
    FEES_ABOVE_BUDGET = "fees_above_budget"
    RATE_CAP = "rate_cap"
    WORST_RATE_CAP = "worst_rate_cap"
    OPEN_ORDERS_CAP = "open_orders_cap"
    SPENDING_CAP_INVALID = "spending_cap_invalid"
    CAP_INVALID = "cap_invalid"
    TENANT_NAME_INVALID = "tenant_name_invalid"
    TENANT_EXISTS = "tenant_exists"
    TENANT_UNKNOWN = "tenant_unknown"
    KEY_SCOPES_INVALID = "key_scopes_invalid"
    KEY_NAME_INVALID = "key_name_invalid"
    TOO_MANY_KEYS = "too_many_keys"
    TOO_MANY_KEY_NAMES = "too_many_key_names"
    KEY_UNKNOWN = "key_unknown"
    LAST_OPERATOR_KEY = "last_operator_key"
    TOO_MANY_WEBHOOKS = "too_many_webhooks"
    WEBHOOK_UNKNOWN = "webhook_unknown"
    WEBHOOK_SECRET_FRESH = "webhook_secret_fresh"  # noqa: S105 - the name of a reason
    EVENT_NUMBER_INVALID = "event_number_invalid"
    CLOSING_TIME_INVALID = "closing_time_invalid"
    TENANT_TAG_TAKEN = "tenant_tag_taken"


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
