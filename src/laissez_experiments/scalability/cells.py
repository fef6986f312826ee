"""Cells that measure how fast the market and the service are: each has the machine for itself, and
is of this machine and this code alone."""

from __future__ import annotations

import platform
from functools import cache
from typing import Any, ClassVar

import msgspec

import laissez
from laissez.workers import cores
from laissez_bench import market, service
from laissez_bench.crowd import PLACES
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.processor import processor


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where a speed was measured: one of another machine, Python or form of the market is another
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


class MarketSpeed(Cell, frozen=True, kw_only=True):
    """Every operation of the market, in process, on trees of these sizes; turn by turn, so that
    noise hits all alike."""

    result: ClassVar[Any] = list[market.Row]
    seconds: ClassVar[float] = 45.0
    is_alone: ClassVar[bool] = True
    packages: ClassVar[tuple[str, ...]] = ("laissez_bench",)

    machine: Machine
    leaves: tuple[int, ...]
    resting: int
    calls: int

    def run(self) -> list[market.Row]:
        return market.measure(
            [(leaves, self.resting) for leaves in self.leaves],
            PLACES,
            self.calls,
            lambda what: None,
        )

    def __str__(self) -> str:
        return f"speed of the market at {', '.join(f'{leaves:,}' for leaves in self.leaves)} leaves"


class ServiceSpeed(Cell, frozen=True, kw_only=True):
    """Durable requests to a real server; as many as it answers, or `asked_per_second`."""

    result: ClassVar[Any] = service.Row
    seconds: ClassVar[float] = 9.0
    is_alone: ClassVar[bool] = True
    packages: ClassVar[tuple[str, ...]] = (
        "laissez_bench",
        "laissez.journal",
        "laissez.server",
        "laissez.wire",
    )

    machine: Machine
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
        asked = (
            "" if self.asked_per_second is None else f" of {self.asked_per_second:,.0f} requests/s"
        )
        return f"speed of the service under a load{asked} ({self.load})"
