"""What it costs tenants to reckon with a wrong overhead of reconfiguration (the paper's figure of client misconfiguration)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

import msgspec

from laissez.experiments.lab.cell import Cell
from laissez.experiments.lab.experiment import Experiment, Results
from laissez.experiments.lab.findings import Claim, Findings, holds_at_least
from laissez.experiments.lab.plan import Plan
from laissez.experiments.lab.regimes import SLIGHTLY, sized, with_tenants
from laissez.experiments.lab.sweeps import PERCENT, Point, Sweep, cells_of, drawn, judged, shown, tips
from laissez.sim.statistics import Estimate

ERRORS: Final = (-50, -5, 0, 5, 50)  # percent of the true overhead
LOST_AT_MOST: Final = 0.30  # of the performance, says the paper, at large errors
HARMLESS: Final = 0.01  # of the performance


class Misconfiguration(Experiment):
    name = "misconfiguration"
    title = "Tenants that misjudge what it costs to reconfigure"
    takes_half = True

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return cells_of(points(plan), plan)

    def findings(self, plan: Plan, results: Results) -> Findings:
        sweep = Sweep(points(plan), _point(0, plan), plan, results)
        losses = {point.at: sweep.less(sweep.retentions(point), sweep.retentions(sweep.usual)) for point in sweep.points if point != sweep.usual}
        first, last = sweep.points[0], sweep.points[-1]
        churn = ", ".join(
            f"{fmean(sweep.totals(point, 'moves')):.0f} moves and "
            f"{fmean(sweep.totals(point, 'reconfiguring_hours')):.1f} GPU-hours of reconfiguration a run at {point.label}"
            for point in (first, sweep.usual, last)
        )
        text = (
            "All tenants of the slightly oversubscribed cluster reckon with an overhead of reconfiguration that is wrong by the same part; what a "
            f"reconfiguration takes in truth stays as it is. Tenants who are right keep {shown(sweep.retention(sweep.usual))} on the market; "
            + ", ".join(f"at {point.label} {shown(sweep.retention(point))}" for point in sweep.points if point != sweep.usual)
            + f". There are {churn}."
        )
        return Findings(
            claims=[
                _worse(sweep, first, last),
                *(_harmless(point, losses[point.at]) for point in sweep.points if abs(point.at) == 5),
                *(_lost(point, losses[point.at]) for point in (first, last)),
                *(_busier(sweep, first, field, word) for field, word in (("moves", "move more often"), ("reconfiguring_hours", "reconfigure more"))),
            ],
            text=text,
            rows=sweep.rows("error"),
            draw=lambda: drawn(sweep, "error in the overhead that tenants reckon with, percent"),
            tips=tips(sweep),
        )


def points(plan: Plan) -> list[Point]:
    return [_point(error, plan) for error in ERRORS]


def _point(error: int, plan: Plan) -> Point:
    tick = f"{error:+d}" if error else "0"
    label = f"{tick} %"
    usual = sized(SLIGHTLY, plan)
    wrong = with_tenants(msgspec.structs.replace(usual, name=f"{usual.name}, overhead misjudged by {label}"), believed_overhead=1 + error / 100)
    return Point(at=error, tick=tick, label=label, scenario=wrong if error else usual)


def _worse(sweep: Sweep, under: Point, over: Point) -> Claim:
    found = sweep.less(sweep.retentions(under), sweep.retentions(over))
    claim = f"under-estimating the overhead ({under.label}) costs more performance than over-estimating it ({over.label})"
    return judged(Misconfiguration.name, claim, "costs more", found, unit="%")


def _harmless(point: Point, loss: Estimate) -> Claim:
    def within(found: Estimate) -> bool | None:
        return None if found.low is None or found.high is None else max(abs(found.low), abs(found.high)) < HARMLESS

    claim = f"an error of {point.label} costs less than {HARMLESS * PERCENT:g} % of the performance"
    return judged(Misconfiguration.name, claim, "relatively stable", loss, within, unit="%")


def _lost(point: Point, loss: Estimate) -> Claim:
    claim = f"an error of {point.label} costs performance"
    note = "tenants lose less than in the paper" if loss.value < LOST_AT_MOST else ""
    return judged(
        Misconfiguration.name,
        claim,
        f"up to {LOST_AT_MOST * PERCENT:g} %",
        loss,
        lambda found: holds_at_least(found, LOST_AT_MOST),
        unit="%",
        note=note,
    )


def _busier(sweep: Sweep, under: Point, field: str, word: str) -> Claim:
    found = sweep.bootstrap.difference(sweep.totals(under, field), sweep.totals(sweep.usual, field))
    claim = f"tenants that under-estimate the overhead ({under.label}) {word} than those who are right"
    return judged(Misconfiguration.name, claim, "more", found, unit=f"more {'moves' if field == 'moves' else 'GPU-hours'} a run")
