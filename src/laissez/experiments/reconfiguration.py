"""What becomes of the market's gain when it costs tenants more, or less, to reconfigure (the paper's figure of reconfiguration overhead)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log10
from statistics import fmean
from typing import Final

import msgspec

from laissez.experiments.lab.cell import Cell
from laissez.experiments.lab.experiment import Experiment, Results
from laissez.experiments.lab.findings import Claim, Findings, holds_at_least
from laissez.experiments.lab.plan import Plan
from laissez.experiments.lab.regimes import SLIGHTLY, sized
from laissez.experiments.lab.sweeps import EXCHANGES, Point, Sweep, cells_of, drawn, judged, shown, tips
from laissez.sim.scenario import BatchTable, InferenceTable, Scenario, TenantsTable, TrainingTable

MULTIPLIERS: Final = (0.1, 0.3, 1.0, 3.0, 10.0)
QUICK_MULTIPLIERS: Final = (1.0, 3.0)
ALMOST_ALL: Final = 0.9  # of the exchanges

HOURS: Final = (4.5, 5.5)  # ten times their overhead, twice, leaves jobs time to work
BASE: Final = Scenario(
    name=SLIGHTLY.name,
    demand=SLIGHTLY.demand,
    tenants=TenantsTable(decide_seconds=120.0),  # runs are longer: a slower pace pays for it
    inference=InferenceTable(hours=HOURS, plan_seconds=60.0, hold_plan_seconds=1200.0),  # twice ten times the cold start
    training=TrainingTable(hours=HOURS),
    batch=BatchTable(hours=HOURS),
)


class Reconfiguration(Experiment):
    name = "reconfiguration"
    title = "What it costs to reconfigure"
    takes_half = True

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return cells_of(points(plan), plan)

    def findings(self, plan: Plan, results: Results) -> Findings:
        all_points = points(plan)
        usual = next(point for point in all_points if point.at == 0)
        sweep = Sweep(all_points, usual, plan, results)
        cheapest, dearest = sweep.points[0], sweep.points[-1]
        return Findings(
            claims=[
                *(_falls(sweep, cheaper, dearer) for cheaper, dearer in pairwise(sweep.points)),
                *(_nearer_to_fcfs(sweep, point, dearest) for point in sweep.points[:-1]),
                _suppressed(sweep, cheapest, dearest),
            ],
            text=f"{_set_up(sweep)} {_shown(sweep)}",
            rows=sweep.rows("multiplier"),
            draw=lambda: drawn(sweep, "overhead of reconfiguration, times what it is today"),
            tips=tips(sweep),
        )


def _set_up(sweep: Sweep) -> str:
    usual, dearest = sweep.usual.scenario, sweep.points[-1]
    hours = usual.batch.hours
    return (
        "What it takes to start, move or restart is multiplied for all tenants of a slightly oversubscribed cluster alike, and retention is relative "
        f"to what each achieves alone with the same overhead. Tenants stay for {hours[0]:g} to {hours[1]:g} hours, and services keep a plan for "
        f"{usual.inference.hold_plan_seconds / 60:g} minutes, so that objectives can be met at every point. To save computing time, jobs decide "
        f"every {usual.tenants.decide_seconds:g} and services every {usual.inference.plan_seconds:g} seconds. Who could not meet its objectives "
        f"alone is drawn again, on the same cluster: the demand is {fmean(run.demand for run in sweep.runs(dearest)):.2f} at {dearest.label} and "
        f"{fmean(run.demand for run in sweep.runs(sweep.usual)):.2f} at {sweep.usual.label}."
    )


def _shown(sweep: Sweep) -> str:
    return (
        "On the market and on fcfs tenants keep "
        + ", ".join(f"{shown(sweep.retention(point))} and {shown(sweep.retention(point, 'fcfs'))} at {point.label}" for point in sweep.points)
        + ". GPUs change hands "
        + ", ".join(f"{fmean(sweep.totals(point, *EXCHANGES)):.0f}" for point in sweep.points)
        + " times a run on the market, in the same order."
    )


def points(plan: Plan) -> list[Point]:
    multipliers = QUICK_MULTIPLIERS if plan.quick else MULTIPLIERS
    base = sized(BASE, plan)
    return [
        Point(
            at=log10(times),
            tick=f"{times:g}",
            label=f"x {times:g}",
            scenario=_with_overheads(base, times),
            clouds=("market", "fcfs"),
        )
        for times in multipliers
    ]


def _with_overheads(base: Scenario, times: float) -> Scenario:
    def multiplied(cold_s: tuple[float, float]) -> tuple[float, float]:
        return cold_s[0] * times, cold_s[1] * times

    return msgspec.structs.replace(
        base,
        name=f"{base.name}, overheads x {times:g}",
        inference=msgspec.structs.replace(base.inference, cold_seconds=base.inference.cold_seconds * times),
        training=msgspec.structs.replace(base.training, cold_seconds=multiplied(base.training.cold_seconds)),
        batch=msgspec.structs.replace(base.batch, cold_seconds=multiplied(base.batch.cold_seconds)),
    )


def _falls(sweep: Sweep, cheaper: Point, dearer: Point) -> Claim:
    found = sweep.bootstrap.difference(sweep.retentions(cheaper), sweep.retentions(dearer))
    return judged(Reconfiguration.name, f"the market's retention falls from {cheaper.label} to {dearer.label}", "falls", found)


def _nearer_to_fcfs(sweep: Sweep, point: Point, dearest: Point) -> Claim:
    found = sweep.bootstrap.difference(sweep.gains(point, point, "fcfs"), sweep.gains(dearest, dearest, "fcfs"))
    claim = f"the market's gain over fcfs is smaller at {dearest.label} than at {point.label}"
    return judged(Reconfiguration.name, claim, "back toward fcfs", found)


def _suppressed(sweep: Sweep, cheapest: Point, dearest: Point) -> Claim:
    found = sweep.less(sweep.totals(dearest, *EXCHANGES), sweep.totals(cheapest, *EXCHANGES))
    claim = f"hardly any GPU changes hands on the market at {dearest.label}: fewer than at {cheapest.label} by"
    return judged(Reconfiguration.name, claim, "almost all", found, lambda one: holds_at_least(one, ALMOST_ALL), unit="%")
