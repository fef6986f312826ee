"""Requests: bodies of the REST API and, with `type` and `id`, messages of a session. Prices are
text. Without a bid, the limit is the bid too (M3)."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Alternative(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, omit_defaults=True
):
    """Any leaf below `scope`: bids `bid` now and follows up to `limit`, in dollars per hour."""

    scope: str
    limit: str
    bid: str | None = None


class BandSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """At most `fraction` (decimal text, "0.1" is ten percent) within `seconds`."""

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
    """`budget_spent`: the reason told is that the tenant's budget ran out."""

    lease: str
    budget_spent: bool = False


class SetFloor(_Message, frozen=True, tag="set_floor"):
    """`price: null` removes the floor."""

    node: str
    price: str | None


class SetControls(_Message, frozen=True, tag="set_controls"):
    """Replaces all controls set at the node; those left out are inherited from above."""

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
    """The first message of a session. `resume_after` is the last event number seen (the key must
    have the scope read); without it, events from now on are sent.

    `warn_within` is a fraction of a lease's limit: "0.1" warns when the rate is within ten percent
    of it. `key` is for callers that cannot set a header.
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
    """`count` instances of a `type` (a tree, such as "h100"), in a `scope` below it, or `near` one
    of your leases: below its ancestor at `level`, a level's name from the topology ("rack") or the
    number of steps up from the leaf. `max_price` is the most you will pay per hour for each.
    """

    count: int = 1
    type: str | None = None
    scope: str | None = None
    near: str | None = None
    level: str | int | None = None
    max_price: str


class Batch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Commands applied in this order; each succeeds or is refused by itself."""

    commands: tuple[TenantCommand | OperatorCommand, ...]


class Caps(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Per-tenant bounds; `null`: the server's default.

    `rate` and `worst_rate` are dollars per hour and have no default. They bound what the leases are
    charged, or could be at their limits, together with the limits of the open orders.
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


class IssueKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key for the tenant. Two keys of one `name` may be live, so that one can replace the other
    without a gap."""

    scopes: tuple[str, ...] = ("read", "trade")
    name: str = "default"


class SignIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`key` is a whole key: `lz_...`."""

    key: str

    def __repr__(self) -> str:
        return "SignIn(key=...)"  # a key is shown to nobody


class OrderBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body that places or amends an order."""

    alternatives: tuple[Alternative, ...]


class LimitBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`null` keeps the lease at any price."""

    limit: str | None


class FloorBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    price: str


class ControlsBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replaces all controls set at the node."""

    rise: BandSetting | None = None
    fall: BandSetting | None = None
    hold_s: float | None = None
    flash_s: float | None = None


class ResourceBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    online: bool


class CapsBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    caps: Caps
