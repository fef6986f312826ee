"""The cell that most experiments consist of: one scenario, one cloud, one seed. Experiments that
need the same one share it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec

from laissez.sim.results import RunResult
from laissez.sim.scenario import Scenario
from laissez.sim.setting import Setting, baseline_of
from laissez.sim.statistics import Bootstrap, Estimate
from laissez.sim.workloads.spec import Planners
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.regimes import CONTRACTS

# about, for one tenant of the usual size
TENANT_SECONDS: Final = {"market": 0.4, "fcfs": 0.35, "fcfs-p": 0.45, "ideal": 0.65}


class CloudRun(Cell, frozen=True, kw_only=True):
    """The result has no price histories and no leases."""

    result: ClassVar[Any] = RunResult

    scenario: Scenario
    cloud: str
    seed: int
    # a digest of the file that the scenario names, if any: a name says nothing about the contents
    trace: str = ""

    @property
    def weight(self) -> float:
        """With its part of the alone-runs."""
        return TENANT_SECONDS[self.cloud] * self.scenario.tenants.count

    @property
    def group(self) -> Hashable:
        return msgspec.json.encode(baseline_of(self.scenario)), self.seed

    def run(self) -> RunResult:
        setting = _setting(baseline_of(self.scenario), self.seed).varied(self.scenario)
        return msgspec.structs.replace(setting.run(self.cloud), prices=(), leases=())

    def __str__(self) -> str:
        return f"{self.scenario.name}, cloud {self.cloud}, seed {self.seed}"


# they only remember what they have computed: for everything that this process does
PLANNERS: Final = Planners()
_last: list[tuple[Scenario, int, Setting]] = []


def _setting(scenario: Scenario, seed: int) -> Setting:
    """The tenants, drawn and run alone: once for all cells of a group."""
    if not _last or _last[0][:2] != (scenario, seed):
        _last[:] = [(scenario, seed, Setting(scenario, seed, PLANNERS))]
    return _last[0][2]


def runs_of(scenario: Scenario, clouds: Sequence[str], plan: Plan) -> list[Cell]:
    return [cloud_run(scenario, cloud, seed) for seed in plan.all_seeds for cloud in clouds]


def cloud_run(scenario: Scenario, cloud: str, seed: int) -> CloudRun:
    trace = scenario.inference.trace
    return CloudRun(
        scenario=scenario, cloud=cloud, seed=seed, trace="" if trace is None else _digest(trace)
    )


@cache
def _digest(path: str) -> str:
    return sha256(Path(path).read_bytes()).hexdigest()


class Runs:
    """The results of runs on clouds, seed by seed."""

    def __init__(self, plan: Plan, results: Results) -> None:
        self.plan, self._results = plan, results

    @cached_property
    def bootstrap(self) -> Bootstrap:
        return Bootstrap(self.plan.seeds)

    def on(self, cloud: str, scenario: Scenario) -> list[RunResult]:
        return [self._results[cloud_run(scenario, cloud, seed)] for seed in self.plan.all_seeds]

    def retentions(self, cloud: str, scenario: Scenario) -> list[float]:
        """The mean retention of each seed."""
        return [run.retention for run in self.on(cloud, scenario)]

    def reduction(self, cloud: str, scenario: Scenario) -> Estimate | None:
        """The share by which mean degradation on the market is below that on the cloud."""
        ours, theirs = (self.retentions(one, scenario) for one in ("market", cloud))
        return self.bootstrap.reduction(ours, theirs)


class CloudExperiment(Experiment):
    """An experiment that runs the same scenarios on each of some clouds."""

    clouds: ClassVar[Sequence[str]] = CONTRACTS

    @abstractmethod
    def scenarios(self, plan: Plan) -> Sequence[Scenario]: ...

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return [cell for one in self.scenarios(plan) for cell in runs_of(one, self.clouds, plan)]
