"""The standing rate of a node, now and before: the highest floor or bid on its path, of anyone, as
the price logs still know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from laissez.market.answers import RateSegment
from laissez.market.backwards import newest_pieces
from laissez.market.questions import find_node

if TYPE_CHECKING:
    from laissez.market.state import State

# looked at for one answer: a log may change a hundred times a second below a rate that never does
CHANGES_MAX: Final = 30_000


def standing_rate(state: State, path: str) -> int:
    return find_node(state, path).rate(None)


def standing_rates(
    state: State, path: str, since: int, segments_max: int
) -> tuple[RateSegment, ...]:
    """The pieces of constant standing rate within `[since, now)`, oldest first: the newest
    `segments_max`, as far as the books are open.

    If there are more, or very many changes that did not show, the answer begins later than `since`.
    """
    begin = max(since, state.closed_before)
    pieces = newest_pieces(
        find_node(state, path), None, begin, state.now, segments_max, CHANGES_MAX
    )
    return tuple([RateSegment(start, end, rate) for start, end, rate in pieces])
