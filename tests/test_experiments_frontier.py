"""Cost against performance: the Pareto set, and that what is claimed about it follows from what the policies came to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from laissez.experiments.frontier.experiment import BUDGETS, Frontier, cells, pareto
from laissez.experiments.frontier.figure import FrontierPoint
from laissez.experiments.frontier.runs import FCFS, ON_DEMAND, SPOT, Outcome, budget_name
from laissez.experiments.lab.cell import Cell
from laissez.experiments.lab.findings import TOO_FEW, Findings
from laissez.experiments.lab.plan import Plan
from laissez.experiments.lab.writing import write_findings
from laissez.sim.statistics import Estimate

pytestmark = pytest.mark.once

PLAN = Plan(seeds=5)  # the fewest that give an interval
Points = Mapping[str, tuple[float, float]]  # cost and performance
TODAY: Points = {FCFS: (0.9, 0.95), ON_DEMAND: (3.0, 1.0), SPOT: (0.2, 0.2)}
CONCAVE: Points = {
    budget_name(times): point
    for times, point in zip(BUDGETS, ((0.1, 0.1), (0.5, 0.5), (0.8, 0.7), (1.2, 0.8), (1.8, 0.9), (2.4, 0.95), (3.2, 1.0)), strict=True)
}


def made_up(budgets: Points, plan: Plan, largest_varies: float = 0.0) -> Findings:
    """Under every other seed all costs and performances are a little higher, and that of the largest budget so much lower."""
    results: dict[Cell, list[Outcome]] = {}
    for cell in cells(plan):
        odd = cell.seed % 2
        results[cell] = [
            Outcome(
                policy=policy,
                cost=cost * (1 + 0.02 * odd),
                performance=done * (1 + 0.02 * odd) - (largest_varies * odd if policy == "6x" else 0.0),
                gpu_hours=1.0,
                revocations=0,
            )
            for policy, (cost, done) in {**TODAY, **budgets}.items()
        ]
    return Frontier().findings(plan, results)


@pytest.fixture(scope="module")
def concave() -> Findings:
    return made_up(CONCAVE, PLAN)


def test_the_same_probe_under_every_policy_one_cell_for_each_seed() -> None:
    first, *others = cells(PLAN)
    assert [cell.seed for cell in (first, *others)] == list(PLAN.all_seeds)
    assert all((cell.scenario, cell.budgets) == (first.scenario, BUDGETS) for cell in others)


def test_the_pareto_set_is_what_no_other_dominates() -> None:
    given = {
        "nothing": (0.0, 0.0),
        "good": (1.0, 0.5),
        "dearer": (1.5, 0.5),
        "worse": (1.0, 0.4),
        "nearly": (1.9, 0.6),
        "best": (2.0, 0.9),
        "best too": (2.0, 0.9),
    }
    points = [FrontierPoint(name, Estimate(cost), Estimate(done)) for name, (cost, done) in given.items()]
    assert [point.policy for point in pareto(points)] == ["nothing", "good", "nearly", "best", "best too"]


def test_budgets_that_span_and_dominate_are_found_to(concave: Findings) -> None:
    on_demand_like, spot_like, undominated, beyond, *_ = concave.claims
    assert all(claim.holds for claim in (on_demand_like, spot_like, undominated, beyond))
    assert on_demand_like.measured == pytest.approx(100)
    assert spot_like.measured == pytest.approx((0.1 - 0.2) / (3.0 - 0.2) * 100)
    assert undominated.measured == "5 of 5 (1.5x, 2x, 2.5x, 3x, 4x)"
    assert beyond.measured == undominated.measured


def test_budgets_that_do_not_are_found_not_to() -> None:
    """All but one are a little below the line from spot to on demand, and that one is dearer and worse than the next."""
    below = {budget: (cost, 0.19 + (cost - 0.2) / 2.8 * 0.8) for budget, (cost, _) in CONCAVE.items()}
    found = made_up({**below, "1x": (0.6, 0.3), "2.5x": (1.9, 0.5), "6x": (3.2, 0.8)}, PLAN).claims
    assert [claim.holds for claim in found[:4]] == [False] * 4
    assert found[2].measured == "5 of 6 (1x, 1.5x, 2x, 3x, 4x)"
    assert found[3].measured == "0 of 6"


def test_a_bound_within_the_interval_decides_nothing() -> None:
    """The largest budget performs like on demand under some seeds only."""
    claim = made_up(CONCAVE, PLAN, largest_varies=0.3).claims[0]
    assert claim.interval is not None and claim.interval[0] < 90 < claim.interval[1]
    assert (claim.holds, claim.note) == (None, "the interval reaches both sides of the bound")


def test_fcfs_at_list_prices_is_told_beside_the_market(concave: Findings) -> None:
    dearer, below = concave.claims[4:]
    assert dearer.measured == pytest.approx(3.0 / 0.9)
    assert below.measured == "3 of 9 (2.5x, 3x, 4x)"  # on demand is dearer too, but better
    assert {dearer.holds, below.holds, dearer.paper, below.paper} == {None}


def test_too_few_seeds_decide_nothing() -> None:
    few = [claim for claim in made_up(CONCAVE, Plan(seeds=2)).claims if claim.paper is not None]
    assert [(claim.holds, claim.note) for claim in few] == [(None, TOO_FEW)] * 4


def test_every_point_has_its_rows_and_its_tip(concave: Findings, tmp_path: Path) -> None:
    assert len(concave.rows) == PLAN.seeds * (len(TODAY) + len(CONCAVE))
    assert set(concave.tips) == {*TODAY, *CONCAVE}
    write_findings("frontier", concave, tmp_path)
    assert (tmp_path / "frontier.svg").read_text().count("tip:") == len(concave.tips)


def test_the_quick_version_runs() -> None:
    """Who is on demand holds on through everything, spot costs less, and no budget is overspent."""
    (cell,) = cells(Plan(seeds=1, quick=True))
    found = {outcome.policy: outcome for outcome in cell.run()}
    assert list(found) == [FCFS, ON_DEMAND, SPOT, *map(budget_name, cell.budgets)]
    assert found[ON_DEMAND].revocations == 0
    assert found[SPOT].cost < found[ON_DEMAND].cost
    assert all(found[budget_name(budget)].cost <= budget for budget in cell.budgets)
