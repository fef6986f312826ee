"""When only some tenants adapt: the gains of the market and of each group follow from the runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from laissez.sim.setting import baseline_of
from laissez.sim.workloads.population import ON_DEMAND_TIMES, who_adapts
from laissez_experiments.adaptive_share import CLOUDS, SHARES, AdaptiveShare, scenario
from laissez_experiments.lab.cloud_run import CloudRun
from laissez_experiments.lab.findings import TOO_FEW, Findings
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import SLIGHTLY
from laissez_experiments.lab.writing import write_findings
from laissez_experiments.retention import Retention
from support.experiment_world import made_up

pytestmark = pytest.mark.once

FULL = Plan(seeds=1)
PLAN = Plan(seeds=5, quick=True)  # three tenants, of whom one adapts, or all
# by cloud, and whether it adapts
KEPT = {("market", True): 0.9, ("market", False): 0.7, ("fcfs", True): 0.8, ("fcfs", False): 0.6}


def achieved(run: CloudRun, at: int) -> float:
    return KEPT[run.cloud, at in who_adapts(run.scenario, run.seed)] + 0.01 * (run.seed % 2)


def found_in(plan: Plan) -> Findings:
    experiment = AdaptiveShare()
    return experiment.findings(plan, made_up(experiment.cells(plan), achieved))


@pytest.fixture(scope="module")
def findings() -> Findings:
    return found_in(PLAN)


def test_shares_vary_and_nothing_else() -> None:
    every = [scenario(share, FULL) for share in SHARES]
    assert [one.tenants.adaptive for one in every] == [0.1, 0.4, 0.7, 1.0]
    assert {baseline_of(one) == baseline_of(SLIGHTLY) for one in every} == {True}
    assert len({one.name for one in every}) == len(every)


def test_where_all_adapt_the_runs_are_those_of_retention() -> None:
    shared = set(AdaptiveShare().cells(FULL)) & set(Retention().cells(FULL))
    assert {cell.cloud for cell in shared if isinstance(cell, CloudRun)} == set(CLOUDS)
    assert all(isinstance(cell, CloudRun) and cell.scenario == SLIGHTLY for cell in shared)


def test_claims_say_what_was_measured(findings: Findings) -> None:
    some, everyone, adaptive, fixed = findings.claims
    lost = {"market": (0.1 + 2 * 0.3) / 3 - 0.004, "fcfs": (0.2 + 2 * 0.4) / 3 - 0.004}
    assert some.measured == pytest.approx((1 - lost["market"] / lost["fcfs"]) * 100)
    assert everyone.measured == pytest.approx((1 - 0.096 / 0.196) * 100)
    assert [adaptive.measured, fixed.measured] == [pytest.approx(0.1)] * 2
    assert all(
        claim.interval is not None and claim.holds is None and claim.paper is None
        for claim in (some, everyone, adaptive, fixed)
    )


def test_groups_are_told_apart(findings: Findings) -> None:
    text = findings.text
    assert (
        "adaptive tenants keep 0.904 against 0.804; fixed tenants keep 0.704 against 0.604" in text
    )
    assert "Where 25 % adapt" in text
    assert f"at a limit of {ON_DEMAND_TIMES:g} times the highest list price" in text
    assert (
        "Where it is 25 %, fixed tenants pay 20 dollars a run on the market and 20 on fcfs;"
        " adaptive ones hold 0.0 GPU-hours" in text
    )
    rows = [row for row in findings.rows if row["adaptive_share"] == 0.25 and row["seed"] == 0]
    assert sorted((str(row["cloud"]), str(row["trades"]), row["retention"]) for row in rows) == [
        ("fcfs", "adaptive", 0.8),
        ("fcfs", "fixed", 0.6),
        ("fcfs", "fixed", 0.6),
        ("market", "adaptive", 0.9),
        ("market", "fixed", 0.7),
        ("market", "fixed", 0.7),
    ]


def test_a_market_that_loses_more_is_told_so() -> None:
    experiment = AdaptiveShare()
    swapped = made_up(experiment.cells(PLAN), lambda run, at: 0.8 if run.cloud == "market" else 0.9)
    found = experiment.findings(PLAN, swapped)
    assert found.claims[0].measured == pytest.approx(-100)
    assert "a degradation that is 100 % larger" in found.text
    same = experiment.findings(PLAN, made_up(experiment.cells(PLAN), lambda run, at: 0.8))
    assert "a degradation that is about the same" in same.text


def test_too_few_seeds_have_no_interval() -> None:
    assert {
        (claim.interval, claim.note) for claim in found_in(Plan(seeds=2, quick=True)).claims
    } == {(None, TOO_FEW)}


def test_all_curves_are_drawn_and_have_tips(findings: Findings, tmp_path: Path) -> None:
    write_findings("adaptive-share", findings, tmp_path)
    svg = (tmp_path / "adaptive-share.svg").read_text()
    assert all(f":{key}:" in svg for key in findings.tips)
    assert (
        len(findings.tips["fixed-market"])
        == 1
        < len(findings.tips["adaptive-market"])
        == len(findings.tips["all-fcfs"])
        == 2
    )
