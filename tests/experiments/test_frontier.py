"""Cost against performance: the Pareto set, and claims that follow from the results of policies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from laissez.sim.statistics import Bootstrap, Estimate
from laissez_experiments.frontier.claims import claims_of
from laissez_experiments.frontier.experiment import BUDGETS, Frontier, cells
from laissez_experiments.frontier.probe import FrontierPoint, Means, Probe, pareto
from laissez_experiments.frontier.runs import FCFS, ON_DEMAND, SPOT, Outcome, budget_name
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.findings import TOO_FEW, TOO_WIDE, Claim, Findings
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.writing import write_findings

pytestmark = pytest.mark.once

PLAN = Plan(seeds=5)  # the fewest that give an interval
Points = Mapping[str, tuple[float, float]]  # cost and performance
TODAY: Points = {FCFS: (0.9, 0.95), ON_DEMAND: (3.0, 1.0), SPOT: (0.2, 0.2)}
CONCAVE: Points = {
    budget_name(times): point
    for times, point in zip(
        BUDGETS,
        ((0.25, 0.3), (0.5, 0.5), (0.8, 0.7), (1.2, 0.8), (1.8, 0.9), (3.2, 0.97), (3.6, 1.0)),
        strict=True,
    )
}
Noise = Mapping[str, tuple[float, float]]  # of cost and performance
NO_NOISE: Noise = {}
FEW_RESAMPLES = 400


def outcomes(budgets: Points, seeds: int, noise: Noise = NO_NOISE) -> list[list[Outcome]]:
    """Under every other seed all costs and performances are a little higher, and those of some
    policies differ by more, up and down."""
    return [
        [
            Outcome(
                policy=policy,
                cost=cost * (1 + 0.02 * (seed % 2))
                + noise.get(policy, (0.0, 0.0))[0] * (-1) ** seed,
                performance=done * (1 + 0.02 * (seed % 2))
                + noise.get(policy, (0.0, 0.0))[1] * (-1) ** seed,
                gpu_hours=1.0,
                revocations=0,
            )
            for policy, (cost, done) in {**TODAY, **budgets}.items()
        ]
        for seed in range(seeds)
    ]


def made_up(plan: Plan) -> Findings:
    results: dict[Cell, list[Outcome]] = dict(
        zip(cells(plan), outcomes(CONCAVE, plan.seeds), strict=True)
    )
    return Frontier().findings(plan, results)


def claims(changed: Points, noise: Noise = NO_NOISE) -> list[Claim]:
    return claims_of(Probe(outcomes({**CONCAVE, **changed}, PLAN.seeds, noise), FEW_RESAMPLES))


@pytest.fixture(scope="module")
def concave() -> Findings:
    return made_up(PLAN)


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
    points = [
        FrontierPoint(name, Estimate(cost), Estimate(done)) for name, (cost, done) in given.items()
    ]
    assert [point.policy for point in pareto(points)] == [
        "nothing",
        "good",
        "nearly",
        "best",
        "best too",
    ]


def test_budgets_that_span_and_dominate_are_found_to(concave: Findings) -> None:
    spot_like, on_demand_like, undominated, beyond = concave.claims
    assert [claim.holds for claim in concave.claims] == [True] * 4
    assert str(spot_like.measured).startswith("1x: cost +0.05 [")
    assert str(on_demand_like.measured).startswith("4x: cost +0.20 [")
    assert undominated.measured == "5 of 5 (1x, 1.5x, 2x, 2.5x, 3x)"
    assert beyond.measured == undominated.measured


@pytest.mark.parametrize(
    ("smallest", "holds"),
    [
        ((0.25, 0.3), True),
        ((0.7, 0.3), True),  # a fifth of the way in cost is 0.56
        ((0.9, 0.3), False),
        ((0.25, 0.5), False),  # a fifth of the way in performance is 0.16
        ((0.05, 0.08), False),  # near enough, but not half of the work
        ((0.0, 0.0), False),
    ],
)
def test_like_spot_is_who_costs_and_performs_like_it(
    smallest: tuple[float, float], holds: bool
) -> None:
    assert claims({"1x": smallest, "1.5x": (1.0, 0.6)})[0].holds is holds


@pytest.mark.parametrize(
    ("largest", "holds"),
    [
        ((2.6, 0.95), True),
        ((3.4, 1.0), True),
        ((3.7, 1.0), False),
        ((3.0, 0.8), False),
        ((2.3, 1.0), False),
    ],
)
def test_like_on_demand_is_who_costs_and_performs_like_it(
    largest: tuple[float, float], holds: bool
) -> None:
    """The only one that comes near it."""
    claim = claims({"4x": (4.5, 1.0), "6x": largest})[1]
    assert claim.holds is holds
    assert claim.note == ("" if holds else "this is the nearest of 7 budgets")


def test_a_bound_within_the_interval_decides_nothing() -> None:
    """The only budget that comes near on demand is within the bound under some seeds only."""
    claim = claims({"4x": (4.5, 1.0), "6x": (3.5, 1.0)}, noise={"6x": (0.5, 0.0)})[1]
    assert (claim.holds, claim.note) == (None, TOO_WIDE)


def test_dominated_is_only_what_is_dearer_and_worse_beyond_doubt() -> None:
    """3x is dearer and worse than 2.5x: by far, or by less than it varies."""
    far = claims({"3x": (1.8, 0.6)})[2]
    assert (far.holds, far.measured, far.note) == (
        False,
        "4 of 5 (1x, 1.5x, 2x, 2.5x)",
        "dominated: 3x by 2x, 3x by 2.5x",
    )
    doubtful = claims({"3x": (1.8, 0.75)}, noise={"3x": (0.0, 0.1)})[2]
    assert (doubtful.holds, doubtful.measured) == (None, "4 of 5 (1x, 1.5x, 2x, 2.5x)")
    assert "3x by 2.5x" in doubtful.note and TOO_WIDE in doubtful.note


def test_between_are_only_budgets_that_cost_so_much_beyond_doubt() -> None:
    assert claims({"3x": (2.9, 0.99)})[2].measured == "5 of 5 (1x, 1.5x, 2x, 2.5x, 3x)"
    assert (
        claims({"3x": (2.9, 0.99)}, noise={"3x": (0.5, 0.0)})[2].measured
        == "4 of 4 (1x, 1.5x, 2x, 2.5x)"
    )
    none = claims(dict.fromkeys(CONCAVE, (0.1, 0.1)))
    assert [(claim.measured, claim.holds) for claim in none[2:]] == [("0 of 0", False)] * 2


def test_budgets_below_the_mixes_are_not_beyond_them() -> None:
    below = {
        budget: (cost, 0.19 + (cost - 0.2) / 2.8 * 0.8) for budget, (cost, _) in CONCAVE.items()
    }
    beyond = claims(below)[3]
    assert (beyond.holds, beyond.measured) == (False, "0 of 5")
    assert claims({**below, "2.5x": (1.2, 0.6)})[3].measured == "1 of 5 (2.5x)"


def test_intervals_for_all_budgets_at_once_are_wider() -> None:
    probe = Probe(outcomes(CONCAVE, 20, {"2x": (0.3, 0.0)}), FEW_RESAMPLES)

    def cost(means: Means) -> float:
        return means["2x"].cost

    alone, jointly = probe.estimate(cost), probe.estimate(cost, jointly=True)
    assert (
        alone.low is not None
        and jointly.low is not None
        and alone.high is not None
        and jointly.high is not None
    )
    assert jointly.low < alone.low < alone.value == jointly.value < alone.high < jointly.high


def test_a_mean_has_the_interval_that_it_has_everywhere() -> None:
    seeds = outcomes(CONCAVE, 8, {"2x": (0.3, 0.1)})
    point, numbers = (
        Probe(seeds).points["2x"],
        [outcome for seed in seeds for outcome in seed if outcome.policy == "2x"],
    )
    for found, told in (
        (point.cost, [one.cost for one in numbers]),
        (point.performance, [one.performance for one in numbers]),
    ):
        expected = Bootstrap(8).mean(told)
        assert (found.value, found.low, found.high) == pytest.approx(
            (expected.value, expected.low, expected.high)
        )


def test_fcfs_and_what_work_is_worth_to_the_others_are_told_beside_the_market(
    concave: Findings,
) -> None:
    # on demand is dearer too, but better
    assert "cheaper and better than 2 of the market's 9 policies (2.5x, 3x)" in concave.text
    assert (
        "To the others their work is worth about 4 times what it costs at list prices"
        in concave.text
    )


def test_too_few_seeds_decide_nothing() -> None:
    few = made_up(Plan(seeds=2)).claims
    assert [(claim.holds, claim.note) for claim in few] == [(None, TOO_FEW)] * 4


def test_every_point_has_its_rows_and_its_tip(concave: Findings, tmp_path: Path) -> None:
    assert len(concave.rows) == PLAN.seeds * (len(TODAY) + len(CONCAVE))
    assert set(concave.tips) == {*TODAY, *CONCAVE}
    write_findings("frontier", concave, tmp_path)
    assert (tmp_path / "frontier.svg").read_text().count("tip:") == len(concave.tips)


def test_the_quick_version_runs() -> None:
    """A probe on demand loses no GPU, spot costs less, and no budget is overspent."""
    (cell,) = cells(Plan(seeds=1, quick=True))
    found = {outcome.policy: outcome for outcome in cell.run()}
    assert list(found) == [FCFS, ON_DEMAND, SPOT, *map(budget_name, cell.budgets)]
    assert found[ON_DEMAND].revocations == 0
    assert found[SPOT].cost < found[ON_DEMAND].cost
    assert all(found[budget_name(budget)].cost <= budget for budget in cell.budgets)
