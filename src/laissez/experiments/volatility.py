"""How fast prices may rise and fall, from not at all to without bounds (the paper's figure of market volatility)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

import msgspec

from laissez.experiments.lab.cell import Cell
from laissez.experiments.lab.experiment import Experiment, Results
from laissez.experiments.lab.findings import Claim, Findings, holds_at_least
from laissez.experiments.lab.plan import Plan
from laissez.experiments.lab.regimes import CONTRACTS, OTHERS, SLIGHTLY, sized
from laissez.experiments.lab.sweeps import EXCHANGES, PERCENT, Point, Sweep, cells_of, drawn, judged, shown, tips
from laissez.sim.scenario import Band, MarketTable
from laissez.sim.statistics import Estimate

SHARES: Final = (0.0, 0.02, 0.1, 0.5)  # of the price, in `SECONDS`
SECONDS: Final = 60.0
QUICK_SHARES: Final = (0.0, 0.1)
MOST_OF_IT: Final = 0.5  # of the gain over fcfs is gone where the market has come nearer to fcfs than to itself


class Volatility(Experiment):
    name = "volatility"
    title = "Bounds on how fast prices move"
    takes_half = True

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return cells_of(points(plan), plan)

    def findings(self, plan: Plan, results: Results) -> Findings:
        *bounded, free = points(plan)
        sweep = Sweep([*bounded, free], free, plan, results)
        tightest, *middle = bounded
        best = max(middle, key=lambda point: sweep.retention(point).value)
        text = (
            f"On the slightly oversubscribed cluster, prices of the market may rise by a bounded share of themselves within {SECONDS:g} seconds: "
            "bids beyond are clipped, and their tenants try again a minute later. Floors may fall by the same share, but nobody moves them here. "
            "With a share of 0 nobody is ever outbid, as on demand. Tenants keep "
            + ", ".join(f"{shown(sweep.retention(point))} with {_named(point)}" for point in bounded)
            + f", and {shown(sweep.retention(free))} without a bound; "
            + " and ".join(f"{shown(sweep.retention(free, cloud))} on {cloud}" for cloud in OTHERS)
            + ". GPUs change hands "
            + ", ".join(f"{fmean(sweep.totals(point, *EXCHANGES)):.0f}" for point in sweep.points)
            + " times a run on the market, in the same order."
        )
        return Findings(
            claims=[
                *(_better(sweep, best, end) for end in (tightest, free)),
                *(_all_beat(sweep, cloud) for cloud in OTHERS),
                *(_beats_unbounded(sweep, cloud) for cloud in OTHERS),
                _like_fcfs(sweep, tightest, best),
                _churns(sweep, tightest),
            ],
            text=text,
            rows=sweep.rows("rise_per_minute"),
            draw=lambda: drawn(sweep, "by how much prices may rise in a minute", levels=OTHERS),
            tips=tips(sweep),
        )


def points(plan: Plan) -> list[Point]:
    """From the tightest on; the last has no bound, and is the scenario of other experiments."""
    usual = sized(SLIGHTLY, plan)
    shares = QUICK_SHARES if plan.quick else SHARES
    bounded = []
    for at, share in enumerate(shares):
        band, label = Band(share=share, seconds=SECONDS), f"{share * PERCENT:g} %"
        scenario = msgspec.structs.replace(usual, name=f"{usual.name}, prices move by {label} a minute", market=MarketTable(rise=band, fall=band))
        bounded.append(Point(at=at, tick=label, label=label, scenario=scenario))
    return [*bounded, Point(at=len(shares), tick="none", label="no bound", scenario=usual, clouds=CONTRACTS)]


def _named(point: Point) -> str:
    return "no bound" if point.scenario.market.rise is None else f"a bound of {point.label}"


def _better(sweep: Sweep, best: Point, end: Point) -> Claim:
    """The best was picked from these very runs, which flatters it a little."""
    found = sweep.bootstrap.difference(sweep.retentions(best), sweep.retentions(end))
    claim = f"the best bound between ({best.label} a minute) retains more than {_named(end)}"
    return judged(Volatility.name, claim, "a middle ground is best", found)


def _all_beat(sweep: Sweep, cloud: str) -> Claim:
    """By the point that is nearest to the other cloud; it holds if every point is above it."""
    gains = [sweep.bootstrap.mean(sweep.gains(point, sweep.usual, cloud)) for point in sweep.points]
    worst: Estimate = min(gains, key=lambda gain: gain.low if gain.low is not None else gain.value)
    point = sweep.points[gains.index(worst)]
    return judged(Volatility.name, f"with every bound the market retains more than {cloud} (least: {_named(point)})", "more", worst)


def _beats_unbounded(sweep: Sweep, cloud: str) -> Claim:
    found = sweep.bootstrap.mean(sweep.gains(sweep.usual, sweep.usual, cloud))
    return judged(Volatility.name, f"even without a bound the market retains more than {cloud}", "more", found)


def _like_fcfs(sweep: Sweep, tightest: Point, best: Point) -> Claim:
    found = sweep.less(sweep.gains(tightest, sweep.usual, "fcfs"), sweep.gains(best, sweep.usual, "fcfs"))
    claim = f"the tightest bound ({tightest.label}) takes most of what the market with the best ({best.label}) gains over fcfs"
    return judged(Volatility.name, claim, "approaches fcfs", found, lambda one: holds_at_least(one, MOST_OF_IT), unit="%")


def _churns(sweep: Sweep, tightest: Point) -> Claim:
    found = sweep.bootstrap.difference(sweep.totals(sweep.usual, *EXCHANGES), sweep.totals(tightest, *EXCHANGES))
    claim = f"without a bound GPUs change hands more often than with the tightest ({tightest.label})"
    return judged(Volatility.name, claim, "more churn", found, unit="more moves and revocations a run")
