"""An experiment: a question, the cells that answer it, and the findings from their results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.findings import Findings
from laissez_experiments.lab.plan import Plan

Results = Mapping[Cell, Any]


class Experiment(ABC):
    """`name` is its name on the command line and in files; `title` heads its section of the report.

    One that `takes_half` of the seeds would take too long with all of them.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    is_beyond: ClassVar[bool] = False  # not in the paper
    takes_half: ClassVar[bool] = False

    @abstractmethod
    def cells(self, plan: Plan) -> Sequence[Cell]:
        """All its cells, in the best order to run them."""

    @abstractmethod
    def findings(self, plan: Plan, results: Results) -> Findings:
        """Judge the results of its cells. `results` may have others' too; take only your own."""

    def own(self, plan: Plan) -> Plan:
        """The plan with the seeds that this experiment takes, for `cells` and `findings`."""
        return plan.halved() if self.takes_half else plan

    def missing(self, plan: Plan) -> str | None:
        """The input that it needs and the plan does not have; None if it can run."""
        return None
