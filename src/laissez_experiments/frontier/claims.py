"""What is claimed of the frontier: that budgets reach from spot to on demand, and what those
between are good for.

Whether a budget is like spot or like on demand is asked of both coordinates and in both directions:
one that buys nothing costs little, but does not perform like spot, and one that performs like on
demand for far more money is not like it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from laissez.sim.statistics import Estimate
from laissez_experiments.frontier.probe import Probe
from laissez_experiments.frontier.runs import ON_DEMAND, SPOT
from laissez_experiments.lab.findings import TOO_FEW, TOO_WIDE, Claim, reaches, shown

FIGURE: Final = "frontier"
PAPER: Final = "a broad cost-performance frontier between spot-like and on-demand-like behavior"
NEAR: Final = 0.2  # of the distance between spot and on demand
# of the work that spot does: who does less is not like it, however little that is
LEAST: Final = 0.5


def claims_of(probe: Probe) -> list[Claim]:
    return [_like(probe, SPOT), _like(probe, ON_DEMAND), _undominated(probe), _beyond_mixes(probe)]


def _like(probe: Probe, target: str) -> Claim:
    verdicts = {budget: _is_like(probe, budget, target) for budget in probe.budgets}
    like = [budget for budget, verdict in verdicts.items() if verdict]
    nearest = min(like or probe.budgets, key=lambda budget: _away(probe, budget, target))
    holds = True if like else None if None in verdicts.values() else False
    least = f", and it does at least {LEAST:g} of what {SPOT} does" if target == SPOT else ""
    return Claim(
        figure=FIGURE,
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
        note=(
            _undecided(probe)
            if holds is None
            else ""
            if holds
            else f"this is the nearest of {len(verdicts)} budgets"
        ),
    )


def _is_like(probe: Probe, budget: str, target: str) -> bool | None:
    """None where the intervals do not tell."""
    cost, performance = _distances(probe)
    told = [
        _is_within(probe.dearer(budget, target), NEAR * cost),
        _is_within(probe.better(budget, target), NEAR * performance),
    ]
    if target == SPOT:
        told.append(
            reaches(
                probe.estimate(
                    lambda means: means[budget].performance - LEAST * means[SPOT].performance,
                    jointly=True,
                ),
                0.0,
            )
        )
    return False if False in told else None if None in told else True


def _is_within(found: Estimate, bound: float) -> bool | None:
    if found.low is None or found.high is None:
        return None
    if found.low > bound or found.high < -bound:
        return False
    return True if -bound <= found.low and found.high <= bound else None


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
    dominated = [
        f"{budget} by {other}"
        for budget, told in verdicts.items()
        for other, verdict in told.items()
        if verdict
    ]
    doubtful = [
        f"{budget} by {other}"
        for budget, told in verdicts.items()
        for other, verdict in told.items()
        if verdict is None
    ]
    among = [
        budget
        for budget, told in verdicts.items()
        if all(verdict is False for verdict in told.values())
    ]
    holds = False if dominated or not verdicts else None if doubtful else True
    return _counted(
        probe,
        "no budget that costs more than spot and less than on demand is dominated by another policy"
        " of the market (cheaper and better)",
        PAPER,
        among,
        holds,
        (
            f"dominated: {', '.join(dominated)}"
            if dominated
            else f"{TOO_WIDE} (dominated in the mean: {', '.join(doubtful)})"
            if doubtful
            else ""
        ),
    )


def _beyond_mixes(probe: Probe) -> Claim:
    found = {budget: probe.beyond_mixes(budget) for budget in probe.between}
    among = [budget for budget, one in found.items() if one.low is not None and one.low > 0]
    return _counted(
        probe,
        "some of these budgets perform better than any mix of spot and on demand that costs the"
        " same (the interval excludes zero)",
        None,
        among,
        bool(among),
        "performance beyond the mix: "
        + ", ".join(f"{budget} {shown(one)}" for budget, one in found.items()),
    )


def _counted(
    probe: Probe, claim: str, paper: str | None, among: Sequence[str], holds: bool | None, note: str
) -> Claim:
    is_enough = probe.points[SPOT].cost.has_interval
    return Claim(
        figure=FIGURE,
        claim=claim,
        paper=paper,
        measured=f"{len(among)} of {len(probe.between)}"
        + (f" ({', '.join(among)})" if among else ""),
        holds=holds if is_enough else None,
        unit="budgets between",
        note=(
            TOO_FEW
            if not is_enough
            else (
                note
                if probe.between
                else "no budget costs more than spot and less than on demand beyond doubt"
            )
        ),
    )


def _undecided(probe: Probe) -> str:
    return TOO_WIDE if probe.points[SPOT].cost.has_interval else TOO_FEW


def _signed(found: Estimate) -> str:
    interval = (
        "" if found.low is None or found.high is None else f" [{found.low:+.2f}, {found.high:+.2f}]"
    )
    return f"{found.value:+.2f}{interval}"
