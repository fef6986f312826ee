"""Tenants in two rows of four nodes that the operator's maps price by the power of each row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

import msgspec

from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.kernel import random_stream
from laissez.sim.scenario import (
    BatchTable,
    ClusterTable,
    InferenceTable,
    Scenario,
    TenantsTable,
    TrainingTable,
)
from laissez.sim.simulation import Simulation
from laissez.sim.workloads.population import draw
from laissez.sim.workloads.spec import Planners
from laissez.units import MICRO_PER_DOLLAR, SECOND_US
from laissez_experiments.lab.cell import Cell

SAMPLE_S: Final = 300  # between two samples of power, as in Google's traces
BEFORE: Final = 5  # samples until the jump
TREE: Final = "h100"
# as a cluster of so few nodes is laid out: one in each of two zones
ROWS: Final = (f"{TREE}/zone1/row1", f"{TREE}/zone2/row1")
NODES: Final = 4  # of each row
HOURS: Final = (3.0, 4.0)  # so that hardly any job ends before the series does
GPUS: Final = (0.5, 1.0)  # that a tenant needs; jobs take up to three, a service has two or more
# times the price on demand: in the paper, the value of speed to a job that is on time
WORTH: Final = 1.0
FLOOR_MAX_TIMES: Final = 3  # the price on demand

SCENARIO: Final = Scenario(
    name="two rows",
    cluster=ClusterTable(gpus={TREE: NODES * len(ROWS)}, gpus_per_host=1),
    tenants=TenantsTable(
        mix=dict.fromkeys(("training", "batch", "inference"), 1.0), arrivals_hours=0.05, worth=WORTH
    ),
    inference=InferenceTable(engines=GPUS, hours=HOURS),
    training=TrainingTable(gpus=GPUS, hours=HOURS),
    batch=BatchTable(gpus=GPUS, hours=HOURS),
)


class Change(msgspec.Struct, frozen=True):
    """A node's tenant, empty if it is free, and its price from now on in dollars per hour: the rate
    charged, or its floor."""

    at_s: int
    node: str
    tenant: str
    price: float


class Tenancy(msgspec.Struct, frozen=True, kw_only=True):
    """A lease at the jump: its limit then, in dollars per hour, and the time and reason of its end
    (`lasting` if it ended with the run)."""

    tenant: str
    limit: float
    end_s: float
    reason: str


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """One run, second by second. `held` are the nodes of the first row that were leased at the
    jump."""

    jump_s: float
    floor_rose_s: float | None  # when the first row's floor was first higher than at the jump
    end_s: int
    changes: tuple[Change, ...]
    held: Mapping[str, Tenancy]

    def at(self, at_s: float) -> dict[str, Change]:
        """Every node as it is then."""
        return {change.node: change for change in self.changes if change.at_s <= at_s}

    def row(self, row: str, at_s: float) -> list[Change]:
        """Every node of a row as it is then."""
        return [one for one in self.at(at_s).values() if one.node.startswith(row)]


class PowerRun(Cell, frozen=True, kw_only=True):
    """Power as a share of what a row is provisioned for, for each of the `ROWS`, sample by
    sample."""

    result: ClassVar[Any] = Course

    powers: tuple[tuple[float, ...], tuple[float, ...]]
    tenants: int
    seed: int

    def run(self) -> Course:
        phase_us = round(
            random_stream(self.seed, "phase").uniform(0, SCENARIO.maps_seconds) * SECOND_US
        )
        tenants = msgspec.structs.replace(SCENARIO.tenants, count=self.tenants)
        planners = Planners()
        with TemporaryDirectory() as folder:
            maps = self._write_maps(Path(folder), phase_us)
            scenario = msgspec.structs.replace(SCENARIO, maps=str(maps), tenants=tenants)
            simulation = Simulation(
                scenario, draw(scenario, self.seed, planners), "market", self.seed, planners
            )
        # the series ends here
        simulation.until = len(self.powers[0]) * SAMPLE_S * SECOND_US
        watch = _Watch(simulation, BEFORE * SAMPLE_S * SECOND_US - phase_us)
        simulation.run()
        return watch.course()

    def _write_maps(self, folder: Path, phase_us: int) -> Path:
        """Samples come some seconds before the operator's maps decide next, as they would."""
        base = getattr(SCENARIO.prices, TREE)
        text = (
            f'[base.{TREE}]\nprice = "{base * SCENARIO.prices.floor:.6f}"\nfloor_max ='
            f' "{base * FLOOR_MAX_TIMES:.6f}"\n'
        )
        for at, (row, power) in enumerate(zip(ROWS, self.powers, strict=True), 1):
            times = [
                max(0, sample * SAMPLE_S * SECOND_US - phase_us) for sample in range(len(power))
            ]
            lines = [f"{time},{value}\n" for time, value in zip(times, power, strict=True)]
            (folder / f"row{at}.csv").write_text("time,measured_power_util\n" + "".join(lines))
            text += f'[signals.row{at}]\nsource = "csv"\nfile = "row{at}.csv"\n'
            text += f'[maps.row{at}]\nkind = "power"\nnodes = ["{row}"]\nsignal = "row{at}"\n'
        maps = folder / "maps.toml"
        maps.write_text(text)
        return maps

    def __str__(self) -> str:
        return f"power of two rows, seed {self.seed}"


class _Watch:
    """Looks at the market once a second and records the changes."""

    def __init__(self, simulation: Simulation, jump_us: int) -> None:
        assert isinstance(simulation.cloud, MarketCloud)
        self._cloud, self._market = simulation.cloud, simulation.cloud.market
        self._kernel, self._end, self._jump_us = simulation.kernel, simulation.until, jump_us
        self._leaves = simulation.population.cluster.topology.leaves
        self._last: dict[str, tuple[str, float]] = {}
        self._changes: list[Change] = []
        self._limits: dict[tuple[str, int], float] = {}  # by the leaf and the start of a lease
        self._floor = 0
        self._floor_rose: int | None = None
        self._kernel.at(0, self._look)
        self._kernel.at(jump_us, self._jump)

    def _look(self) -> None:
        leases = {one.leaf: (one.tenant, one.charged) for one in self._market.leases()}
        for leaf in self._leaves:
            tenant, price = leases.get(leaf) or ("", self._market.floor(leaf))
            if self._last.get(leaf) != (tenant, price):
                self._last[leaf] = (tenant, price)
                self._changes.append(
                    Change(self._kernel.now // SECOND_US, leaf, tenant, price / MICRO_PER_DOLLAR)
                )
        if (
            self._kernel.now > self._jump_us
            and self._floor_rose is None
            and self._market.floor(ROWS[0]) > self._floor
        ):
            self._floor_rose = self._kernel.now
        self._kernel.at(self._kernel.now + SECOND_US, self._look)

    def _jump(self) -> None:
        self._floor = self._market.floor(ROWS[0])
        leases = [one for one in self._market.leases() if one.leaf.startswith(ROWS[0])]
        self._limits = {
            (one.leaf, one.start): one.limit / MICRO_PER_DOLLAR
            for one in leases
            if one.limit is not None
        }

    def course(self) -> Course:
        return Course(
            jump_s=self._jump_us / SECOND_US,
            floor_rose_s=None if self._floor_rose is None else self._floor_rose / SECOND_US,
            end_s=self._end // SECOND_US,
            changes=tuple(self._changes),
            held={
                one.leaf: Tenancy(
                    tenant=one.tenant,
                    limit=self._limits[one.leaf, one.start],
                    end_s=one.end / SECOND_US,
                    reason=one.reason,
                )
                for one in self._cloud.leases()
                if (one.leaf, one.start) in self._limits
            },
        )
