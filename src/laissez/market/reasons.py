"""The reasons for refusals, and for the end of a lease: two closed lists.

A refusal is a value, never an exception. It changes nothing.
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """The reason to refuse a command. `docs/reference/market.md` says what `subject`, `found` and
    `bound` hold for each."""

    MALFORMED = "malformed"
    TIME_BACKWARDS = "time_backwards"
    TIME_OUT_OF_RANGE = "time_out_of_range"
    TENANT_INVALID = "tenant_invalid"
    NOT_YOUR_ORDER = "not_your_order"
    ALREADY_FILLED = "already_filled"
    NOT_YOUR_LEASE = "not_your_lease"
    ALTERNATIVES_COUNT = "alternatives_count"
    SCOPE_UNKNOWN = "scope_unknown"
    SCOPE_REPEATED = "scope_repeated"
    NOT_A_LEAF = "not_a_leaf"
    PRICE_OUT_OF_RANGE = "price_out_of_range"
    LIMIT_BELOW_BID = "limit_below_bid"
    TOO_MANY_ORDERS = "too_many_orders"
    TOO_MANY_TENANTS = "too_many_tenants"
    CONTROLS_INVALID = "controls_invalid"
    ALREADY_OFFLINE = "already_offline"
    ALREADY_ONLINE = "already_online"
    BOOKS_CLOSED = "books_closed"


class EndReason(StrEnum):
    """The reason for the end of a lease (M13)."""

    RELINQUISHED = "relinquished"
    OUTBID = "outbid"
    FLOOR_RAISED = "floor_raised"
    TAKEN_OFFLINE = "taken_offline"
    BUDGET_SPENT = "budget_spent"
