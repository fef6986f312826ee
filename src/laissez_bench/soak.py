"""Does the service stay as it is? Minutes of a steady load, with readings of memory, files, threads
and answers; then independent audits of its events, record and bills."""

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
from laissez_bench.processes import Reading, read, serving
from laissez_bench.statistics import Counted
from laissez_bench.verdict import Judged
from laissez_bench.world import LEAVES, TENANTS, generating, make_world
from laissez_check.bills.compare import audit_bills

CONNECTIONS = 64
WARM_UP_S = 1.0
QUIET_S = 1.0  # without a new entry of the journal, the service has finished
READINGS = 20
QUARTER = READINGS // 4
SLOW_S = 0.25  # a service that keeps up answers sooner, also after a burst

# The service keeps events and idempotency keys up to a set number, and closed orders until the
# books are closed after a number of commands: memory grows until then. From there on the later half
# of the readings is judged against the earlier one.
FULL = 0.99  # of the limit: events that happened together are forgotten together
GROWTH_MAX = 1.05
FULL_READINGS_LEAST = 6
MORE_FILES_MAX, MORE_THREADS_MAX = 16, 4

# Answers, the last quarter against the first: the median, which other work on this machine may
# change by some milliseconds; and the processor time per command, which it hardly changes. The
# tail, the second half against the first: p99 varies on a shared machine, but not to beyond a
# quarter of a second in one half alone.
LATER_MAX, LATER_MS_MAX = 1.5, 20.0
CPU_MAX, CPU_S_LEAST = 1.5, 1.0  # below a second, processor time is not exact enough
SLOW_SHARE_MAX, SLOWER_MAX = 0.01, 2.0
# in the last quarter, of the answers of the first: a request that is never answered is never late,
# and its connection sends no more
ANSWERED_LEAST = 2 / 3


class Quarter(msgspec.Struct):
    """A quarter of the measured time."""

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
        """Processor time of the server per command."""
        return self.server_cpu_s * 1e6 / max(1, self.answered)


class Audited(msgspec.Struct):
    events: int  # in the operator's stream
    leaves: int  # whose owners and rates were computed a second time from the events
    concerned: int  # events that were about them
    entries: int  # of the journal, checked with the record
    bills: int  # leases whose charges were computed a second time
    doubts: list[str]


class Soak(Judged):
    """Readings are taken at even distances over the whole time; `full_from` is the first one at
    which all limits on memory were reached."""

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
        """The share of slow answers in each half."""
        return _slow_share(self.quarters[:2]), _slow_share(self.quarters[2:])


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
    with make_world(step, leaves, tenants) as world, serving(world.folder, sheds=True) as server:
        following = Following(server, tree(leaves).leaves)
        step(f"auditing the past of {following.leaves} leaves")
        following.catch_up(_events(world.folder))
        step(f"{per_second:,.0f} commands a second for {minutes:g} minutes")
        with generating(world.plan("session", server, min(CONNECTIONS, tenants))) as run:
            run(Phase(WARM_UP_S, 0, per_second))
            first, phases, readings = read(server), [], []
            for _ in range(READINGS):
                phases.append(run(Phase(minutes * 60 / READINGS, 0, per_second)))
                readings.append(read(server))
        step("auditing the events, the record and the bills")
        following.finish(_last_event(world.folder))
        audited = _audit(world.folder, following)
        parts = [phases[at : at + QUARTER] for at in range(0, READINGS, QUARTER)]
        quarters = [Quarter.of(Counted.sum_of(part)) for part in parts]
        return judge(Counted.sum_of(phases), quarters, first, readings, audited, read_settings())


def _audit(folder: Path, following: Following) -> Audited:
    record, bills = verify(folder), audit_bills(folder)
    doubts = [
        *following.doubts,
        *(f"record: {problem}" for problem in record.problems),
        *(f"bills: {finding}" for finding in bills.findings),
        *(f"bills: unknown event {kind}" for kind in bills.unknown),
    ]
    followed = following.n, following.leaves, following.concerned
    return Audited(*followed, record.entries, bills.leases, doubts)


def _events(folder: Path) -> int:
    """The number of events in the journal."""
    with Reader.of(folder) as reader:
        entry = reader.entry(reader.tail().last)
        if entry is None:
            return 0
        first, events = msgspec.msgpack.decode(entry.outcome)[:2]
        return int(first) + len(events) - 1


def _last_event(folder: Path) -> int:
    """The number of events once the service has finished its last commands."""
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
    soak.expect_answers("answers", whole.problems)
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
    after = " once the history is full"
    soak.expect_at_most("memory", GROWTH_MAX, soak.growth, "x{:.3f}", after)


def _judge_count(soak: Soak, what: str, readings: Sequence[int], more_max: int) -> None:
    most = max(readings[:QUARTER]) + more_max
    soak.expect_at_most(what, most, max(readings[-QUARTER:]), "{}")


def _judge_answers(soak: Soak) -> None:
    first, last = soak.quarters[0], soak.quarters[-1]
    least = max(1.0, ANSWERED_LEAST * first.answered)
    soak.expect(
        last.answered >= least,
        f"throughput: expected at least {least:,.0f} answers in the last quarter, found"
        f" {last.answered:,}",
    )
    most_ms = max(LATER_MAX * first.p50_ms, first.p50_ms + LATER_MS_MAX)
    later = " ms at the median in the last quarter"
    soak.expect_at_most("latency", most_ms, last.p50_ms, "{:.1f}", later)
    before, after = soak.slow_shares
    most, slow = max(SLOW_SHARE_MAX, SLOWER_MAX * before), f" above {SLOW_S * 1_000:g} ms"
    soak.expect_at_most("latency", most, after, "{:.1%}", f" of the second half{slow}")
    if first.server_cpu_s < CPU_S_LEAST:
        soak.not_judged.append(
            f"processor time: {CPU_S_LEAST:g} s of it in a quarter can be compared, not"
            f" {first.server_cpu_s:g}"
        )
        return
    ratio, of = last.cpu_us / first.cpu_us, " for a command in the last quarter"
    soak.expect_at_most("processor time", CPU_MAX, ratio, "x{:.2f}", of)
