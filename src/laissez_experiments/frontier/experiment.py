"""Cost against performance, for budgets and for the policies of today (the paper's figure of cost
efficiency)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from laissez.sim.scenario import BatchTable, InferenceTable, Scenario, TenantsTable, TrainingTable
from laissez.sim.workloads.population import ON_DEMAND_TIMES
from laissez_experiments.frontier.claims import claims_of
from laissez_experiments.frontier.figure import drawn, tips
from laissez_experiments.frontier.probe import FrontierPoint, Probe, pareto
from laissez_experiments.frontier.runs import FCFS, ON_DEMAND, SPOT, SPOT_SHARE, Policies
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import Findings
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import sized

GPUS: Final = (2.0, 4.0)
HOURS: Final = (1.2, 1.6)
# two tenants of each kind for less than two hours, on a cluster that is as scarce as the slightly
# oversubscribed one
SMALL: Final = Scenario(
    name="slightly oversubscribed, six tenants",
    demand=1.125,
    tenants=TenantsTable(count=6, arrivals_hours=0.4),
    inference=InferenceTable(engines=GPUS, hours=HOURS),
    training=TrainingTable(gpus=GPUS, hours=HOURS),
    batch=BatchTable(gpus=GPUS, hours=HOURS),
)
# times what the work needs at list prices; the others have about four times what theirs needs
BUDGETS: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
QUICK_BUDGETS: Final = (1.0, 4.0)


class Frontier(Experiment):
    name = "frontier"
    title = "Cost against performance, by budget"
    takes_half = True

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return cells(plan)

    def findings(self, plan: Plan, results: Results) -> Findings:
        probe = Probe([results[cell] for cell in cells(plan)])
        points = list(probe.points.values())
        return Findings(
            claims=claims_of(probe),
            text=_text(probe, cells(plan)[0].scenario),
            rows=[
                {"seed": cell.seed, **msgspec.structs.asdict(outcome)}
                for cell in cells(plan)
                for outcome in results[cell]
            ],
            draw=lambda: drawn(points, _front(probe), plan.seeds),
            tips=tips(points),
        )


def cells(plan: Plan) -> list[Policies]:
    budgets = QUICK_BUDGETS if plan.quick else BUDGETS
    return [
        Policies(scenario=sized(SMALL, plan), budgets=budgets, seed=seed) for seed in plan.all_seeds
    ]


def _text(probe: Probe, scenario: Scenario) -> str:
    fcfs, on_demand, spot = (probe.means[policy] for policy in (FCFS, ON_DEMAND, SPOT))
    taken = [probe.revocations(budget) for budget in probe.budgets]
    below = [policy for policy in probe.market if probe.dominates(FCFS, policy)]
    which = f" ({', '.join(below)})" if below else ""
    return (
        "One batch job in a slightly oversubscribed market, beside the same other tenants under"
        f" {probe.seeds} seed{'s' if probe.seeds > 1 else ''}, each time with another policy. To"
        f" the others their work is worth about {scenario.tenants.worth:g} times what it"
        f" costs at list prices, so they can bid prices up: on demand costs"
        f" {on_demand.cost / (fcfs.cost or 1.0):.1f} times what it does on"
        " fcfs. On demand, the job holds as many GPUs as it needs in the mean at a limit of"
        f" {ON_DEMAND_TIMES:g} times the highest list price, as spot the same at {SPOT_SHARE:g} of"
        " it; otherwise its adapter trades with a budget, the money for the whole work. Costs and"
        " budgets are times what the needed GPU-hours cost at list prices. Spot does"
        f" {spot.performance:.2f} of the work for {spot.cost:.2f}, on demand"
        f" {on_demand.performance:.2f} for {on_demand.cost:.2f}; budgets "
        + ", ".join(
            f"of {one} {probe.means[one].performance:.2f} for {probe.means[one].cost:.2f}"
            for one in probe.budgets
        )
        + ". The Pareto set of these means is"
        f" {', '.join(point.policy for point in _front(probe))}. GPUs are taken away from it"
        f" {probe.revocations(SPOT):.1f} times a run as spot, {min(taken):.1f} to"
        f" {max(taken):.1f} times with a budget and {probe.revocations(ON_DEMAND):.1f} times on"
        " demand, and each time another has to start cold. On demand on fcfs, where prices do"
        f" not rise with demand, does {fcfs.performance:.2f} for {fcfs.cost:.2f}; it is cheaper"
        f" and better than {len(below)} of the market's {len(probe.market)} policies{which}."
        " Intervals of claims about budgets hold for all of them at once."
    )


def _front(probe: Probe) -> list[FrontierPoint]:
    return pareto(probe.points[policy] for policy in probe.market)
