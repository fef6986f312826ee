"""Every request of the REST API as a value: what to send, and how to read what comes back. Nothing
here sends anything."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from laissez.client.call import Call, change, get, get_list, given, name_part, node_part, reader
from laissez.client.errors import UsageError
from laissez.client.prices import Price, price_or_none, price_text
from laissez.wire import views
from laissez.wire.books import Levels, NodeBook, RateHistory
from laissez.wire.events import Numbered
from laissez.wire.figures import (
    Budget,
    BudgetBody,
    MarketHistory,
    OwnCaps,
    Preview,
    PreviewDone,
    Spending,
    SpendingCaps,
)
from laissez.wire.inframaps import InfraMaps, InfraMapsReport
from laissez.wire.limits import CLIENT_ID_MAX, PAGE_MAX
from laissez.wire.requests import (
    Alternative,
    BandSetting,
    Batch,
    Caps,
    CapsBody,
    ControlsBody,
    CreateTenant,
    FloorBody,
    IssueKey,
    LimitBody,
    OperatorCommand,
    OrderBody,
    ResourceBody,
    RunInstances,
    TenantCommand,
)

T = TypeVar("T")
Time: TypeAlias = str | datetime
_ID: Final = re.compile(rf"[!-~]{{1,{CLIENT_ID_MAX}}}")
_JSON: Final = "application/json"


def me() -> Call[views.Me]:
    """Who the key belongs to and what it may do."""
    return get("/v1/me", views.Me)


def run(
    type: str | None = None,
    *,
    max_price: Price,
    count: int = 1,
    scope: str | None = None,
    near: str | None = None,
    level: str | int | None = None,
    idempotency_key: str | None = None,
) -> Call[views.InstancesDone]:
    """Ask for `count` instances of a `type`, of a `scope`, or `near` a lease of yours, at no more
    than `max_price` an hour each."""
    body = RunInstances(
        count=count, type=type, scope=scope, near=near, level=level, max_price=price_text(max_price)
    )
    return change("POST", "/v1/instances", views.InstancesDone, body, idempotency_key)


def instances() -> Call[views.Page[views.Instance]]:
    return get_list("/v1/instances", views.Instance)


def instance(id: str) -> Call[views.Instance]:
    return get(f"/v1/instances/{name_part(id)}", views.Instance)


def stop(id: str, *, idempotency_key: str | None = None) -> Call[views.Instance]:
    """Stop an instance: its order is cancelled, or its lease relinquished."""
    return change("DELETE", f"/v1/instances/{name_part(id)}", views.Instance, None, idempotency_key)


def place(*alternatives: Alternative, idempotency_key: str | None = None) -> Call[views.OrderDone]:
    """Place an order for one leaf that fits any of the alternatives."""
    return change("POST", "/v1/orders", views.OrderDone, OrderBody(alternatives), idempotency_key)


def amend(
    id: str, *alternatives: Alternative, idempotency_key: str | None = None
) -> Call[views.OrderDone]:
    """Replace the alternatives of an open order."""
    return change(
        "PUT",
        f"/v1/orders/{name_part(id)}",
        views.OrderDone,
        OrderBody(alternatives),
        idempotency_key,
    )


def cancel(id: str, *, idempotency_key: str | None = None) -> Call[views.OrderDone]:
    return change("DELETE", f"/v1/orders/{name_part(id)}", views.OrderDone, None, idempotency_key)


def orders(*, tenant: str | None = None) -> Call[views.Page[views.Order]]:
    """The open orders. The operator sees all of them, or those of one tenant."""
    return get_list("/v1/orders", views.Order, tenant=tenant)


def order(id: str) -> Call[views.Order]:
    return get(f"/v1/orders/{name_part(id)}", views.Order)


def batch(
    commands: Iterable[TenantCommand | OperatorCommand], *, idempotency_key: str | None = None
) -> Call[views.BatchDone]:
    """Carry out commands in this order; each succeeds or is refused by itself."""
    return change("POST", "/v1/batch", views.BatchDone, Batch(tuple(commands)), idempotency_key)


def leases(*, tenant: str | None = None) -> Call[views.Page[views.Lease]]:
    return get_list("/v1/leases", views.Lease, tenant=tenant)


def lease(id: str) -> Call[views.Lease]:
    return get(f"/v1/leases/{name_part(id)}", views.Lease)


def set_limit(
    id: str, limit: Price | None, *, idempotency_key: str | None = None
) -> Call[views.LeaseDone]:
    """The most a lease may cost per hour before it is given up; `None` keeps it whatever the
    price."""
    return change(
        "PATCH",
        f"/v1/leases/{name_part(id)}",
        views.LeaseDone,
        LimitBody(price_or_none(limit)),
        idempotency_key,
    )


def relinquish(id: str, *, idempotency_key: str | None = None) -> Call[views.LeaseDone]:
    """Give a lease back."""
    return change("DELETE", f"/v1/leases/{name_part(id)}", views.LeaseDone, None, idempotency_key)


def price_history(id: str) -> Call[views.PriceHistory]:
    """What a lease was charged, piece by piece."""
    return get(f"/v1/leases/{name_part(id)}/prices", views.PriceHistory)


def quote(scope: str) -> Call[views.Quote]:
    """The least price that wins a leaf of the scope now."""
    return get("/v1/prices", views.Quote, scope=scope)


def quotes() -> Call[views.Page[views.Quote]]:
    """A quote for every node that this key may see prices of."""
    return get_list("/v1/prices", views.Quote)


def bill(
    since: Time | None = None, until: Time | None = None, tenant: str | None = None
) -> Call[views.Bill]:
    """What is owed for `[since, until)`; by default for everything until now. `tenant` is for the
    operator."""
    return get("/v1/bills", views.Bill, since=_time(since), until=_time(until), tenant=tenant)


def bills(since: Time | None = None, until: Time | None = None) -> Call[views.Page[views.Bill]]:
    """What every tenant owes, for the operator."""
    return get_list("/v1/bills", views.Bill, since=_time(since), until=_time(until))


def bill_csv(
    format: Literal["csv", "focus"] = "csv",
    since: Time | None = None,
    until: Time | None = None,
    tenant: str | None = None,
) -> Call[str]:
    """The bill as a CSV file, plain or with the columns of FOCUS."""
    params = given(format=format, since=_time(since), until=_time(until), tenant=tenant)
    return Call("GET", "/v1/bills", bytes.decode, params, accept="text/csv")


def budget(tenant: str | None = None) -> Call[Budget]:
    """The budget and how far it got. `tenant` is for the operator."""
    return get("/v1/budget", Budget, tenant=tenant)


def set_budget(
    amount: Price, action: str = "warn", keep: bool = False, *, idempotency_key: str | None = None
) -> Call[Budget]:
    """Dollars to be spent, and what happens then: `warn`, `no_new_orders`, `limits_to_floor` or
    `relinquish`.

    They are counted from now on; with `keep` from when the budget before was set, if there is one.
    """
    return change(
        "PUT", "/v1/budget", Budget, BudgetBody(price_text(amount), action, keep), idempotency_key
    )


def remove_budget(*, idempotency_key: str | None = None) -> Call[views.Done]:
    return change("DELETE", "/v1/budget", views.Done, None, idempotency_key)


def own_caps(tenant: str | None = None) -> Call[SpendingCaps]:
    """What may be spent per hour at most. `tenant` is for the operator."""
    return get("/v1/caps", SpendingCaps, tenant=tenant)


def set_own_caps(
    rate: Price | None = None,
    worst_rate: Price | None = None,
    *,
    idempotency_key: str | None = None,
) -> Call[SpendingCaps]:
    """Caps of one's own in dollars per hour, in place of those before; None: none."""
    wanted = OwnCaps(
        None if rate is None else price_text(rate),
        None if worst_rate is None else price_text(worst_rate),
    )
    return change("PUT", "/v1/caps", SpendingCaps, wanted, idempotency_key)


def spending() -> Call[views.Page[Spending]]:
    """What every tenant owes, is charged now and means to spend, for the operator."""
    return get_list("/v1/spending", Spending)


def events(
    after: int | None = None, limit: int | None = None, *, tenant: str | None = None
) -> Call[views.Page[Numbered]]:
    """The events after number `after`, at most `limit` of them; without either, all that are
    kept."""
    call = get_list("/v1/events", Numbered, after=after, tenant=tenant)
    page = PAGE_MAX if limit is None else max(1, min(limit, PAGE_MAX))
    return replace(call, params={**call.params, "limit": str(page)}, items_max=limit)


def topology(node: str | None = None) -> Call[views.Page[views.Node]]:
    """The roots, or a node followed by its children."""
    return get_list("/v1/topology", views.Node, node=node)


def market() -> Call[views.MarketSummary]:
    return get("/v1/market", views.MarketSummary)


def market_history() -> Call[MarketHistory]:
    """The market in figures, for the last two hours."""
    return get("/v1/market/history", MarketHistory)


def preview(commands: Iterable[OperatorCommand]) -> Call[PreviewDone]:
    """What commands of the operator would do if they were carried out now, in this order. It
    changes nothing, so it has no idempotency key."""
    return Call(
        "POST",
        "/v1/preview",
        reader(PreviewDone),
        body=msgspec.json.encode(Preview(tuple(commands))),
    )


def resources(under: str | None = None) -> Call[views.Page[views.Resource]]:
    """Every leaf, or those below a node, as the operator sees them."""
    return get_list("/v1/resources", views.Resource, under=under)


def set_online(leaf: str, online: bool, *, idempotency_key: str | None = None) -> Call[views.Done]:
    """Take a leaf offline, or bring it back."""
    return change(
        "PATCH",
        f"/v1/resources/{node_part(leaf)}",
        views.Done,
        ResourceBody(online),
        idempotency_key,
    )


def levels() -> Call[Levels]:
    """Owner, rate, limit and floor of every leaf, in columns, for the operator."""
    return get("/v1/levels", Levels)


def book(node: str) -> Call[NodeBook]:
    """What rests around a node and what could be had below it, for the operator."""
    return get(f"/v1/books/{node_part(node)}", NodeBook)


def rates(node: str, since: Time | None = None) -> Call[RateHistory]:
    """What the highest floor or bid on the path of a node was, since then or for an hour, for the
    operator."""
    return get(f"/v1/rates/{node_part(node)}", RateHistory, since=_time(since))


def floors() -> Call[views.Page[views.Floor]]:
    return get_list("/v1/floors", views.Floor)


def set_floor(node: str, price: Price, *, idempotency_key: str | None = None) -> Call[views.Done]:
    return change(
        "PUT",
        f"/v1/floors/{node_part(node)}",
        views.Done,
        FloorBody(price_text(price)),
        idempotency_key,
    )


def remove_floor(node: str, *, idempotency_key: str | None = None) -> Call[views.Done]:
    return change("DELETE", f"/v1/floors/{node_part(node)}", views.Done, None, idempotency_key)


def controls() -> Call[views.Page[views.Controls]]:
    return get_list("/v1/controls", views.Controls)


def set_controls(
    node: str,
    *,
    rise: BandSetting | None = None,
    fall: BandSetting | None = None,
    hold_s: float | None = None,
    flash_s: float | None = None,
    idempotency_key: str | None = None,
) -> Call[views.Done]:
    """Replace all controls set at the node; what is left out is left to the nearest ancestor that
    sets it."""
    return change(
        "PUT",
        f"/v1/controls/{node_part(node)}",
        views.Done,
        ControlsBody(rise, fall, hold_s, flash_s),
        idempotency_key,
    )


def remove_controls(node: str, *, idempotency_key: str | None = None) -> Call[views.Done]:
    return change("DELETE", f"/v1/controls/{node_part(node)}", views.Done, None, idempotency_key)


def report_inframaps(runner: str, report: InfraMapsReport) -> Call[views.Done]:
    """Show what an operator's maps read and decided, in place of the report before. It has no
    idempotency key: only the last one counts."""
    return Call(
        "PUT",
        f"/v1/inframaps/{name_part(runner)}",
        reader(views.Done),
        body=msgspec.json.encode(report),
    )


def inframaps(since: Time | None = None) -> Call[InfraMaps]:
    """What operators' maps read and how hard they press, with their history after `since` (`at` of
    an earlier answer), or all of it."""
    return get("/v1/inframaps", InfraMaps, since=_time(since))


def tenants() -> Call[views.Page[views.Tenant]]:
    return get_list("/v1/tenants", views.Tenant)


def tenant(name: str) -> Call[views.Tenant]:
    return get(f"/v1/tenants/{name_part(name)}", views.Tenant)


def create_tenant(
    name: str, caps: Caps | None = None, *, idempotency_key: str | None = None
) -> Call[views.Tenant]:
    return change(
        "POST", "/v1/tenants", views.Tenant, CreateTenant(name, caps or Caps()), idempotency_key
    )


def set_caps(name: str, caps: Caps, *, idempotency_key: str | None = None) -> Call[views.Tenant]:
    return change(
        "PATCH", f"/v1/tenants/{name_part(name)}", views.Tenant, CapsBody(caps), idempotency_key
    )


def keys(tenant: str | None = None) -> Call[views.Page[views.Key]]:
    """The keys of a tenant, or the operator's own."""
    return get_list(_keys_of(tenant), views.Key)


def issue_key(
    tenant: str | None = None,
    *,
    scopes: Iterable[str] | None = None,
    name: str = "default",
    idempotency_key: str | None = None,
) -> Call[views.Key]:
    """A new key for a tenant, or for the operator. By default it may do all that its holder may.

    Its `secret` is in the first answer alone: if that was lost on its way, or with the
    `idempotency_key` of an earlier call, it is None."""
    if scopes is None:
        scopes = ("read", "operate") if tenant is None else ("read", "trade")
    return change(
        "POST", _keys_of(tenant), views.Key, IssueKey(tuple(scopes), name), idempotency_key
    )


def revoke_key(id: str, *, idempotency_key: str | None = None) -> Call[views.Key]:
    return change("DELETE", f"/v1/keys/{name_part(id)}", views.Key, None, idempotency_key)


def health() -> Call[views.Health]:
    """Whether the process is alive."""
    return replace(get("/healthz", views.Health), answers=_NOT_READY)


def ready() -> Call[views.Health]:
    """Whether it can serve now. Not being ready is an answer, not an error."""
    return replace(get("/readyz", views.Health), answers=_NOT_READY)


_NOT_READY: Final = frozenset({503})


def _keys_of(tenant: str | None) -> str:
    return "/v1/keys" if tenant is None else f"/v1/tenants/{name_part(tenant)}/keys"


def _time(time: Time | None) -> str | None:
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is None:
        raise UsageError(
            f"expected a time with a time zone, found {time.isoformat()}; add tzinfo=timezone.utc"
        )
    return time.isoformat()
