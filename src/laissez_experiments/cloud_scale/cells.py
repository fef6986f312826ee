"""The cell that measures a whole cloud: so many nodes, so many tenants, and where the time of
simulating them goes."""

from __future__ import annotations

from typing import Any, ClassVar

from laissez_bench import simulation
from laissez_experiments.lab.cell import Cell
from laissez_experiments.scalability.cells import Machine


class SimulationSpeed(Cell, frozen=True, kw_only=True):
    """Tenants of these `kinds`, in equal parts. `seconds` are a third of those of all sizes: the
    largest takes by far the most."""

    result: ClassVar[Any] = simulation.Row
    seconds: ClassVar[float] = 30.0
    is_alone: ClassVar[bool] = True
    packages: ClassVar[tuple[str, ...]] = ("laissez_bench",)

    machine: Machine
    nodes: int
    tenants: int
    kinds: tuple[str, ...]
    minutes: float

    def run(self) -> simulation.Row:
        (row,) = simulation.measure([(self.nodes, self.tenants)], self.minutes, kinds=self.kinds)
        return row

    def __str__(self) -> str:
        return f"simulation of {self.nodes:,} nodes and {self.tenants:,} tenants"
