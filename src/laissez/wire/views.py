"""Answers of the API: resources as they are now."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from laissez.wire.events import Band, InForce, Numbered
from laissez.wire.requests import Caps

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True):
    """Part of a list; `cursor` asks for the next part."""

    data: tuple[T, ...]
    has_more: bool
    cursor: str | None


class Order(msgspec.Struct, frozen=True):
    """An open order."""

    id: str
    placed_at: str
    alternatives: tuple[InForce, ...]
    tenant: str | None = None  # shown to the operator


class Lease(msgspec.Struct, frozen=True):
    """A current lease. `rate` is the leaf's, `charged` what is billed now (less while a hold caps
    it), `cost` the dollars so far.
    """

    id: str
    leaf: str
    order: str
    started_at: str
    rate: str
    charged: str
    limit: str | None
    hold_until: str | None
    cost: str
    tenant: str | None = None


class OrderDone(msgspec.Struct, frozen=True):
    """The outcome of a command about an order. `state` is open, filled or cancelled; `lease` is the
    one it won."""

    id: str
    state: str
    alternatives: tuple[InForce, ...]
    clipped: bool
    lease: str | None
    leaf: str | None
    rate: str | None
    events: tuple[Numbered, ...]


class LeaseDone(msgspec.Struct, frozen=True):
    """The outcome of a command about a lease. `state` is held or ended."""

    id: str
    state: str
    limit: str | None
    events: tuple[Numbered, ...]


class Done(msgspec.Struct, frozen=True):
    """The events of a command: all of them for the operator, a tenant's own for a tenant."""

    events: tuple[Numbered, ...]


class BatchItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of one command of a batch: events or a problem."""

    status: int
    events: tuple[Numbered, ...] = ()
    code: str | None = None
    detail: str | None = None


class BatchDone(msgspec.Struct, frozen=True):
    results: tuple[BatchItem, ...]


class Instance(msgspec.Struct, frozen=True):
    """An instance: pending (its order is open), running (it holds a leaf) or stopped. `scope` is
    the one asked for while it is pending, then the leaf; `null` if it never ran.
    """

    id: str
    state: str
    scope: str | None
    leaf: str | None
    lease: str | None
    rate: str | None
    max_price: str | None
    since: str
    tenant: str | None = None


class InstancesDone(msgspec.Struct, frozen=True):
    instances: tuple[Instance, ...]
    refused: tuple[str, ...]  # why the others were not asked for


class Quote(msgspec.Struct, frozen=True):
    """The lowest price that wins a leaf of the scope now; `null`: none does."""

    scope: str
    price: str | None
    at: str


class PriceSegment(msgspec.Struct, frozen=True, gc=False):
    """The charge of a lease from `start` until `end`; `rate` is null for the sum of all older
    segments."""

    start: str
    end: str
    rate: str | None
    cost: str


class PriceHistory(msgspec.Struct, frozen=True):
    lease: str
    leaf: str
    segments: tuple[PriceSegment, ...]


class BillLine(msgspec.Struct, frozen=True, gc=False):
    """`kind` is lease, fee or carried; `start` and `end` bound the charge within the bill's period.
    `cost` is in dollars, rounded down to a millionth.
    """

    kind: str
    id: str
    scope: str
    start: str
    end: str
    cost: str


class Bill(msgspec.Struct, frozen=True):
    """The dollars owed for `[since, until)`. `rate_now` is the sum of all current charges per
    hour."""

    tenant: str
    since: str
    until: str
    lines: tuple[BillLine, ...]
    total: str
    rate_now: str


class Node(msgspec.Struct, frozen=True):
    """A node of the topology."""

    path: str
    level: str | None
    leaves: int
    children: tuple[str, ...]


class Resource(msgspec.Struct, frozen=True):
    """A leaf as the operator sees it."""

    leaf: str
    online: bool
    owner: str | None
    rate: str
    floor: str
    limit: str | None


class Floor(msgspec.Struct, frozen=True):
    """`own` is set at this node, `in_force` the highest on its path."""

    node: str
    own: str | None
    in_force: str


class Controls(msgspec.Struct, frozen=True):
    node: str
    rise: Band | None
    fall: Band | None
    hold_s: float | None
    flash_s: float | None


class Tenant(msgspec.Struct, frozen=True):
    name: str
    created_at: str
    caps: Caps
    open_orders: int
    leases: int
    keys: int


class Key(msgspec.Struct, frozen=True):
    """`secret` is shown once, in the answer that issues the key, and never again."""

    id: str
    holder: str
    name: str
    scopes: tuple[str, ...]
    issued_at: str
    revoked_at: str | None
    secret: str | None = None


class MarketSummary(msgspec.Struct, frozen=True):
    """The whole market in figures."""

    at: str
    leaves: int
    online: int
    leased: int
    open_orders: int
    tenants: int
    revenue: str
    rate_now: str


class Me(msgspec.Struct, frozen=True):
    """The holder of the key and what the key may do."""

    holder: str
    key: str
    scopes: tuple[str, ...]
    caps: Caps


class SignedIn(msgspec.Struct, frozen=True):
    """The holder signed in by the request's cookie; null: nobody."""

    me: Me | None


class SignedOut(msgspec.Struct, frozen=True):
    """`ended`: there was a sign-in to end."""

    ended: bool


class Health(msgspec.Struct, frozen=True):
    status: str
    detail: str
