"""Performance per cost, by regime and by cloud: how alike tenants fare for their money."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

from laissez.sim.results import TenantResult
from laissez.sim.scenario import Scenario
from laissez_experiments.lab.boxes import Panel, boxes
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.cloud_run import runs_of
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import TOO_FEW, Claim, Findings, interval
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import CONTRACTS, OTHERS, REGIMES, sized
from laissez_experiments.lab.retained import tenant_rows, tenants_of
from laissez_experiments.lab.tightness import relative_range, wider_by

HALF_GOT_NOTHING: Final = "half of the tenants got nothing, so there is no range over the median"
PER_DOLLARS: Final = 100  # performance per dollar is too small a number to read


class Fairness(Experiment):
    name = "fairness"
    title = "Performance per cost"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return [
            cell for regime in _regimes(plan) for cell in runs_of(regime, CONTRACTS, plan.all_seeds)
        ]

    def findings(self, plan: Plan, results: Results) -> Findings:
        regimes = _regimes(plan)
        drawn = boxes(
            [_panel(regime, plan, results) for regime in regimes],
            f"share of the objective achieved, per {PER_DOLLARS} $ paid",
            digits=2,
        )
        everybody = {
            (regime.name, cloud): _everybody(regime, cloud, plan, results)
            for regime in regimes
            for cloud in CONTRACTS
        }
        free = [
            sum(one.cost == 0 for regime in regimes for one in everybody[regime.name, cloud])
            for cloud in CONTRACTS
        ]

        def by_regime(figure: Callable[[Sequence[float]], float]) -> str:
            parts = [
                " / ".join(
                    f"{figure(_values(everybody[regime.name, cloud])):.2f}" for cloud in CONTRACTS
                )
                for regime in regimes
            ]
            return "; ".join(
                f"{part} ({regime.name})" for part, regime in zip(parts, regimes, strict=True)
            )

        text = (
            "The runs of the retention figure, seen by cost: each tenant's performance, normalised"
            " by its own objective, over what it paid in all: the rates charged on the market, the"
            " list price on the others. What counts is how alike tenants fare: the inter-quartile"
            f" range over the median is, on {' / '.join(CONTRACTS)}, {by_regime(_shown_range)}."
            f" The level is another matter: the median per {PER_DOLLARS} $ is"
            f" {by_regime(lambda values: median(values) * PER_DOLLARS)}. All objectives are worth"
            " the same here and prices rise towards what is bid, so on the market costs follow"
            " performance; at list prices they follow size. Tenants that got nothing and paid"
            f" nothing count as 0: {' / '.join(map(str, free))} of"
            f" {sum(len(everybody[regime.name, 'market']) for regime in regimes)}."
        )
        return Findings(
            claims=[
                _tighter(cloud, regime, plan, results) for cloud in OTHERS for regime in regimes
            ],
            text=text,
            rows=[row for regime in regimes for row in tenant_rows(regime, plan, results)],
            draw=drawn.draw,
            tips=drawn.tips,
        )


def _regimes(plan: Plan) -> list[Scenario]:
    return [sized(regime, plan) for regime in REGIMES]


def _everybody(regime: Scenario, cloud: str, plan: Plan, results: Results) -> list[TenantResult]:
    return [one for each in tenants_of(regime, cloud, plan, results) for one in each]


def _values(tenants: Sequence[TenantResult]) -> list[float]:
    """Nobody is left out: who got nothing for nothing has nothing."""
    return [one.performance_per_cost or 0.0 for one in tenants]


def _shown_range(values: Sequence[float]) -> float:
    return relative_range(values) if median(values) else math.inf


def _panel(regime: Scenario, plan: Plan, results: Results) -> Panel:
    shown = {
        cloud: [
            (seed, one, value * PER_DOLLARS)
            for seed, each in zip(
                plan.all_seeds, tenants_of(regime, cloud, plan, results), strict=True
            )
            for one, value in zip(each, _values(each), strict=True)
        ]
        for cloud in CONTRACTS
    }
    return Panel(f"{regime.name} (demand {regime.demand:g})", shown)


def _tighter(cloud: str, regime: Scenario, plan: Plan, results: Results) -> Claim:
    ours, theirs = (
        [_values(each) for each in tenants_of(regime, one, plan, results)]
        for one in ("market", cloud)
    )
    found = wider_by(ours, theirs, relative_range)
    decided = found is not None and found.low is not None
    return Claim(
        figure=Fairness.name,
        claim=(
            f"{regime.name}: performance per cost is spread less on the market than on {cloud}: its"
            " range over the median is smaller by"
        ),
        paper="tighter",
        measured=None if found is None else found.value,
        interval=interval(found),
        holds=found.low > 0 if found is not None and found.low is not None else None,
        note="" if decided else HALF_GOT_NOTHING if found is None else TOO_FEW,
    )
