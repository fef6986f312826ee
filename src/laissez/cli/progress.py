"""The progress of long commands: a bar on the terminal, or a line per event."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from laissez.cli.output import Format

EVENT_WIDTH = 14


def progress(*columns: ProgressColumn) -> Progress:
    console = Console(stderr=True)
    usual = (MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *(columns or usual),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for work that reports the done part and the total."""
    with progress() as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def steps(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """A bar for a known number of steps. Call the yielded function when a step begins."""
    with progress() as bar:
        task = bar.add_task(what, total=total)
        done = iter(range(total))
        yield lambda description: bar.update(task, description=description, completed=next(done))


class WeightedProgress:
    """A bar for pieces of work of different weights. It counts pieces, and moves by weight."""

    def __init__(self, what: str, pieces: int, total: float) -> None:
        counter = TextColumn("{task.fields[ended]}/{task.fields[pieces]}")
        self.bar = progress(counter, TimeElapsedColumn(), TimeRemainingColumn())
        # pieces end in bursts, minutes apart, so the speed counts from the very beginning
        self.bar.speed_estimate_period = inf
        self._task = self.bar.add_task(what, total=total, ended=0, pieces=pieces)
        self.bar.advance(self._task, 0)

    def begin(self, what: str) -> None:
        self.bar.update(self._task, description=what)

    def end(self, weight: float = 1.0) -> None:
        """A piece is done."""
        ended = self.bar.tasks[self._task].fields["ended"] + 1
        self.bar.update(self._task, advance=weight, ended=ended)

    def say(self, text: str | Text) -> None:
        """Print a line above the bar."""
        self.bar.console.print(text, markup=False, highlight=False, soft_wrap=True)


# Commands that run until they are stopped.


def event_printer(output: Format) -> Callable[..., None]:
    """A function that prints an event with its facts as one line."""

    def print_event(what: str, **facts: str) -> None:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        if output is Format.JSON:
            typer.echo(json.dumps({"at": at, "what": what, **facts}))
            return
        pairs = "  ".join(f"{name}={fact}" for name, fact in facts.items())
        typer.echo(f"{at}  {what.replace('_', ' '):<{EVENT_WIDTH}}  {pairs}".rstrip())

    return print_event


def stop_on_signals(stop: Callable[[], None]) -> None:
    """Call `stop` on Ctrl-C or SIGTERM, so that the command ends in good order."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
