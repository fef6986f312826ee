"""Results as CSV files in a folder: runs, tenants, and the history of prices and leases if it was
kept.

Numbers read back exactly, and rows are in the order of the runs: the same runs give the same bytes.
A file with one of these names but another first line is not ours, and is neither deleted nor
overwritten.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from laissez.sim.clouds.cloud import Lease
from laissez.sim.results import ACCOUNTS, PricePoint, RunResult, TenantResult, dollars, hours
from laissez.units import SECOND_US

RUN: Final = ("scenario", "cloud", "seed")
COUNTS: Final = ("gains", "moves", "revocations", "decisions")
HISTORY: Final = ("prices.csv", "leases.csv")


class OutputError(Exception):
    """Results cannot be written to this folder."""


class Sheet(NamedTuple):
    """A file: the rows of a run, and the columns after those that name the run."""

    columns: dict[str, Callable[[Any], Any]]
    rows: Callable[[RunResult], Iterable[Any]]

    @property
    def header(self) -> list[str]:
        return [*RUN, *self.columns]

    def of(self, run: RunResult) -> Iterable[list[Any]]:
        for row in self.rows(run):
            yield [
                *(getattr(run, name) for name in RUN),
                *(figure(row) for figure in self.columns.values()),
            ]


def check_folder(folder: Path, with_history: bool) -> None:
    """Raise if writing results would damage files of others."""
    _refuse_others(folder, [name for name in FILES if with_history or name not in HISTORY])


def write_csv_files(runs: Sequence[RunResult], folder: Path) -> list[Path]:
    """Write the results and return the paths. Files of earlier results are removed, so a folder
    never mixes two comparisons."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {name: [row for run in runs for row in sheet.of(run)] for name, sheet in FILES.items()}
    written = [folder / name for name, rows in found.items() if rows]
    _refuse_others(folder, [path.name for path in written])
    for name, rows in found.items():
        path = folder / name
        if rows:
            _write(path, FILES[name].header, rows)
        elif _is_ours(path):
            path.unlink()
    return written


def _is_ours(path: Path) -> bool:
    if not path.is_file() or not os.access(path, os.R_OK):
        return False
    expected = ",".join(FILES[path.name].header).encode() + b"\n"
    with path.open("rb") as file:
        return file.read(len(expected)) == expected


def _refuse_others(folder: Path, names: Iterable[str]) -> None:
    for path in (folder / name for name in names):
        if path.exists() and not _is_ours(path):
            raise OutputError(
                f"{path}: expected no such file, or one of our results, found another. Move it"
                " away, or name another folder."
            )
        if path.exists() and not os.access(path, os.W_OK):
            raise OutputError(
                f"{path}: expected a file that can be written to, found one that cannot"
            )


def _write(path: Path, header: list[str], rows: list[list[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def run_row(run: RunResult) -> dict[str, Any]:
    """One run in figures. GPU-hours by account add up to `gpu_hours`."""
    return {name: figure(run) for name, figure in RUN_FIGURES.items()}


def _total(field: str) -> Callable[[RunResult], float]:
    return lambda run: run.total(field)


def _mean_price(lease: Lease) -> float | None:
    """Dollars per hour."""
    held_h = hours(lease.end - lease.start)
    return dollars(lease.charge) / held_h if held_h else None


def _fields(struct: type[msgspec.Struct]) -> dict[str, Callable[[Any], Any]]:
    return {field: attrgetter(field) for field in struct.__struct_fields__}


RUN_FIGURES: Final[dict[str, Callable[[RunResult], Any]]] = {
    "gpus": attrgetter("gpus"),
    "hours": attrgetter("hours"),
    "demand": attrgetter("demand"),
    "tenants": lambda run: len(run.tenants),
    "retention": lambda run: run.retention if run.measured else None,
    "degradation": lambda run: 1 - run.retention if run.measured else None,
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
    "price": _mean_price,
}

FILES: Final = {
    "runs.csv": Sheet(RUN_FIGURES, lambda run: [run]),
    "tenants.csv": Sheet(_fields(TenantResult), attrgetter("tenants")),
    "prices.csv": Sheet(_fields(PricePoint), attrgetter("prices")),
    "leases.csv": Sheet(LEASE_FIGURES, attrgetter("leases")),
}
