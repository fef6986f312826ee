"""The market as a whole: its topology for everybody, and for the operator its figures, resources,
floors and controls."""

from __future__ import annotations

from laissez.exchange.commands import OPERATOR, Command
from laissez.market import Market
from laissez.market.commands import BringOnline, SetControls, SetFloor, TakeOffline
from laissez.market.reasons import Reason
from laissez.market.topology import Topology
from laissez.server.figures import market_summary
from laissez.server.http.call import Answer, Call
from laissez.server.http.paging import Cursor, cursor_of, page, path_key, paths_after, weighed_page
from laissez.server.views import SHOWN_MAX
from laissez.wire.decoding import read_controls, read_price
from laissez.wire.problems import ProblemError
from laissez.wire.rendering import band, optional_price, price, rendered, seconds
from laissez.wire.views import Controls, Done, Floor, Node, Resource

CHILDREN_PER_ITEM = 10  # they are told by their paths alone


def topology(call: Call) -> Answer:
    """The roots; or a node and what is right below it. Some nodes have very many children: they
    count too, in what a page holds and what it costs."""
    known = call.gateway.exchange.market.topology
    named = call.query.get("node")
    cursor = cursor_of(call, "topology")
    call.admit_items(0)
    paths = known.roots if named is None else (named, *call.site.children(_known(known, named)))
    found = (
        Node(path, known.level_of(path), known.leaf_count(path), call.site.children(path))
        for path in paths_after(paths, cursor)
    )
    told, items = weighed_page(call, "topology", found, lambda node: Cursor(node.path), _weigh)
    call.owe_items(items)
    return Answer(told)


def _weigh(node: Node) -> int:
    return 1 + len(node.children) // CHILDREN_PER_ITEM


def _known(known: Topology, path: str) -> str:
    if path not in known:
        raise ProblemError(Reason.SCOPE_UNKNOWN, f"there is no node {path[:SHOWN_MAX]!r}")
    return path


# -- figures


async def summary(call: Call) -> Answer:
    return Answer(await market_summary(call.gateway, call.site.metrics))


# -- resources


def resources(call: Call) -> Answer:
    market = call.gateway.exchange.market
    under = call.query.get("under")
    leaves = market.topology.leaves
    first, last = (
        (0, len(leaves))
        if under is None
        else market.topology.leaf_range(_known(market.topology, under))
    )
    found = (
        _resource(market, leaf)
        for leaf in paths_after(leaves, cursor_of(call, "resources"), first, last)
    )
    return Answer(page(call, "resources", found, lambda resource: Cursor(resource.leaf)))


def _resource(market: Market, leaf: str) -> Resource:
    lease = market.lease_on(leaf)
    owner, limit = (None, None) if lease is None else (lease.tenant, lease.limit)
    return Resource(
        leaf,
        market.is_online(leaf),
        owner,
        price(market.rate(leaf)),
        price(market.floor(leaf)),
        optional_price(limit),
    )


def set_online(call: Call) -> Answer:
    leaf = call.path["leaf"]
    return _done(call, BringOnline(leaf) if call.body.online else TakeOffline(leaf))


# -- floors and controls


def floors(call: Call) -> Answer:
    cursor = cursor_of(call, "floors")
    set_here = (one for one in call.gateway.exchange.market.floors() if _is_after(one.node, cursor))
    found = (Floor(one.node, price(one.own), price(one.in_force)) for one in set_here)
    return Answer(page(call, "floors", found, lambda floor: Cursor(floor.node)))


def set_floor(call: Call) -> Answer:
    return _done(call, SetFloor(call.path["node"], read_price(call.body.price, "price")))


def remove_floor(call: Call) -> Answer:
    return _done(call, SetFloor(call.path["node"], None))


def controls(call: Call) -> Answer:
    cursor = cursor_of(call, "controls")
    set_here = (
        one for one in call.gateway.exchange.market.controls() if _is_after(one.node, cursor)
    )
    found = (
        Controls(
            one.node, band(one.rise), band(one.fall), seconds(one.hold_us), seconds(one.flash_us)
        )
        for one in set_here
    )
    return Answer(page(call, "controls", found, lambda one: Cursor(one.node)))


def set_controls(call: Call) -> Answer:
    return _done(call, read_controls(call.body, call.path["node"]))


def remove_controls(call: Call) -> Answer:
    return _done(call, SetControls(call.path["node"]))


def _is_after(path: str, cursor: Cursor | None) -> bool:
    return cursor is None or path_key(path) > path_key(cursor.name)


def _done(call: Call, command: Command) -> Answer:
    return Answer(Done(rendered(call.enter(command), OPERATOR)))
