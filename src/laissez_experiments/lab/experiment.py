"""An experiment: a question, the cells that answer it, and what is found in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.findings import Findings
from laissez_experiments.lab.plan import Plan

Results = Mapping[Cell, Any]


class Experiment(ABC):
    """`name` is what it is called on the command line and in files; `title` heads its section of
    the report.

    One that `takes_half` of the seeds would take too long with all of them.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    is_beyond: ClassVar[bool] = False  # not in the paper
    takes_half: ClassVar[bool] = False

    @abstractmethod
    def cells(self, plan: Plan) -> Sequence[Cell]:
        """All that it needs done, in the order in which it is best done."""

    @abstractmethod
    def findings(self, plan: Plan, results: Results) -> Findings:
        """From what its cells came to (and others' cells too: take only your own)."""

    def own(self, plan: Plan) -> Plan:
        """The plan, with the seeds that it takes: to be asked for cells and findings."""
        return plan.halved() if self.takes_half else plan

    def missing(self, plan: Plan) -> str | None:
        """What it would need and the plan does not have; None if it can run."""
        return None
