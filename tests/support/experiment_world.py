"""Made-up results with known answers, for the tests of experiments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from laissez.sim.results import RunResult, TenantResult
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.cloud_run import CloudRun
from laissez_experiments.lab.experiment import Results

KINDS = ("inference", "training", "batch")


def made_up(
    cells: Sequence[Cell],
    achieved: Callable[[CloudRun, int], float],
    cost: Callable[[CloudRun, int], float] = lambda run, at: 10.0,
) -> Results:
    """Three tenants for every run of a cloud, with the given performance and cost of each (from 0).
    Alone they achieve 1."""
    return {cell: _run(cell, achieved, cost) for cell in cells if isinstance(cell, CloudRun)}


def _run(
    cell: CloudRun,
    achieved: Callable[[CloudRun, int], float],
    cost: Callable[[CloudRun, int], float],
) -> RunResult:
    return RunResult(
        scenario=cell.scenario.name,
        cloud=cell.cloud,
        seed=cell.seed,
        gpus=8,
        hours=1.0,
        demand=cell.scenario.demand or 1.0,
        tenants=tuple(_tenant(at, achieved(cell, at), cost(cell, at)) for at in range(len(KINDS))),
        prices=(),
        leases=(),
        requests=0,
        revenue=0.0,
        idle_hours=0.0,
    )


def _tenant(at: int, performance: float, cost: float) -> TenantResult:
    fields: dict[str, float] = dict.fromkeys(
        (name for name in TenantResult.__struct_fields__ if name not in ("tenant", "kind")), 0
    )
    given = {
        "performance": performance,
        "alone": 1.0,
        "retention": performance,
        "cost": cost,
        "performance_per_cost": performance / cost if cost else None,
    }
    return TenantResult(**fields | given, tenant=f"{KINDS[at]}-{at + 1}", kind=KINDS[at])  # type: ignore[arg-type]
