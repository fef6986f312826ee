"""Tables for people and JSON for programs. Money is aligned to the right, ids are never cut off,
and a terminal that is too narrow for a table gets one block of lines per row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import sleep
from typing import Generic, TypeVar

import msgspec
import typer
from rich.cells import cell_len
from rich.console import Console, ConsoleRenderable
from rich.live import Live
from rich.table import Table
from rich.text import Text

from laissez.cli.output import Format

T = TypeVar("T")
GAP = 2
WIDTH_LEAST = 80  # where the output is no terminal


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A title and the cell of a row. An `optional` column without any text is left out."""

    title: str
    cell: Callable[[T], object]
    right: bool = False
    optional: bool = False

    def text(self, row: T) -> str:
        found = self.cell(row)
        return "" if found is None else str(found)


def price_column(
    title: str, price: Callable[[T], str | None], missing: str = "none", optional: bool = False
) -> Column[T]:
    """Dollars with at least two decimals; `missing` stands where there is no price."""
    return Column(title, lambda row: money(price(row), missing), right=True, optional=optional)


def number_column(
    title: str, number: Callable[[T], float | None], spec: str = ",", missing: str = ""
) -> Column[T]:
    def text(row: T) -> str:
        found = number(row)
        return missing if found is None else format(found, spec)

    return Column(title, text, right=True)


def time_column(title: str, time: Callable[[T], str | None], optional: bool = False) -> Column[T]:
    return Column(title, lambda row: format_second(time(row)), optional=optional)


def money(price: str | None, missing: str = "none") -> str:
    """Dollars with at least two decimals, so that a column of them lines up."""
    if price is None:
        return missing
    whole, _, decimals = price.partition(".")
    return f"{whole}.{decimals.ljust(2, '0')}"


def format_second(time: str | None) -> str:
    """A time without its fraction, which only clutters a table."""
    return "" if time is None else time.partition(".")[0].rstrip("Z") + "Z"


def show(
    rows: Iterable[T], columns: Sequence[Column[T]], output: Format = Format.TABLE, empty: str = ""
) -> None:
    """Print rows. Without rows, `empty` goes to standard error."""
    rows = tuple(rows)
    if output is Format.JSON:
        show_json(rows)
    elif rows:
        console = console_for(rows, columns)
        console.print(rendered(rows, columns, console.width))
    elif empty:
        typer.echo(empty, err=True)


def show_again(
    rows: Callable[[], Iterable[T]],
    columns: Sequence[Column[T]],
    output: Format,
    watch_s: float | None,
    empty: str,
) -> None:
    """Print what `rows` returns, once or every `watch_s` seconds until Ctrl-C. On a terminal each
    table replaces the one before."""
    if watch_s is None:
        show(rows(), columns, output, empty)
        return
    console = Console(highlight=False)
    if output is Format.JSON or not console.is_terminal:
        while True:
            show(rows(), columns, output, empty)
            sleep(watch_s)
    with Live(console=console, auto_refresh=False) as live:
        while True:
            found = tuple(rows())
            table = rendered(found, columns, console.width) if found else Text(empty)
            live.update(table, refresh=True)
            sleep(watch_s)


def show_one(row: T, columns: Sequence[Column[T]], output: Format = Format.TABLE) -> None:
    """Print one thing, a line per field."""
    if output is Format.JSON:
        show_json(row)
    else:
        console_for([row], columns).print(_blocks([row], columns))


def show_json(value: object) -> None:
    typer.echo(msgspec.json.encode(value).decode())


def console_for(rows: Sequence[T], columns: Sequence[Column[T]]) -> Console:
    """A terminal has its own width; pipes and files get every line whole."""
    console = Console(highlight=False)
    if not console.is_terminal:
        title = max((len(column.title) for column in columns), default=0)
        console.width = max(WIDTH_LEAST, sum(_widths(rows, columns)) + GAP * len(columns) + title)
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
    """One line per field, an empty line between rows; long values are folded."""
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
