"""Performance per cost, by regime and by cloud: how alike tenants fare for their money."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from laissez.experiments.lab.boxes import Panel, boxes
from laissez.experiments.lab.cell import Cell
from laissez.experiments.lab.cloud_run import runs_of
from laissez.experiments.lab.experiment import Experiment, Results
from laissez.experiments.lab.findings import TOO_FEW, Claim, Findings, interval
from laissez.experiments.lab.plan import Plan
from laissez.experiments.lab.regimes import CONTRACTS, OTHERS, REGIMES, sized
from laissez.experiments.lab.retained import tenant_rows, tenants_of
from laissez.experiments.lab.tightness import relative_range, wider_by
from laissez.sim.results import TenantResult
from laissez.sim.scenario import Scenario

PER_DOLLARS: Final = 100  # performance per dollar is too small a number to read


class Fairness(Experiment):
    name = "fairness"
    title = "Performance per cost"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return [cell for regime in _regimes(plan) for cell in runs_of(regime, CONTRACTS, plan.all_seeds)]

    def findings(self, plan: Plan, results: Results) -> Findings:
        regimes = _regimes(plan)
        drawn = boxes([_panel(regime, plan, results) for regime in regimes], f"performance per {PER_DOLLARS} $: 1 is all of the objective", digits=2)
        widths = "; ".join(
            " / ".join(f"{relative_range(_values(_tenants(regime, cloud, plan, results))):.2f}" for cloud in CONTRACTS) + f" ({regime.name})"
            for regime in regimes
        )
        free = {
            cloud: sum(one.performance_per_cost is None for regime in regimes for one in _tenants(regime, cloud, plan, results))
            for cloud in CONTRACTS
        }
        text = (
            "The runs of the retention figure, seen by cost: each tenant's performance, normalised by its own objective, over what it paid in all. "
            "On the market that is the rate charged, on the others the list price. What counts is how alike tenants fare, whatever the level: the "
            f"inter-quartile range over the median is, on {' / '.join(CONTRACTS)}, {widths}. Tenants that paid nothing, because they got nothing, "
            f"have no such figure: {' / '.join(str(free[cloud]) for cloud in CONTRACTS)} of all."
        )
        return Findings(
            claims=[_tighter(cloud, regime, plan, results) for cloud in OTHERS for regime in regimes],
            text=text,
            rows=[row for regime in regimes for row in tenant_rows(regime, plan, results)],
            draw=drawn.draw,
            tips=drawn.tips,
        )


def _regimes(plan: Plan) -> list[Scenario]:
    return [sized(regime, plan) for regime in REGIMES]


def _tenants(regime: Scenario, cloud: str, plan: Plan, results: Results) -> list[TenantResult]:
    return [one for each in tenants_of(regime, cloud, plan, results) for one in each]


def _values(tenants: Sequence[TenantResult]) -> list[float]:
    return [one.performance_per_cost for one in tenants if one.performance_per_cost is not None]


def _panel(regime: Scenario, plan: Plan, results: Results) -> Panel:
    shown = {
        cloud: [
            (seed, one, one.performance_per_cost * PER_DOLLARS)
            for seed, each in zip(plan.all_seeds, tenants_of(regime, cloud, plan, results), strict=True)
            for one in each
            if one.performance_per_cost is not None
        ]
        for cloud in CONTRACTS
    }
    return Panel(f"{regime.name} (demand {regime.demand:g})", shown)


def _tighter(cloud: str, regime: Scenario, plan: Plan, results: Results) -> Claim:
    ours, theirs = ([_values(each) for each in tenants_of(regime, one, plan, results)] for one in ("market", cloud))
    found = wider_by(ours, theirs, relative_range)
    return Claim(
        figure=Fairness.name,
        claim=f"{regime.name}: performance per cost is spread less on the market than on {cloud} (inter-quartile range over median)",
        paper="tighter",
        measured=found.value,
        interval=interval(found),
        holds=None if found.low is None else found.low > 0,
        unit="narrower",
        note=TOO_FEW if found.low is None else "",
    )
