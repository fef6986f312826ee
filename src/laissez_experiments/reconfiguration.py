"""The market's gain when reconfiguration costs tenants more, or less (the paper's figure of
reconfiguration overhead)."""

from __future__ import annotations

from math import log10
from statistics import fmean, linear_regression
from typing import Final

import msgspec

from laissez.sim.scenario import (
    COLD_STARTS,
    BatchTable,
    InferenceTable,
    Scenario,
    TenantsTable,
    TrainingTable,
)
from laissez_experiments.lab.findings import PERCENT, Claim, reaches, shown
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import SLIGHTLY, sized
from laissez_experiments.lab.sweeps import EXCHANGES, Point, Sweep, SweepExperiment, judged

MULTIPLIERS: Final = (0.1, 0.3, 1.0, 3.0, 10.0)
QUICK_MULTIPLIERS: Final = (1.0, 3.0)
ALMOST_ALL: Final = 0.9  # of the exchanges

HOURS: Final = (4.5, 5.5)  # ten times their overhead, twice, leaves jobs time to work
BASE: Final = Scenario(
    name=SLIGHTLY.name,
    demand=SLIGHTLY.demand,
    tenants=TenantsTable(decide_seconds=120.0),  # runs are longer: a slower pace pays for it
    # twice ten times the cold start
    inference=InferenceTable(hours=HOURS, plan_seconds=60.0, hold_plan_seconds=1200.0),
    training=TrainingTable(hours=HOURS),
    batch=BatchTable(hours=HOURS),
)


class Reconfiguration(SweepExperiment):
    name = "reconfiguration"
    title = "What it costs to reconfigure"
    parameter = "multiplier"
    axis = "overhead of reconfiguration, times what it is today"

    def points(self, plan: Plan) -> list[Point]:
        base = sized(BASE, plan)
        return [
            Point(
                at=log10(times),
                tick=f"{times:g}",
                label=f"x {times:g}",
                scenario=_with_overheads(base, times),
                clouds=("market", "fcfs"),
                is_usual=times == 1,
            )
            for times in (QUICK_MULTIPLIERS if plan.quick else MULTIPLIERS)
        ]

    def claims(self, sweep: Sweep) -> list[Claim]:
        cheapest, dearest = sweep.points[0], sweep.points[-1]
        compared = [cheapest] if cheapest == sweep.usual else [cheapest, sweep.usual]
        return [
            _falls(sweep),
            _ends(sweep, cheapest, dearest),
            *(_nearer_to_fcfs(sweep, point, dearest) for point in compared),
            _suppressed(sweep, cheapest, dearest),
            _ideal(cheapest),
        ]

    def text(self, sweep: Sweep) -> str:
        return f"{_set_up(sweep)} {_shown(sweep)}"


def _set_up(sweep: Sweep) -> str:
    usual, dearest = sweep.usual.scenario, sweep.points[-1]
    hours = usual.batch.hours
    return (
        "What it takes to start, move or restart is multiplied for all tenants of a slightly"
        " oversubscribed cluster alike, and retention is relative to what each achieves alone with"
        f" the same overhead. Tenants stay for {hours[0]:g} to {hours[1]:g} hours, and services"
        f" keep a plan for {usual.inference.hold_plan_seconds / 60:g} minutes, so that objectives"
        " can be met at every point. To save computing time, jobs decide every"
        f" {usual.tenants.decide_seconds:g} and services every {usual.inference.plan_seconds:g}"
        " seconds. Points share seeds, not tenants: a job has the work that its GPUs do in its"
        f" time less {COLD_STARTS:g} cold starts, clusters are sized anew, and who could not meet"
        f" its objectives alone is drawn again; {_cluster(sweep, dearest)} and"
        f" {_cluster(sweep, sweep.usual)}."
    )


def _cluster(sweep: Sweep, point: Point) -> str:
    runs = sweep.at(point)
    return (
        f"at {point.label} there are {fmean(run.gpus for run in runs):.0f} GPUs for a demand of"
        f" {fmean(run.demand for run in runs):.2f}"
    )


def _shown(sweep: Sweep) -> str:
    return (
        "On the market and on fcfs tenants keep "
        + ", ".join(
            f"{shown(sweep.retention(point))} and {shown(sweep.retention(point, 'fcfs'))} at"
            f" {point.label}"
            for point in sweep.points
        )
        + ". GPUs change hands "
        + ", ".join(f"{fmean(sweep.totals(point, *EXCHANGES)):.0f}" for point in sweep.points)
        + " times a run on the market, in the same order."
    )


def _with_overheads(base: Scenario, times: float) -> Scenario:
    def multiplied(cold_s: tuple[float, float]) -> tuple[float, float]:
        return cold_s[0] * times, cold_s[1] * times

    return msgspec.structs.replace(
        base,
        name=f"{base.name}, overheads x {times:g}",
        inference=msgspec.structs.replace(
            base.inference, cold_seconds=base.inference.cold_seconds * times
        ),
        training=msgspec.structs.replace(
            base.training, cold_seconds=multiplied(base.training.cold_seconds)
        ),
        batch=msgspec.structs.replace(base.batch, cold_seconds=multiplied(base.batch.cold_seconds)),
    )


def _falls(sweep: Sweep) -> Claim:
    """By the slope over the logarithm of the overhead, seed by seed."""
    places = [point.at for point in sweep.points]
    by_seed = zip(*(sweep.kept(point) for point in sweep.points), strict=True)
    return judged(
        "the market's retention falls as reconfiguration becomes dearer: with ten times the"
        " overhead, by",
        "falls",
        sweep.bootstrap.mean([-linear_regression(places, kept).slope for kept in by_seed]),
    )


def _ends(sweep: Sweep, cheapest: Point, dearest: Point) -> Claim:
    return judged(
        f"the market retains more at {cheapest.label} than at {dearest.label}",
        "falls",
        sweep.bootstrap.difference(sweep.kept(cheapest), sweep.kept(dearest)),
    )


def _nearer_to_fcfs(sweep: Sweep, point: Point, dearest: Point) -> Claim:
    gains, left = (sweep.gains(one, one, "fcfs") for one in (point, dearest))
    return judged(
        f"the market's gain over fcfs is smaller at {dearest.label} than at {point.label}",
        "back toward FCFS-like behavior",
        sweep.bootstrap.difference(gains, left),
        reason=f"it is {fmean(left):.3f} at {dearest.label} and {fmean(gains):.3f} at"
        f" {point.label}",
    )


def _suppressed(sweep: Sweep, cheapest: Point, dearest: Point) -> Claim:
    moves, revocations = (fmean(sweep.totals(dearest, field)) for field in EXCHANGES)
    return judged(
        f"almost no GPU changes hands on the market at {dearest.label}: at least"
        f" {ALMOST_ALL * PERCENT:g} % fewer than at {cheapest.label}",
        "suppresses almost all",
        sweep.less(sweep.totals(dearest, *EXCHANGES), sweep.totals(cheapest, *EXCHANGES)),
        lambda one: reaches(one, ALMOST_ALL),
        unit="%",
        reason=f"there are still {moves:.0f} moves and {revocations:.0f} revocations a run",
    )


def _ideal(cheapest: Point) -> Claim:
    return Claim(
        claim=(
            f"cheaper reconfiguration ({cheapest.label}) moves the market closer to the ideal"
            " allocation"
        ),
        paper="closer to the ideal",
        measured=None,
        holds=None,
        note="not judged: over so many hours the ideal cloud takes too long to compute",
    )
