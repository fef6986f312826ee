"""The market: topology and prices for every key; resources, floors, controls, books and rates for
the operator."""

from __future__ import annotations

import asyncio
from collections import Counter

import msgspec

from laissez.exchange.commands import OPERATOR
from laissez.market.answers import AsksView, ControlsView, FloorView
from laissez.market.reasons import Reason
from laissez.server.gateway import Gateway
from laissez.server.http.endpoint import Call
from laissez.server.http.messages import bad_request
from laissez.server.http.paging import page_of_paths
from laissez.server.views import SHOWN_MAX, quote_view, reached
from laissez.units import HOUR_US, format_time
from laissez.wire.books import Ask, Bid, NodeBook, RateHistory, RatePiece
from laissez.wire.limits import PRICE_PIECES_MAX
from laissez.wire.problems import Code, ProblemError
from laissez.wire.rendering import band, optional_price, price, seconds
from laissez.wire.requests import BringOnline, TakeOffline
from laissez.wire.views import Controls, Done, Floor, Node, Page, Quote, Resource

CHILDREN_PER_ITEM = 10  # a child is only a path
GROUPS_MAX = 50  # of bids, and of asks, in a book
LEAVES_PER_TURN = 8_192  # read before other work gets its turn: about a millisecond


def _known(call: Call, node: str) -> str:
    if node not in call.gateway.exchange.market.topology:
        raise ProblemError(Reason.SCOPE_UNKNOWN, f"there is no node {node[:SHOWN_MAX]!r}")
    return node


def done(call: Call) -> Done:
    return Done(call.events)


def get_topology(call: Call) -> Page[Node]:
    """The roots, or a node and its children. Children count towards the page's size and cost,
    because there may be very many."""
    topology, children = call.gateway.exchange.market.topology, call.site.children
    named = call.query.get("node")
    call.admit_items(0)
    paths = topology.roots if named is None else (named, *children(_known(call, named)))
    found = page_of_paths(
        call,
        paths,
        lambda path: Node(path, topology.level_of(path), topology.leaf_count(path), children(path)),
        weigh=_weight,
    )
    call.owe_items(sum(map(_weight, found.data)))
    return found


def _weight(node: Node) -> int:
    return 1 + len(node.children) // CHILDREN_PER_ITEM


def get_prices(call: Call) -> Page[Quote] | Quote:
    market, holder = call.gateway.exchange.market, call.principal.holder
    exchange, now = call.gateway.exchange, call.gateway.clock.now()
    scope = call.query.get("scope")
    if scope is not None:
        if len(call.query) > 1:
            raise bad_request(
                "scope: expected alone; limit and cursor go with the list of all prices"
            )
        return quote_view(exchange, holder, scope, now)
    domain = market.topology.nodes if holder == OPERATOR else market.pricing_domain(holder)
    return page_of_paths(call, domain, lambda path: quote_view(exchange, holder, path, now))


# -- resources, floors and controls


def list_resources(call: Call) -> Page[Resource]:
    topology = call.gateway.exchange.market.topology
    under = call.query.get("under")
    between = None if under is None else topology.leaf_range(_known(call, under))
    return page_of_paths(call, topology.leaves, lambda leaf: _resource(call, leaf), between)


def _resource(call: Call, leaf: str) -> Resource:
    market = call.gateway.exchange.market
    lease = market.lease_on(leaf)
    owner, limit = (None, None) if lease is None else (lease.tenant, optional_price(lease.limit))
    rate, floor = price(market.rate(leaf)), price(market.floor(leaf))
    return Resource(leaf, market.is_online(leaf), owner, rate, limit, floor)


class SetOnlineBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    online: bool


def set_online(leaf: str, online: bool) -> BringOnline | TakeOffline:
    return BringOnline(leaf=leaf) if online else TakeOffline(leaf=leaf)


def list_floors(call: Call) -> Page[Floor]:
    own = {one.node: one for one in call.gateway.exchange.market.floors()}
    return page_of_paths(call, list(own), lambda node: _floor(own[node]))


def _floor(view: FloorView) -> Floor:
    return Floor(view.node, price(view.own), price(view.in_force))


def list_controls(call: Call) -> Page[Controls]:
    own = {one.node: one for one in call.gateway.exchange.market.controls()}
    return page_of_paths(call, list(own), lambda node: _controls(own[node]))


def _controls(view: ControlsView) -> Controls:
    rise, fall = band(view.rise), band(view.fall)
    return Controls(view.node, rise, fall, seconds(view.hold_us), seconds(view.flash_us))


# -- books


async def get_book(call: Call) -> NodeBook:
    gateway, node = call.gateway, _known(call, call.path["node"])
    market = gateway.exchange.market
    asks = await _asks(gateway, node)
    found = market.book(node, GROUPS_MAX)
    cheapest = [Ask(price(ask), asks.by_ask[ask]) for ask in sorted(asks.by_ask)[:GROUPS_MAX]]
    return NodeBook(
        node,
        market.topology.level_of(node),
        format_time(gateway.clock.now()),
        market.topology.leaf_count(node),
        asks.online,
        asks.leased,
        price(found.floor) if found.floor else None,
        price(found.floor_in_force),
        price(found.standing_rate),
        optional_price(found.best_bid),
        optional_price(market.quote(None, node)),
        price(asks.charged),
        None if found.controls is None else _controls(found.controls),
        _controls(found.controls_in_force),
        found.here,
        found.above,
        found.below,
        tuple([Bid(price(group.limit), group.orders, group.here) for group in found.bids]),
        found.bids_more,
        tuple([*cheapest, Ask(None, asks.never)] if asks.never else cheapest),
        max(0, len(asks.by_ask) - GROUPS_MAX),
    )


async def _asks(gateway: Gateway, node: str) -> AsksView:
    """The asks of all leaves below the node, read in parts if there are many."""
    market = gateway.exchange.market
    first, last = market.topology.leaf_range(node)
    by_ask: Counter[int] = Counter()
    never = online = leased = charged = 0
    for start in range(first, last, LEAVES_PER_TURN):
        if start > first:
            await asyncio.sleep(0)
        part = market.asks(start, min(start + LEAVES_PER_TURN, last))
        by_ask.update(part.by_ask)
        never += part.never
        online += part.online
        leased += part.leased
        charged += part.charged
    return AsksView(by_ask, never, online, leased, charged)


# -- rates


def get_rates(call: Call) -> RateHistory:
    exchange, node = call.gateway.exchange, _known(call, call.path["node"])
    market = exchange.market
    until = reached(exchange, call.gateway.clock.now())
    since = _since(call, until)
    pieces = [
        (piece.start, piece.end, piece.rate)
        for piece in market.standing_rates(node, since, PRICE_PIECES_MAX)
    ]
    begin = max(since, market.now)
    if begin < until:  # the rate is constant since the last command
        _go_on(pieces, begin, until, market.standing_rate(node))
    segments = [
        RatePiece(format_time(start), format_time(end), price(rate)) for start, end, rate in pieces
    ]
    begins = format_time(pieces[0][0] if pieces else until)
    return RateHistory(node, begins, format_time(until), tuple(segments))


def _since(call: Call, now: int) -> int:
    since = call.time("since")
    if since is None:
        return max(0, now - HOUR_US)
    if since > now:
        raise ProblemError(
            Code.PERIOD_INVALID,
            f"since: expected {format_time(now)}, which is now, or earlier, found"
            f" {format_time(since)}",
        )
    return since


def _go_on(pieces: list[tuple[int, int, int]], start: int, until: int, rate: int) -> None:
    if pieces and pieces[-1][2] == rate:
        start = pieces.pop()[0]
    elif len(pieces) == PRICE_PIECES_MAX:
        del pieces[0]
    pieces.append((start, until, rate))
