"""The operations of the REST API that only the operator's keys may use."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from laissez.client.methods import Listing, Method
from laissez.client.request import (
    Price,
    Request,
    Time,
    change,
    decoder,
    get,
    get_list,
    price_text,
    segment,
    segments,
    time_text,
)
from laissez.wire import figures, requests, views
from laissez.wire.books import Levels, NodeBook, RateHistory
from laissez.wire.inframaps import InfraMaps, InfraMapsReport
from laissez.wire.requests import BandSetting, Caps, OperatorCommand
from laissez.wire.views import Page


class OperatorOperations:
    """A node is a path such as "h100/zone-a/rack-1"; a GPU is the path of a leaf."""

    # The market

    @Method
    def market(self) -> Request[views.MarketSummary]:
        """Totals of the whole market."""
        return get("/v1/market", views.MarketSummary)

    @Method
    def market_history(self) -> Request[figures.MarketHistory]:
        """Samples of the market over the last two hours."""
        return get("/v1/market/history", figures.MarketHistory)

    @Method
    def preview(self, commands: Iterable[OperatorCommand]) -> Request[figures.PreviewDone]:
        """The effects that commands would have now, in this order. Nothing changes, so there is no
        idempotency key."""
        body = msgspec.json.encode(figures.Preview(tuple(commands)))
        return Request("POST", "/v1/preview", decoder(figures.PreviewDone), body=body)

    @Listing
    def bills(
        self, since: Time | None = None, until: Time | None = None
    ) -> Request[Page[views.Bill]]:
        """The bills of all tenants."""
        return get_list("/v1/bills", views.Bill, since=time_text(since), until=time_text(until))

    @Listing
    def resources(self, under: str | None = None) -> Request[Page[views.Resource]]:
        """Every GPU, or those below a node."""
        return get_list("/v1/resources", views.Resource, under=under)

    @Method
    def set_online(
        self, leaf: str, online: bool, *, idempotency_key: str | None = None
    ) -> Request[views.Done]:
        """Bring a GPU online, or take it offline, which ends its lease."""
        body = {"online": online}
        return change("PATCH", f"/v1/resources/{segments(leaf)}", views.Done, idempotency_key, body)

    @Method
    def levels(self) -> Request[Levels]:
        """Owner, rate, limit and floor of every GPU, in columns."""
        return get("/v1/levels", Levels)

    @Method
    def book(self, node: str) -> Request[NodeBook]:
        """The orders that rest at and around a node, and the supply below it."""
        return get(f"/v1/books/{segments(node)}", NodeBook)

    @Method
    def rates(self, node: str, since: Time | None = None) -> Request[RateHistory]:
        """The highest floor or bid on the path of a node over time, by default for an hour."""
        return get(f"/v1/rates/{segments(node)}", RateHistory, since=time_text(since))

    # Floors, controls and InfraMaps

    @Listing
    def floors(self) -> Request[Page[views.Floor]]:
        """The floors that are set."""
        return get_list("/v1/floors", views.Floor)

    @Method
    def set_floor(
        self, node: str, price: Price, *, idempotency_key: str | None = None
    ) -> Request[views.Done]:
        """Set the lowest price of the GPUs below a node."""
        body = {"price": price_text(price)}
        return change("PUT", f"/v1/floors/{segments(node)}", views.Done, idempotency_key, body)

    @Method
    def remove_floor(self, node: str, *, idempotency_key: str | None = None) -> Request[views.Done]:
        """Remove the floor of a node. Floors above it still hold."""
        return change("DELETE", f"/v1/floors/{segments(node)}", views.Done, idempotency_key)

    @Listing
    def controls(self) -> Request[Page[views.Controls]]:
        """The volatility controls that are set."""
        return get_list("/v1/controls", views.Controls)

    @Method
    def set_controls(
        self,
        node: str,
        *,
        rise: BandSetting | None = None,
        fall: BandSetting | None = None,
        hold_s: float | None = None,
        flash_s: float | None = None,
        idempotency_key: str | None = None,
    ) -> Request[views.Done]:
        """Replace all volatility controls of a node. A control that is left out is inherited from
        the nearest ancestor that sets it."""
        body = {"rise": rise, "fall": fall, "hold_s": hold_s, "flash_s": flash_s}
        return change("PUT", f"/v1/controls/{segments(node)}", views.Done, idempotency_key, body)

    @Method
    def remove_controls(
        self, node: str, *, idempotency_key: str | None = None
    ) -> Request[views.Done]:
        """Let a node inherit all its volatility controls."""
        return change("DELETE", f"/v1/controls/{segments(node)}", views.Done, idempotency_key)

    @Method
    def report_inframaps(self, runner: str, report: InfraMapsReport) -> Request[views.Done]:
        """Publish the readings and decisions of InfraMaps in place of the runner's last report.
        Only the last report counts, so there is no idempotency key."""
        path, body = f"/v1/inframaps/{segment(runner)}", msgspec.json.encode(report)
        return Request("PUT", path, decoder(views.Done), body=body)

    @Method
    def inframaps(self, since: Time | None = None) -> Request[InfraMaps]:
        """The readings of InfraMaps and the pressure they put on prices, with the history after
        `since` (`at` of an earlier answer), or all of it."""
        return get("/v1/inframaps", InfraMaps, since=time_text(since))

    # Tenants and keys

    @Listing
    def tenants(self) -> Request[Page[views.Tenant]]:
        """All tenants."""
        return get_list("/v1/tenants", views.Tenant)

    @Method
    def tenant(self, name: str) -> Request[views.Tenant]:
        """One tenant."""
        return get(f"/v1/tenants/{segment(name)}", views.Tenant)

    @Method
    def create_tenant(
        self, name: str, caps: Caps | None = None, *, idempotency_key: str | None = None
    ) -> Request[views.Tenant]:
        """Create a tenant. It needs a key to trade (`issue_key`)."""
        body = requests.CreateTenant(name, caps or Caps())
        return change("POST", "/v1/tenants", views.Tenant, idempotency_key, body)

    @Method
    def set_caps(
        self, name: str, caps: Caps, *, idempotency_key: str | None = None
    ) -> Request[views.Tenant]:
        """Replace the operator's caps on a tenant."""
        body = {"caps": caps}
        return change("PATCH", f"/v1/tenants/{segment(name)}", views.Tenant, idempotency_key, body)

    @Listing
    def keys(self, tenant: str | None = None) -> Request[Page[views.Key]]:
        """The keys of a tenant, or the operator's own."""
        return get_list(_keys_path(tenant), views.Key)

    @Method
    def issue_key(
        self,
        tenant: str | None = None,
        *,
        scopes: Iterable[str] | None = None,
        name: str = "default",
        idempotency_key: str | None = None,
    ) -> Request[views.Key]:
        """Issue a key to a tenant, or to the operator. By default it has every scope of its holder.

        Only the first answer holds the `secret`. It is None if that answer was lost, or if
        `idempotency_key` repeats an earlier call.
        """
        if scopes is None:
            scopes = ("read", "operate") if tenant is None else ("read", "trade")
        body = requests.IssueKey(tuple(scopes), name)
        return change("POST", _keys_path(tenant), views.Key, idempotency_key, body)

    @Method
    def revoke_key(self, id: str, *, idempotency_key: str | None = None) -> Request[views.Key]:
        """Revoke a key at once."""
        return change("DELETE", f"/v1/keys/{segment(id)}", views.Key, idempotency_key)


def _keys_path(tenant: str | None) -> str:
    return "/v1/keys" if tenant is None else f"/v1/tenants/{segment(tenant)}/keys"
