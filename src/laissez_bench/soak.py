"""Does the service stay as it is? Minutes of a steady load: memory, files, threads and answers are
watched, and what it did is audited by others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

import msgspec

from laissez.journal import Reader
from laissez.server.audit.verify import verify
from laissez.server.settings import Settings, read_settings
from laissez_bench.crowd import tree
from laissez_bench.following import Following
from laissez_bench.generator import Phase
from laissez_bench.readings import Reading, Readings
from laissez_bench.statistics import Counted
from laissez_bench.verdict import EXPECTED, Judged
from laissez_bench.world import LEAVES, TENANTS, generating, make_world, serving
from laissez_check.bills.compare import audit_bills

CONNECTIONS = 64
WARM_UP_S = 1.0
QUIET_S = 1.0  # without anything new in the journal: there is no more
READINGS = 20
QUARTER = READINGS // 4
SLOW_S = 0.25  # a service that keeps up answers sooner, also after a burst

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


class Quarter(msgspec.Struct):
    """Of the time that was measured."""

    answered: int
    p50_ms: float
    p99_ms: float
    slow: int  # answers that took longer than `SLOW_S`
    server_cpu_s: float

    @staticmethod
    def of(counted: Counted) -> Quarter:
        cpu_s = round(counted.server_cpu_s, 2)
        slow = counted.admitted.above(SLOW_S)
        return Quarter(counted.answered, counted.p50_ms, counted.p99_ms, slow, cpu_s)

    @property
    def cpu_us(self) -> float:
        """That the server used for each command."""
        return self.server_cpu_s * 1e6 / max(1, self.answered)


class Audited(msgspec.Struct):
    events: int  # told to the operator
    leaves: int  # whose owners and rates were worked out a second time from the events
    concerned: int  # events that were about them
    entries: int  # of the journal, checked with the record
    bills: int  # leases whose charges were worked out a second time
    doubts: list[str]


class Soak(Judged):
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

    @property
    def slow_shares(self) -> tuple[float, float]:
        """Of the answers of each half."""
        return _slow_share(self.quarters[:2]), _slow_share(self.quarters[2:])

    def expect_at_most(self, what: str, most: str, found: str, holds: bool) -> None:
        self.expect(holds, f"{what}: expected at most {most}, found {found}")


def _slow_share(quarters: list[Quarter]) -> float:
    answered = sum(quarter.answered for quarter in quarters)
    return sum(quarter.slow for quarter in quarters) / max(1, answered)


def measure(
    minutes: float,
    per_second: float,
    step: Callable[[str], None],
    leaves: int = LEAVES,
    tenants: int = TENANTS,
) -> Soak:
    step("making the market")
    with make_world(leaves, tenants) as world, serving(world.folder, sheds=True) as server:
        following = Following(server, tree(leaves).leaves)
        step(f"auditing how {following.leaves} leaves came to be as they are")
        following.catch_up(_events(world.folder))
        step(f"{per_second:,.0f} commands a second for {minutes:g} minutes")
        with generating(world.plan("session", server, min(CONNECTIONS, tenants))) as run:
            run(Phase(WARM_UP_S, 0, per_second))
            readings = Readings(server, minutes * 60 / READINGS)
            phases = [run(Phase(minutes * 60 / 4, 0, per_second)) for _ in range(4)]
            taken = readings.stop()
        step("auditing the events, the record and the bills")
        following.finish(_events_in_the_end(world.folder))
        audited = _audit(world.folder, following)
        whole, quarters = Counted.sum_of(phases), [Quarter.of(phase) for phase in phases]
        return judge(whole, quarters, readings.first, taken, audited, read_settings())


def _audit(folder: Path, following: Following) -> Audited:
    record, bills = verify(folder), audit_bills(folder)
    doubts = [
        *following.doubts,
        *(f"record: {problem}" for problem in record.problems),
        *(f"bills: {finding}" for finding in bills.findings),
        *(f"bills: unknown event {kind}" for kind in bills.unknown),
    ]
    return Audited(
        following.n, following.leaves, following.concerned, record.entries, bills.leases, doubts
    )


def _events(folder: Path) -> int:
    """How many there are in the journal."""
    with Reader.of(folder) as reader:
        entry = reader.entry(reader.tail().last)
        if entry is None:
            return 0
        first, events = msgspec.msgpack.decode(entry.outcome)[:2]
        return int(first) + len(events) - 1


def _events_in_the_end(folder: Path) -> int:
    """When the service has done what it was asked for last."""
    found = -1
    while found != (found := _events(folder)):
        time.sleep(QUIET_S)
    return found


def judge(
    whole: Counted,
    quarters: list[Quarter],
    first: Reading,
    readings: list[Reading],
    audited: Audited,
    settings: Settings,
) -> Soak:
    soak = Soak(
        minutes=round(whole.seconds / 60, 2),
        per_second=round(whole.per_second, 1),
        p50_ms=whole.p50_ms,
        p99_ms=whole.p99_ms,
        megabytes=[reading.megabytes for reading in readings],
        files=[reading.files for reading in readings],
        threads=[reading.threads for reading in readings],
        full_from=_full_from(first, readings, settings),
        growth=None,
        quarters=quarters,
        audited=audited,
        problems=whole.problems,
        failures=[*audited.doubts],
    )
    _judge_memory(soak, first, readings[-1])
    _judge_count(soak, "files", soak.files, MORE_FILES_MAX)
    _judge_count(soak, "threads", soak.threads, MORE_THREADS_MAX)
    _judge_answers(soak)
    for code, count in sorted(whole.problems.items()):
        soak.expect(code in EXPECTED, f"answers: {count:,} were {code}")
    return soak


def _full_from(first: Reading, readings: list[Reading], settings: Settings) -> int | None:
    events = round(FULL * settings.limits.history_events_max)
    keys = round(FULL * settings.limits.history_commands_max)
    entries = first.entries + settings.books.close_after_commands
    for index, found in enumerate(readings):
        if found.events >= events and found.keys >= keys and found.entries >= entries:
            return index
    return None


def _judge_memory(soak: Soak, first: Reading, last: Reading) -> None:
    since = [] if soak.full_from is None else soak.megabytes[soak.full_from :]
    if len(since) < FULL_READINGS_LEAST:
        soak.not_judged.append(
            f"memory: it grows until the history is full ({last.events:,} events and"
            f" {last.keys:,} idempotency keys, {last.entries - first.entries:,} entries added);"
            f" {len(since)} of {READINGS} readings came after"
        )
        return
    half = len(since) // 2
    soak.growth = round(mean(since[-half:]) / mean(since[:half]), 3)
    soak.expect_at_most(
        "memory",
        f"x{GROWTH_MAX:g} once as much is remembered as may be",
        f"x{soak.growth:.3f}",
        soak.growth <= GROWTH_MAX,
    )


def _judge_count(soak: Soak, what: str, readings: Sequence[int], more_max: int) -> None:
    most, last = max(readings[:QUARTER]) + more_max, max(readings[-QUARTER:])
    soak.expect_at_most(what, f"{most}", f"{last}", last <= most)


def _judge_answers(soak: Soak) -> None:
    first, last = soak.quarters[0], soak.quarters[-1]
    least = max(1.0, ANSWERED_LEAST * first.answered)
    soak.expect(
        last.answered >= least,
        f"throughput: expected at least {least:,.0f} answers in the last quarter, found"
        f" {last.answered:,}",
    )
    most_ms = max(LATER_MAX * first.p50_ms, first.p50_ms + LATER_MS_MAX)
    soak.expect_at_most(
        "latency",
        f"{most_ms:.1f} ms at the median in the last quarter",
        f"{last.p50_ms:.1f}",
        last.p50_ms <= most_ms,
    )
    before, after = soak.slow_shares
    most = max(SLOW_SHARE_MAX, SLOWER_MAX * before)
    soak.expect_at_most(
        "latency",
        f"{most:.1%} of the second half above {SLOW_S * 1_000:g} ms",
        f"{after:.1%}",
        after <= most,
    )
    if first.server_cpu_s < CPU_S_LEAST:
        soak.not_judged.append(
            f"processor time: {CPU_S_LEAST:g} s of it in a quarter can be compared, not"
            f" {first.server_cpu_s:g}"
        )
        return
    ratio = last.cpu_us / first.cpu_us
    soak.expect_at_most(
        "processor time",
        f"x{CPU_MAX:g} for a command in the last quarter",
        f"x{ratio:.2f}",
        ratio <= CPU_MAX,
    )
