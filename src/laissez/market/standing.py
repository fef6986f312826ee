"""The standing rate of a node, now and before: the highest floor or bid on its path, of anyone, as the price logs still know it.

The logs are read backwards from now, all of the path together, so that the newest part of a long history costs no more than itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from laissez.market.answers import RateSegment
from laissez.market.questions import find_node

if TYPE_CHECKING:
    from laissez.market.node import Node
    from laissez.market.pricelog import PriceLog
    from laissez.market.state import State

CHANGES_MAX: Final = 30_000  # looked at for one answer: a log may change a hundred times a second below a rate that never does


def standing_rate(state: State, path: str) -> int:
    return find_node(state, path).rate(None)


def standing_rates(state: State, path: str, since: int, segments_max: int) -> tuple[RateSegment, ...]:
    """The pieces of constant standing rate within `[since, now)`, oldest first: the newest `segments_max`, as far as the books are open.

    If there are more, or very many changes that did not show, the answer begins later than `since`.
    """
    logs = _logs_on_path(find_node(state, path))
    in_force = [log.index_before(state.now) for log in logs]  # which record of each log
    begin = max(since, state.closed_before)
    end = state.now
    starts: list[int] = []  # of the pieces found, newest first
    ends: list[int] = []
    rates: list[int] = []
    changes = 0
    while end > begin and changes < CHANGES_MAX:
        start = begin
        rate = 0
        for which in range(len(logs)):
            index = in_force[which]
            rate = max(rate, logs[which].pressing(index, None))
            if index >= 0:
                start = max(start, logs[which].times[index])
        if rates and rates[-1] == rate:
            starts[-1] = start
        elif len(rates) == segments_max:
            break
        else:
            starts.append(start)
            ends.append(end)
            rates.append(rate)
        _step_back(logs, in_force, start)
        end = start
        changes += 1
    return tuple([RateSegment(starts[i], ends[i], rates[i]) for i in range(len(rates) - 1, -1, -1)])


def _logs_on_path(node: Node) -> list[PriceLog]:
    logs: list[PriceLog] = []
    on_path: Node | None = node
    while on_path is not None:
        if on_path.log is not None:
            logs.append(on_path.log)
        on_path = on_path.above
    return logs


def _step_back(logs: list[PriceLog], in_force: list[int], time: int) -> None:
    """To the records in force just before `time`."""
    for which in range(len(logs)):
        index = in_force[which]
        while index >= 0 and logs[which].times[index] >= time:
            index -= 1
        in_force[which] = index
