"""Every operation of the REST API as a function that builds its request. Nothing here sends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Literal

import msgspec

from laissez.client.request import (
    Price,
    Request,
    Time,
    change,
    decoder,
    get,
    get_list,
    price_or_none,
    price_text,
    query,
    segment,
    segments,
    time_text,
)
from laissez.wire import figures, requests, views
from laissez.wire.books import Levels, NodeBook, RateHistory
from laissez.wire.events import Numbered
from laissez.wire.inframaps import InfraMaps, InfraMapsReport
from laissez.wire.limits import PAGE_MAX
from laissez.wire.requests import Alternative, BandSetting, Caps, OperatorCommand, TenantCommand
from laissez.wire.views import Page
from laissez.wire.webhooks import DeadLetter, RedeliverBody, Webhook, WebhookBody, WebhookSecret

_NOT_READY: Final = frozenset({503})


def me() -> Request[views.Me]:
    """The holder and the scopes of the key."""
    return get("/v1/me", views.Me)


# Instances


def run(
    type: str | None = None,
    *,
    max_price: Price,
    count: int = 1,
    scope: str | None = None,
    near: str | None = None,
    level: str | int | None = None,
    idempotency_key: str | None = None,
) -> Request[views.InstancesDone]:
    """Run `count` instances of a `type`, in a `scope`, or `near` one of your leases, at no more
    than `max_price` an hour each."""
    body = requests.RunInstances(
        count=count, type=type, scope=scope, near=near, level=level, max_price=price_text(max_price)
    )
    return change("POST", "/v1/instances", views.InstancesDone, idempotency_key, body)


def instances() -> Request[Page[views.Instance]]:
    return get_list("/v1/instances", views.Instance)


def instance(id: str) -> Request[views.Instance]:
    return get(f"/v1/instances/{segment(id)}", views.Instance)


def stop(id: str, *, idempotency_key: str | None = None) -> Request[views.Instance]:
    """Stop an instance: cancel its order, or relinquish its lease."""
    return change("DELETE", f"/v1/instances/{segment(id)}", views.Instance, idempotency_key)


# Orders


def place(
    *alternatives: Alternative, idempotency_key: str | None = None
) -> Request[views.OrderDone]:
    """Place an order for one GPU that fits any of the alternatives."""
    body = requests.OrderBody(alternatives)
    return change("POST", "/v1/orders", views.OrderDone, idempotency_key, body)


def amend(
    id: str, *alternatives: Alternative, idempotency_key: str | None = None
) -> Request[views.OrderDone]:
    """Replace the alternatives of an open order."""
    body = requests.OrderBody(alternatives)
    return change("PUT", f"/v1/orders/{segment(id)}", views.OrderDone, idempotency_key, body)


def cancel(id: str, *, idempotency_key: str | None = None) -> Request[views.OrderDone]:
    return change("DELETE", f"/v1/orders/{segment(id)}", views.OrderDone, idempotency_key)


def orders(*, tenant: str | None = None) -> Request[Page[views.Order]]:
    """The open orders. The operator sees those of all tenants, or of one."""
    return get_list("/v1/orders", views.Order, tenant=tenant)


def order(id: str) -> Request[views.Order]:
    return get(f"/v1/orders/{segment(id)}", views.Order)


def batch(
    commands: Iterable[TenantCommand | OperatorCommand], *, idempotency_key: str | None = None
) -> Request[views.BatchDone]:
    """Carry out commands in order; each succeeds or is refused by itself."""
    body = requests.Batch(tuple(commands))
    return change("POST", "/v1/batch", views.BatchDone, idempotency_key, body)


# Leases


def leases(*, tenant: str | None = None) -> Request[Page[views.Lease]]:
    return get_list("/v1/leases", views.Lease, tenant=tenant)


def lease(id: str) -> Request[views.Lease]:
    return get(f"/v1/leases/{segment(id)}", views.Lease)


def set_limit(
    id: str, limit: Price | None, *, idempotency_key: str | None = None
) -> Request[views.LeaseDone]:
    """Set the most that a lease may cost per hour; above it the lease ends. `None` keeps the lease
    at any price."""
    body = requests.LimitBody(price_or_none(limit))
    return change("PATCH", f"/v1/leases/{segment(id)}", views.LeaseDone, idempotency_key, body)


def relinquish(id: str, *, idempotency_key: str | None = None) -> Request[views.LeaseDone]:
    """Give a lease back."""
    return change("DELETE", f"/v1/leases/{segment(id)}", views.LeaseDone, idempotency_key)


def price_history(id: str) -> Request[views.PriceHistory]:
    """The rates that a lease was charged, and when."""
    return get(f"/v1/leases/{segment(id)}/prices", views.PriceHistory)


# Prices, bills and budgets


def quote(scope: str) -> Request[views.Quote]:
    """The lowest price that wins a GPU of the scope now."""
    return get("/v1/prices", views.Quote, scope=scope)


def quotes() -> Request[Page[views.Quote]]:
    """A quote for every node whose prices this key may see."""
    return get_list("/v1/prices", views.Quote)


def bill(
    since: Time | None = None, until: Time | None = None, tenant: str | None = None
) -> Request[views.Bill]:
    """The amount owed for `[since, until)`, by default for everything until now. `tenant` is for
    the operator."""
    since, until = time_text(since), time_text(until)
    return get("/v1/bills", views.Bill, since=since, until=until, tenant=tenant)


def bills(since: Time | None = None, until: Time | None = None) -> Request[Page[views.Bill]]:
    """The bills of all tenants, for the operator."""
    return get_list("/v1/bills", views.Bill, since=time_text(since), until=time_text(until))


def bill_csv(
    format: Literal["csv", "focus"] = "csv",
    since: Time | None = None,
    until: Time | None = None,
    tenant: str | None = None,
) -> Request[str]:
    """The bill as a CSV file, plain or with the columns of FOCUS."""
    params = query(format=format, since=time_text(since), until=time_text(until), tenant=tenant)
    return Request("GET", "/v1/bills", bytes.decode, params, accept="text/csv")


def budget(tenant: str | None = None) -> Request[figures.Budget]:
    """The budget and how much of it is spent. `tenant` is for the operator."""
    return get("/v1/budget", figures.Budget, tenant=tenant)


def set_budget(
    amount: Price, action: str = "warn", keep: bool = False, *, idempotency_key: str | None = None
) -> Request[figures.Budget]:
    """Set the dollars to spend, and the action when they are spent: `warn`, `no_new_orders`,
    `limits_to_floor` or `relinquish`.

    Spending counts from now on; with `keep`, from when the previous budget was set, if any.
    """
    body = figures.BudgetBody(price_text(amount), action, keep)
    return change("PUT", "/v1/budget", figures.Budget, idempotency_key, body)


def remove_budget(*, idempotency_key: str | None = None) -> Request[views.Done]:
    return change("DELETE", "/v1/budget", views.Done, idempotency_key)


def own_caps(tenant: str | None = None) -> Request[figures.SpendingCaps]:
    """The caps on spending per hour. `tenant` is for the operator."""
    return get("/v1/caps", figures.SpendingCaps, tenant=tenant)


def set_own_caps(
    rate: Price | None = None,
    worst_rate: Price | None = None,
    *,
    idempotency_key: str | None = None,
) -> Request[figures.SpendingCaps]:
    """Replace your own caps, in dollars per hour; `None` means no cap."""
    body = figures.OwnCaps(price_or_none(rate), price_or_none(worst_rate))
    return change("PUT", "/v1/caps", figures.SpendingCaps, idempotency_key, body)


def spending() -> Request[Page[figures.Spending]]:
    """The debt, the current rate and the highest possible rate of every tenant, for the
    operator."""
    return get_list("/v1/spending", figures.Spending)


# Events and webhooks


def events(
    after: int | None = None, limit: int | None = None, *, tenant: str | None = None
) -> Request[Page[Numbered]]:
    """The events after number `after`, at most `limit` of them; by default all that are kept."""
    request = get_list("/v1/events", Numbered, after=after, tenant=tenant)
    page = PAGE_MAX if limit is None else max(1, min(limit, PAGE_MAX))
    return replace(request, params={**request.params, "limit": str(page)}, items_max=limit)


def create_webhook(
    url: str,
    *,
    types: Iterable[str] | None = None,
    after: int | None = None,
    idempotency_key: str | None = None,
) -> Request[Webhook]:
    """Send your events, all or only some types, to a URL: from now on, or those after number
    `after`, for which the key needs the scope to read. The `secret` is shown only this once."""
    body = WebhookBody(url, None if types is None else tuple(types), after)
    return change("POST", "/v1/webhooks", Webhook, idempotency_key, body)


def webhooks() -> Request[Page[Webhook]]:
    return get_list("/v1/webhooks", Webhook)


def webhook(id: str) -> Request[Webhook]:
    return get(f"/v1/webhooks/{segment(id)}", Webhook)


def delete_webhook(id: str, *, idempotency_key: str | None = None) -> Request[views.Done]:
    return change("DELETE", f"/v1/webhooks/{segment(id)}", views.Done, idempotency_key)


def rotate_webhook_secret(id: str, *, idempotency_key: str | None = None) -> Request[WebhookSecret]:
    """Make a new secret; the previous one goes on signing for a day."""
    return change("POST", f"/v1/webhooks/{segment(id)}/secret", WebhookSecret, idempotency_key)


def redeliver(id: str, after: int, *, idempotency_key: str | None = None) -> Request[views.Done]:
    """Send all events after number `after` again. The key needs the scope to read."""
    path = f"/v1/webhooks/{segment(id)}/redeliver"
    return change("POST", path, views.Done, idempotency_key, RedeliverBody(after))


def dead_letters(id: str) -> Request[Page[DeadLetter]]:
    """The events that could not be delivered to a webhook."""
    return get_list(f"/v1/webhooks/{segment(id)}/dead-letters", DeadLetter)


# The market


def topology(node: str | None = None) -> Request[Page[views.Node]]:
    """The roots, or a node followed by its children."""
    return get_list("/v1/topology", views.Node, node=node)


def market() -> Request[views.MarketSummary]:
    return get("/v1/market", views.MarketSummary)


def market_history() -> Request[figures.MarketHistory]:
    """Statistics of the market over the last two hours."""
    return get("/v1/market/history", figures.MarketHistory)


# For the operator


def preview(commands: Iterable[OperatorCommand]) -> Request[figures.PreviewDone]:
    """The effects of the operator's commands if they were carried out now, in this order. Nothing
    changes, so there is no idempotency key."""
    body = msgspec.json.encode(figures.Preview(tuple(commands)))
    return Request("POST", "/v1/preview", decoder(figures.PreviewDone), body=body)


def resources(under: str | None = None) -> Request[Page[views.Resource]]:
    """Every GPU, or those below a node, as the operator sees them."""
    return get_list("/v1/resources", views.Resource, under=under)


def set_online(
    leaf: str, online: bool, *, idempotency_key: str | None = None
) -> Request[views.Done]:
    """Take a GPU offline, or bring it back."""
    body = requests.ResourceBody(online)
    return change("PATCH", f"/v1/resources/{segments(leaf)}", views.Done, idempotency_key, body)


def levels() -> Request[Levels]:
    """Owner, rate, limit and floor of every GPU, in columns."""
    return get("/v1/levels", Levels)


def book(node: str) -> Request[NodeBook]:
    """The orders that rest at and around a node, and the supply below it."""
    return get(f"/v1/books/{segments(node)}", NodeBook)


def rates(node: str, since: Time | None = None) -> Request[RateHistory]:
    """The history of the highest floor or bid on the path of a node, by default for an hour."""
    return get(f"/v1/rates/{segments(node)}", RateHistory, since=time_text(since))


def floors() -> Request[Page[views.Floor]]:
    return get_list("/v1/floors", views.Floor)


def set_floor(
    node: str, price: Price, *, idempotency_key: str | None = None
) -> Request[views.Done]:
    body = requests.FloorBody(price_text(price))
    return change("PUT", f"/v1/floors/{segments(node)}", views.Done, idempotency_key, body)


def remove_floor(node: str, *, idempotency_key: str | None = None) -> Request[views.Done]:
    return change("DELETE", f"/v1/floors/{segments(node)}", views.Done, idempotency_key)


def controls() -> Request[Page[views.Controls]]:
    return get_list("/v1/controls", views.Controls)


def set_controls(
    node: str,
    *,
    rise: BandSetting | None = None,
    fall: BandSetting | None = None,
    hold_s: float | None = None,
    flash_s: float | None = None,
    idempotency_key: str | None = None,
) -> Request[views.Done]:
    """Replace all controls of the node; one that is left out is inherited from the nearest
    ancestor that sets it."""
    body = requests.ControlsBody(rise, fall, hold_s, flash_s)
    return change("PUT", f"/v1/controls/{segments(node)}", views.Done, idempotency_key, body)


def remove_controls(node: str, *, idempotency_key: str | None = None) -> Request[views.Done]:
    return change("DELETE", f"/v1/controls/{segments(node)}", views.Done, idempotency_key)


def report_inframaps(runner: str, report: InfraMapsReport) -> Request[views.Done]:
    """Publish the readings and decisions of an operator's maps, replacing the previous report. Only
    the last report counts, so there is no idempotency key."""
    path, body = f"/v1/inframaps/{segment(runner)}", msgspec.json.encode(report)
    return Request("PUT", path, decoder(views.Done), body=body)


def inframaps(since: Time | None = None) -> Request[InfraMaps]:
    """The readings of operators' maps and the pressure they put on prices, with the history after
    `since` (`at` of an earlier answer), or all of it."""
    return get("/v1/inframaps", InfraMaps, since=time_text(since))


# Tenants and keys


def tenants() -> Request[Page[views.Tenant]]:
    return get_list("/v1/tenants", views.Tenant)


def tenant(name: str) -> Request[views.Tenant]:
    return get(f"/v1/tenants/{segment(name)}", views.Tenant)


def create_tenant(
    name: str, caps: Caps | None = None, *, idempotency_key: str | None = None
) -> Request[views.Tenant]:
    body = requests.CreateTenant(name, caps or Caps())
    return change("POST", "/v1/tenants", views.Tenant, idempotency_key, body)


def set_caps(name: str, caps: Caps, *, idempotency_key: str | None = None) -> Request[views.Tenant]:
    body = requests.CapsBody(caps)
    return change("PATCH", f"/v1/tenants/{segment(name)}", views.Tenant, idempotency_key, body)


def keys(tenant: str | None = None) -> Request[Page[views.Key]]:
    """The keys of a tenant, or the operator's own."""
    return get_list(_keys_path(tenant), views.Key)


def issue_key(
    tenant: str | None = None,
    *,
    scopes: Iterable[str] | None = None,
    name: str = "default",
    idempotency_key: str | None = None,
) -> Request[views.Key]:
    """Issue a key to a tenant, or to the operator. By default it has every scope of its holder.

    Only the first answer holds the `secret`. It is None if that answer was lost, or if
    `idempotency_key` repeats an earlier call."""
    if scopes is None:
        scopes = ("read", "operate") if tenant is None else ("read", "trade")
    body = requests.IssueKey(tuple(scopes), name)
    return change("POST", _keys_path(tenant), views.Key, idempotency_key, body)


def revoke_key(id: str, *, idempotency_key: str | None = None) -> Request[views.Key]:
    return change("DELETE", f"/v1/keys/{segment(id)}", views.Key, idempotency_key)


def _keys_path(tenant: str | None) -> str:
    return "/v1/keys" if tenant is None else f"/v1/tenants/{segment(tenant)}/keys"


def health() -> Request[views.Health]:
    """Whether the process is alive."""
    return replace(get("/healthz", views.Health), statuses=_NOT_READY)


def ready() -> Request[views.Health]:
    """Whether the server can serve now. Not being ready is an answer, not an error."""
    return replace(get("/readyz", views.Health), statuses=_NOT_READY)
