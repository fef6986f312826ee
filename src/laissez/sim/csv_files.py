"""Results as CSV files in a folder: one for the runs, one for their tenants, and the course of
prices and leases where it was kept.

Numbers are written so that they read back as exactly what they were, and rows are in the order of
the runs: the same runs give the same bytes. Files of these names that somebody else wrote, which
their first line tells, are neither deleted nor written over.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import msgspec

from laissez.sim.clouds.cloud import Lease
from laissez.sim.results import ACCOUNTS, PricePoint, RunResult, TenantResult, dollars, hours
from laissez.units import SECOND_US

RUN: Final = ("scenario", "cloud", "seed")
COUNTS: Final = ("gains", "moves", "revocations", "decisions")
COURSE: Final = ("prices.csv", "leases.csv")


class OutputError(Exception):
    """Results cannot be written there."""


class Sheet(msgspec.Struct, frozen=True):
    """A file: its columns after those that say which run it was, and what of a run its rows are
    about."""

    columns: dict[str, Callable[[Any], Any]]
    rows: Callable[[RunResult], Iterable[Any]]

    @property
    def header(self) -> list[str]:
        return [*RUN, *self.columns]

    def of(self, run: RunResult) -> list[list[Any]]:
        return [
            [
                *(getattr(run, name) for name in RUN),
                *(figure(row) for figure in self.columns.values()),
            ]
            for row in self.rows(run)
        ]


def check_folder(folder: Path, with_history: bool) -> None:
    """Raise if results could not be written into the folder without harm to what is there."""
    _refuse_others(folder, [name for name in FILES if with_history or name not in COURSE])


def write_csv_files(runs: Sequence[RunResult], folder: Path) -> list[Path]:
    """Write what there is, and return where. Files that an earlier write left there go: a folder
    never holds two comparisons mixed."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {name: [row for run in runs for row in sheet.of(run)] for name, sheet in FILES.items()}
    _refuse_others(folder, [name for name, rows in found.items() if rows])
    for name, rows in found.items():
        path = folder / name
        if rows:
            _write(path, FILES[name].header, rows)
        elif is_ours(path):
            path.unlink()
    return [folder / name for name, rows in found.items() if rows]


def is_ours(path: Path) -> bool:
    """Whether it is a file of results."""
    if not path.is_file() or not os.access(path, os.R_OK):
        return False
    expected = ",".join(FILES[path.name].header).encode() + b"\n"
    with path.open("rb") as file:
        return file.read(len(expected)) == expected


def _refuse_others(folder: Path, names: Iterable[str]) -> None:
    for path in (folder / name for name in names):
        if path.exists() and not is_ours(path):
            raise OutputError(
                f"{path}: expected no such file, or one of our results, found another. Move it"
                " away, or name another folder."
            )
        if path.exists() and not os.access(path, os.W_OK):
            raise OutputError(
                f"{path}: expected a file that can be written to, found one that cannot"
            )


def run_row(run: RunResult) -> dict[str, Any]:
    """One run in figures; GPU-hours by account add up to `gpu_hours`."""
    return {name: figure(run) for name, figure in RUN_FIGURES.items()}


def _retention(run: RunResult) -> float | None:
    """None where nobody's is known."""
    return run.retention if run.measured else None


def _degradation(run: RunResult) -> float | None:
    return 1 - run.retention if run.measured else None


def _total(field: str) -> Callable[[RunResult], float]:
    return lambda run: run.total(field)


def _price(lease: Lease) -> float | None:
    """The mean over the lease, in dollars per hour."""
    held = hours(lease.end - lease.start)
    return dollars(lease.charge) / held if held else None


RUN_FIGURES: Final[dict[str, Callable[[RunResult], Any]]] = {
    "gpus": attrgetter("gpus"),
    "hours": attrgetter("hours"),
    "demand": attrgetter("demand"),
    "tenants": lambda run: len(run.tenants),
    "retention": _retention,
    "degradation": _degradation,
    "performance": _total("performance"),
    "cost": _total("cost"),
    "revenue": attrgetter("revenue"),
    "utilisation": attrgetter("utilisation"),
    "gpu_hours": lambda run: run.gpus * run.hours,
    **{account: _total(account) for account in ACCOUNTS},
    "idle_hours": attrgetter("idle_hours"),
    **{count: _total(count) for count in COUNTS},
    "requests": attrgetter("requests"),
}

LEASE_FIGURES: Final[dict[str, Callable[[Lease], Any]]] = {
    "tenant": attrgetter("tenant"),
    "leaf": attrgetter("leaf"),
    "start_s": lambda lease: lease.start / SECOND_US,
    "end_s": lambda lease: lease.end / SECOND_US,
    "reason": attrgetter("reason"),
    "cost": lambda lease: dollars(lease.charge),
    "price": _price,
}

FILES: Final = {
    "runs.csv": Sheet(RUN_FIGURES, lambda run: [run]),
    "tenants.csv": Sheet(
        {field: attrgetter(field) for field in TenantResult.__struct_fields__},
        attrgetter("tenants"),
    ),
    "prices.csv": Sheet(
        {field: attrgetter(field) for field in PricePoint.__struct_fields__}, attrgetter("prices")
    ),
    "leases.csv": Sheet(LEASE_FIGURES, attrgetter("leases")),
}


def _write(path: Path, header: list[str], rows: list[list[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
