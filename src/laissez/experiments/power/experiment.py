"""Steering load by price: a jump in the power of one row makes it dear, and tenants move to the other (the paper's figure of power-aware prices)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Final

import msgspec

from laissez.experiments.lab.cell import Cell
from laissez.experiments.lab.experiment import Experiment, Results
from laissez.experiments.lab.findings import TOO_FEW, Claim, Findings, Number, interval
from laissez.experiments.lab.plan import Plan
from laissez.experiments.power.figure import Shown, draw, tips
from laissez.experiments.power.run import BEFORE, NODES, ROWS, SAMPLE_S, SCENARIO, Course, PowerRun
from laissez.experiments.power.series import TwoRows, two_rows
from laissez.sim.statistics import Bootstrap, Estimate

PERCENT: Final = 100.0
MINUTE_S: Final = 60
TENANTS: Final = 4
QUICK_TENANTS: Final = 3
BEFORE_S: Final = (-10 * MINUTE_S, 0)  # from the jump on: what was before it, and what came of it
AFTER_S: Final = (10 * MINUTE_S, 30 * MINUTE_S)
STAYED_S: Final = 15 * MINUTE_S  # who has its node still so long after the jump has stayed
EVERY_S: Final = 30


class Seed(msgspec.Struct, frozen=True, kw_only=True):
    """One seed: with the jump and without it."""

    jumped: Course
    calm: Course


class Power(Experiment):
    name = "power"
    title = "Power-aware prices"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        rows = two_rows(plan)
        return [_run(rows, is_calm, plan, seed) for seed in plan.all_seeds for is_calm in (False, True)]

    def findings(self, plan: Plan, results: Results) -> Findings:
        rows = two_rows(plan)
        seeds = [Seed(jumped=results[_run(rows, False, plan, seed)], calm=results[_run(rows, True, plan, seed)]) for seed in plan.all_seeds]
        shown = Shown(rows=rows, first=seeds[0].jumped, jumped=[one.jumped for one in seeds], calm=[one.calm for one in seeds])
        return Findings(
            claims=[_at_once(seeds), _dearer(seeds), _emptier(seeds), _fuller(seeds), _urgent_stay(seeds), _stayers_pay(seeds)],
            text=_text(plan, rows, seeds),
            rows=_rows(plan, seeds),
            draw=lambda: draw(shown),
            tips=tips(shown),
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
    return fmean(sum(bool(one.tenant) for one in course.at(at).values() if one.node.startswith(row)) for at in times) / NODES


def price(course: Course, row: str, after_s: float) -> float:
    """Of the row's nodes, in the mean, so long after the jump; dollars per hour."""
    return fmean(one.price for one in course.at(course.jump_s + after_s).values() if one.node.startswith(row))


def stayed(course: Course) -> dict[str, bool]:
    """For each node of the first row that was leased at the jump: whether its tenant has it still."""
    before, after = course.at(course.jump_s), course.at(course.jump_s + STAYED_S)
    return {node: after[node].tenant == before[node].tenant for node in course.limits}


def dearer(course: Course) -> float:
    """By which part the first row's price is higher, one decision of the maps after the jump."""
    return price(course, ROWS[0], SCENARIO.maps_seconds + 1) / price(course, ROWS[0], 0) - 1


def moved(one: Seed, row: str) -> float:
    """By how much more of the row is leased after the jump than without it."""
    return leased(one.jumped, row, AFTER_S) - leased(one.calm, row, AFTER_S)


def more_worth(course: Course) -> float | None:
    """By how much the limits of those who stay exceed those of who leaves, in the mean; none where all do the same."""
    limits = {kept: [course.limits[node] for node, has_stayed in stayed(course).items() if has_stayed == kept] for kept in (True, False)}
    return fmean(limits[True]) - fmean(limits[False]) if all(limits.values()) else None


def more_paid(course: Course) -> float | None:
    """By how much the rate in the first row exceeds that in the other one, for those who are there after the jump; none where nobody is."""
    rates = [[one.price for one in course.at(course.jump_s + STAYED_S).values() if one.tenant and one.node.startswith(row)] for row in ROWS]
    return fmean(rates[0]) - fmean(rates[1]) if all(rates) else None


def _over(seeds: Sequence[Seed], figure: Callable[[Course], float | None]) -> Estimate | None:
    """The mean over those seeds in which there is something to measure."""
    found = [value for one in seeds if (value := figure(one.jumped)) is not None]
    return Bootstrap(len(found)).mean(found) if found else None


def _claim(claim: str, paper: str, found: Estimate | None, unit: str, times: float = 1.0, is_more: bool = True) -> Claim:
    """It holds if the whole interval is on the right side of zero."""
    holds = None if found is None or found.low is None or found.high is None else found.low > 0 if is_more else found.high < 0
    return Claim(
        figure=Power.name,
        claim=claim,
        paper=paper,
        measured=None if found is None else found.value * times,
        interval=interval(found, times),
        holds=holds,
        unit=unit,
        note=TOO_FEW if holds is None else "",
    )


def _delays(seeds: Sequence[Seed]) -> list[float]:
    return [one.jumped.floor_rose_s - one.jumped.jump_s for one in seeds if one.jumped.floor_rose_s is not None]


def _at_once(seeds: Sequence[Seed]) -> Claim:
    delays = _delays(seeds)
    rose_in_all = len(delays) == len(seeds)
    return Claim(
        figure=Power.name,
        claim=f"the jump raises the row's floor with the next decision of the maps, which is made every {SCENARIO.maps_seconds:g} s (longest delay)",
        paper="immediately",
        measured=max(delays, default=None),
        holds=rose_in_all and max(delays) <= SCENARIO.maps_seconds + 1,
        unit="s",
        note="" if rose_in_all else f"it did not rise under {len(seeds) - len(delays)} of {len(seeds)} seeds",
    )


def _dearer(seeds: Sequence[Seed]) -> Claim:
    claim = f"{SCENARIO.maps_seconds:g} s after the jump the nodes of the row are dearer than at the jump"
    return _claim(claim, "an immediate price increase", _over(seeds, dearer), "%", PERCENT)


def _emptier(seeds: Sequence[Seed]) -> Claim:
    found = Bootstrap(len(seeds)).mean([moved(one, ROWS[0]) for one in seeds])
    return _claim(
        "tenants leave the constrained row: less of it is leased than without the jump", "tenants move away", found, "% points", PERCENT, False
    )


def _fuller(seeds: Sequence[Seed]) -> Claim:
    found = Bootstrap(len(seeds)).mean([moved(one, ROWS[1]) for one in seeds])
    return _claim("they go to the other row: more of it is leased than without the jump", "migration to the other row", found, "% points", PERCENT)


def _urgent_stay(seeds: Sequence[Seed]) -> Claim:
    claim = "those who stay in the constrained row would have paid more for their nodes than those who leave (limits at the jump)"
    return _claim(claim, "less urgent tenants move away", _over(seeds, more_worth), "$ per GPU-hour")


def _stayers_pay(seeds: Sequence[Seed]) -> Claim:
    return _claim("those who stay pay a higher rate than those in the other row", "pay the higher rate", _over(seeds, more_paid), "$ per GPU-hour")


def _text(plan: Plan, rows: TwoRows, seeds: Sequence[Seed]) -> str:
    cost, later = (fmean(price(one.jumped, ROWS[0], after_s) for one in seeds) for after_s in (0, SCENARIO.maps_seconds + 1))
    kept = [has_stayed for one in seeds for has_stayed in stayed(one.jumped).values()]
    return (
        f"Two rows of {NODES} H100 nodes each, priced by the power map with its own defaults, and {_tenants(plan)} tenants (training, batch and "
        f"inference) under each of {plan.seeds} seeds. Power is replayed, a sample every {SAMPLE_S // MINUTE_S} minutes ({rows.source}): "
        f"at t = {BEFORE} samples that of row 1 goes from {rows.pressed[BEFORE - 1]:.2f} to {rows.pressed[BEFORE]:.2f} of what it is provisioned "
        f"for. A node of row 1 costs {cost:.2f} dollars per hour at the jump and {later:.2f} one decision of the maps later, in the mean. "
        f"{_shares(seeds)} After {STAYED_S // MINUTE_S} minutes {sum(kept)} of the {len(kept)} nodes leased in row 1 at the jump are still with the "
        "same tenants."
    )


def _shares(seeds: Sequence[Seed]) -> str:
    def percent(row: str, window_s: tuple[int, int], is_calm: bool = False) -> str:
        return f"{PERCENT * fmean(leased(one.calm if is_calm else one.jumped, row, window_s) for one in seeds):.0f} %"

    first, other = ROWS
    return (
        f"Row 1 is leased to {percent(first, BEFORE_S)} in the ten minutes before the jump and to {percent(first, AFTER_S)} from ten to thirty "
        f"minutes after it ({percent(first, AFTER_S, is_calm=True)} without the jump), row 2 to {percent(other, BEFORE_S)} and "
        f"{percent(other, AFTER_S)} ({percent(other, AFTER_S, is_calm=True)})."
    )


def _rows(plan: Plan, seeds: Sequence[Seed]) -> list[dict[str, Number | str | None]]:
    return [
        {
            "seed": number,
            "row": at,
            "jump": str(course is one.jumped).lower(),
            "leased_before": leased(course, row, BEFORE_S),
            "leased_after": leased(course, row, AFTER_S),
            "price_at_jump": price(course, row, 0),
            "price_one_decision_later": price(course, row, SCENARIO.maps_seconds + 1),
            "floor_rose_after_s": None if course.floor_rose_s is None or at > 1 else course.floor_rose_s - course.jump_s,
            "stayed": sum(stayed(course).values()) if at == 1 else None,
            "left": sum(not kept for kept in stayed(course).values()) if at == 1 else None,
        }
        for number, one in zip(plan.all_seeds, seeds, strict=True)
        for course in (one.jumped, one.calm)
        for at, row in enumerate(ROWS, 1)
    ]
