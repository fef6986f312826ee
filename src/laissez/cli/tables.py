"""Rows for people: money to the right, ids whole, and one block per row where the terminal is too
narrow for a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec
import typer
from rich.cells import cell_len
from rich.console import Console, ConsoleRenderable
from rich.table import Table
from rich.text import Text

from laissez.cli.output import Format

T = TypeVar("T")
GAP = 2


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """What to show of a row. An `optional` column is left out when it has nothing to say in any
    row."""

    title: str
    cell: Callable[[T], object]
    right: bool = False
    optional: bool = False

    def text(self, row: T) -> str:
        found = self.cell(row)
        return "" if found is None else str(found)


def money(price: str | None) -> str:
    """Dollars with at least two decimals, so that a column of them lines up."""
    if price is None:
        return "none"
    whole, _, decimals = price.partition(".")
    return f"{whole}.{decimals.ljust(2, '0')}"


def moment(time: str | None) -> str:
    """A time to the second; nobody reads microseconds in a table."""
    return "" if time is None else time.partition(".")[0].rstrip("Z") + "Z"


def show(rows: Sequence[T], columns: Sequence[Column[T]], output: Format, none: str) -> None:
    """Print a list; `none` is said on standard error when it is empty."""
    if output is Format.JSON:
        show_json(rows)
    elif not rows:
        typer.echo(none, err=True)
    else:
        console = console_for(rows, columns)
        console.print(rendered(rows, columns, console.width))


def show_one(row: T, columns: Sequence[Column[T]], output: Format) -> None:
    if output is Format.JSON:
        show_json(row)
    else:
        console_for([row], columns).print(_blocks([row], columns))


def show_json(value: object) -> None:
    typer.echo(msgspec.json.encode(value).decode())


def console_for(rows: Sequence[T], columns: Sequence[Column[T]]) -> Console:
    """A terminal has its own width; whatever else reads the output gets every line whole."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(
            80,
            sum(_widths(rows, columns))
            + GAP * len(columns)
            + max((len(column.title) for column in columns), default=0),
        )
    return console


def rendered(rows: Sequence[T], columns: Sequence[Column[T]], width: int) -> ConsoleRenderable:
    shown = [
        column for column in columns if not column.optional or any(column.text(row) for row in rows)
    ]
    if sum(_widths(rows, shown)) + GAP * (len(shown) - 1) > width:
        return _blocks(rows, shown)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for column in shown:
        table.add_column(column.title, justify="right" if column.right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(column.text(row)) for column in shown))
    return table


def _blocks(rows: Sequence[T], columns: Sequence[Column[T]]) -> Table:
    """One line per field, an empty line between rows; a value too long for the line goes on in the
    next."""
    grid = Table.grid(padding=(0, GAP, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for number, row in enumerate(rows):
        if number:
            grid.add_row()
        for column in columns:
            if text := column.text(row):
                grid.add_row(column.title, Text(text))
    return grid


def _widths(rows: Sequence[T], columns: Sequence[Column[T]]) -> list[int]:
    return [
        max([cell_len(column.title), *(cell_len(column.text(row)) for row in rows)])
        for column in columns
    ]
