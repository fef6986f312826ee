"""Results as CSV files in a folder: one for the runs, one for their tenants, and the course of prices and leases where it was kept.

Numbers are written so that they read back as exactly what they were, and rows are in the order of the runs: the same runs give the same bytes.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from laissez.sim.clouds.cloud import Lease
from laissez.sim.results import ACCOUNTS, PricePoint, RunResult, TenantResult, dollars, hours
from laissez.tenants.units import SECOND_US

RUN: Final = ("scenario", "cloud", "seed")
COUNTS: Final = ("gains", "moves", "revocations", "decisions")


def write_csv_files(runs: Sequence[RunResult], folder: Path) -> list[Path]:
    """Write what there is, and return where. Files of these names that an earlier write left there go: a folder never holds two comparisons mixed."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, rows_of in FILES.items():
        path = folder / name
        rows = [{column: getattr(run, column) for column in RUN} | row for run in runs for row in rows_of(run)]
        if rows:
            _write(path, rows)
            written.append(path)
        else:
            path.unlink(missing_ok=True)
    return written


def run_row(run: RunResult) -> dict[str, Any]:
    """One run in figures; GPU-hours by account add up to `gpu_hours`."""
    return {
        "gpus": run.gpus,
        "hours": run.hours,
        "demand": run.demand,
        "tenants": len(run.tenants),
        "retention": run.retention,
        "degradation": 1 - run.retention,
        "performance": run.total("performance"),
        "cost": run.total("cost"),
        "revenue": run.revenue,
        "utilisation": run.utilisation,
        "gpu_hours": run.gpus * run.hours,
        **{account: run.total(account) for account in ACCOUNTS},
        "idle_hours": run.idle_hours,
        **{count: run.total(count) for count in COUNTS},
        "requests": run.requests,
    }


def _run_rows(run: RunResult) -> Iterator[dict[str, Any]]:
    yield run_row(run)


def _tenant_rows(run: RunResult) -> Iterator[dict[str, Any]]:
    yield from ({field: getattr(tenant, field) for field in TenantResult.__struct_fields__} for tenant in run.tenants)


def _price_rows(run: RunResult) -> Iterator[dict[str, Any]]:
    yield from ({field: getattr(point, field) for field in PricePoint.__struct_fields__} for point in run.prices)


def _lease_rows(run: RunResult) -> Iterator[dict[str, Any]]:
    yield from map(_lease_row, run.leases)


def _lease_row(lease: Lease) -> dict[str, Any]:
    """`price` is the mean over the lease, in dollars per hour."""
    held, cost = hours(lease.end - lease.start), dollars(lease.charge)
    return {
        "tenant": lease.tenant,
        "leaf": lease.leaf,
        "start_s": lease.start / SECOND_US,
        "end_s": lease.end / SECOND_US,
        "reason": lease.reason,
        "cost": cost,
        "price": cost / held if held else None,
    }


FILES: Final[dict[str, Callable[[RunResult], Iterable[dict[str, Any]]]]] = {
    "runs.csv": _run_rows,
    "tenants.csv": _tenant_rows,
    "prices.csv": _price_rows,
    "leases.csv": _lease_rows,
}


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
