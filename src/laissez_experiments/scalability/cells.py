"""Cells that measure the speed of the market, the service and the simulator, on this machine and
with this code alone."""

from __future__ import annotations

import platform
from functools import cache
from typing import Any, ClassVar

import msgspec

import laissez
from laissez.workers import cores
from laissez_bench import market, service, simulation
from laissez_bench.crowd import PLACES
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.processor import processor


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine of a measurement. Another machine, Python or form of the market has another
    speed."""

    processor: str
    cores: int
    python: str
    market_form: str

    def __str__(self) -> str:
        return (
            f"{self.cores} cores ({self.processor}), Python {self.python}, the market"
            f" {self.market_form}"
        )


@cache
def this_machine() -> Machine:
    return Machine(
        processor=processor(),
        cores=cores(),
        python=platform.python_version(),
        market_form=laissez.market_form(),
    )


class Speed(Cell, frozen=True, kw_only=True):
    """A measurement that has the machine for itself."""

    is_alone: ClassVar[bool] = True
    packages: ClassVar[tuple[str, ...]] = ("laissez_bench",)

    machine: Machine


class MarketSpeed(Speed, frozen=True, kw_only=True):
    """Every operation of the market, in process, on trees of these sizes; turn by turn, so that
    noise hits all alike."""

    result: ClassVar[Any] = list[market.Row]
    seconds: ClassVar[float] = 45.0

    leaves: tuple[int, ...]
    resting: int
    calls: int

    def run(self) -> list[market.Row]:
        sizes = [(leaves, self.resting) for leaves in self.leaves]
        return market.measure(sizes, PLACES, self.calls, lambda what: None)

    def __str__(self) -> str:
        return f"speed of the market at {', '.join(f'{leaves:,}' for leaves in self.leaves)} leaves"


class ServiceSpeed(Speed, frozen=True, kw_only=True):
    """Durable requests to a real server; as many as it answers, or `asked_per_second`."""

    result: ClassVar[Any] = service.Row
    seconds: ClassVar[float] = 9.0
    packages: ClassVar[tuple[str, ...]] = (
        "laissez_bench",
        "laissez.journal",
        "laissez.server",
        "laissez.wire",
    )

    load: str
    asked_per_second: float | None
    measured_s: float
    leaves: int
    tenants: int

    def run(self) -> service.Row:
        (row,) = service.measure(
            [self.load],
            self.measured_s,
            lambda what: None,
            self.leaves,
            self.tenants,
            self.asked_per_second,
        )
        return row

    def __str__(self) -> str:
        asked = self.asked_per_second
        load = "a load" if asked is None else f"a load of {asked:,.0f} requests/s"
        return f"speed of the service under {load} ({self.load})"


class SimulationSpeed(Speed, frozen=True, kw_only=True):
    """A whole cloud with tenants of these `kinds` in equal parts, and its time by part. `seconds`
    are a third of those of all sizes: the largest takes by far the most."""

    result: ClassVar[Any] = simulation.Row
    seconds: ClassVar[float] = 30.0

    nodes: int
    tenants: int
    kinds: tuple[str, ...]
    minutes: float

    def run(self) -> simulation.Row:
        (row,) = simulation.measure([(self.nodes, self.tenants)], self.minutes, kinds=self.kinds)
        return row

    def __str__(self) -> str:
        return f"simulation of {self.nodes:,} nodes and {self.tenants:,} tenants"
