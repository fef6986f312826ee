"""Lists: `laissez orders` alone is `laissez orders list`, and `--watch` shows a list again and
again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import sleep
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text
from typer.core import TyperGroup

from laissez.cli.output import Format
from laissez.cli.tables import Column, rendered, show

T = TypeVar("T")


class ListByDefault(TyperGroup):
    """Without a verb, `list` is meant; its options may follow at once."""

    verb = "list"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--help" not in args[:1] and (not args or args[0].startswith("-")):
            args = [self.verb, *args]
        return super().parse_args(ctx, args)


class ShowByDefault(ListByDefault):
    """The same where there is one thing, not a list of them."""

    verb = "show"


def noun(about: str) -> typer.Typer:
    """The commands about one kind of thing, `list` among them."""
    return typer.Typer(help=about, cls=ListByDefault, add_completion=False)


def listing(
    rows: Callable[[], Iterable[T]],
    columns: Sequence[Column[T]],
    output: Format,
    watch: float | None,
    none: str,
) -> None:
    """Print what `rows` gives, once or until Ctrl-C."""
    if watch is None:
        show(tuple(rows()), columns, output, none)
    elif output is Format.TABLE and (console := Console(highlight=False)).is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                found = tuple(rows())
                live.update(
                    rendered(found, columns, console.width) if found else Text(none), refresh=True
                )
                sleep(watch)
    else:
        while True:
            show(tuple(rows()), columns, output, none)
            sleep(watch)
