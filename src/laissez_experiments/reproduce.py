"""The whole reproduction: all cells that the chosen experiments need, each experiment's findings as
soon as its cells are done, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Final

from laissez.sim.boxplot import check_plot
from laissez.sim.clouds.planning import check_solver
from laissez.workers import cores
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment
from laissez_experiments.lab.findings import Claim
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.store import Store, StoreError
from laissez_experiments.lab.work import described, do
from laissez_experiments.lab.writing import write_findings, write_json
from laissez_experiments.report import write_report
from laissez_experiments.report.run import Outcome, run_of

CELLS: Final = "cells"  # the folder of results; it marks a folder as one of ours
CLAIMS: Final = "claims.json"
RUN: Final = "run.json"


class Watch:
    """Follows the progress of a reproduction. This one ignores it."""

    def begins(self, missing: Sequence[Cell], wanted: int) -> None:
        """`missing` are to be done of all that are `wanted`; the others are there."""

    def done(self, cell: Cell) -> None:
        """One of the missing."""

    def draws(self, experiment: Experiment) -> None:
        """All its cells are done."""

    def found(self, outcome: Outcome) -> None:
        """Its files are written; or it was not run at all, or failed."""

    def close(self) -> None:
        """Nothing more will come."""


class Reproduction:
    """A plan for some experiments, to `run` in a folder. A run that was cut off resumes in the same
    folder."""

    def __init__(
        self,
        plan: Plan,
        experiments: Sequence[Experiment],
        folder: Path,
        watch: Watch,
        workers: int | None = None,
    ) -> None:
        self.plan, self.experiments, self.folder, self.watch = plan, experiments, folder, watch
        self.workers = workers or cores()
        self.store = Store(folder / CELLS)
        self.outcomes: dict[str, Outcome] = {}
        self._cells: dict[str, list[Cell]] = {}
        self._wanted: list[Cell] = []

    def run(self) -> list[Claim]:
        """All claims, in the order of the experiments."""
        started = monotonic()
        self.store.folder.mkdir(parents=True, exist_ok=True)
        for one in self.experiments:
            if missing := one.missing(self.plan):
                self.outcomes[one.name] = Outcome(one, missing=missing)
            else:
                self._cells[one.name] = list(dict.fromkeys(one.cells(one.own(self.plan))))
        self._wanted = list(dict.fromkeys(cell for cells in self._cells.values() for cell in cells))
        todo = [cell for cell in self._wanted if not self.store.has(cell)]
        self.watch.begins(todo, len(self._wanted))
        for outcome in self.outcomes.values():
            self.watch.found(outcome)
        self._work(todo)
        outcomes = [self.outcomes[one.name] for one in self.experiments]
        claims = [claim for one in outcomes for claim in one.claims]
        wanted, took_s = len(self._wanted), monotonic() - started
        run = run_of(self.plan, outcomes, self.workers, wanted, wanted - len(todo), took_s)
        try:
            write_json(claims, self.folder / CLAIMS)
            write_json(run, self.folder / RUN)
            write_report(run, outcomes, self.folder)
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot write there: {error.strerror}") from error
        return claims

    @property
    def failures(self) -> list[str]:
        """The errors, experiment by experiment."""
        return [f"{name}: {one.failed}" for name, one in self.outcomes.items() if one.failed]

    def kept(self) -> tuple[int, int]:
        """The number of cells that are done, and of all."""
        return sum(map(self.store.has, self._wanted)), len(self._wanted)

    def _work(self, todo: Sequence[Cell]) -> None:
        missing = set(todo)
        left = {
            one: missing.intersection(self._cells[one.name])
            for one in self.experiments
            if one.name in self._cells
        }
        failed: dict[Cell, str] = {}

        def conclude_complete() -> None:
            for one in [one for one, cells in left.items() if not cells]:
                del left[one]
                mine = self._cells[one.name]
                self._conclude(one, [failed[cell] for cell in mine if cell in failed])

        def on_done(cell: Cell, why: str) -> None:
            if why:
                failed[cell] = why
            self.watch.done(cell)
            for cells in left.values():
                cells.discard(cell)
            conclude_complete()

        conclude_complete()
        do(todo, self.store, on_done, self.workers)

    def _conclude(self, experiment: Experiment, failures: Sequence[str]) -> None:
        """Its findings, or the reason that it has none; the others go on."""
        if failures:
            cells = len(self._cells[experiment.name])
            more = f"; and {len(failures) - 1} more of its {cells} cells" if failures[1:] else ""
            outcome = Outcome(experiment, failed=f"{failures[0]}{more}")
        else:
            self.watch.draws(experiment)
            outcome = self._found(experiment)
        self.outcomes[experiment.name] = outcome
        self.watch.found(outcome)

    def _found(self, experiment: Experiment) -> Outcome:
        results: dict[Cell, Any] = {
            cell: self.store.get(cell) for cell in self._cells[experiment.name]
        }
        try:
            findings = experiment.findings(experiment.own(self.plan), results)
            files = write_findings(experiment.name, findings, self.folder)
            return Outcome(experiment, findings, files)
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot write there: {error.strerror}") from error
        except Exception as error:
            return Outcome(experiment, failed=f"its findings: {described(error)}")


def check_tools() -> None:
    """Raise before all the work if no figure could be made here."""
    check_plot(Path("figure.svg"))
    check_solver()
