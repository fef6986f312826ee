"""Every request of the REST API as a value: what to send, and how to read what comes back. Nothing here sends anything.

Whatever changes something gets an idempotency key here, once, so that every attempt to send it carries the same one.
"""

from __future__ import annotations

import functools
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal, TypeAlias, TypeVar
from urllib.parse import quote as percent_encoded

import msgspec

from laissez.client.asking import Asked
from laissez.client.errors import UsageError
from laissez.client.prices import Price, price_or_none, price_text
from laissez.wire import views
from laissez.wire.books import Levels, NodeBook, RateHistory
from laissez.wire.events import Numbered
from laissez.wire.figures import Budget, BudgetBody, MarketHistory, OwnCaps, Preview, PreviewDone, Spending, SpendingCaps
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


@dataclass(frozen=True, slots=True)
class Call(Asked[T]):
    """One request. `idempotency_key` is set for whatever changes something; `answers` are statuses beyond 2xx that are answers all the same."""

    method: str
    path: str
    read: Callable[[bytes], T]
    params: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    idempotency_key: str | None = None
    accept: str = _JSON
    answers: frozenset[int] = frozenset()
    items_max: int | None = None  # of a list: how many are wanted in all

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Accept": self.accept}
        if self.body is not None:
            headers["Content-Type"] = _JSON
        if self.idempotency_key is not None:
            headers["Idempotency-Key"] = self.idempotency_key
        return headers

    def next_page(self, cursor: str | None) -> Call[T]:
        return replace(self, params={**self.params, "cursor": cursor or ""})


def me() -> Call[views.Me]:
    """Who the key belongs to and what it may do."""
    return _ask("/v1/me", views.Me)


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
    """Ask for `count` instances of a `type`, of a `scope`, or `near` a lease of yours, at no more than `max_price` an hour each."""
    body = RunInstances(count=count, type=type, scope=scope, near=near, level=level, max_price=price_text(max_price))
    return _change("POST", "/v1/instances", views.InstancesDone, body, idempotency_key)


def instances() -> Call[views.Page[views.Instance]]:
    return _list("/v1/instances", views.Instance)


def instance(id: str) -> Call[views.Instance]:
    return _ask(f"/v1/instances/{_name(id)}", views.Instance)


def stop(id: str, *, idempotency_key: str | None = None) -> Call[views.Instance]:
    """Stop an instance: its order is cancelled, or its lease relinquished."""
    return _change("DELETE", f"/v1/instances/{_name(id)}", views.Instance, None, idempotency_key)


def place(*alternatives: Alternative, idempotency_key: str | None = None) -> Call[views.OrderDone]:
    """Place an order for one leaf that fits any of the alternatives."""
    return _change("POST", "/v1/orders", views.OrderDone, OrderBody(alternatives), idempotency_key)


def amend(id: str, *alternatives: Alternative, idempotency_key: str | None = None) -> Call[views.OrderDone]:
    """Replace the alternatives of an open order."""
    return _change("PUT", f"/v1/orders/{_name(id)}", views.OrderDone, OrderBody(alternatives), idempotency_key)


def cancel(id: str, *, idempotency_key: str | None = None) -> Call[views.OrderDone]:
    return _change("DELETE", f"/v1/orders/{_name(id)}", views.OrderDone, None, idempotency_key)


def orders(*, tenant: str | None = None) -> Call[views.Page[views.Order]]:
    """The open orders. The operator sees all of them, or those of one tenant."""
    return _list("/v1/orders", views.Order, tenant=tenant)


def order(id: str) -> Call[views.Order]:
    return _ask(f"/v1/orders/{_name(id)}", views.Order)


def batch(commands: Iterable[TenantCommand | OperatorCommand], *, idempotency_key: str | None = None) -> Call[views.BatchDone]:
    """Carry out commands in this order; each succeeds or is refused by itself."""
    return _change("POST", "/v1/batch", views.BatchDone, Batch(tuple(commands)), idempotency_key)


def leases(*, tenant: str | None = None) -> Call[views.Page[views.Lease]]:
    return _list("/v1/leases", views.Lease, tenant=tenant)


def lease(id: str) -> Call[views.Lease]:
    return _ask(f"/v1/leases/{_name(id)}", views.Lease)


def set_limit(id: str, limit: Price | None, *, idempotency_key: str | None = None) -> Call[views.LeaseDone]:
    """The most a lease may cost per hour before it is given up; `None` keeps it whatever the price."""
    return _change("PATCH", f"/v1/leases/{_name(id)}", views.LeaseDone, LimitBody(price_or_none(limit)), idempotency_key)


def relinquish(id: str, *, idempotency_key: str | None = None) -> Call[views.LeaseDone]:
    """Give a lease back."""
    return _change("DELETE", f"/v1/leases/{_name(id)}", views.LeaseDone, None, idempotency_key)


def price_history(id: str) -> Call[views.PriceHistory]:
    """What a lease was charged, piece by piece."""
    return _ask(f"/v1/leases/{_name(id)}/prices", views.PriceHistory)


def quote(scope: str) -> Call[views.Quote]:
    """The least price that wins a leaf of the scope now."""
    return _ask("/v1/prices", views.Quote, scope=scope)


def quotes() -> Call[views.Page[views.Quote]]:
    """A quote for every node that this key may see prices of."""
    return _list("/v1/prices", views.Quote)


def bill(since: Time | None = None, until: Time | None = None, tenant: str | None = None) -> Call[views.Bill]:
    """What is owed for `[since, until)`; by default for everything until now. `tenant` is for the operator."""
    return _ask("/v1/bills", views.Bill, since=_time(since), until=_time(until), tenant=tenant)


def bills(since: Time | None = None, until: Time | None = None) -> Call[views.Page[views.Bill]]:
    """What every tenant owes, for the operator."""
    return _list("/v1/bills", views.Bill, since=_time(since), until=_time(until))


def bill_csv(format: Literal["csv", "focus"] = "csv", since: Time | None = None, until: Time | None = None, tenant: str | None = None) -> Call[str]:
    """The bill as a CSV file, plain or with the columns of FOCUS."""
    params = _params(format=format, since=_time(since), until=_time(until), tenant=tenant)
    return Call("GET", "/v1/bills", bytes.decode, params, accept="text/csv")


def budget(tenant: str | None = None) -> Call[Budget]:
    """The budget and how far it got. `tenant` is for the operator."""
    return _ask("/v1/budget", Budget, tenant=tenant)


def set_budget(amount: Price, action: str = "warn", *, idempotency_key: str | None = None) -> Call[Budget]:
    """Dollars to be spent from now on, and what happens then: `warn`, `no_new_orders`, `limits_to_floor` or `relinquish`."""
    return _change("PUT", "/v1/budget", Budget, BudgetBody(price_text(amount), action), idempotency_key)


def remove_budget(*, idempotency_key: str | None = None) -> Call[views.Done]:
    return _change("DELETE", "/v1/budget", views.Done, None, idempotency_key)


def own_caps(tenant: str | None = None) -> Call[SpendingCaps]:
    """What may be spent per hour at most. `tenant` is for the operator."""
    return _ask("/v1/caps", SpendingCaps, tenant=tenant)


def set_own_caps(rate: Price | None = None, worst_rate: Price | None = None, *, idempotency_key: str | None = None) -> Call[SpendingCaps]:
    """Caps of one's own in dollars per hour, in place of those before; None: none."""
    wanted = OwnCaps(None if rate is None else price_text(rate), None if worst_rate is None else price_text(worst_rate))
    return _change("PUT", "/v1/caps", SpendingCaps, wanted, idempotency_key)


def spending() -> Call[views.Page[Spending]]:
    """What every tenant owes, is charged now and means to spend, for the operator."""
    return _list("/v1/spending", Spending)


def events(after: int | None = None, limit: int | None = None, *, tenant: str | None = None) -> Call[views.Page[Numbered]]:
    """The events after number `after`, at most `limit` of them; without either, all that are kept."""
    call = _list("/v1/events", Numbered, after=after, tenant=tenant)
    page = PAGE_MAX if limit is None else max(1, min(limit, PAGE_MAX))
    return replace(call, params={**call.params, "limit": str(page)}, items_max=limit)


def topology(node: str | None = None) -> Call[views.Page[views.Node]]:
    """The roots, or a node followed by its children."""
    return _list("/v1/topology", views.Node, node=node)


def market() -> Call[views.MarketSummary]:
    return _ask("/v1/market", views.MarketSummary)


def market_history() -> Call[MarketHistory]:
    """The market in figures, for the last two hours."""
    return _ask("/v1/market/history", MarketHistory)


def preview(commands: Iterable[OperatorCommand]) -> Call[PreviewDone]:
    """What commands of the operator would do if they were carried out now, in this order. It changes nothing, so it has no idempotency key."""
    return Call("POST", "/v1/preview", _reader(PreviewDone), body=msgspec.json.encode(Preview(tuple(commands))))


def resources(under: str | None = None) -> Call[views.Page[views.Resource]]:
    """Every leaf, or those below a node, as the operator sees them."""
    return _list("/v1/resources", views.Resource, under=under)


def set_online(leaf: str, online: bool, *, idempotency_key: str | None = None) -> Call[views.Done]:
    """Take a leaf offline, or bring it back."""
    return _change("PATCH", f"/v1/resources/{_node(leaf)}", views.Done, ResourceBody(online), idempotency_key)


def levels() -> Call[Levels]:
    """Owner, rate, limit and floor of every leaf, in columns, for the operator."""
    return _ask("/v1/levels", Levels)


def book(node: str) -> Call[NodeBook]:
    """What rests around a node and what could be had below it, for the operator."""
    return _ask(f"/v1/books/{_node(node)}", NodeBook)


def rates(node: str, since: Time | None = None) -> Call[RateHistory]:
    """What the highest floor or bid on the path of a node was, since then or for an hour, for the operator."""
    return _ask(f"/v1/rates/{_node(node)}", RateHistory, since=_time(since))


def floors() -> Call[views.Page[views.Floor]]:
    return _list("/v1/floors", views.Floor)


def set_floor(node: str, price: Price, *, idempotency_key: str | None = None) -> Call[views.Done]:
    return _change("PUT", f"/v1/floors/{_node(node)}", views.Done, FloorBody(price_text(price)), idempotency_key)


def remove_floor(node: str, *, idempotency_key: str | None = None) -> Call[views.Done]:
    return _change("DELETE", f"/v1/floors/{_node(node)}", views.Done, None, idempotency_key)


def controls() -> Call[views.Page[views.Controls]]:
    return _list("/v1/controls", views.Controls)


def set_controls(
    node: str,
    *,
    rise: BandSetting | None = None,
    fall: BandSetting | None = None,
    hold_s: float | None = None,
    flash_s: float | None = None,
    idempotency_key: str | None = None,
) -> Call[views.Done]:
    """Replace all controls set at the node; what is left out is left to the nearest ancestor that sets it."""
    return _change("PUT", f"/v1/controls/{_node(node)}", views.Done, ControlsBody(rise, fall, hold_s, flash_s), idempotency_key)


def remove_controls(node: str, *, idempotency_key: str | None = None) -> Call[views.Done]:
    return _change("DELETE", f"/v1/controls/{_node(node)}", views.Done, None, idempotency_key)


def report_inframaps(runner: str, report: InfraMapsReport) -> Call[views.Done]:
    """Show what an operator's maps read and decided, in place of the report before. It has no idempotency key: only the last one counts."""
    return Call("PUT", f"/v1/inframaps/{_name(runner)}", _reader(views.Done), body=msgspec.json.encode(report))


def inframaps(since: Time | None = None) -> Call[InfraMaps]:
    """What operators' maps read and how hard they press, with their history after `since` (`at` of an earlier answer), or all of it."""
    return _ask("/v1/inframaps", InfraMaps, since=_time(since))


def tenants() -> Call[views.Page[views.Tenant]]:
    return _list("/v1/tenants", views.Tenant)


def tenant(name: str) -> Call[views.Tenant]:
    return _ask(f"/v1/tenants/{_name(name)}", views.Tenant)


def create_tenant(name: str, caps: Caps | None = None, *, idempotency_key: str | None = None) -> Call[views.Tenant]:
    return _change("POST", "/v1/tenants", views.Tenant, CreateTenant(name, caps or Caps()), idempotency_key)


def set_caps(name: str, caps: Caps, *, idempotency_key: str | None = None) -> Call[views.Tenant]:
    return _change("PATCH", f"/v1/tenants/{_name(name)}", views.Tenant, CapsBody(caps), idempotency_key)


def keys(tenant: str | None = None) -> Call[views.Page[views.Key]]:
    """The keys of a tenant, or the operator's own."""
    return _list(_keys_of(tenant), views.Key)


def issue_key(
    tenant: str | None = None, *, scopes: Iterable[str] | None = None, name: str = "default", idempotency_key: str | None = None
) -> Call[views.Key]:
    """A new key for a tenant, or for the operator; its `secret` is shown this once. By default it may do all that its holder may."""
    if scopes is None:
        scopes = ("read", "operate") if tenant is None else ("read", "trade")
    return _change("POST", _keys_of(tenant), views.Key, IssueKey(tuple(scopes), name), idempotency_key)


def revoke_key(id: str, *, idempotency_key: str | None = None) -> Call[views.Key]:
    return _change("DELETE", f"/v1/keys/{_name(id)}", views.Key, None, idempotency_key)


def health() -> Call[views.Health]:
    """Whether the process is alive."""
    return replace(_ask("/healthz", views.Health), answers=_NOT_READY)


def ready() -> Call[views.Health]:
    """Whether it can serve now. Not being ready is an answer, not an error."""
    return replace(_ask("/readyz", views.Health), answers=_NOT_READY)


_NOT_READY: Final = frozenset({503})


def checked_id(id: str | None, what: str = "an idempotency key") -> str:
    """The caller's own id for a request, or a new one."""
    if id is None:
        return uuid.uuid4().hex
    if _ID.fullmatch(id) is None:
        raise UsageError(f"expected {what} of 1 to {CLIENT_ID_MAX} visible ASCII characters, found {id[:80]!r}")
    return id


def _reader(kind: type[T]) -> Callable[[bytes], T]:
    return functools.partial(msgspec.json.decode, type=kind)


def _ask(path: str, kind: type[T], **params: str | None) -> Call[T]:
    return Call("GET", path, _reader(kind), _params(**params))


def _list(path: str, kind: type[T], **params: str | int | None) -> Call[views.Page[T]]:
    return Call("GET", path, _reader(views.Page[kind]), _params(**params, limit=PAGE_MAX))  # type: ignore[valid-type]  # made at run time


def _change(method: str, path: str, kind: type[T], body: msgspec.Struct | None, idempotency_key: str | None) -> Call[T]:
    sent = None if body is None else msgspec.json.encode(body)
    return Call(method, path, _reader(kind), body=sent, idempotency_key=checked_id(idempotency_key))


def _params(**params: str | int | None) -> dict[str, str]:
    return {name: str(value) for name, value in params.items() if value is not None}


def _keys_of(tenant: str | None) -> str:
    return "/v1/keys" if tenant is None else f"/v1/tenants/{_name(tenant)}/keys"


def _name(text: str) -> str:
    """A name as one part of a path. Parts that URLs give a meaning of their own would ask for something else."""
    if text in ("", ".", ".."):
        raise UsageError(f"expected an id or a name, found {text!r}")
    return percent_encoded(text, safe="")


def _node(path: str) -> str:
    return "/".join(_name(part) for part in path.split("/"))


def _time(time: Time | None) -> str | None:
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is None:
        raise UsageError(f"expected a time with a time zone, found {time.isoformat()}; add tzinfo=timezone.utc")
    return time.isoformat()
