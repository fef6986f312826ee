"""A scenario: the cluster, the prices, and what kinds of tenants come. All that a run depends on, beside the cloud and the seed.

Ranges are drawn from evenly. The defaults are those of the retention experiment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

Positive: TypeAlias = Annotated[float, Meta(gt=0)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Range: TypeAlias = tuple[Positive, Positive]
Count: TypeAlias = Annotated[int, Meta(ge=1)]


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class ClusterTable(Table, frozen=True, kw_only=True):
    """Either `gpus`, counts by type, or `shares` of types, and then `demand` of the scenario says how many there are in all."""

    gpus: Mapping[str, Count] | None = None
    shares: Mapping[str, Positive] = msgspec.field(default_factory=lambda: {"h100": 0.5, "a100": 0.5})
    gpus_per_host: Count = 8


class PricesTable(Table, frozen=True, kw_only=True):
    """Dollars per GPU-hour on demand; the market's floors are `floor` of them. (AWS p5 and p4de, US regions, August 2026.)"""

    h100: Positive = 6.88
    a100: Positive = 3.43
    floor: Share = 0.70


class TenantsTable(Table, frozen=True, kw_only=True):
    """`mix` are the parts of each kind; they come within the first `arrivals_hours`. `value` is what going from performance 0 to 1 is worth."""

    count: Count = 24
    mix: Mapping[str, Positive] = msgspec.field(default_factory=lambda: dict.fromkeys(("inference", "training", "batch"), 1.0))
    arrivals_hours: Annotated[float, Meta(ge=0)] = 0.75
    value: Positive = 400.0
    decide_seconds: Positive = 30.0
    moves_max: Annotated[int, Meta(ge=0)] = 1


class InferenceTable(Table, frozen=True, kw_only=True):
    """`engines` are how many GPUs the mean load needs, `hours` how long the service runs."""

    engines: Range = (2.0, 8.0)
    hours: Range = (1.5, 2.5)
    plan_seconds: Positive = 20.0
    hold_plan_seconds: Annotated[float, Meta(ge=0)] = 300.0
    cold_seconds: Positive = 60.0
    headroom: Positive = 1.1
    trace: str | None = None


class JobTable(Table, frozen=True, kw_only=True):
    """`gpus` are how many GPUs the work needs, evenly done, to be done in `hours`."""

    gpus: Range = (2.0, 8.0)
    hours: Range = (1.5, 2.5)
    cold_seconds: Range
    checkpoint_seconds: Range


class TrainingTable(JobTable, frozen=True, kw_only=True):
    cold_seconds: Range = (60.0, 240.0)
    checkpoint_seconds: Range = (300.0, 900.0)
    models: tuple[str, ...] = ("OPT-350", "GPT-Neo-2.7")


class BatchTable(JobTable, frozen=True, kw_only=True):
    cold_seconds: Range = (240.0, 720.0)
    checkpoint_seconds: Range = (600.0, 1200.0)
    sample_size: Range = (0.1, 0.4)


class Scenario(Table, frozen=True, kw_only=True):
    name: str = "scenario"
    hours: Positive = 3.0
    demand: Positive | None = None
    cluster: ClusterTable = ClusterTable()
    prices: PricesTable = PricesTable()
    tenants: TenantsTable = TenantsTable()
    inference: InferenceTable = InferenceTable()
    training: TrainingTable = TrainingTable()
    batch: BatchTable = BatchTable()
