"""What must stay as it is under a steady load, and what is said of a service where it did not."""

from __future__ import annotations

from statistics import mean

import msgspec

from laissez.server.settings import Settings
from laissez_bench.readings import Readings, Remembered
from laissez_bench.statistics import Counted

READINGS = 20
SLOW_S = 0.25  # a service that keeps up answers sooner, also after a burst
QUARTER = READINGS // 4

# Events and ids are remembered up to a number that is set, and what is on the books until they are
# closed after so many commands: memory grows until then. From there on it is judged, the later half
# of the readings against the earlier one.
FULL = 0.99  # of what may be remembered: events that happened together are forgotten together
GROWTH_MAX = 1.05
FULL_READINGS_LEAST = 6
MORE_FILES_MAX, MORE_THREADS_MAX = 16, 4

# Answers, the last quarter against the first: the median, where what others do on this machine may
# make a difference of some milliseconds; and what a command takes of the server's processor, where
# they make little. And the tail, the second half against the first: p99 jumps about on a machine
# that is shared, but that it lies beyond a quarter of a second in one half and not in the other is
# no chance.
LATER_MAX, LATER_MS_MAX = 1.5, 20.0
CPU_MAX, CPU_S_LEAST = 1.5, 1.0  # less than a second of it cannot be told exactly
SLOW_SHARE_MAX, SLOWER_MAX = 0.01, 2.0
# in the last quarter, of those of the first: what is never answered is never late, and whoever
# waits for it asks no more
ANSWERED_LEAST = 2 / 3

# refusals that a market gives
EXPECTED = frozenset(
    {"already_filled", "not_your_lease", "not_your_order", "too_many_orders", "overloaded"}
)


class Quarter(msgspec.Struct):
    """Of the time that was measured."""

    answered: int
    p50_ms: float
    p99_ms: float
    slow: int  # answers that took longer than `SLOW_S`
    server_cpu_s: float

    @staticmethod
    def of(counted: Counted) -> Quarter:
        times = counted.admitted
        return Quarter(
            counted.answered,
            times.quantile_ms(0.5),
            times.quantile_ms(0.99),
            times.above(SLOW_S),
            round(counted.server_cpu_s, 2),
        )


class Audited(msgspec.Struct):
    events: int  # told to the operator
    leaves: int  # whose owners and rates were worked out a second time from the events
    concerned: int  # events that were about them
    entries: int  # of the journal, checked with the record
    bills: int  # leases whose charges were worked out a second time
    doubts: list[str]


class Soak(msgspec.Struct):
    """Readings are taken at even distances over the whole time; `full_from` is the first one at
    which as much was remembered as may be."""

    minutes: float
    per_second: float
    p50_ms: float
    p99_ms: float
    megabytes: list[float]
    files: list[int]
    threads: list[int]
    full_from: int | None
    growth: float | None  # of memory since then
    quarters: list[Quarter]
    audited: Audited
    problems: dict[str, int]
    failures: list[str]  # why it did not pass
    not_judged: list[str]


class Findings(msgspec.Struct):
    failures: list[str]
    not_judged: list[str] = []

    def at_most(self, what: str, most: str, found: str, holds: bool) -> None:
        if not holds:
            self.failures.append(f"{what}: expected at most {most}, found {found}")


def judged(
    whole: Counted,
    quarters: list[Quarter],
    readings: Readings,
    audited: Audited,
    settings: Settings,
) -> Soak:
    """What was seen, and whether it is as it should be."""
    verdict = Findings([*audited.doubts])
    full_from = _full_from(readings, settings)
    growth = _judge_memory(verdict, readings, full_from)
    _judge_count(verdict, "files", readings.files, MORE_FILES_MAX)
    _judge_count(verdict, "threads", readings.threads, MORE_THREADS_MAX)
    _judge_answers(verdict, quarters)
    verdict.failures += [
        f"answers: {count:,} were {code}"
        for code, count in sorted(whole.problems.items())
        if code not in EXPECTED
    ]
    return Soak(
        round(whole.seconds / 60, 2),
        round(whole.per_second, 1),
        whole.admitted.quantile_ms(0.5),
        whole.admitted.quantile_ms(0.99),
        readings.megabytes,
        readings.files,
        readings.threads,
        full_from,
        growth,
        quarters,
        audited,
        whole.problems,
        verdict.failures,
        verdict.not_judged,
    )


def _full_from(readings: Readings, settings: Settings) -> int | None:
    """The first reading at which as much was remembered as may be."""
    most = Remembered(
        round(FULL * settings.limits.history_events_max),
        round(FULL * settings.limits.idempotency_keys_max),
        readings.at_first.entries + settings.books.close_after_commands,
    )
    for index, found in enumerate(readings.remembered):
        if all(one >= full for one, full in zip(found, most, strict=True)):
            return index
    return None


def _judge_memory(verdict: Findings, readings: Readings, full_from: int | None) -> float | None:
    since = [] if full_from is None else readings.megabytes[full_from:]
    if len(since) < FULL_READINGS_LEAST:
        events, ids, entries = readings.remembered[-1]
        found = (
            f"{events:,} events, {ids:,} ids and {entries - readings.at_first.entries:,} commands"
            " in the end"
        )
        verdict.not_judged.append(
            f"memory: it grows until as much is remembered as may be ({found}); {len(since)} of"
            f" {READINGS} readings came after"
        )
        return None
    half = len(since) // 2
    growth = round(mean(since[-half:]) / mean(since[:half]), 3)
    verdict.at_most(
        "memory",
        f"x{GROWTH_MAX:g} once as much is remembered as may be",
        f"x{growth:.3f}",
        growth <= GROWTH_MAX,
    )
    return growth


def _judge_count(verdict: Findings, what: str, readings: list[int], more_max: int) -> None:
    first, last = max(readings[:QUARTER]), max(readings[-QUARTER:])
    verdict.at_most(what, f"{first + more_max}", f"{last}", last <= first + more_max)


def _judge_answers(verdict: Findings, quarters: list[Quarter]) -> None:
    first, last = quarters[0], quarters[-1]
    if last.answered < (least := max(1.0, ANSWERED_LEAST * first.answered)):
        verdict.failures.append(
            f"throughput: expected at least {least:,.0f} answers in the last quarter, found"
            f" {last.answered:,}"
        )
    most_ms = max(LATER_MAX * first.p50_ms, first.p50_ms + LATER_MS_MAX)
    verdict.at_most(
        "latency",
        f"{most_ms:.1f} ms at the median in the last quarter",
        f"{last.p50_ms:.1f}",
        last.p50_ms <= most_ms,
    )
    before, after = slow_share(quarters[:2]), slow_share(quarters[2:])
    most = max(SLOW_SHARE_MAX, SLOWER_MAX * before)
    verdict.at_most(
        "latency",
        f"{most:.1%} of the second half above {SLOW_S * 1_000:g} ms",
        f"{after:.1%}",
        after <= most,
    )
    if first.server_cpu_s < CPU_S_LEAST:
        verdict.not_judged.append(
            f"processor time: {CPU_S_LEAST:g} s of it in a quarter can be compared, not"
            f" {first.server_cpu_s:g}"
        )
        return
    ratio = cpu_us(last) / cpu_us(first)
    verdict.at_most(
        "processor time",
        f"x{CPU_MAX:g} for a command in the last quarter",
        f"x{ratio:.2f}",
        ratio <= CPU_MAX,
    )


def slow_share(quarters: list[Quarter]) -> float:
    return sum(quarter.slow for quarter in quarters) / max(
        1, sum(quarter.answered for quarter in quarters)
    )


def cpu_us(quarter: Quarter) -> float:
    """That the server used for each command."""
    return quarter.server_cpu_s * 1e6 / max(1, quarter.answered)
