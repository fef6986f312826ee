"""Does the service stay as it is? Minutes of a steady load: memory, files, threads and answers are
watched, and what it did is audited by others."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from laissez.journal import Reader
from laissez.server.audit.checking import verify
from laissez.server.outcomes import Outcome, read_outcome
from laissez.server.settings import read_settings
from laissez_bench import cluster
from laissez_bench.crowd import tree
from laissez_bench.following import Following
from laissez_bench.load import Plan
from laissez_bench.readings import Readings
from laissez_bench.service import LEAVES, TENANTS, put_under_load, running
from laissez_bench.soak_verdict import READINGS, Audited, Soak, judged
from laissez_check.bills.compare import audit_bills

CONNECTIONS, IN_FLIGHT = 64, 4
QUIET_S = 1.0  # without anything new in the journal: there is no more


def measure(
    minutes: float,
    per_second: float,
    step: Callable[[str], None],
    leaves: int = LEAVES,
    tenants: int = TENANTS,
) -> Soak:
    base = Path(tempfile.mkdtemp(prefix="laissez-bench-"))
    try:
        step("making the market")
        held = cluster.found(base / "market", leaves, tenants)
        with running(base / "market", sheds=True) as (host, port, pid):
            scopes = [path for path in tree(leaves).nodes if path.count("/") in (1, 2, 3)]
            plan = Plan(
                "session",
                host,
                port,
                min(CONNECTIONS, tenants),
                IN_FLIGHT,
                minutes * 60,
                2,
                time.time_ns(),
                held,
                scopes,
                per_second,
                pid,
            )
            return _soak(base / "market", plan, tree(leaves).leaves, step)
    finally:
        shutil.rmtree(base)


def _soak(folder: Path, plan: Plan, leaves: tuple[str, ...], step: Callable[[str], None]) -> Soak:
    key = (folder / cluster.OPERATOR_KEY).read_text()
    following = Following(plan.host, plan.port, key, leaves, plan.seed)
    step(f"auditing how {following.leaves} leaves came to be as they are")
    following.catch_up(_events(folder))
    step(f"{plan.per_second:,.0f} commands a second for {plan.seconds / 60:g} minutes")
    readings = Readings(plan.server, plan.seconds / READINGS, plan.host, plan.port, key)
    report = put_under_load(plan)
    readings.stop()
    step("auditing the events, the record and the bills")
    following.finish(_events_in_the_end(folder))
    return judged(report, readings, _audited(folder, following), read_settings())


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
        outcome = Outcome(1, (), None) if entry is None else read_outcome(entry.outcome)
        return outcome.first + len(outcome.told) - 1


def _events_in_the_end(folder: Path) -> int:
    """When the service has done what it was asked for last."""
    found = -1
    while found != (found := _events(folder)):
        time.sleep(QUIET_S)
    return found
