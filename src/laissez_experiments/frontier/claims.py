"""The claims about the frontier: budgets reach from spot to on demand, and those between are good
for something.

Whether a budget is like spot or like on demand is a question about both coordinates, in both
directions: one that buys nothing costs little, but does not perform like spot, and one that
performs like on demand for far more money is not like it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from laissez.sim.statistics import Estimate
from laissez_experiments.frontier.probe import Probe
from laissez_experiments.frontier.runs import ON_DEMAND, SPOT
from laissez_experiments.lab.findings import (
    TOO_FEW,
    TOO_WIDE,
    Claim,
    interval,
    is_above_zero,
    is_within,
    reaches,
    shown,
)

PAPER: Final = "a broad cost-performance frontier between spot-like and on-demand-like behavior"
NEAR: Final = 0.2  # of the distance between spot and on demand
# of the work that spot does: a policy that does less is not like it, however small the difference
LEAST: Final = 0.5
NONE_BETWEEN: Final = "no budget costs more than spot and less than on demand beyond doubt"


def claims_of(probe: Probe) -> list[Claim]:
    return [_like(probe, SPOT), _like(probe, ON_DEMAND), _undominated(probe), _beyond_mixes(probe)]


def _all_hold(verdicts: Sequence[bool | None]) -> bool | None:
    return False if False in verdicts else None if None in verdicts else True


def _like(probe: Probe, target: str) -> Claim:
    verdicts = {budget: _is_like(probe, budget, target) for budget in probe.budgets}
    like = [budget for budget, verdict in verdicts.items() if verdict]
    nearest = min(like or probe.budgets, key=lambda budget: _away(probe, budget, target))
    holds = True if like else None if None in verdicts.values() else False
    notes = {
        None: TOO_WIDE if probe.points[SPOT].cost.has_interval else TOO_FEW,
        False: f"this is the nearest of {len(verdicts)} budgets",
        True: "",
    }
    least = f", and it does at least {LEAST:g} of what {SPOT} does" if target == SPOT else ""
    return Claim(
        claim=(
            f"some budget is like {target}: cost and performance both differ by at most {NEAR:g} of"
            f" what spot and on demand differ by{least}"
        ),
        paper=PAPER,
        measured=(
            f"{nearest}: cost {_signed(probe.dearer(nearest, target))}, performance"
            f" {_signed(probe.better(nearest, target))}"
        ),
        holds=holds,
        unit="more than " + target,
        note=notes[holds],
    )


def _is_like(probe: Probe, budget: str, target: str) -> bool | None:
    """None where the intervals leave it open."""
    cost, performance = _distances(probe)
    told = [
        is_within(probe.dearer(budget, target), NEAR * cost),
        is_within(probe.better(budget, target), NEAR * performance),
    ]
    if target == SPOT:
        told.append(reaches(probe.better(budget, SPOT, LEAST), 0.0))
    return _all_hold(told)


def _distances(probe: Probe) -> tuple[float, float]:
    spot, on_demand = probe.means[SPOT], probe.means[ON_DEMAND]
    return abs(on_demand.cost - spot.cost), abs(on_demand.performance - spot.performance)


def _away(probe: Probe, budget: str, target: str) -> float:
    """In parts of the distance between spot and on demand, where there is one."""
    (cost, performance), one, other = _distances(probe), probe.means[budget], probe.means[target]
    return max(
        abs(one.cost - other.cost) / (cost or 1.0),
        abs(one.performance - other.performance) / (performance or 1.0),
    )


def _undominated(probe: Probe) -> Claim:
    verdicts = {
        budget: {other: probe.dominates(other, budget) for other in probe.market}
        for budget in probe.between
    }

    def pairs(wanted: bool | None) -> str:
        return ", ".join(
            f"{budget} by {other}"
            for budget, told in verdicts.items()
            for other, verdict in told.items()
            if verdict is wanted
        )

    dominated, doubtful = pairs(True), pairs(None)
    among = [budget for budget, told in verdicts.items() if set(told.values()) == {False}]
    doubt = f"{TOO_WIDE} (dominated in the mean: {doubtful})" if doubtful else ""
    return _counted(
        probe,
        "no budget that costs more than spot and less than on demand is dominated by another policy"
        " of the market (cheaper and better)",
        PAPER,
        among,
        False if dominated or not verdicts else None if doubtful else True,
        f"dominated: {dominated}" if dominated else doubt,
    )


def _beyond_mixes(probe: Probe) -> Claim:
    found = {budget: probe.beyond_mixes(budget) for budget in probe.between}
    among = [budget for budget, one in found.items() if is_above_zero(one)]
    each = ", ".join(f"{budget} {shown(one)}" for budget, one in found.items())
    return _counted(
        probe,
        "some of these budgets perform better than any mix of spot and on demand that costs the"
        " same (the interval excludes zero)",
        None,
        among,
        bool(among),
        f"performance beyond the mix: {each}",
    )


def _counted(
    probe: Probe, claim: str, paper: str | None, among: Sequence[str], holds: bool | None, note: str
) -> Claim:
    if not probe.points[SPOT].cost.has_interval:
        holds, note = None, TOO_FEW
    elif not probe.between:
        note = NONE_BETWEEN
    names = f" ({', '.join(among)})" if among else ""
    return Claim(
        claim=claim,
        paper=paper,
        measured=f"{len(among)} of {len(probe.between)}{names}",
        holds=holds,
        unit="budgets between",
        note=note,
    )


def _signed(found: Estimate) -> str:
    ends = interval(found)
    return f"{found.value:+.2f}" + (f" [{ends[0]:+.2f}, {ends[1]:+.2f}]" if ends else "")
