"""The cell that measures a whole cloud: so many nodes, so many tenants, and where the time of simulating them goes."""

from __future__ import annotations

from typing import Any, ClassVar

from laissez.bench import simulation
from laissez.experiments.lab.cell import Cell
from laissez.experiments.scalability.cells import Machine


class SimulationSpeed(Cell, frozen=True, kw_only=True):
    """`seconds` are those of the largest by far; it alone matters for how long it takes in all."""

    result: ClassVar[Any] = simulation.Row
    seconds: ClassVar[float] = 30.0
    is_alone: ClassVar[bool] = True

    machine: Machine
    nodes: int
    tenants: int
    minutes: float

    def run(self) -> simulation.Row:
        (row,) = simulation.measure([(self.nodes, self.tenants)], self.minutes)
        return row

    def __str__(self) -> str:
        return f"simulation of {self.nodes:,} nodes and {self.tenants:,} tenants"
