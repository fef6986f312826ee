"""What rests around a node, what could be had below it, and what its rate was. For the operator."""

from __future__ import annotations

import asyncio

from laissez.market.answers import AsksView, ControlsView
from laissez.market.reasons import Reason
from laissez.server.gateway import Gateway
from laissez.server.http.call import Answer, Call
from laissez.server.views import SHOWN_MAX, reached
from laissez.units import HOUR_US, format_time
from laissez.wire.books import Ask, Bid, NodeBook, RateHistory, RatePiece
from laissez.wire.limits import PRICE_PIECES_MAX
from laissez.wire.problems import Code, ProblemError
from laissez.wire.rendering import band, optional_price, price, seconds
from laissez.wire.views import Controls

GROUPS_MAX = 50
LEAVES_PER_TURN = 8_192  # looked at before other work has its turn: about a millisecond


async def book(call: Call) -> Answer:
    gateway, node = call.gateway, _known(call)
    market = gateway.exchange.market
    asks = await _asks(gateway, node)
    found = market.book(node, GROUPS_MAX)
    return Answer(
        NodeBook(
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
            _cheapest(asks),
            max(0, len(asks.by_ask) - GROUPS_MAX),
        )
    )


def _known(call: Call) -> str:
    node = call.path["node"]
    if node not in call.gateway.exchange.market.topology:
        raise ProblemError(Reason.SCOPE_UNKNOWN, f"there is no node {node[:SHOWN_MAX]!r}")
    return node


async def _asks(gateway: Gateway, node: str) -> AsksView:
    """Of all leaves below the node; if they are very many, a part at a time."""
    market = gateway.exchange.market
    first, last = market.topology.leaf_range(node)
    by_ask: dict[int, int] = {}
    never = online = leased = charged = 0
    for start in range(first, last, LEAVES_PER_TURN):
        if start > first:
            await asyncio.sleep(0)
        part = market.asks(start, min(start + LEAVES_PER_TURN, last))
        for ask, leaves in part.by_ask.items():
            by_ask[ask] = by_ask.get(ask, 0) + leaves
        never, online, leased, charged = (
            never + part.never,
            online + part.online,
            leased + part.leased,
            charged + part.charged,
        )
    return AsksView(by_ask, never, online, leased, charged)


def _cheapest(asks: AsksView) -> tuple[Ask, ...]:
    found = [Ask(price(ask), asks.by_ask[ask]) for ask in sorted(asks.by_ask)[:GROUPS_MAX]]
    return tuple([*found, Ask(None, asks.never)] if asks.never else found)


def _controls(view: ControlsView) -> Controls:
    return Controls(
        view.node, band(view.rise), band(view.fall), seconds(view.hold_us), seconds(view.flash_us)
    )


# -- rates


def rates(call: Call) -> Answer:
    exchange, node = call.gateway.exchange, _known(call)
    market = exchange.market
    until = reached(exchange, call.gateway.clock.now())
    since = _since(call, until)
    pieces = [
        (piece.start, piece.end, piece.rate)
        for piece in market.standing_rates(node, since, PRICE_PIECES_MAX)
    ]
    begin = max(since, market.now)
    if begin < until:  # nothing has happened since the last command, so the rate has been the same
        _go_on(pieces, begin, until, market.standing_rate(node))
    segments = [
        RatePiece(format_time(start), format_time(end), price(rate)) for start, end, rate in pieces
    ]
    return Answer(
        RateHistory(
            node,
            format_time(pieces[0][0] if pieces else until),
            format_time(until),
            tuple(segments),
        )
    )


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
