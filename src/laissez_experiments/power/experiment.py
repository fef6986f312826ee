"""Steering load by price: a jump in the power of one row makes it dear, and tenants move to the
other (the paper's figure of power-aware prices)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Final

import msgspec

from laissez.market import EndReason
from laissez.sim.scenario import TenantsTable
from laissez.sim.statistics import Bootstrap, Estimate
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import (
    PERCENT,
    TOO_FEW,
    Claim,
    Findings,
    Row,
    estimated,
    is_above_zero,
    is_below_zero,
    joined,
)
from laissez_experiments.lab.plan import Plan
from laissez_experiments.power.figure import Shown
from laissez_experiments.power.run import (
    BEFORE,
    GPUS,
    NODES,
    ROWS,
    SAMPLE_S,
    SCENARIO,
    WORTH,
    Change,
    Course,
    PowerRun,
)
from laissez_experiments.power.series import TwoRows, two_rows

MINUTE_S: Final = 60
TENANTS: Final = 4
QUICK_TENANTS: Final = 3
# windows around the jump: the state before it, and its effect
BEFORE_S: Final = (-10 * MINUTE_S, 0)
AFTER_S: Final = (10 * MINUTE_S, 30 * MINUTE_S)
STAYED_S: Final = 15 * MINUTE_S  # a tenant that has its node so long after the jump has stayed
DECIDED_S: Final = SCENARIO.maps_seconds + 1  # the next decision of the maps has been made
EVERY_S: Final = 30
LATER: Final = f"{STAYED_S // MINUTE_S} minutes"


class Seed(msgspec.Struct, frozen=True, kw_only=True):
    """One seed: with the jump and without it."""

    jumped: Course
    calm: Course


class Power(Experiment):
    name = "power"
    title = "Power-aware prices"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        rows = two_rows(plan)
        return [
            _run(rows, is_calm, plan, seed) for seed in plan.all_seeds for is_calm in (False, True)
        ]

    def findings(self, plan: Plan, results: Results) -> Findings:
        rows = two_rows(plan)
        jumped, calm = (
            [results[_run(rows, is_calm, plan, seed)] for seed in plan.all_seeds]
            for is_calm in (False, True)
        )
        seeds = [Seed(jumped=one, calm=other) for one, other in zip(jumped, calm, strict=True)]
        shown = Shown(rows=rows, jumped=jumped, calm=calm)
        return Findings(
            claims=[
                _at_once(seeds),
                _dearer(seeds),
                _emptier(seeds),
                _migrate(seeds),
                _fuller(seeds),
                _urgent_stay(seeds),
                _stayers_pay(seeds),
            ],
            text=_text(plan, rows, seeds),
            rows=_rows(plan, seeds),
            draw=shown.draw,
            tips=shown.tips,
        )


def _run(rows: TwoRows, is_calm: bool, plan: Plan, seed: int) -> PowerRun:
    powers = (rows.calm if is_calm else rows.pressed, rows.other)
    return PowerRun(powers=powers, tenants=_tenants(plan), seed=seed)


def _tenants(plan: Plan) -> int:
    return QUICK_TENANTS if plan.quick else TENANTS


def leased(course: Course, row: str, window_s: tuple[int, int]) -> float:
    """The share of the row's nodes that is leased, in the mean over a window around the jump."""
    begin, end = (course.jump_s + at for at in window_s)
    times = range(round(begin), round(min(end, course.end_s)), EVERY_S)
    return fmean(sum(bool(one.tenant) for one in course.row(row, at)) for at in times) / NODES


def price(course: Course, row: str, after_s: float) -> float:
    """The mean price of the row's nodes, so long after the jump, in dollars per hour."""
    return fmean(one.price for one in course.row(row, course.jump_s + after_s))


def stayed(course: Course) -> dict[str, bool]:
    """For each node of the first row that was leased at the jump: whether that lease lasts so
    long."""
    return {node: one.end_s > course.jump_s + STAYED_S for node, one in course.held.items()}


def left(course: Course, of_own_will: bool) -> list[str]:
    """Nodes of the first row that were leased at the jump and then given up, or else taken away."""
    return [
        node
        for node, kept in stayed(course).items()
        if not kept and (course.held[node].reason == EndReason.RELINQUISHED) == of_own_will
    ]


def dearer(one: Seed) -> float:
    """The relative rise of the first row's price, one decision of the maps after the jump."""
    return price(one.jumped, ROWS[0], DECIDED_S) / price(one.jumped, ROWS[0], 0) - 1


def moved(one: Seed, row: str) -> float:
    """The share of the row leased after the jump less that without the jump."""
    return leased(one.jumped, row, AFTER_S) - leased(one.calm, row, AFTER_S)


def migrated(one: Seed) -> int:
    """The number of nodes in the other row of those who left the first one, less their number
    without the jump."""
    kept = stayed(one.jumped)
    movers = {tenancy.tenant for node, tenancy in one.jumped.held.items() if not kept[node]}
    jumped, calm = (
        sum(now.tenant in movers for now in _others(course, STAYED_S))
        for course in (one.jumped, one.calm)
    )
    return jumped - calm


def exchanged(course: Course) -> int:
    """The number of nodes given up that were replaced by nodes of the other row."""
    given_up = Counter(course.held[node].tenant for node in left(course, of_own_will=True))
    before, after = (
        Counter(one.tenant for one in _others(course, after_s)) for after_s in (0, STAYED_S)
    )
    return sum(
        min(nodes, max(0, after[tenant] - before[tenant])) for tenant, nodes in given_up.items()
    )


def _others(course: Course, after_s: float) -> list[Change]:
    return course.row(ROWS[1], course.jump_s + after_s)


def more_worth(course: Course, of_own_will: bool = True) -> float | None:
    """The mean limit of those who stay less that of those who leave, of their own will or at all.
    None where either group is empty."""
    stayers = [node for node, kept in stayed(course).items() if kept]
    leavers = left(course, of_own_will=True)
    if not of_own_will:
        leavers += left(course, of_own_will=False)
    limits = [[course.held[node].limit for node in nodes] for nodes in (stayers, leavers)]
    return fmean(limits[0]) - fmean(limits[1]) if all(limits) else None


def more_paid(course: Course) -> float | None:
    """The mean rate of those who stay in the first row less that in the other one. None where
    either group is empty."""
    now = course.at(course.jump_s + STAYED_S)
    stayers = [now[node].price for node, kept in stayed(course).items() if kept]
    others = [one.price for one in _others(course, STAYED_S) if one.tenant]
    return fmean(stayers) - fmean(others) if stayers and others else None


def _over(
    seeds: Sequence[Seed], figure: Callable[[Course], float | None], otherwise: str
) -> tuple[Estimate | None, str]:
    """The mean over the seeds that have a value, and their number unless all have."""
    found = [value for one in seeds if (value := figure(one.jumped)) is not None]
    note = f"{len(found)} of {len(seeds)} seeds: {otherwise} under the others"
    mean = Bootstrap(len(found)).mean(found) if found else None
    return mean, "" if len(found) == len(seeds) else note


def _mean(seeds: Sequence[Seed], figure: Callable[[Seed], float]) -> Estimate:
    return Bootstrap(len(seeds)).mean([figure(one) for one in seeds])


def _claim(
    claim: str,
    paper: str | None,
    found: Estimate | None,
    unit: str,
    note: str = "",
    holds: Callable[[Estimate | None], bool | None] = is_above_zero,
) -> Claim:
    """It holds if the whole interval is on the right side of zero."""
    verdict = holds(found)
    return estimated(
        claim, paper, found, verdict, unit, joined(TOO_FEW if verdict is None else "", note)
    )


def _at_once(seeds: Sequence[Seed]) -> Claim:
    courses = [one.jumped for one in seeds]
    delays = [one.floor_rose_s - one.jump_s for one in courses if one.floor_rose_s is not None]
    missing = len(seeds) - len(delays)
    return Claim(
        claim=(
            "the jump raises the row's floor with the next decision of the maps, which is made"
            f" every {SCENARIO.maps_seconds:g} s (longest delay)"
        ),
        paper="immediately",
        measured=max(delays, default=None),
        holds=not missing and max(delays) <= DECIDED_S,
        unit="s",
        note=joined(
            f"it did not rise under {missing} of {len(seeds)} seeds" if missing else "",
            "nearly by construction: at each decision the map reads the power and sets the floor",
        ),
    )


def _dearer(seeds: Sequence[Seed]) -> Claim:
    claim = (
        f"{SCENARIO.maps_seconds:g} s after the jump the nodes of the row are dearer than at the"
        " jump"
    )
    return _claim(claim, "an immediate price increase", _mean(seeds, dearer), "%")


def _emptier(seeds: Sequence[Seed]) -> Claim:
    gone = [
        (one.jumped, node) for one in seeds for node, kept in stayed(one.jumped).items() if not kept
    ]
    taken = sum(bool(course.at(course.jump_s + STAYED_S)[node].tenant) for course, node in gone)
    return _claim(
        "tenants leave the constrained row: less of it is leased than without the jump",
        "tenants move away",
        _mean(seeds, lambda one: moved(one, ROWS[0])),
        "% points",
        f"of {len(gone)} nodes whose tenants left, {taken} are leased again after {LATER}",
        is_below_zero,
    )


def _migrate(seeds: Sequence[Seed]) -> Claim:
    movers = sum(not kept for one in seeds for kept in stayed(one.jumped).values())
    return _claim(
        f"who leaves a node of the constrained row has more nodes of the other one, {LATER} later,"
        " than without the jump",
        "migration to the other row",
        _mean(seeds, migrated),
        "nodes per seed",
        f"{movers} nodes were left in all",
    )


def _fuller(seeds: Sequence[Seed]) -> Claim:
    full = fmean(leased(one.calm, ROWS[1], AFTER_S) for one in seeds)
    return _claim(
        "more of the other row is leased than without the jump",
        None,
        _mean(seeds, lambda one: moved(one, ROWS[1])),
        "% points",
        f"without the jump {PERCENT * full:.0f} % of it is leased, so there is room for"
        f" {PERCENT * (1 - full):.0f} % points",
    )


def _urgent_stay(seeds: Sequence[Seed]) -> Claim:
    given_up, taken = (
        sum(len(left(one.jumped, of_own_will)) for one in seeds) for of_own_will in (True, False)
    )
    found, note = _over(seeds, more_worth, "nobody stays or nobody leaves so")
    every, _ = _over(seeds, lambda course: more_worth(course, of_own_will=False), "")
    return _claim(
        "those who stay in the constrained row would have paid more for their nodes than those who"
        " leave of their own will (limits at the jump)",
        "less urgent tenants move away",
        found,
        "$ per GPU-hour",
        joined(
            note,
            f"{given_up} leases were given up, {sum(exchanged(one.jumped) for one in seeds)} of"
            " them for a node of the other row",
            f"{taken} more were ended by a floor or a bid above their limit, which proves nothing"
            + (f"; with them it is {every.value:.2f}" if every else ""),
        ),
    )


def _stayers_pay(seeds: Sequence[Seed]) -> Claim:
    found, note = _over(seeds, more_paid, "nobody stays or nobody is in the other row")
    return _claim(
        f"those who stay pay a higher rate than those in the other row, {LATER} after the jump",
        "pay the higher rate",
        found,
        "$ per GPU-hour",
        note,
    )


def _text(plan: Plan, rows: TwoRows, seeds: Sequence[Seed]) -> str:
    cost, later = (
        fmean(price(one.jumped, ROWS[0], after_s) for one in seeds) for after_s in (0, DECIDED_S)
    )
    kept = [has_stayed for one in seeds for has_stayed in stayed(one.jumped).values()]
    return (
        f"Two rows of {NODES} H100 nodes each, priced by the power map with its own defaults, and"
        f" {_tenants(plan)} tenants (training, batch and inference) under each of {plan.seeds}"
        f" seeds. Our choices: each needs {GPUS[0]:g} to {GPUS[1]:g} GPUs in the mean, and all of"
        f" its work is worth {WORTH:g} times the price on demand, where other experiments have"
        f" {TenantsTable().worth:g} times. Power is replayed, a sample every {SAMPLE_S // MINUTE_S}"
        f" minutes ({rows.source}), the same under all seeds, so intervals do not cover how it may"
        f" vary: at t = {BEFORE} samples that of row 1 goes from {rows.pressed[BEFORE - 1]:.2f} to"
        f" {rows.pressed[BEFORE]:.2f} of what it is provisioned for. A node of row 1 costs"
        f" {cost:.2f} dollars per hour at the jump and {later:.2f} one decision of the maps later,"
        f" in the mean. {_shares(seeds)} After {LATER} {sum(kept)} of the"
        f" {len(kept)} nodes leased in row 1 at the jump are still with the same tenants."
    )


def _shares(seeds: Sequence[Seed]) -> str:
    def percent(row: str, window_s: tuple[int, int], is_calm: bool = False) -> str:
        runs = (one.calm if is_calm else one.jumped for one in seeds)
        return f"{PERCENT * fmean(leased(run, row, window_s) for run in runs):.0f} %"

    first, other = ROWS
    return (
        f"Row 1 is leased to {percent(first, BEFORE_S)} in the ten minutes before the jump and to"
        f" {percent(first, AFTER_S)} from ten to thirty minutes after it"
        f" ({percent(first, AFTER_S, is_calm=True)} without the jump), row 2 to"
        f" {percent(other, BEFORE_S)} and {percent(other, AFTER_S)}"
        f" ({percent(other, AFTER_S, is_calm=True)})."
    )


def _rows(plan: Plan, seeds: Sequence[Seed]) -> list[Row]:
    return [
        {
            "seed": number,
            "row": at,
            "jump": str(course is one.jumped).lower(),
            "leased_before": leased(course, row, BEFORE_S),
            "leased_after": leased(course, row, AFTER_S),
            "price_at_jump": price(course, row, 0),
            "price_one_decision_later": price(course, row, DECIDED_S),
            "floor_rose_after_s": (
                None
                if course.floor_rose_s is None or at > 1
                else course.floor_rose_s - course.jump_s
            ),
            "stayed": sum(stayed(course).values()) if at == 1 else None,
            "left_of_own_will": len(left(course, of_own_will=True)) if at == 1 else None,
            "left_otherwise": len(left(course, of_own_will=False)) if at == 1 else None,
            "more_nodes_of_leavers_than_without_jump": (
                migrated(one) if at == len(ROWS) and course is one.jumped else None
            ),
        }
        for number, one in zip(plan.all_seeds, seeds, strict=True)
        for course in (one.jumped, one.calm)
        for at, row in enumerate(ROWS, 1)
    ]
