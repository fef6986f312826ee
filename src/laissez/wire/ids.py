"""Ids that tell a tenant nothing about anyone else.

The market counts orders and leases over all tenants; shown to one of them, such a count would tell
how busy the others are. So every tenant's orders and leases are counted apart, and a tag made from
its name keeps the ids of two tenants apart: one that belongs to somebody else looks, and answers,
exactly like one that never existed.
"""

from __future__ import annotations

import base64
import hashlib

ORDER = "ord_"
LEASE = "lse_"
# an instance is known by its order from the request to the end; the two ids differ only in the
# prefix
INSTANCE = "ins_"
KEY = "key_"
WEBHOOK = "whk_"


def tag_of(tenant: str) -> str:
    """Eight letters and digits; the same for the same name, always."""
    return (
        base64.b32encode(hashlib.blake2b(tenant.encode(), digest_size=5).digest()).decode().lower()
    )


def order_id(tag: str, number: int) -> str:
    return f"ord_{tag}{number}"


def lease_id(tag: str, number: int) -> str:
    return f"lse_{tag}{number}"


def webhook_id(tag: str, number: int) -> str:
    return f"whk_{tag}{number}"


def instance_of_order(order: str) -> str:
    return INSTANCE + order.removeprefix(ORDER)


def order_of_instance(instance: str) -> str:
    """The order behind an instance; a text that is no instance's id is returned as it is, and will
    not be found."""
    return ORDER + instance.removeprefix(INSTANCE) if instance.startswith(INSTANCE) else instance
