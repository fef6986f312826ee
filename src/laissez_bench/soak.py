"""Does the service stay as it is? Minutes of a steady load: memory, files, threads and answers are
watched, and what it did is audited by others."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from laissez.journal import Reader
from laissez.server.audit.verify import verify
from laissez.server.settings import read_settings
from laissez_bench import cluster
from laissez_bench.crowd import tree
from laissez_bench.following import Following
from laissez_bench.generator import Phase
from laissez_bench.readings import Readings
from laissez_bench.service import LEAVES, TENANTS, generating, running, world
from laissez_bench.soak_verdict import READINGS, Audited, Quarter, Soak, judged
from laissez_bench.statistics import Counted
from laissez_check.bills.compare import audit_bills

CONNECTIONS = 64
WARM_UP_S = 1.0
QUIET_S = 1.0  # without anything new in the journal: there is no more


def measure(
    minutes: float,
    per_second: float,
    step: Callable[[str], None],
    leaves: int = LEAVES,
    tenants: int = TENANTS,
) -> Soak:
    step("making the market")
    with world(leaves, tenants) as made:
        folder = made.base / "made"
        with running(folder, sheds=True) as at:
            key = (folder / cluster.OPERATOR_KEY).read_text()
            following = Following(at.host, at.port, key, tree(leaves).leaves, 1)
            step(f"auditing how {following.leaves} leaves came to be as they are")
            following.catch_up(_events(folder))
            step(f"{per_second:,.0f} commands a second for {minutes:g} minutes")
            quarter_s = minutes * 60 / 4
            with generating(made.plan("session", at, min(CONNECTIONS, tenants))) as run:
                run(Phase(WARM_UP_S, 0, per_second))
                readings = Readings(at.pid, minutes * 60 / READINGS, at.host, at.port, key)
                counted = [run(Phase(quarter_s, 0, per_second)) for _ in range(4)]
                readings.stop()
            step("auditing the events, the record and the bills")
            following.finish(_events_in_the_end(folder))
            quarters = [Quarter.of(one) for one in counted]
            audited = _audited(folder, following)
            whole = Counted.sum_of(counted)
            return judged(whole, quarters, readings, audited, read_settings())


def _audited(folder: Path, following: Following) -> Audited:
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
