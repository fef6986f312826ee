"""Responses of the API: the current state of resources, and the results of commands."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from laissez.wire.events import Band, Numbered
from laissez.wire.requests import Alternative, Caps

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A page of a list. Send `cursor` to get the next page."""

    data: tuple[T, ...]
    has_more: bool
    cursor: str | None


class Order(msgspec.Struct, frozen=True):
    """An open order, with its alternatives in force."""

    id: str
    placed_at: str
    alternatives: tuple[Alternative, ...]
    tenant: str | None = None  # for the operator only


class Lease(msgspec.Struct, frozen=True):
    """A running lease.

    `rate` is the price of the leaf. `charged` is the price billed now, which is lower while a
    minimum hold caps it. `cost` is the cost so far, in dollars.
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
    """The order after a command. `state` is open, filled or cancelled; a filled order has the
    `lease` it won."""

    id: str
    state: str
    alternatives: tuple[Alternative, ...]
    clipped: bool
    lease: str | None
    leaf: str | None
    rate: str | None
    events: tuple[Numbered, ...]


class LeaseDone(msgspec.Struct, frozen=True):
    """The lease after a command. `state` is held or ended."""

    id: str
    state: str
    limit: str | None
    events: tuple[Numbered, ...]


class Done(msgspec.Struct, frozen=True):
    """The events that a command caused: all of them for the operator, its own for a tenant."""

    events: tuple[Numbered, ...]


class BatchItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of one command in a batch: its events, or a problem."""

    status: int
    events: tuple[Numbered, ...] = ()
    code: str | None = None
    detail: str | None = None


class BatchDone(msgspec.Struct, frozen=True):
    results: tuple[BatchItem, ...]


class Instance(msgspec.Struct, frozen=True):
    """An instance. `state` is pending (its order waits), running (it holds a leaf) or stopped.

    `scope` is the requested scope of a pending instance, and the leaf of one that has run; `null`
    if it was stopped while pending.
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
    refused: tuple[str, ...]  # the reasons why the other instances were not ordered


class Quote(msgspec.Struct, frozen=True):
    """The lowest price that wins a leaf of the scope now; `null` if no price does."""

    scope: str
    price: str | None
    at: str


class PriceSegment(msgspec.Struct, frozen=True, gc=False):
    """The charge of a lease from `start` until `end`. `rate` is `null` in a segment that sums up
    everything before the detailed ones."""

    start: str
    end: str
    rate: str | None
    cost: str


class PriceHistory(msgspec.Struct, frozen=True):
    lease: str
    leaf: str
    segments: tuple[PriceSegment, ...]


class BillLine(msgspec.Struct, frozen=True, gc=False):
    """One charge within the bill's period. `kind` is lease, fee or carried. `cost` is in dollars,
    rounded down to a millionth."""

    kind: str
    id: str
    scope: str
    start: str
    end: str
    cost: str


class Bill(msgspec.Struct, frozen=True):
    """The charges for `[since, until)`. `rate_now` is the present hourly charge of all leases."""

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
    """A leaf, for the operator."""

    leaf: str
    online: bool
    owner: str | None
    rate: str
    limit: str | None
    floor: str


class Floor(msgspec.Struct, frozen=True):
    """`own` is the floor set at this node, `in_force` the highest on its path."""

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
    """`secret` is shown once, in the response that issues the key."""

    id: str
    holder: str
    name: str
    scopes: tuple[str, ...]
    issued_at: str
    revoked_at: str | None
    secret: str | None = None


class MarketSummary(msgspec.Struct, frozen=True):
    """Totals of the whole market."""

    at: str
    leaves: int
    online: int
    leased: int
    open_orders: int
    tenants: int
    revenue: str
    rate_now: str


class Me(msgspec.Struct, frozen=True):
    """The holder of the key, its scopes and its caps."""

    holder: str
    key: str
    scopes: tuple[str, ...]
    caps: Caps


class SignedIn(msgspec.Struct, frozen=True):
    """The holder that the request's cookie signs in; `null` without a valid cookie."""

    me: Me | None


class SignedOut(msgspec.Struct, frozen=True):
    """`ended` is false if there was no sign-in to end."""

    ended: bool


class Health(msgspec.Struct, frozen=True):
    status: str
    detail: str
