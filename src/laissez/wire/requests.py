"""Requests of the API: bodies of REST requests, and messages of a session, which have `type` and
`id` too. Prices are text."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Alternative(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, omit_defaults=True
):
    """Any leaf below `scope`. `bid` is the price offered now and `limit` the most you will pay, in
    dollars per hour. In a request `bid` defaults to `limit`. In an answer it is always there, and
    lower than requested if a rise band clipped it."""

    scope: str
    limit: str
    bid: str | None = None


class BandSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prices change by at most `fraction` within `seconds`. `fraction` is decimal text: "0.1" is
    ten percent."""

    fraction: str
    seconds: float


class _Message(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    tag_field="type",
    kw_only=True,
    gc=False,
    omit_defaults=True,
):
    id: str = ""


class PlaceOrder(_Message, frozen=True, tag="place_order"):
    alternatives: tuple[Alternative, ...]


class AmendOrder(_Message, frozen=True, tag="amend_order"):
    order: str
    alternatives: tuple[Alternative, ...]


class CancelOrder(_Message, frozen=True, tag="cancel_order"):
    order: str


class SetLimit(_Message, frozen=True, tag="set_limit"):
    """`limit: null` keeps the lease at any price."""

    lease: str
    limit: str | None


class Relinquish(_Message, frozen=True, tag="relinquish"):
    """`budget_spent` reports the tenant's spent budget as the reason for giving up the lease."""

    lease: str
    budget_spent: bool = False


class SetFloor(_Message, frozen=True, tag="set_floor"):
    """`price: null` removes the floor."""

    node: str
    price: str | None


class SetControls(_Message, frozen=True, tag="set_controls"):
    """Replaces all controls set at the node. Omitted controls are inherited from the nearest
    ancestor that sets them."""

    node: str
    rise: BandSetting | None = None
    fall: BandSetting | None = None
    hold_s: float | None = None
    flash_s: float | None = None


class TakeOffline(_Message, frozen=True, tag="take_offline"):
    leaf: str


class BringOnline(_Message, frozen=True, tag="bring_online"):
    leaf: str


class AskQuote(_Message, frozen=True, tag="quote"):
    scope: str


class AskOrders(_Message, frozen=True, tag="orders"):
    pass


class AskLeases(_Message, frozen=True, tag="leases"):
    pass


class Ping(_Message, frozen=True, tag="ping"):
    pass


class Hello(_Message, frozen=True, tag="hello"):
    """The first message of a session.

    `resume_after` is the number of the last event you saw: the session sends all later events, if
    the key has the scope `read`. Without it, the session sends new events only. `warn_within` is a
    fraction of a lease's limit: "0.1" warns when the rate is within ten percent of it. `key` is for
    clients that cannot set a header.
    """

    resume_after: int | None = None
    cancel_on_disconnect: bool = False
    warn_within: str = "0.1"
    key: str | None = None


TenantCommand: TypeAlias = PlaceOrder | AmendOrder | CancelOrder | SetLimit | Relinquish
OperatorCommand: TypeAlias = SetFloor | SetControls | TakeOffline | BringOnline
Question: TypeAlias = AskQuote | AskOrders | AskLeases | Ping
SessionMessage: TypeAlias = TenantCommand | OperatorCommand | Question | Hello


class RunInstances(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Start `count` instances, and pay at most `max_price` per hour for each.

    Give a `type` (a tree, such as "h100"), a `scope` below it, or `near` and `level`. `near` is a
    lease of yours, and `level` the part of the cluster to share with it: the name of a level
    ("rack"), or the number of steps up from the leaf.
    """

    count: int = 1
    type: str | None = None
    scope: str | None = None
    near: str | None = None
    level: str | int | None = None
    max_price: str


class Batch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Commands to carry out in this order. Each succeeds or is refused by itself."""

    commands: tuple[TenantCommand | OperatorCommand, ...]


class Caps(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Limits on one tenant; `null` means the server's default.

    `rate` and `worst_rate` are in dollars per hour and have no default. `rate` bounds the present
    charges of the leases plus the limits of the open orders; `worst_rate` bounds the limits of
    both.
    """

    open_orders: int | None = None
    commands_per_second: int | None = None
    commands_burst: int | None = None
    sessions: int | None = None
    rate: str | None = None
    worst_rate: str | None = None


class CreateTenant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    caps: Caps = Caps()


class SetCaps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    caps: Caps


class IssueKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key for the tenant. Two keys of one `name` may be live at once, so that you can replace a
    key without downtime."""

    scopes: tuple[str, ...] = ("read", "trade")
    name: str = "default"


class SignIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`key` is a whole key: `lz_...`."""

    key: str

    def __repr__(self) -> str:
        return "SignIn(key=...)"  # keys must not reach logs
