"""Claims about retention follow from the runs, which are made up with known answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from laissez.sim.statistics import Estimate
from laissez_experiments.fairness import Fairness
from laissez_experiments.gap import Gap
from laissez_experiments.lab.cloud_run import CloudRun, cloud_run
from laissez_experiments.lab.experiment import Experiment
from laissez_experiments.lab.findings import Claim
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import REGIMES, SLIGHTLY, UNDERSUBSCRIBED, sized
from laissez_experiments.lab.retained import quartile_range, relative_range, wider_by
from laissez_experiments.real_traces import RealTraces
from laissez_experiments.retention import PAPER, Retention
from support.experiment_world import made_up

pytestmark = pytest.mark.once

PLAN = Plan(seeds=6)
LOST = {"market": 0.10, "fcfs": 0.20, "fcfs-p": 0.40, "ideal": 0.05}


def lost(run: CloudRun) -> float:
    """A little more under every other seed, so that intervals are more than points."""
    return LOST[run.cloud] * (1.0 + 0.02 * (run.seed % 2))


def claims(experiment: Experiment, plan: Plan = PLAN, **given: object) -> list[Claim]:
    results = made_up(experiment.cells(plan), **{"achieved": lambda run, at: 1 - lost(run)} | given)  # type: ignore[arg-type]
    return list(experiment.findings(plan, results).claims)


def test_degradation_is_compared_with_each_contract_in_each_regime() -> None:
    less = [claim for claim in claims(Retention()) if "degradation" in claim.claim]
    assert [claim.paper for claim in less] == [
        paper * 100 for cloud in ("fcfs", "fcfs-p") for paper in PAPER[cloud]
    ]
    assert [round(claim.measured) for claim in less if isinstance(claim.measured, float)] == [
        50,
        50,
        50,
        75,
        75,
        75,
    ]
    assert all(claim.holds for claim in less)
    assert all(
        claim.interval and claim.interval[0] <= 50 <= claim.interval[1] + 1e-9 for claim in less[:3]
    )


def test_a_gain_smaller_than_the_papers_does_not_hold() -> None:
    less = [
        claim
        for claim in claims(
            Retention(), achieved=lambda run, at: 1 - (0.19 if run.cloud == "market" else 0.2)
        )
        if "of fcfs" in claim.claim
    ]
    assert [claim.holds for claim in less if "degradation" in claim.claim] == [False] * 6


def test_too_few_seeds_decide_nothing() -> None:
    assert {claim.holds for claim in claims(Retention(), Plan(seeds=2))} == {None}
    assert all(claim.note for claim in claims(Retention(), Plan(seeds=2)))


def test_boxes_are_generally_tighter_if_most_of_them_surely_are() -> None:
    (tighter,) = (
        claim
        for claim in claims(
            Retention(), achieved=lambda run, at: 0.5 + (0.1 if run.cloud == "market" else 0.2) * at
        )
        if "spread" in claim.claim
    )
    assert ("6 of 6", True) == (tighter.measured, tighter.holds)
    assert "than fcfs, right-sized: 0.200 [0.200, 0.200]" in tighter.note
    (alike,) = (
        claim
        for claim in claims(Retention(), achieved=lambda run, at: 0.5 + 0.1 * at)
        if "spread" in claim.claim
    )
    assert ("0 of 6", False) == (alike.measured, alike.holds)


@pytest.mark.parametrize(("apart", "holds"), [(0.005, True), (0.02, False)])
def test_clouds_converge_when_they_differ_by_less_than_a_hundredth(
    apart: float, holds: bool
) -> None:
    found = claims(
        Retention(), achieved=lambda run, at: 0.99 if run.cloud == "market" else 0.99 - apart
    )
    assert [claim.holds for claim in found if claim.paper == "converge"] == [holds] * 2


def test_performance_per_cost_is_spread_relative_to_its_median() -> None:
    dearer = claims(
        Fairness(),
        achieved=lambda run, at: 1.0,
        cost=lambda run, at: (32.0 if run.cloud == "market" else 8.0) * (at + 1),
    )
    assert [abs(float(claim.measured or 0)) < 1e-9 for claim in dearer] == [True] * 6
    assert not any(claim.holds for claim in dearer)
    alike = claims(
        Fairness(),
        achieved=lambda run, at: 1.0,
        cost=lambda run, at: 30.0 if run.cloud == "market" else 10.0 * (at + 1),
    )
    assert all(claim.holds for claim in alike)


def test_who_got_nothing_for_nothing_counts_as_nothing() -> None:
    results = made_up(
        Fairness().cells(PLAN),
        lambda run, at: 0.5,
        lambda run, at: 0.0 if run.cloud == "fcfs" and at == 0 else 10.0,
    )
    found = Fairness().findings(PLAN, results)
    assert "0 / 18 / 0 of 54" in found.text
    assert [True, True, True, False, False, False] == [claim.holds for claim in found.claims]


def test_where_half_got_nothing_nothing_is_decided() -> None:
    results = made_up(
        Fairness().cells(PLAN),
        lambda run, at: 0.5,
        lambda run, at: 0.0 if run.cloud == "fcfs" and at else 10.0,
    )
    found = Fairness().findings(PLAN, results)
    assert [None, None, None] == [claim.holds for claim in found.claims[:3]]
    assert all("half of the tenants got nothing" in claim.note for claim in found.claims[:3])


def test_the_way_to_ideal_is_a_part_of_the_gap() -> None:
    found = claims(Gap())
    # from 0.80 to 0.95 it goes to 0.90
    assert [round(float(claim.measured or 0)) for claim in found] == [67] * 3
    assert [(claim.paper, claim.holds) for claim in found] == [(None, None)] * 3


def test_real_traces_want_a_file_and_know_it_by_what_is_in_it(tmp_path: Path) -> None:
    assert "--trace" in (RealTraces().missing(Plan()) or "")
    files = [tmp_path / name for name in ("one.csv", "same.csv", "other.csv")]
    for file, text in zip(files, ("a", "a", "b"), strict=True):
        file.write_text(text)
    one, same, other = (RealTraces().cells(Plan(seeds=1, traces=(file,)))[0] for file in files)
    assert isinstance(one, CloudRun) and isinstance(same, CloudRun) and isinstance(other, CloudRun)
    assert one.trace == same.trace != other.trace
    assert RealTraces().missing(Plan(traces=(files[0],))) is None


def test_the_runs_of_one_regime_are_shared_by_experiments() -> None:
    retention, fairness, gap = (
        set(experiment.cells(PLAN)) for experiment in (Retention(), Fairness(), Gap())
    )
    assert fairness < retention
    assert len(gap - retention) == len(REGIMES) * PLAN.seeds
    assert cloud_run(UNDERSUBSCRIBED, "fcfs", 5) in retention


def test_a_quick_scenario_differs_in_size_alone() -> None:
    quick = sized(SLIGHTLY, Plan(quick=True))
    assert (quick.demand, quick.tenants.mix, quick.prices, quick.market) == (
        SLIGHTLY.demand,
        SLIGHTLY.tenants.mix,
        SLIGHTLY.prices,
        SLIGHTLY.market,
    )
    assert quick.tenants.count < SLIGHTLY.tenants.count and sized(SLIGHTLY, Plan()) is SLIGHTLY


def test_widths_and_their_difference() -> None:
    assert quartile_range([0.0, 1.0, 2.0, 3.0, 4.0]) == 2.0
    assert relative_range([0.0, 1.0, 2.0, 3.0, 4.0]) == 1.0
    found = wider_by([[0.0, 1.0, 2.0]] * 6, [[0.0, 2.0, 4.0]] * 6, quartile_range)
    assert found == Estimate(2.0, 2.0, 2.0)
