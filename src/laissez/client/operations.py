"""The operations of the REST API for every key. Each method builds its request; the client that
inherits it sends the request and decodes the answer (see `methods`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Literal

from laissez.client.methods import Listing, Method
from laissez.client.request import (
    Price,
    Request,
    Time,
    change,
    get,
    get_list,
    price_or_none,
    price_text,
    query,
    segment,
    time_text,
)
from laissez.wire import figures, requests, views
from laissez.wire.events import Numbered
from laissez.wire.limits import PAGE_MAX
from laissez.wire.requests import Alternative, OperatorCommand, TenantCommand
from laissez.wire.views import Page
from laissez.wire.webhooks import DeadLetter, RedeliverBody, Webhook, WebhookBody, WebhookSecret

_NOT_READY: Final = frozenset({503})


class Operations:
    """Where a method takes `tenant`, only the operator may give it."""

    @Method
    def me(self) -> Request[views.Me]:
        """The holder, the scopes and the caps of the key."""
        return get("/v1/me", views.Me)

    # Instances

    @Method
    def run(
        self,
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
        price = price_text(max_price)
        body = requests.RunInstances(
            count=count, type=type, scope=scope, near=near, level=level, max_price=price
        )
        return change("POST", "/v1/instances", views.InstancesDone, idempotency_key, body)

    @Listing
    def instances(self) -> Request[Page[views.Instance]]:
        """The pending and running instances."""
        return get_list("/v1/instances", views.Instance)

    @Method
    def instance(self, id: str) -> Request[views.Instance]:
        """One instance, also after it stopped."""
        return get(f"/v1/instances/{segment(id)}", views.Instance)

    @Method
    def stop(self, id: str, *, idempotency_key: str | None = None) -> Request[views.Instance]:
        """Stop an instance: cancel its order, or relinquish its lease."""
        return change("DELETE", f"/v1/instances/{segment(id)}", views.Instance, idempotency_key)

    # Orders

    @Method
    def place(
        self, *alternatives: Alternative, idempotency_key: str | None = None
    ) -> Request[views.OrderDone]:
        """Place an order for one GPU that fits any of the alternatives."""
        body = {"alternatives": alternatives}
        return change("POST", "/v1/orders", views.OrderDone, idempotency_key, body)

    @Method
    def amend(
        self, id: str, *alternatives: Alternative, idempotency_key: str | None = None
    ) -> Request[views.OrderDone]:
        """Replace the alternatives of an open order."""
        body = {"alternatives": alternatives}
        return change("PUT", f"/v1/orders/{segment(id)}", views.OrderDone, idempotency_key, body)

    @Method
    def cancel(self, id: str, *, idempotency_key: str | None = None) -> Request[views.OrderDone]:
        """Cancel an open order."""
        return change("DELETE", f"/v1/orders/{segment(id)}", views.OrderDone, idempotency_key)

    @Listing
    def orders(self, *, tenant: str | None = None) -> Request[Page[views.Order]]:
        """The open orders. The operator gets those of all tenants, or of one."""
        return get_list("/v1/orders", views.Order, tenant=tenant)

    @Method
    def order(self, id: str) -> Request[views.Order]:
        """One open order."""
        return get(f"/v1/orders/{segment(id)}", views.Order)

    @Listing
    def order_history(self, id: str) -> Request[Page[Numbered]]:
        """The events of an order, open or gone, oldest first, as far as they are kept: none if all
        are forgotten."""
        return get_list(f"/v1/orders/{segment(id)}/history", Numbered)

    @Method
    def batch(
        self,
        commands: Iterable[TenantCommand | OperatorCommand],
        *,
        idempotency_key: str | None = None,
    ) -> Request[views.BatchDone]:
        """Carry out commands in order. Each succeeds or is refused by itself."""
        body = requests.Batch(tuple(commands))
        return change("POST", "/v1/batch", views.BatchDone, idempotency_key, body)

    # Leases

    @Listing
    def leases(self, *, tenant: str | None = None) -> Request[Page[views.Lease]]:
        """The running leases. The operator gets those of all tenants, or of one."""
        return get_list("/v1/leases", views.Lease, tenant=tenant)

    @Method
    def lease(self, id: str) -> Request[views.Lease]:
        """One running lease."""
        return get(f"/v1/leases/{segment(id)}", views.Lease)

    @Method
    def set_limit(
        self, id: str, limit: Price | None, *, idempotency_key: str | None = None
    ) -> Request[views.LeaseDone]:
        """Set the most that a lease may cost per hour; above it the lease ends. `None` keeps the
        lease at any price."""
        body = {"limit": price_or_none(limit)}
        return change("PATCH", f"/v1/leases/{segment(id)}", views.LeaseDone, idempotency_key, body)

    @Method
    def relinquish(
        self, id: str, *, idempotency_key: str | None = None
    ) -> Request[views.LeaseDone]:
        """Give a lease back."""
        return change("DELETE", f"/v1/leases/{segment(id)}", views.LeaseDone, idempotency_key)

    @Method
    def price_history(self, id: str) -> Request[views.PriceHistory]:
        """The rates that a lease was charged, and when."""
        return get(f"/v1/leases/{segment(id)}/prices", views.PriceHistory)

    # Prices, bills and budgets

    @Method
    def quote(self, scope: str) -> Request[views.Quote]:
        """The lowest price that wins a GPU of the scope now."""
        return get("/v1/prices", views.Quote, scope=scope)

    @Listing
    def quotes(self) -> Request[Page[views.Quote]]:
        """A quote for every scope whose price this key may see."""
        return get_list("/v1/prices", views.Quote)

    @Method
    def bill(
        self, since: Time | None = None, until: Time | None = None, tenant: str | None = None
    ) -> Request[views.Bill]:
        """The charges for `[since, until)`, by default for everything until now."""
        since, until = time_text(since), time_text(until)
        return get("/v1/bills", views.Bill, since=since, until=until, tenant=tenant)

    @Method
    def bill_csv(
        self,
        format: Literal["csv", "focus"] = "csv",
        since: Time | None = None,
        until: Time | None = None,
        tenant: str | None = None,
    ) -> Request[str]:
        """The bill as a CSV file, plain or with the columns of FOCUS."""
        params = query(format=format, since=time_text(since), until=time_text(until), tenant=tenant)
        return Request("GET", "/v1/bills", bytes.decode, params, accept="text/csv")

    @Method
    def budget(self, tenant: str | None = None) -> Request[figures.Budget]:
        """The budget and how much of it is spent."""
        return get("/v1/budget", figures.Budget, tenant=tenant)

    @Method
    def set_budget(
        self,
        amount: Price,
        action: str = "warn",
        keep: bool = False,
        *,
        idempotency_key: str | None = None,
    ) -> Request[figures.Budget]:
        """Set the dollars to spend, and the action when they are spent: `warn`, `no_new_orders`,
        `limits_to_floor` or `relinquish`.

        Spending counts from now on; with `keep`, from the start of the previous budget, if any.
        """
        body = figures.BudgetBody(price_text(amount), action, keep)
        return change("PUT", "/v1/budget", figures.Budget, idempotency_key, body)

    @Method
    def remove_budget(self, *, idempotency_key: str | None = None) -> Request[views.Done]:
        """Spend without a budget."""
        return change("DELETE", "/v1/budget", views.Done, idempotency_key)

    @Method
    def own_caps(self, tenant: str | None = None) -> Request[figures.SpendingCaps]:
        """The caps on spending per hour."""
        return get("/v1/caps", figures.SpendingCaps, tenant=tenant)

    @Method
    def set_own_caps(
        self,
        rate: Price | None = None,
        worst_rate: Price | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Request[figures.SpendingCaps]:
        """Replace your own caps, in dollars per hour. `None` means no cap."""
        body = figures.OwnCaps(price_or_none(rate), price_or_none(worst_rate))
        return change("PUT", "/v1/caps", figures.SpendingCaps, idempotency_key, body)

    @Listing
    def spending(self) -> Request[Page[figures.Spending]]:
        """Total charges, current rate and budget: your own, or every tenant's for the operator."""
        return get_list("/v1/spending", figures.Spending)

    # Events and webhooks

    @Listing
    def events(
        self, after: int | None = None, limit: int | None = None, *, tenant: str | None = None
    ) -> Request[Page[Numbered]]:
        """The events after number `after`, at most `limit`; by default all that are kept."""
        request = get_list("/v1/events", Numbered, after=after, tenant=tenant)
        page = PAGE_MAX if limit is None else max(1, min(limit, PAGE_MAX))
        return replace(request, params={**request.params, "limit": str(page)}, items_max=limit)

    @Method
    def create_webhook(
        self,
        url: str,
        *,
        types: Iterable[str] | None = None,
        after: int | None = None,
        idempotency_key: str | None = None,
    ) -> Request[Webhook]:
        """Send your events, all or only some types, to a URL.

        The webhook starts with the next event, or with the first after number `after`, for which
        the key needs the scope to read. Keep the `secret` of the answer; no other call shows it.
        """
        body = WebhookBody(url, None if types is None else tuple(types), after)
        return change("POST", "/v1/webhooks", Webhook, idempotency_key, body)

    @Listing
    def webhooks(self) -> Request[Page[Webhook]]:
        """Your webhooks and their progress."""
        return get_list("/v1/webhooks", Webhook)

    @Method
    def webhook(self, id: str) -> Request[Webhook]:
        """One webhook and its progress."""
        return get(f"/v1/webhooks/{segment(id)}", Webhook)

    @Method
    def delete_webhook(self, id: str, *, idempotency_key: str | None = None) -> Request[views.Done]:
        """Delete a webhook and its dead letters."""
        return change("DELETE", f"/v1/webhooks/{segment(id)}", views.Done, idempotency_key)

    @Method
    def rotate_webhook_secret(
        self, id: str, *, idempotency_key: str | None = None
    ) -> Request[WebhookSecret]:
        """Make a new secret. The previous one goes on signing for a day."""
        return change("POST", f"/v1/webhooks/{segment(id)}/secret", WebhookSecret, idempotency_key)

    @Method
    def redeliver(
        self, id: str, after: int, *, idempotency_key: str | None = None
    ) -> Request[views.Done]:
        """Send all events after number `after` again. The key needs the scope to read."""
        path = f"/v1/webhooks/{segment(id)}/redeliver"
        return change("POST", path, views.Done, idempotency_key, RedeliverBody(after))

    @Listing
    def dead_letters(self, id: str) -> Request[Page[DeadLetter]]:
        """The events that could not be delivered to a webhook."""
        return get_list(f"/v1/webhooks/{segment(id)}/dead-letters", DeadLetter)

    # The cluster and the server

    @Listing
    def topology(self, node: str | None = None) -> Request[Page[views.Node]]:
        """The roots, or a node followed by its children."""
        return get_list("/v1/topology", views.Node, node=node)

    @Method
    def health(self) -> Request[views.Health]:
        """Whether the process is alive. Needs no key."""
        return replace(get("/healthz", views.Health), statuses=_NOT_READY)

    @Method
    def ready(self) -> Request[views.Health]:
        """Whether the server can serve now. "Not ready" is an answer, not an error."""
        return replace(get("/readyz", views.Health), statuses=_NOT_READY)
