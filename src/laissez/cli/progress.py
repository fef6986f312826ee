"""A progress bar on standard error, for what takes longer than two seconds; none where nobody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


def progress() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal, transient=True)


@contextmanager
def steps(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """For work in a known number of steps: call what this gives with a description when a step begins."""
    with progress() as bar:
        task = bar.add_task(what, total=total)
        done = iter(range(total))
        yield lambda description: bar.update(task, description=description, completed=next(done))
