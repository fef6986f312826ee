"""What the service promises when there is too much of something, and whether what was measured
keeps it."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from laissez.server.fair_queue import BAD_FOR_US, TURN_US
from laissez_bench.generator import SHED
from laissez_bench.noisy import NOBODY, Noisy
from laissez_bench.overload import LEVELS, Level
from laissez_bench.soak_verdict import EXPECTED
from laissez_bench.statistics import Ratio

# One noisy tenant may slow the others down by a tenth. A round's p99 hangs on ten milliseconds in
# which something else happened, so that silence beside silence differs by half and more: there only
# what is far beyond the promise can be told from chance.
SLOWER_P50_MAX, SLOWER_P99_MAX = 1.10, 1.50
# of what was done in silence: to be turned away because of somebody else is worse than to wait
DONE_LEAST = 0.99
ROUNDS_LEAST = 6  # fewer cannot be sure of anything

# Whoever is admitted has stood in line for `wait_s_max`, in a line that may be late for a while
# before anybody is turned away, and then had its turn. On a machine whose cores are shared with the
# load, and with whoever else is there, each of these can take several times as long. Without
# shedding it would grow for as long as the load lasts: by half a second for each second at 150 %.
SLACK = 4
TOO_MUCH = LEVELS[-1]
PHASE_S_LEAST = 1.0  # less is a burst, and bursts are waited out
# of the capacity: to turn everybody away at once is no service either; refusing takes up to half of
# it
ADMITTED_LEAST = 0.25

# whatever else is told counts as done, and is not; what a lost connection leaves is unanswered
ANSWERS = EXPECTED | SHED | {"connection_lost"}


R = TypeVar("R")


class Verdict(msgspec.Struct, Generic[R]):
    rows: list[R]
    failures: list[str] = []
    not_judged: list[str] = []


def judge_noisy(rows: list[Noisy]) -> Verdict[Noisy]:
    """A slowdown counts when all of its interval is beyond what is promised."""
    (silence,) = [row for row in rows if row.kind == NOBODY]
    verdict = Verdict(rows)
    failures, not_judged = verdict.failures, verdict.not_judged
    if silence.rounds < ROUNDS_LEAST:
        not_judged.append(
            f"all of it: {ROUNDS_LEAST} rounds are needed to be sure of something, there were"
            f" {silence.rounds}"
        )
        return verdict
    for name, most in (("p50", SLOWER_P50_MAX), ("p99", SLOWER_P99_MAX)):
        slower = [(row.kind, ratio) for row in rows if (ratio := _slowdown(row, name)).low > most]
        if _slowdown(silence, name).low > most:
            not_judged.append(
                f"{name}: it was {_slowdown(silence, name)} with nobody's noise: this machine is"
                " not steady enough"
            )
        else:
            failures += [
                f"{kind}: expected the others' {name} at most x{most:.2f} with the noise, found"
                f" {ratio}"
                for kind, ratio in slower
            ]
    for row in rows:
        if row.done < DONE_LEAST * row.done_without:
            failures.append(
                f"{row.kind}: expected the others to get {row.done_without:.1%} done as in silence,"
                f" found {row.done:.1%}"
            )
        failures += _wrong(row.kind, row.problems)
    return verdict


def _wrong(where: str, problems: dict[str, int]) -> list[str]:
    return [
        f"{where}: {count:,} answers were {code}"
        for code, count in sorted(problems.items())
        if code not in ANSWERS
    ]


def _slowdown(row: Noisy, name: str) -> Ratio:
    return row.slowdown_p50 if name == "p50" else row.slowdown_p99


def kept_ms_max(wait_s_max: float) -> float:
    """What p99 of those who are admitted may come to, however much is asked for."""
    return SLACK * (wait_s_max * 1_000 + (BAD_FOR_US + TURN_US) / 1_000)


def judge_overload(rows: list[Level], wait_s_max: float) -> Verdict[Level]:
    verdict = Verdict(rows)
    failures, not_judged = verdict.failures, verdict.not_judged
    most = kept_ms_max(wait_s_max)
    for row in rows:
        failures += _wrong(f"{row.load} at {row.level:.0%}", row.problems)
        if row.level != TOO_MUCH:
            continue
        if row.phase_s < PHASE_S_LEAST:
            not_judged.append(
                f"{row.load}: it was asked for too much for {row.phase_s:g} s at a time: that is a"
                f" burst, {PHASE_S_LEAST:g} s is not"
            )
            continue
        if not row.shed:
            failures.append(
                f"{row.load}: expected some of {TOO_MUCH:.0%} of the capacity to be shed, found"
                " nothing"
            )
        if row.admitted < ADMITTED_LEAST * row.capacity:
            least = f"{ADMITTED_LEAST * row.capacity:,.0f}/s"
            failures.append(
                f"{row.load}: expected at least {least} to be admitted at {TOO_MUCH:.0%}, found"
                f" {row.admitted:,.0f}/s"
            )
        if row.late_p99_ms > most:
            not_judged.append(
                f"{row.load}: the load itself was {row.late_p99_ms:,.0f} ms behind, so how late the"
                " answers were is not known"
            )
        elif (kept := row.p99_ms - row.late_p99_ms) > most:
            failures.append(
                f"{row.load}: expected p99 of what was admitted at {TOO_MUCH:.0%} at most"
                f" {most:,.0f} ms, found {kept:,.0f}"
            )
    return verdict
