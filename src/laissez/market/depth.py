"""Market depth for the operator: the book around a node, the asks of leaves, and all leaves in
columns.

Reading a book costs as much as there are different limits on the path, plus the orders in the lines
that are shown. Leaves are read one by one. Callers name them by positions in path order, so that
they can read very many in parts.
"""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, Final

from laissez.market.answers import AsksView, BidGroup, BookView, ControlsView, LevelsView
from laissez.market.commands import Band
from laissez.market.controls import FALL, RISE, flash_of, governing, hold_of
from laissez.market.node import NEVER
from laissez.market.questions import controls_view, find_node

if TYPE_CHECKING:
    from laissez.market.book import Book
    from laissez.market.node import Node
    from laissez.market.state import State

IDLE: Final = -1  # in the place of an owner
OFFLINE: Final = -2


def book(state: State, path: str, groups_max: int) -> BookView:
    """The settings of a node and the orders on its path, with the highest `groups_max` limits."""
    node = find_node(state, path)
    books = _books_on_path(node)
    here = 0 if node.book is None else node.book.count
    on_path = 0
    limits: set[int] = set()
    for resting in books:
        on_path += resting.count
        limits.update(resting.lines)
    leader = None if node.book is None else node.book.leader
    return BookView(
        node.path,
        node.floor,
        node.highest_floor(),
        node.rate(None),
        None if leader is None else leader.best,
        here,
        on_path - here,
        node.resting_below - here,
        tuple([_group(limit, books, node.book) for limit in nlargest(groups_max, limits)]),
        max(0, len(limits) - groups_max),
        None if node.controls is None else controls_view(node.path, node.controls),
        _in_force(node),
    )


def _books_on_path(node: Node) -> list[Book]:
    books: list[Book] = []
    on_path: Node | None = node
    while on_path is not None:
        if on_path.book is not None:
            books.append(on_path.book)
        on_path = on_path.above
    return books


def _group(limit: int, books: list[Book], own: Book | None) -> BidGroup:
    orders = 0
    here = 0
    for book in books:
        length = _length_of_line(book, limit)
        orders += length
        if book is own:
            here = length
    return BidGroup(limit, orders, here)


def _length_of_line(book: Book, limit: int) -> int:
    length = 0
    resting = book.lines.get(limit)
    while resting is not None:
        length += 1
        resting = resting.later
    return length


def _in_force(node: Node) -> ControlsView:
    """The controls that govern a node (M15 to M18)."""
    rise = governing(node, RISE)
    fall = governing(node, FALL)
    return ControlsView(
        node.path,
        None if rise is None else Band(rise.rise_ppm, rise.rise_interval),
        None if fall is None else Band(fall.fall_ppm, fall.fall_interval),
        hold_of(node) or None,
        flash_of(node) or None,
    )


def asks(state: State, first: int, last: int) -> AsksView:
    """The leaves at positions `first <= p < last`: how many have each ask (M9), and how many no
    price would open now."""
    by_ask: dict[int, int] = {}
    never = 0
    online = 0
    leased = 0
    charged = 0
    for leaf in state.forest.leaves[first:last]:
        lease = leaf.lease
        ask = leaf.lease_ask
        if lease is not None:
            leased += 1
            charged += min(leaf.rate(lease.tenant), lease.cap())
        elif leaf.online:
            ask = leaf.highest_floor()
        if leaf.online:
            online += 1
        if ask == NEVER:
            never += 1
        else:
            by_ask[ask] = by_ask.get(ask, 0) + 1
    return AsksView(by_ask, never, online, leased, charged)


def levels(state: State, first: int, last: int) -> LevelsView:
    """The leaves at positions `first <= p < last`, in columns."""
    rates: list[int] = []
    limits: list[int | None] = []
    owners: list[int] = []
    floors: list[int] = []
    for leaf in state.forest.leaves[first:last]:
        lease = leaf.lease
        if lease is None:
            rates.append(leaf.rate(None))
            limits.append(None)
            owners.append(IDLE if leaf.online else OFFLINE)
        else:
            rates.append(leaf.rate(lease.tenant))
            limits.append(None if lease.limit == NEVER else lease.limit)
            owners.append(lease.tenant.number - 1)
        floors.append(leaf.highest_floor())
    return LevelsView(rates, limits, owners, floors)
