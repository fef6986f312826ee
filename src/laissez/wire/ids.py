"""Ids that reveal nothing about other tenants.

Each tenant's orders and leases have their own numbers, so a number does not show how busy the
market is. A tag made from the tenant's name keeps the ids of tenants apart. Another tenant's id
must look, and answer, exactly like an id that never existed.
"""

from __future__ import annotations

from laissez.exchange.names import tag_of
from laissez.exchange.webhooks import WebhookRecord

__all__ = [
    "INSTANCE",
    "KEY",
    "LEASE",
    "ORDER",
    "WEBHOOK",
    "instance_of_order",
    "lease_id",
    "number_of",
    "order_id",
    "tag_of",
    "webhook_id",
    "webhook_name",
]

ORDER = "ord_"
LEASE = "lse_"
# An instance keeps the id of its order, with another prefix.
INSTANCE = "ins_"
KEY = "key_"
WEBHOOK = "whk_"
DIGITS_MAX = 18  # more do not fit 64 bits


def order_id(tag: str, number: int) -> str:
    return f"ord_{tag}{number}"


def lease_id(tag: str, number: int) -> str:
    return f"lse_{tag}{number}"


def webhook_id(tag: str, number: int) -> str:
    return f"whk_{tag}{number}"


def webhook_name(record: WebhookRecord) -> str:
    return webhook_id(tag_of(record.holder), record.number)


def number_of(prefix: str, tag: str, id: str) -> int | None:
    """The number in an id of this holder; None if it is another holder's, or not an id at all."""
    digits = id[len(prefix) + len(tag) :]
    if not id.startswith(prefix + tag) or not 1 <= len(digits) <= DIGITS_MAX:
        return None
    if not digits.isdecimal() or not digits.isascii() or digits[0] == "0":
        return None
    return int(digits)


def instance_of_order(order: str) -> str:
    return INSTANCE + order.removeprefix(ORDER)
