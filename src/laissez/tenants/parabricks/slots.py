"""How the GPUs a tenant has are shared out among its samples. All GPUs of one sample sit in one
machine.

A sample on `n` GPUs is less than `n` times as fast as on one, so while there are samples enough
every GPU takes its own. Near the end there are fewer samples than GPUs; then the GPUs of one
machine join, and what sits in a machine without a sample is of no use.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from laissez.tenants.hooks import Leaves
from laissez.tenants.parabricks.runtime import RunTime
from laissez.tenants.paths import parent_of, tree_of


def machines(held: Leaves, scopes: Collection[str]) -> list[tuple[str, int]]:
    """Type and count of GPUs, machine by machine. A scope stands for a GPU somewhere below it, so
    it is taken to be alone in its machine."""
    counts: dict[str, int] = {}
    alone = [(tree_of(leaf), 1) for leaf in held if leaf in scopes]
    for leaf in held:
        if leaf not in scopes:
            counts[parent_of(leaf)] = counts.get(parent_of(leaf), 0) + 1
    return [*((tree_of(host), count) for host, count in counts.items()), *alone]


def slots(
    found: list[tuple[str, int]], samples: int, run_times: Mapping[str, RunTime]
) -> list[float]:
    """The speed of every slot in samples per hour, the fastest first, at most one slot per sample.

    The next slot goes to the machine that gains most by it. A machine gains less by each further
    one, so this is the best there is.
    """
    useful = [(run_times[kind], count) for kind, count in found if kind in run_times]
    if samples >= sum(count for _, count in useful):
        return sorted(
            (one.per_hour(1) for one, count in useful for _ in range(count)), reverse=True
        )
    given = [0] * len(useful)
    for _ in range(samples):
        gains = [
            _rate(one, count, given[at] + 1) - _rate(one, count, given[at])
            for at, (one, count) in enumerate(useful)
        ]
        given[max(range(len(gains)), key=gains.__getitem__)] += 1
    rates = (
        rate
        for (one, count), parts in zip(useful, given, strict=True)
        for rate in _split(one, count, parts)
    )
    return sorted(rates, reverse=True)


def _rate(run_time: RunTime, gpus: int, parts: int) -> float:
    """Samples per hour of a machine that works on so many samples at once; it cannot work on more
    than it has GPUs."""
    return sum(_split(run_time, gpus, min(parts, gpus)))


def _split(run_time: RunTime, gpus: int, parts: int) -> list[float]:
    """The speed of each part when the GPUs are shared out as evenly as possible."""
    if not parts:
        return []
    each, more = divmod(gpus, parts)
    return [run_time.per_hour(each + 1)] * more + [run_time.per_hour(each)] * (parts - more)
