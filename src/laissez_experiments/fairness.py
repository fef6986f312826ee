"""Performance per cost, by regime and by cloud: how alike tenants fare for their money."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

from laissez.sim.results import TenantResult
from laissez.sim.scenario import Scenario
from laissez_experiments.lab.boxes import Boxes
from laissez_experiments.lab.cloud_run import CloudExperiment, Runs
from laissez_experiments.lab.experiment import Results
from laissez_experiments.lab.findings import (
    TOO_FEW,
    Claim,
    Findings,
    estimated,
    is_above_zero,
)
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import CONTRACTS, OTHERS, regimes
from laissez_experiments.lab.retained import panel, relative_range, tenant_rows, tighter_by

HALF_GOT_NOTHING: Final = "half of the tenants got nothing, so there is no range over the median"
PER_DOLLARS: Final = 100  # performance per dollar is too small a number to read


class Fairness(CloudExperiment):
    name = "fairness"
    title = "Performance per cost"

    def scenarios(self, plan: Plan) -> Sequence[Scenario]:
        return regimes(plan)

    def findings(self, plan: Plan, results: Results) -> Findings:
        all_regimes, runs = regimes(plan), Runs(plan, results)
        boxes = Boxes(
            [
                panel(regime, runs, lambda one: _value(one) * PER_DOLLARS, noted=False)
                for regime in all_regimes
            ],
            f"share of the objective achieved, per {PER_DOLLARS} $ paid",
            digits=2,
        )
        tenants = {
            (cloud, regime.name): [one for run in runs.on(cloud, regime) for one in run.tenants]
            for regime in all_regimes
            for cloud in CONTRACTS
        }
        values = {key: [_value(one) for one in each] for key, each in tenants.items()}
        free = [
            sum(one.cost == 0 for regime in all_regimes for one in tenants[cloud, regime.name])
            for cloud in CONTRACTS
        ]

        def by_regime(figure: Callable[[Sequence[float]], float]) -> str:
            return "; ".join(
                " / ".join(f"{figure(values[cloud, regime.name]):.2f}" for cloud in CONTRACTS)
                + f" ({regime.name})"
                for regime in all_regimes
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
            f" {sum(len(values['market', regime.name]) for regime in all_regimes)}."
        )
        return Findings(
            claims=[_tighter(cloud, one, runs) for cloud in OTHERS for one in all_regimes],
            text=text,
            rows=[row for regime in all_regimes for row in tenant_rows(regime, runs)],
            draw=boxes.draw,
            tips=boxes.tips,
        )


def _value(tenant: TenantResult) -> float:
    """A tenant that got nothing for nothing counts as 0, so that none is left out."""
    return tenant.performance_per_cost or 0.0


def _shown_range(values: Sequence[float]) -> float:
    return relative_range(values) if median(values) else math.inf


def _tighter(cloud: str, regime: Scenario, runs: Runs) -> Claim:
    found = tighter_by(cloud, regime, runs, _value, relative_range)
    holds = is_above_zero(found)
    return estimated(
        f"{regime.name}: performance per cost is spread less on the market than on {cloud}: its"
        " range over the median is smaller by",
        "tighter",
        found,
        holds,
        "",
        HALF_GOT_NOTHING if found is None else TOO_FEW if holds is None else "",
    )
