"""Ids that reveal nothing about other tenants.

Each tenant's orders and leases have their own numbers, so a number does not show how busy the
market is. A tag made from the tenant's name keeps the ids of tenants apart. Another tenant's id
must look, and answer, exactly like an id that never existed.
"""

from __future__ import annotations

from typing import Final

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

ORDER: Final = "ord_"
LEASE: Final = "lse_"
# An instance keeps the id of its order, with another prefix.
INSTANCE: Final = "ins_"
KEY: Final = "key_"
WEBHOOK: Final = "whk_"
DIGITS_MAX: Final = 18  # more do not fit 64 bits


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
    start = prefix + tag
    if not id.startswith(start):
        return None
    digits = id[len(start) :]
    # Numbers have no leading zeros: each has one id only.
    is_number = digits.isdecimal() and digits.isascii() and digits[0] != "0"
    return int(digits) if is_number and len(digits) <= DIGITS_MAX else None


def instance_of_order(order: str) -> str:
    return INSTANCE + order.removeprefix(ORDER)
