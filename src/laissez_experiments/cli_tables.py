"""Findings as lines and tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from laissez.cli.output import Format
from laissez.cli.tables import GAP, Column, show, show_json
from laissez_experiments.lab.experiment import Experiment
from laissez_experiments.lab.findings import Claim
from laissez_experiments.report.run import Outcome
from laissez_experiments.report.wording import (
    FAILS,
    HOLDS,
    MEASURED,
    UNDECIDED,
    VERDICTS,
    in_words,
    interval,
    measured,
    paper_says,
    tally,
    unit_in_words,
    verdict,
)

COLOURS: Final = {HOLDS: "green", FAILS: "red", UNDECIDED: "yellow", MEASURED: "dim"}
NAME_WIDTH: Final = 16
WIDE: Final = 200  # where there is no terminal
PAPER_WIDTH: Final = 17
MEASURED_WIDTH: Final = 24


def outcome_line(outcome: Outcome) -> str:
    """The line of an experiment that is complete, or left out."""
    found = f"{in_words(tally(outcome.claims))}: {', '.join(outcome.files)}"
    text = outcome.why_not if outcome.findings is None else found
    return f"{outcome.experiment.name:<{NAME_WIDTH}}  {text}"


def show_experiments(experiments: Sequence[Experiment], form: Format) -> None:
    if form is Format.JSON:
        show_json(
            [
                {"name": one.name, "title": one.title, "beyond_the_paper": one.is_beyond}
                for one in experiments
            ]
        )
        return
    columns: list[Column[Experiment]] = [
        Column("name", lambda one: one.name),
        Column("title", lambda one: one.title),
        Column("", lambda one: "beyond the paper" if one.is_beyond else "", optional=True),
    ]
    show(experiments, columns, form, "no experiments")


def show_claims(claims: Sequence[Claim]) -> None:
    """One row each, the paper's first. Texts too long for their columns go on below."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    for title, some in (
        ("checks of the paper's claims", [claim for claim in claims if claim.paper is not None]),
        ("beyond the paper", [claim for claim in claims if claim.paper is None]),
    ):
        if some:
            console.print(f"\n{title}: {in_words(tally(some))}", style="bold", markup=False)
            console.print(_table(some))
    signs = ", ".join(f"{one.sign} {one.words}" for one in VERDICTS)
    console.print(
        f"{signs}; below what was measured, its 95 % interval" if claims else "no claims",
        style="dim",
        markup=False,
    )


def _table(claims: Sequence[Claim]) -> Table:
    """The claims of each experiment below its name."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    table.add_column("", no_wrap=True)
    table.add_column("claim", overflow="fold")
    table.add_column("paper", justify="right", overflow="fold", max_width=PAPER_WIDTH)
    table.add_column("measured", justify="right", overflow="fold", max_width=MEASURED_WIDTH)
    for figure, some in groupby(claims, lambda claim: claim.figure):
        table.add_row("", Text(figure, style="bold"))
        for claim in some:
            one = verdict(claim)
            found = Text(f"{measured(claim)} {unit_in_words(claim)}".rstrip())
            if claim.interval is not None:
                found.append(f"\n{interval(claim)}", style="dim")
            table.add_row(
                Text(one.sign, style=COLOURS[one]),
                Text(claim.claim),
                Text(paper_says(claim)),
                found,
            )
    return table
