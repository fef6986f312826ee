"""What it costs tenants to reckon with a wrong overhead of reconfiguration (the paper's figure of
client misconfiguration)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

import msgspec

from laissez.sim.statistics import Estimate
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import PERCENT, Claim, Findings
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import SLIGHTLY, sized, with_tenants
from laissez_experiments.lab.sweeps import Point, Sweep, cells_of, drawn, judged, shown, tips

ERRORS: Final = (-50, -5, 0, 5, 50)  # percent of the true overhead
LOST: Final = 0.30  # of the performance can be, says the paper, at large errors
HARMLESS: Final = 0.01  # of the performance


class Misconfiguration(Experiment):
    name = "misconfiguration"
    title = "Tenants that misjudge what it costs to reconfigure"
    takes_half = True

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return cells_of(points(plan), plan)

    def findings(self, plan: Plan, results: Results) -> Findings:
        sweep = Sweep(points(plan), _point(0, plan), plan, results)
        losses = {
            point.at: sweep.less(sweep.retentions(point), sweep.retentions(sweep.usual))
            for point in sweep.points
            if point != sweep.usual
        }
        first, last = sweep.points[0], sweep.points[-1]
        churn = ", ".join(
            f"{fmean(sweep.totals(point, 'moves')):.0f} moves and"
            f" {fmean(sweep.totals(point, 'reconfiguring_hours')):.1f} GPU-hours of"
            f" reconfiguration a run at {point.label}"
            for point in (first, sweep.usual, last)
        )
        text = (
            "All tenants of the slightly oversubscribed cluster reckon with an overhead of"
            " reconfiguration that is wrong by the same part; what a reconfiguration takes in"
            " truth stays as it is. Tenants who are right keep"
            f" {shown(sweep.retention(sweep.usual))} on the market; "
            + ", ".join(
                f"at {point.label} {shown(sweep.retention(point))}"
                for point in sweep.points
                if point != sweep.usual
            )
            + f". There are {churn}."
        )
        return Findings(
            claims=[
                _worse(sweep, first, last),
                *(
                    _harmless(point, losses[point.at])
                    for point in sweep.points
                    if abs(point.at) == 5
                ),
                *(_lost(sweep, point, losses[point.at]) for point in (first, last)),
                _as_much(sweep, first, last),
                *(
                    _busier(sweep, first, field, word)
                    for field, word in (
                        ("moves", "move more often"),
                        ("reconfiguring_hours", "reconfigure more"),
                    )
                ),
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
    wrong = with_tenants(
        msgspec.structs.replace(usual, name=f"{usual.name}, overhead misjudged by {label}"),
        believed_overhead=1 + error / 100,
    )
    return Point(at=error, tick=tick, label=label, scenario=wrong if error else usual)


def _worse(sweep: Sweep, under: Point, over: Point) -> Claim:
    found = sweep.less(sweep.retentions(under), sweep.retentions(over))
    claim = (
        f"under-estimating the overhead ({under.label}) costs more performance than over-estimating"
        f" it ({over.label})"
    )
    reason = f"{_spent(sweep, under)}; {_spent(sweep, over)}"
    return judged(Misconfiguration.name, claim, "hurts more", found, unit="%", reason=reason)


def _harmless(point: Point, loss: Estimate) -> Claim:
    def within(found: Estimate) -> bool | None:
        if found.low is None or found.high is None:
            return None
        if found.low > HARMLESS or found.high < -HARMLESS:
            return False
        return True if found.low > -HARMLESS and found.high < HARMLESS else None

    claim = (
        f"an error of {point.label} changes performance by less than {HARMLESS * PERCENT:g} %:"
        " lost are"
    )
    return judged(Misconfiguration.name, claim, "relatively stable", loss, within, unit="%")


def _lost(sweep: Sweep, point: Point, loss: Estimate) -> Claim:
    return judged(
        Misconfiguration.name,
        f"an error of {point.label} costs performance",
        "either direction can hurt",
        loss,
        unit="%",
        reason=_spent(sweep, point),
    )


def _as_much(sweep: Sweep, under: Point, over: Point) -> Claim:
    """The paper's figure is what can be lost, so the worse direction must come to it, and not be
    beyond it."""

    def contains(found: Estimate) -> bool | None:
        return None if found.low is None or found.high is None else found.low <= LOST <= found.high

    kept = list(
        zip(*(sweep.retentions(point) for point in (under, over, sweep.usual)), strict=True)
    )
    found = sweep.bootstrap.of(kept, _lost_in_the_worse)
    claim = (
        f"of the errors {under.label} and {over.label} the worse costs as much performance as in"
        " the paper"
    )
    reason = f"tenants lose {'less' if found.value < LOST else 'more'} than in the paper"
    return judged(
        Misconfiguration.name, claim, LOST * PERCENT, found, contains, unit="%", reason=reason
    )


def _lost_in_the_worse(seeds: Sequence[tuple[float, ...]]) -> float:
    under, over, right = map(sum, zip(*seeds, strict=True))
    return 1 - min(under, over) / right


def _spent(sweep: Sweep, point: Point) -> str:
    """Where the GPU-hours of a run go, beside those of tenants who are right."""
    runs = list(zip(sweep.runs(point), sweep.runs(sweep.usual), strict=True))
    moves, reconfiguring, useful = (
        fmean(wrong.total(field) - right.total(field) for wrong, right in runs)
        for field in ("moves", "reconfiguring_hours", "useful_hours")
    )
    idle = fmean(wrong.idle_hours - right.idle_hours for wrong, right in runs)
    return (
        f"at {point.label} there are {_more(moves, 0)} moves a run; of the GPU-hours"
        f" {_more(reconfiguring)} go into reconfiguring, {_more(idle)} lie idle and {_more(useful)}"
        f" are useful (of {fmean(right.total('useful_hours') for _, right in runs):.0f})"
    )


def _more(change: float, digits: int = 1) -> str:
    return f"{abs(change):.{digits}f} {'more' if change >= 0 else 'fewer'}"


def _busier(sweep: Sweep, under: Point, field: str, word: str) -> Claim:
    found = sweep.bootstrap.difference(sweep.totals(under, field), sweep.totals(sweep.usual, field))
    claim = (
        f"tenants that under-estimate the overhead ({under.label}) {word} than those who are right"
    )
    unit = f"more {'moves' if field == 'moves' else 'GPU-hours'} a run"
    return judged(Misconfiguration.name, claim, "reconfigures too aggressively", found, unit=unit)
