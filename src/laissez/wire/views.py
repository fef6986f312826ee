"""What the API answers with: resources as they are now."""

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
    """An open order, with what is in force."""

    id: str
    placed_at: str
    alternatives: tuple[InForce, ...]
    tenant: str | None = None  # shown to the operator


class Lease(msgspec.Struct, frozen=True):
    """A lease that lasts.

    `rate` presses on the leaf, `charged` is what is billed now (less while a hold caps it), `cost`
    what it has cost so far, in dollars.
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
    """What became of a command about an order: `state` is open, filled or cancelled; if filled, the
    lease it won."""

    id: str
    state: str
    alternatives: tuple[InForce, ...]
    clipped: bool
    lease: str | None
    leaf: str | None
    rate: str | None
    events: tuple[Numbered, ...]


class LeaseDone(msgspec.Struct, frozen=True):
    """What became of a command about a lease: `state` is held or ended."""

    id: str
    state: str
    limit: str | None
    events: tuple[Numbered, ...]


class Done(msgspec.Struct, frozen=True):
    """What a command caused: the operator's for every tenant, a tenant's for itself."""

    events: tuple[Numbered, ...]


class BatchItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of one command of a batch: events, or the problem with it."""

    status: int
    events: tuple[Numbered, ...] = ()
    code: str | None = None
    detail: str | None = None


class BatchDone(msgspec.Struct, frozen=True):
    results: tuple[BatchItem, ...]


class Instance(msgspec.Struct, frozen=True):
    """An instance from request to end: pending (its order waits), running (it holds a leaf) or
    stopped.

    `scope` is where it was asked for while it is pending, and the leaf once it has run; `null` if
    it was stopped before.
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
    """The least price that wins a leaf of the scope now; `null` if no price does."""

    scope: str
    price: str | None
    at: str


class PriceSegment(msgspec.Struct, frozen=True, gc=False):
    """What a lease was charged from `start` until `end`; `rate` is null for the part before the
    pieces that are told."""

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
    """What is owed for `[since, until)`. `rate_now` is what all leases together are charged per
    hour now."""

    tenant: str
    since: str
    until: str
    lines: tuple[BillLine, ...]
    total: str
    rate_now: str


class Node(msgspec.Struct, frozen=True):
    """A node of the topology, as the operator sees it (a tenant sees names and counts alone)."""

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
    """Who the key belongs to and what it may do."""

    holder: str
    key: str
    scopes: tuple[str, ...]
    caps: Caps


class SignedIn(msgspec.Struct, frozen=True):
    """Who is signed in by the request's cookie; null if nobody is."""

    me: Me | None


class SignedOut(msgspec.Struct, frozen=True):
    """`ended` says whether there was a sign-in to end."""

    ended: bool


class Health(msgspec.Struct, frozen=True):
    status: str
    detail: str
