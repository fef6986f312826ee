"""A progress bar on standard error, for what takes longer than two seconds; none where nobody
looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


def progress() -> Progress:
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, disable=not console.is_terminal, transient=True)


@contextmanager
def steps(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """For work in a known number of steps: call what this gives with a description when a step
    begins."""
    with progress() as bar:
        task = bar.add_task(what, total=total)
        done = iter(range(total))
        yield lambda description: bar.update(task, description=description, completed=next(done))


class Forecast:
    """How long work of known weight takes, told from how long that took which is done; before
    anything is, from what was expected.

    Pieces end in bursts, minutes apart, so the speed is that up to the latest end, and from then on
    the time left only runs down.
    """

    def __init__(self, total: float, expected_s: float) -> None:
        self.total, self._expected_s = total, expected_s
        self.done = self._at_s = 0.0

    def advance(self, weight: float, at_s: float) -> None:
        """A piece has ended, `at_s` after the beginning."""
        self.done += weight
        self._at_s = at_s

    def left_s(self, now_s: float) -> float:
        whole_s = self._at_s * self.total / self.done if self.done else self._expected_s
        return max(0.0, whole_s - now_s)


class Weighed:
    """A bar for pieces of work that differ in weight: it counts pieces, and moves by their
    weight."""

    def __init__(self, what: str, pieces: int, forecast: Forecast) -> None:
        self.forecast = forecast
        console = Console(stderr=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[ended]}/{task.fields[pieces]}"),
            TimeElapsedColumn(),
            _Left(forecast),
        )
        self.bar = Progress(
            *columns, console=console, disable=not console.is_terminal, transient=True
        )
        self._task = self.bar.add_task(what, total=forecast.total, ended=0, pieces=pieces)

    def begin(self, what: str) -> None:
        """Say what is going on."""
        self.bar.update(self._task, description=what)

    def end(self, weight: float) -> None:
        """A piece is done."""
        task = self.bar.tasks[self._task]
        self.forecast.advance(weight, task.elapsed or 0.0)
        self.bar.update(self._task, completed=self.forecast.done, ended=task.fields["ended"] + 1)

    def say(self, text: str | Text) -> None:
        """A line that stays, above the bar; where nobody looks, the line alone."""
        self.bar.console.print(text, markup=False, highlight=False, soft_wrap=True)


class _Left(ProgressColumn):
    def __init__(self, forecast: Forecast) -> None:
        super().__init__()
        self._forecast = forecast

    def render(self, task: Task) -> Text:
        left = timedelta(seconds=round(self._forecast.left_s(task.elapsed or 0.0)))
        return Text("" if task.finished else f"{left} left", style="progress.remaining")
