"""`laissez bench ...`."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from laissez.bench.crowd import PLACES
from laissez.bench.market import OPERATIONS, Row, measure, times_oracle

app = typer.Typer(help="Measure how fast it is, here and now.", no_args_is_help=True)

RESTING = 10_000
FEW_RESTING = 100


@app.callback()
def bench() -> None:
    """Measure how fast it is, here and now."""


def _sizes(text: str) -> list[int]:
    sizes = [int(part) if part.strip().isdecimal() else 0 for part in text.split(",")]
    if not all(100 <= size <= 1_000_000 for size in sizes):
        raise typer.BadParameter(f"expected numbers of leaves from 100 to 1,000,000 with commas between, found {text!r}")
    return sizes


@app.command()
def market(
    leaves: Annotated[str, typer.Option(help="Sizes of the tree to measure, with commas between.")] = "1000,10000,100000",
    calls: Annotated[int, typer.Option(min=100, help="Calls to time per operation and size.")] = 20_000,
    places: Annotated[int, typer.Option(min=100, help="Leaves that the load names; as many as the tree has shows what cold caches cost.")] = PLACES,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON array of rows instead of a table.")] = False,
) -> None:
    """Time every operation of the market on a tree full of leases with 10,000 orders waiting at its root."""
    sizes = _sizes(leaves)
    rows: list[Row] = []
    few = 10_000 if 10_000 in sizes else sizes[0]
    cells = [(size, RESTING) for size in sizes] + [(few, FEW_RESTING)]
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("bench market", total=len(cells) + 1)
        for size, resting in cells:
            progress.update(task, description=f"{size:,} leaves, {resting:,} resting")
            rows.extend(measure(size, resting, places, calls))
            progress.advance(task)
        progress.update(task, description="oracle, 1,000 leaves")
        ratio = times_oracle()
        progress.advance(task)
    for row in rows:
        if row.leaves == 1_000 and row.operation in ("place_anywhere", "cancel_anywhere"):
            row.times_oracle = round(ratio, 1)
    if json:
        print(msgspec.json.encode(rows).decode())
    else:
        _print_table(rows, sizes, few, ratio)


def _print_table(rows: list[Row], sizes: list[int], few: int, ratio: float) -> None:
    cells = {(row.operation, row.leaves, row.resting): row for row in rows}
    console = Console()
    table = Table(
        title=f"The market, {'compiled' if rows[0].compiled else 'interpreted'}, {RESTING:,} orders at the root: operations per second (p99 in us)"
    )
    table.add_column("operation")
    for size in sizes:
        table.add_column(f"{size:,} leaves", justify="right")
    table.add_column(f"time, {min(sizes):,} to {max(sizes):,} leaves", justify="right")
    table.add_column(f"time, {FEW_RESTING} to {RESTING:,} resting", justify="right")
    for operation in OPERATIONS:
        by_size = [cells[operation, size, RESTING] for size in sizes]
        growth = cells[operation, min(sizes), RESTING].per_second / cells[operation, max(sizes), RESTING].per_second
        crowding = cells[operation, few, FEW_RESTING].per_second / cells[operation, few, RESTING].per_second
        shown = [f"{row.per_second:,.0f} ({row.p99_us:.1f})" for row in by_size]
        table.add_row(operation + (" (per lease)" if operation == "bill" else ""), *shown, f"x{growth:.2f}", f"x{crowding:.2f}")
    console.print(table)
    for size in sizes:
        place, cancel = cells["place_anywhere", size, RESTING], cells["cancel_anywhere", size, RESTING]
        both = 2 / (1 / place.per_second + 1 / cancel.per_second)
        console.print(f"{size:>9,} leaves: place + cancel anywhere {both:,.0f}/s; {place.bytes_per_leaf:,.0f} bytes per leaf", highlight=False)
    console.print(f"place + cancel anywhere at 1,000 leaves, 10 resting: {ratio:,.0f} times the naive oracle", highlight=False)
