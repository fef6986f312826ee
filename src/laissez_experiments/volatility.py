"""Bounds on how fast prices may rise and fall, from no movement at all to no bound (the paper's
figure of market volatility)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Final

import msgspec

from laissez.sim.scenario import Band, MarketTable
from laissez_experiments.lab.findings import PERCENT, Claim, reaches, shown
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import CONTRACTS, OTHERS, SLIGHTLY, sized
from laissez_experiments.lab.sweeps import EXCHANGES, Point, Sweep, SweepExperiment, judged

SHARES: Final = (0.0, 0.02, 0.1, 0.5)  # of the price, in `SECONDS`
SECONDS: Final = 60.0
QUICK_SHARES: Final = (0.0, 0.1)
# of the gain over fcfs is gone: the market has come nearer to fcfs than to its best
MOST: Final = 0.5


class Volatility(SweepExperiment):
    name = "volatility"
    title = "Bounds on how fast prices move"
    parameter = "rise_per_minute"
    axis = "by how much prices may rise in a minute"
    levels = OTHERS

    def points(self, plan: Plan) -> list[Point]:
        """From the tightest on; the last has no bound, and is the scenario of other experiments."""
        usual = sized(SLIGHTLY, plan)
        shares = QUICK_SHARES if plan.quick else SHARES
        bounded = []
        for at, share in enumerate(shares):
            band, label = Band(share=share, seconds=SECONDS), f"{share * PERCENT:g} %"
            scenario = msgspec.structs.replace(
                usual,
                name=f"{usual.name}, prices move by {label} a minute",
                market=MarketTable(rise=band, fall=band),
            )
            bounded.append(Point(at=at, tick=label, label=label, scenario=scenario))
        free = Point(
            at=len(shares),
            tick="none",
            label="no bound",
            scenario=usual,
            clouds=CONTRACTS,
            is_usual=True,
        )
        return [*bounded, free]

    def claims(self, sweep: Sweep) -> list[Claim]:
        best = Best(sweep)
        return [
            *(_better(sweep, best, end) for end in (sweep.points[0], sweep.usual)),
            *(_beats_unbounded(sweep, cloud) for cloud in OTHERS),
            _all_beat(sweep),
            _like_fcfs(sweep, best),
            _churns(sweep),
        ]

    def text(self, sweep: Sweep) -> str:
        *bounded, free = sweep.points
        return (
            "On the slightly oversubscribed cluster, prices of the market may rise by a bounded"
            f" share of themselves within {SECONDS:g} seconds: bids beyond are clipped, and their"
            " tenants try again a minute later. Floors may fall by the same share, but nobody"
            " moves them here. Tenants keep "
            + ", ".join(
                f"{shown(sweep.retention(point))} with {_named(point)}" for point in bounded
            )
            + f", and {shown(sweep.retention(free))} without a bound; "
            + " and ".join(f"{shown(sweep.retention(free, cloud))} on {cloud}" for cloud in OTHERS)
            + ". GPUs change hands "
            + ", ".join(f"{fmean(sweep.totals(point, *EXCHANGES)):.0f}" for point in sweep.points)
            + f" times a run on the market, in the same order. {_beside_fcfs(sweep, bounded[0])}"
        )


def _named(point: Point) -> str:
    return "no bound" if point.scenario.market.rise is None else f"a bound of {point.label}"


def _beside_fcfs(sweep: Sweep, tightest: Point) -> str:
    """The market with the tightest bound, compared with a queue."""
    gain = sweep.bootstrap.mean(sweep.gains(tightest, sweep.usual, "fcfs"))
    return (
        f"With {_named(tightest)} there are {fmean(sweep.totals(tightest, 'revocations')):.0f}"
        f" revocations a run; tenants keep {shown(gain)} more than on fcfs. What differs from fcfs"
        " there: a free GPU goes to whoever set the highest limit, not to who asked first, and"
        f" prices start from floors of {sweep.usual.scenario.prices.floor:g} of the list price; a"
        f" GPU-hour costs {sweep.dollars_per_hour(tightest):.2f} dollars in the mean, against"
        f" {sweep.dollars_per_hour(sweep.usual, 'fcfs'):.2f}."
    )


class Best:
    """The best bound between the tightest and none. Picked by the runs on which it is judged it
    would flatter itself: each seed is judged at the bound that is best under the other seeds.
    """

    def __init__(self, sweep: Sweep) -> None:
        middle = sweep.points[1:-1]
        kept = [sweep.kept(point) for point in middle]
        picked = [_best_of_the_others(kept, seed) for seed in range(sweep.plan.seeds)]
        self.retentions = [kept[at][seed] for seed, at in enumerate(picked)]
        ((at, times),) = Counter(picked).most_common(1)
        self.point = middle[at]
        self.note = (
            f"each seed is judged at the bound that is best under the others: {self.point.label}"
            f" under {times} of {len(picked)}"
        )


def _best_of_the_others(kept: Sequence[Sequence[float]], seed: int) -> int:
    totals = [sum(one) - one[seed] for one in kept]
    return totals.index(max(totals))


def _better(sweep: Sweep, best: Best, end: Point) -> Claim:
    at_best, at_end = (
        f"{fmean(sweep.totals(point, 'revocations')):.0f}" for point in (best.point, end)
    )
    return judged(
        f"the best bound between ({best.point.label} a minute) retains more than {_named(end)}",
        "a middle ground performs best",
        sweep.bootstrap.difference(best.retentions, sweep.kept(end)),
        reason=(
            f"there are {at_best} revocations a run with {_named(best.point)} and {at_end} with"
            f" {_named(end)}"
        ),
        note=best.note,
    )


def _beats_unbounded(sweep: Sweep, cloud: str) -> Claim:
    found = sweep.bootstrap.mean(sweep.gains(sweep.usual, sweep.usual, cloud))
    claim = f"even without a bound the market retains more than {cloud}"
    return judged(claim, "outperforms", found)


def _all_beat(sweep: Sweep) -> Claim:
    """The claim is about the bound and the cloud that are nearest to one another: it holds if every
    bound is above both."""
    gains = [
        (sweep.bootstrap.mean(sweep.gains(point, sweep.usual, cloud)), point, cloud)
        for point in sweep.points[:-1]
        for cloud in OTHERS
    ]
    least, point, cloud = min(
        gains, key=lambda one: one[0].value if one[0].low is None else one[0].low
    )
    claim = (
        f"with every bound the market retains more than {' and '.join(OTHERS)} (least:"
        f" {_named(point)}, over {cloud})"
    )
    return judged(claim, None, least)


def _like_fcfs(sweep: Sweep, best: Best) -> Claim:
    fcfs, tightest = sweep.kept(sweep.usual, "fcfs"), sweep.points[0]
    at_best = [ours - theirs for ours, theirs in zip(best.retentions, fcfs, strict=True)]
    return judged(
        f"the tightest bound ({tightest.label}) takes most ({MOST * PERCENT:g} % or more) of what"
        f" the best ({best.point.label}) gains over fcfs",
        "approaches FCFS-like inefficiency",
        sweep.less(sweep.gains(tightest, sweep.usual, "fcfs"), at_best),
        lambda one: reaches(one, MOST),
        unit="%",
        note=best.note,
    )


def _churns(sweep: Sweep) -> Claim:
    free, tightest = sweep.usual, sweep.points[0]
    exchanges = (sweep.totals(point, *EXCHANGES) for point in (free, tightest))
    return judged(
        f"without a bound GPUs change hands more often than with the tightest ({tightest.label})",
        "induces churn",
        sweep.bootstrap.difference(*exchanges),
        unit="more moves and revocations a run",
    )
