"""Cost against performance, for budgets and for the policies of today (the paper's figure of cost efficiency)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from statistics import fmean
from typing import Final

from laissez.experiments.frontier.figure import FrontierPoint, drawn, tips
from laissez.experiments.frontier.runs import FCFS, ON_DEMAND, SPOT, SPOT_SHARE, Outcome, Policies, budget_name
from laissez.experiments.lab.cell import Cell
from laissez.experiments.lab.experiment import Experiment, Results
from laissez.experiments.lab.findings import TOO_FEW, Claim, Findings, interval
from laissez.experiments.lab.plan import Plan
from laissez.experiments.lab.regimes import sized
from laissez.experiments.lab.sweeps import shown
from laissez.sim.scenario import BatchTable, InferenceTable, Scenario, TenantsTable, TrainingTable
from laissez.sim.statistics import Bootstrap, Estimate
from laissez.sim.workloads.population import ON_DEMAND_TIMES

GPUS: Final = (2.0, 4.0)
HOURS: Final = (1.2, 1.6)
# two tenants of each kind for less than two hours, on a cluster that is as scarce as the slightly oversubscribed one
SMALL: Final = Scenario(
    name="slightly oversubscribed, six tenants",
    demand=1.125,
    tenants=TenantsTable(count=6, arrivals_hours=0.4),
    inference=InferenceTable(engines=GPUS, hours=HOURS),
    training=TrainingTable(gpus=GPUS, hours=HOURS),
    batch=BatchTable(gpus=GPUS, hours=HOURS),
)
BUDGETS: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)  # times what the work needs at list prices; the others have about four times what theirs needs
QUICK_BUDGETS: Final = (1.0, 4.0)
NEAR: Final = 0.1  # of the way between spot and on demand: a point that is nearer to one of them is like it
PERCENT: Final = 100.0


class Frontier(Experiment):
    name = "frontier"
    title = "Cost against performance, by budget"
    takes_half = True

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return cells(plan)

    def findings(self, plan: Plan, results: Results) -> Findings:
        probe = Probe(plan, results)
        return Findings(
            claims=[_like_on_demand(probe), _like_spot(probe), _undominated(probe), _beyond_mixes(probe), _dearer(probe), _below_fcfs(probe)],
            text=_text(probe),
            rows=[
                {"seed": cell.seed, **{field: getattr(outcome, field) for field in Outcome.__struct_fields__}}
                for cell in cells(plan)
                for outcome in results[cell]
            ],
            draw=lambda: drawn(list(probe.points.values()), pareto(probe.market), plan.seeds),
            tips=tips(list(probe.points.values())),
        )


def cells(plan: Plan) -> list[Policies]:
    budgets = QUICK_BUDGETS if plan.quick else BUDGETS
    return [Policies(scenario=sized(SMALL, plan), budgets=budgets, seed=seed) for seed in plan.all_seeds]


class Probe:
    """What became of it under each policy, seed by seed and in the mean."""

    def __init__(self, plan: Plan, results: Results) -> None:
        self.seeds = plan.seeds
        self.bootstrap = Bootstrap(plan.seeds)
        self.budgets = [budget_name(budget) for budget in cells(plan)[0].budgets]
        self._outcomes: list[dict[str, Outcome]] = [{outcome.policy: outcome for outcome in results[cell]} for cell in cells(plan)]

    def costs(self, policy: str) -> list[float]:
        return [outcomes[policy].cost for outcomes in self._outcomes]

    def performances(self, policy: str) -> list[float]:
        return [outcomes[policy].performance for outcomes in self._outcomes]

    def revocations(self, policy: str) -> float:
        """In the mean of a run."""
        return fmean(outcomes[policy].revocations for outcomes in self._outcomes)

    @cached_property
    def points(self) -> dict[str, FrontierPoint]:
        return {
            policy: FrontierPoint(policy, self.bootstrap.mean(self.costs(policy)), self.bootstrap.mean(self.performances(policy)))
            for policy in (FCFS, ON_DEMAND, SPOT, *self.budgets)
        }

    @property
    def market(self) -> list[FrontierPoint]:
        return [point for policy, point in self.points.items() if policy != FCFS]

    @property
    def between(self) -> list[str]:
        """Budgets that cost more than spot and less than on demand."""
        low, high = (self.points[policy].cost.value for policy in (SPOT, ON_DEMAND))
        return [budget for budget in self.budgets if low < self.points[budget].cost.value < high]

    def beyond_mixes(self, budget: str) -> Estimate:
        """How much more it performs than tenants of whom some are spot and some on demand, as many as make the cost the same."""
        policies = (budget, SPOT, ON_DEMAND)
        seeds = [
            tuple(number for policy in policies for number in (outcomes[policy].cost, outcomes[policy].performance)) for outcomes in self._outcomes
        ]
        return self.bootstrap.of(seeds, _beyond_a_mix)


def _beyond_a_mix(seeds: Sequence[tuple[float, ...]]) -> float:
    means: list[float] = [sum(column) / len(seeds) for column in zip(*seeds, strict=True)]
    cost, performance, spot_cost, spot, on_demand_cost, on_demand = means
    if on_demand_cost <= spot_cost:
        return performance - on_demand  # whoever is on demand pays nothing more for it
    return performance - spot - (cost - spot_cost) / (on_demand_cost - spot_cost) * (on_demand - spot)


def pareto(points: Iterable[FrontierPoint]) -> list[FrontierPoint]:
    """Those that no other dominates, the cheapest first."""
    every = list(points)
    left = [one for one in every if not any(_dominates(other, one) for other in every)]
    return sorted(left, key=lambda point: (point.cost.value, point.policy))


def _dominates(one: FrontierPoint, other: FrontierPoint) -> bool:
    """Whether it is cheaper and not worse, or better and not dearer."""
    cheaper, better = other.cost.value - one.cost.value, one.performance.value - other.performance.value
    return cheaper >= 0 and better >= 0 and cheaper + better > 0


def _like_on_demand(probe: Probe) -> Claim:
    largest = probe.budgets[-1]
    found = probe.bootstrap.part_of_the_way(*(probe.performances(policy) for policy in (largest, SPOT, ON_DEMAND)))
    claim = f"the largest budget ({largest}) performs like on demand: it is at least {(1 - NEAR) * PERCENT:g} % of the way there from spot"
    return _on_the_way(claim, "on-demand-like", found, _is_above(found, 1 - NEAR))


def _like_spot(probe: Probe) -> Claim:
    smallest = probe.budgets[0]
    found = probe.bootstrap.part_of_the_way(*(probe.costs(policy) for policy in (smallest, SPOT, ON_DEMAND)))
    claim = f"the smallest budget ({smallest}) costs like spot: it is at most {NEAR * PERCENT:g} % of the way from there to on demand"
    dearer = _is_above(found, NEAR)
    return _on_the_way(claim, "spot-like", found, None if dearer is None else not dearer)


def _is_above(found: Estimate | None, bound: float) -> bool | None:
    """None where the interval does not tell."""
    if found is None or found.low is None or found.high is None or found.low < bound <= found.high:
        return None
    return found.low >= bound


def _on_the_way(claim: str, paper: str, found: Estimate | None, holds: bool | None) -> Claim:
    undecided = TOO_FEW if found is None or not found.has_interval else "the interval reaches both sides of the bound"
    return Claim(
        figure=Frontier.name,
        claim=claim,
        paper=paper,
        measured=None if found is None else found.value * PERCENT,
        interval=interval(found, PERCENT),
        holds=holds,
        unit="% of the way from spot to on demand",
        note=undecided if holds is None else "",
    )


def _undominated(probe: Probe) -> Claim:
    front = {point.policy for point in pareto(probe.market)}
    among = [budget for budget in probe.between if budget in front]
    return _counted(
        probe,
        "budgets that cost more than spot and less than on demand are all in the Pareto set of the market's policies",
        "a broad frontier between",
        among,
        bool(probe.between) and among == probe.between,
    )


def _beyond_mixes(probe: Probe) -> Claim:
    found = {budget: probe.beyond_mixes(budget) for budget in probe.between}
    among = [budget for budget, one in found.items() if one.low is not None and one.low > 0]
    return _counted(
        probe,
        "some of these budgets perform better than any mix of spot and on demand that costs the same (the interval excludes zero)",
        "dominating points between",
        among,
        bool(among),
        "performance beyond the mix: " + ", ".join(f"{budget} {shown(one)}" for budget, one in found.items()) if found else "",
    )


def _counted(probe: Probe, claim: str, paper: str, among: Sequence[str], holds: bool, note: str = "") -> Claim:
    enough = probe.points[SPOT].cost.has_interval
    return Claim(
        figure=Frontier.name,
        claim=claim,
        paper=paper,
        measured=f"{len(among)} of {len(probe.between)}" + (f" ({', '.join(among)})" if among else ""),
        holds=holds if enough else None,
        unit="budgets between",
        note=note if enough else TOO_FEW,
    )


def _dearer(probe: Probe) -> Claim:
    pairs = list(zip(probe.costs(ON_DEMAND), probe.costs(FCFS), strict=True))
    found = probe.bootstrap.of(pairs, _ratio)
    return Claim(
        figure=Frontier.name,
        claim="what on demand costs on the market, over what the same costs on fcfs at list prices",
        paper=None,
        measured=found.value,
        interval=interval(found),
        holds=None,
        unit="x",
    )


def _ratio(pairs: Sequence[tuple[float, float]]) -> float:
    ours, theirs = (sum(column) for column in zip(*pairs, strict=True))
    return ours / theirs if theirs else 0.0


def _below_fcfs(probe: Probe) -> Claim:
    below = [point.policy for point in probe.market if _dominates(probe.points[FCFS], point)]
    return Claim(
        figure=Frontier.name,
        claim="policies of the market that on demand on fcfs dominates, where list prices do not rise with demand",
        paper=None,
        measured=f"{len(below)} of {len(probe.market)}" + (f" ({', '.join(below)})" if below else ""),
        holds=None,
    )


def _text(probe: Probe) -> str:
    fcfs, on_demand, spot = (probe.points[policy] for policy in (FCFS, ON_DEMAND, SPOT))
    seeds, taken = f"{probe.seeds} seed{'s' if probe.seeds > 1 else ''}", [probe.revocations(budget) for budget in probe.budgets]
    return (
        f"One batch job in a slightly oversubscribed market, beside the same other tenants under {seeds}, each time with another policy. On demand, "
        f"it holds as many GPUs as it needs in the mean at a limit of {ON_DEMAND_TIMES:g} times the highest list price, as spot the same at "
        f"{SPOT_SHARE:g} of it; otherwise its adapter trades with a budget, the money for the whole work. Costs and budgets are times what the "
        f"needed GPU-hours cost at list prices. Spot does {spot.performance.value:.2f} of the work for {spot.cost.value:.2f}, on demand "
        f"{on_demand.performance.value:.2f} for {on_demand.cost.value:.2f}; budgets "
        + ", ".join(f"of {one} {probe.points[one].performance.value:.2f} for {probe.points[one].cost.value:.2f}" for one in probe.budgets)
        + f". The Pareto set of these is {', '.join(point.policy for point in pareto(probe.market))}. GPUs are taken away from it "
        f"{probe.revocations(SPOT):.1f} times a run as spot, {min(taken):.1f} to {max(taken):.1f} times with a budget and "
        f"{probe.revocations(ON_DEMAND):.1f} times on demand, and each time another has to start cold. On demand on fcfs, where prices do not rise "
        f"with demand, does {fcfs.performance.value:.2f} for {fcfs.cost.value:.2f}."
    )
