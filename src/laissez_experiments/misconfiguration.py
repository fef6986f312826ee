"""The cost of a wrong belief about the overhead of reconfiguration (the paper's figure of client
misconfiguration)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

import msgspec

from laissez.sim.statistics import Estimate
from laissez_experiments.lab.findings import PERCENT, Claim, interval, is_within, shown
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import SLIGHTLY, sized, with_tenants
from laissez_experiments.lab.sweeps import Point, Sweep, SweepExperiment, judged

ERRORS: Final = (-50, -5, 0, 5, 50)  # percent of the true overhead
LOST: Final = 0.30  # of the performance can be, says the paper, at large errors
HARMLESS: Final = 0.01  # of the performance


class Misconfiguration(SweepExperiment):
    name = "misconfiguration"
    title = "Tenants that misjudge what it costs to reconfigure"
    parameter = "error"
    axis = "error in the overhead that tenants reckon with, percent"

    def points(self, plan: Plan) -> list[Point]:
        return [_point(error, plan) for error in ERRORS]

    def claims(self, sweep: Sweep) -> list[Claim]:
        first, last = sweep.points[0], sweep.points[-1]
        return [
            _worse(sweep, first, last),
            *(_harmless(sweep, point) for point in sweep.points if abs(point.at) == 5),
            *(_lost(sweep, point) for point in (first, last)),
            _as_much(sweep, first, last),
            _busier(sweep, first, "moves", "move more often", "moves"),
            _busier(sweep, first, "reconfiguring_hours", "reconfigure more", "GPU-hours"),
        ]

    def text(self, sweep: Sweep) -> str:
        churn = ", ".join(
            f"{fmean(sweep.totals(point, 'moves')):.0f} moves and"
            f" {fmean(sweep.totals(point, 'reconfiguring_hours')):.1f} GPU-hours of"
            f" reconfiguration a run at {point.label}"
            for point in (sweep.points[0], sweep.usual, sweep.points[-1])
        )
        return (
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


def _point(error: int, plan: Plan) -> Point:
    tick = f"{error:+d}" if error else "0"
    label = f"{tick} %"
    usual = sized(SLIGHTLY, plan)
    wrong = with_tenants(
        msgspec.structs.replace(usual, name=f"{usual.name}, overhead misjudged by {label}"),
        believed_overhead=1 + error / 100,
    )
    scenario = wrong if error else usual
    return Point(at=error, tick=tick, label=label, scenario=scenario, is_usual=not error)


def _worse(sweep: Sweep, under: Point, over: Point) -> Claim:
    return judged(
        f"under-estimating the overhead ({under.label}) costs more performance than over-estimating"
        f" it ({over.label})",
        "hurts more",
        sweep.less(sweep.kept(under), sweep.kept(over)),
        unit="%",
        reason=f"{_spent(sweep, under)}; {_spent(sweep, over)}",
    )


def _loss(sweep: Sweep, point: Point) -> Estimate:
    return sweep.less(sweep.kept(point), sweep.kept(sweep.usual))


def _harmless(sweep: Sweep, point: Point) -> Claim:
    return judged(
        f"an error of {point.label} changes performance by less than {HARMLESS * PERCENT:g} %:"
        " lost are",
        "relatively stable",
        _loss(sweep, point),
        lambda found: is_within(found, HARMLESS),
        unit="%",
    )


def _lost(sweep: Sweep, point: Point) -> Claim:
    return judged(
        f"an error of {point.label} costs performance",
        "either direction can hurt",
        _loss(sweep, point),
        unit="%",
        reason=_spent(sweep, point),
    )


def _as_much(sweep: Sweep, under: Point, over: Point) -> Claim:
    """The paper states the possible loss, so the worse direction must reach it, and not go
    beyond."""

    def contains(found: Estimate) -> bool | None:
        ends = interval(found)
        return None if ends is None else ends[0] <= LOST <= ends[1]

    kept = [sweep.kept(point) for point in (under, over, sweep.usual)]
    found = sweep.bootstrap.of(list(zip(*kept, strict=True)), _lost_in_the_worse)
    return judged(
        f"of the errors {under.label} and {over.label} the worse costs as much performance as in"
        " the paper",
        LOST * PERCENT,
        found,
        contains,
        unit="%",
        reason=f"tenants lose {'less' if found.value < LOST else 'more'} than in the paper",
    )


def _lost_in_the_worse(seeds: Sequence[tuple[float, ...]]) -> float:
    under, over, right = map(sum, zip(*seeds, strict=True))
    return 1 - min(under, over) / right


def _spent(sweep: Sweep, point: Point) -> str:
    """The use of the GPU-hours of a run, compared with that of tenants who are right."""
    runs = list(zip(sweep.at(point), sweep.at(sweep.usual), strict=True))
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


def _busier(sweep: Sweep, under: Point, field: str, do_more: str, unit: str) -> Claim:
    found = sweep.bootstrap.difference(sweep.totals(under, field), sweep.totals(sweep.usual, field))
    return judged(
        f"tenants that under-estimate the overhead ({under.label}) {do_more} than those who are"
        " right",
        "reconfigures too aggressively",
        found,
        unit=f"more {unit} a run",
    )
