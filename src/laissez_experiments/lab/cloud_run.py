"""The cell that most experiments are made of: one scenario, one cloud, one seed. Experiments that
need the same one share it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec

from laissez.sim.results import RunResult
from laissez.sim.scenario import Scenario
from laissez.sim.setting import Setting, baseline_of
from laissez.sim.workloads.spec import Planners
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Results

# about, for one tenant of the usual size
TENANT_SECONDS: Final = {"market": 0.4, "fcfs": 0.35, "fcfs-p": 0.45, "ideal": 0.65}


class CloudRun(Cell, frozen=True, kw_only=True):
    """Courses of prices and leases are left out."""

    result: ClassVar[Any] = RunResult

    scenario: Scenario
    cloud: str
    seed: int
    # a digest of the file that the scenario names, if it does: the name alone says nothing about
    # what is in it
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


def runs_of(scenario: Scenario, clouds: Sequence[str], seeds: Sequence[int]) -> list[CloudRun]:
    return [cloud_run(scenario, cloud, seed) for seed in seeds for cloud in clouds]


def cloud_run(scenario: Scenario, cloud: str, seed: int) -> CloudRun:
    trace = scenario.inference.trace
    return CloudRun(
        scenario=scenario, cloud=cloud, seed=seed, trace="" if trace is None else _digest(trace)
    )


@cache
def _digest(path: str) -> str:
    return sha256(Path(path).read_bytes()).hexdigest()


def retentions(
    scenario: Scenario, cloud: str, seeds: Sequence[int], results: Results
) -> list[float]:
    """The mean retention of each seed."""
    return [run.retention for run in came_to(scenario, cloud, seeds, results)]


def came_to(
    scenario: Scenario, cloud: str, seeds: Sequence[int], results: Results
) -> list[RunResult]:
    return [results[cloud_run(scenario, cloud, seed)] for seed in seeds]
