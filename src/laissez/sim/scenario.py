"""A scenario: the cluster, the prices, and what kinds of tenants come. All that a run depends on,
beside the cloud and the seed.

Ranges, [low, high], are drawn from evenly. The defaults are those of the retention experiment.
`docs/scenario.toml` shows every field in a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from laissez.config import File, mistakes_in, shown
from laissez.market.commands import PRICE_MAX
from laissez.tenants.dynamo import built_in
from laissez.tenants.parabricks.runtime import RUN_TIMES
from laissez.tenants.sailor.builtin import COMPACT
from laissez.units import HOUR_S, MICRO_PER_DOLLAR

# of anything that has no bound of its own: a cluster of so many GPUs, or a century of hours
LARGEST: Final = 1_000_000

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Texts: TypeAlias = Annotated[tuple[Text, ...], Meta(min_length=1)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=LARGEST)]
Positive: TypeAlias = Annotated[float, Meta(gt=0, le=LARGEST)]
Parts: TypeAlias = Annotated[Mapping[str, Positive], Meta(min_length=1)]  # only their ratio counts
# dollars per GPU-hour; the market takes no more
Price: TypeAlias = Annotated[float, Meta(gt=0, le=PRICE_MAX / MICRO_PER_DOLLAR)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0, le=LARGEST)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Hours: TypeAlias = Annotated[float, Meta(ge=0.01, le=LARGEST)]
# seconds: whoever acts without a pause never comes to an end
Pace: TypeAlias = Annotated[float, Meta(ge=1, le=LARGEST)]
# a job of ever smaller pieces would have no end either
Size: TypeAlias = Annotated[float, Meta(ge=0.001, le=LARGEST)]
Range: TypeAlias = tuple[Positive, Positive]
HoursRange: TypeAlias = tuple[Hours, Hours]
PaceRange: TypeAlias = tuple[Pace, Pace]
SizeRange: TypeAlias = tuple[Size, Size]

KINDS: Final = ("inference", "training", "batch")
# what every inference service serves, on engines of one GPU
INFERENCE_MODEL: Final = "llama-3.1-8b"
COLD_STARTS: Final = 2  # that the work of a job leaves time for: the first, and one change


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file. It checks itself when it is made, so a scenario written in Python is
    held to the same rules as one read from a file."""

    def __post_init__(self) -> None:
        mistakes = mistakes_in(self) or list(self.impossible())
        if mistakes:
            raise ScenarioError("\n".join(mistakes))

    def impossible(self) -> Iterator[str]:
        """Invalid combinations of valid fields: "field: expected ..., found ..."."""
        yield from ()


class ClusterTable(Table, frozen=True, kw_only=True):
    """Either `gpus`, counts by type, or `shares` of types, and then `demand` of the scenario says
    how many there are in all."""

    gpus: Annotated[Mapping[str, Count], Meta(min_length=1)] | None = None  # by type
    shares: Parts = msgspec.field(default_factory=lambda: {"h100": 0.5, "a100": 0.5})
    gpus_per_host: Count = 8  # one NVLink domain


class PricesTable(Table, frozen=True, kw_only=True):
    """Dollars per GPU-hour on demand; the market's floors are `floor` of them. (AWS p5 and p4de, US
    regions, August 2026.)"""

    h100: Price = 6.88  # dollars per GPU-hour
    a100: Price = 3.43  # the same, for the part with 80 GB
    floor: Share = 0.70  # of the price on demand: break-even at a utilisation of 70 %

    @property
    def types(self) -> tuple[str, ...]:
        """The types that have a price."""
        return tuple(name for name in self.__struct_fields__ if name != "floor")


class TenantsTable(Table, frozen=True, kw_only=True):
    """`mix` are the parts of each kind; they come within the first `arrivals_hours`.

    Going from performance 0 to 1 is worth the same to each: `worth` times what the GPU-hours that
    they need cost on demand, in the mean over tenants.
    """

    count: Annotated[int, Meta(ge=0, le=LARGEST)] = 24  # 0 only where some are there already
    mix: Parts = msgspec.field(default_factory=lambda: dict.fromkeys(KINDS, 1.0))
    arrivals_hours: NotNegative = 0.75
    worth: Positive = 4.0
    # between two decisions of a job; an inference service decides with each plan
    decide_seconds: Pace = 30.0
    moves_max: Annotated[int, Meta(ge=0, le=LARGEST)] = 1  # at once, per tenant
    # the part that trades through adapters; the others hold what they need in the mean, at a fixed
    # price, as on demand
    adaptive: Share = 1.0
    # times the true overhead of a reconfiguration: what tenants reckon with
    believed_overhead: Positive = 1.0

    def impossible(self) -> Iterator[str]:
        for kind in self.mix:
            if kind not in KINDS:
                yield f"mix.{kind}: expected one of {', '.join(KINDS)}, found {shown(kind)}"


class InferenceTable(Table, frozen=True, kw_only=True):
    """`engines` are how many GPUs the mean load needs, `hours` how long the service runs."""

    engines: Range = (2.0, 8.0)
    hours: HoursRange = (1.5, 2.5)
    plan_seconds: Pace = 10.0  # between two looks of the planner at the load
    hold_plan_seconds: NotNegative = 300.0  # for so long a plan is not shrunk
    cold_seconds: Positive = 60.0  # until an engine serves
    # times the predicted load that is planned for
    headroom: Annotated[float, Meta(gt=0, le=10)] = 1.25
    trace: File | None = None  # a file of requests; None: drawn

    def impossible(self) -> Iterator[str]:
        shortest_s = self.hours[0] * HOUR_S
        for field in ("cold_seconds", "plan_seconds"):
            if getattr(self, field) >= shortest_s:
                yield (
                    f"{field}: expected less than the shortest of hours, {shortest_s:g} s,"
                    f" found {getattr(self, field):g}"
                )
        if self.trace is not None and not is_there(self.trace):
            yield f"trace: expected a file that is there, found {shown(self.trace)}"


class JobTable(Table, frozen=True, kw_only=True):
    """`gpus` are how many GPUs the work needs, evenly done, to be done in `hours`."""

    gpus: Range = (2.0, 8.0)
    hours: HoursRange = (1.5, 2.5)  # until the deadline
    cold_seconds: Range  # to start, and to take in or give up GPUs
    checkpoint_seconds: PaceRange  # of work between two checkpoints

    def impossible(self) -> Iterator[str]:
        bound_s = self.hours[0] * HOUR_S / COLD_STARTS
        if self.cold_seconds[1] >= bound_s:
            yield (
                f"cold_seconds: expected less than half of the shortest of hours, {bound_s:g} s,"
                f" found {self.cold_seconds[1]:g}"
            )


class TrainingTable(JobTable, frozen=True, kw_only=True):
    cold_seconds: Range = (60.0, 240.0)
    checkpoint_seconds: PaceRange = (300.0, 900.0)
    models: Texts = ("OPT-350", "GPT-Neo-2.7")  # of Sailor's; each job trains one of them
    # whether jobs bid by where a GPU is; if not, as if what they have were packed into hosts, for
    # any GPU of a type
    topology_aware: bool = True

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        for model in self.models:
            if model not in COMPACT:
                yield f"models: expected models of {', '.join(COMPACT)}, found {shown(model)}"


class BatchTable(JobTable, frozen=True, kw_only=True):
    cold_seconds: Range = (240.0, 720.0)
    checkpoint_seconds: PaceRange = (600.0, 1200.0)
    sample_size: SizeRange = (0.1, 0.4)  # 1 is a human genome read 50 times over


class Band(Table, frozen=True, kw_only=True):
    """Prices move by at most this `share` of themselves in so many seconds."""

    share: Annotated[float, Meta(ge=0, le=1000)]  # a band a thousand times its anchor is none
    seconds: Positive


class MarketTable(Table, frozen=True, kw_only=True):
    """The market's controls, the same for every tree; what is not given stays as the market has
    it."""

    rise: Band | None = None  # of bids
    fall: Band | None = None  # of floors
    hold_seconds: NotNegative | None = None  # for so long a lease cannot be taken away by price
    flash_seconds: NotNegative | None = None  # an order cancelled sooner is charged for so long

    @property
    def sets_any(self) -> bool:
        return any(
            getattr(self, field) is not None
            for field in ("rise", "fall", "hold_seconds", "flash_seconds")
        )


class FloorTable(Table, frozen=True, kw_only=True):
    node: Text
    # dollars per GPU-hour; no price of the market is higher
    price: Annotated[float, Meta(ge=0, le=10_000)]


class ControlsTable(MarketTable, frozen=True, kw_only=True):
    node: Text


class ActionTable(Table, frozen=True, kw_only=True):
    """One thing that the operator does, `at_minutes` after the beginning. Floors and controls are
    the market's alone."""

    at_minutes: NotNegative
    floor: FloorTable | None = None
    controls: ControlsTable | None = None
    offline: Text | None = None  # a node: all leaves below it
    online: Text | None = None

    def impossible(self) -> Iterator[str]:
        fields = ("floor", "controls", "offline", "online")
        given = [field for field in fields if getattr(self, field) is not None]
        if len(given) != 1:
            yield (
                f"at_minutes: expected one of {', '.join(fields)} beside it, found"
                f" {' and '.join(given) or 'none'}"
            )


class FailuresTable(Table, frozen=True, kw_only=True):
    """Hosts fail after `mtbf_hours` in the mean and are repaired after `repair_hours` in the mean,
    both exponentially distributed."""

    mtbf_hours: Annotated[float, Meta(ge=0.1, le=LARGEST)]
    repair_hours: Positive = 1.0


class Scenario(Table, frozen=True, kw_only=True):
    name: Text = "scenario"
    # that a run lasts at least when it begins from `start`; others end when the last tenant is gone
    hours: Hours = 3.0
    demand: Positive | None = None  # what all typically need together, over the GPUs that there are
    start: File | None = None  # a snapshot of a market to begin from, with its cluster
    maps: File | None = None  # InfraMaps, for the market alone
    maps_seconds: Pace = 10.0  # between two decisions of the maps
    actions: tuple[ActionTable, ...] = ()
    failures: FailuresTable | None = None  # None: nothing fails
    market: MarketTable = MarketTable()
    cluster: ClusterTable = ClusterTable()
    prices: PricesTable = PricesTable()
    tenants: TenantsTable = TenantsTable()
    inference: InferenceTable = InferenceTable()
    training: TrainingTable = TrainingTable()
    batch: BatchTable = BatchTable()

    def impossible(self) -> Iterator[str]:  # noqa: C901  one guard after the other
        for field in ("start", "maps"):
            if (file := getattr(self, field)) is not None and not is_there(file):
                yield f"{field}: expected a file that is there, found {shown(file)}"
        end_min = self._latest_hours() * 60
        for at, action in enumerate(self.actions):
            if action.at_minutes >= end_min:
                yield (
                    f"actions[{at}].at_minutes: expected less than {end_min:g}, when every run is"
                    f" over, found {action.at_minutes:g}"
                )
        if self.start is not None:
            return  # it brings its own cluster
        if not self.tenants.count:
            yield (
                "tenants.count: expected an integer from 1 on where nobody is there before them (no"
                " start), found 0"
            )
        if (self.demand is None) == (self.cluster.gpus is None):
            yield (
                "demand: expected either this or cluster.gpus, found"
                f" {'neither' if self.demand is None else 'both'}"
            )
        field, types = (
            ("gpus", self.cluster.gpus)
            if self.cluster.gpus is not None
            else ("shares", self.cluster.shares)
        )
        for name in types:
            if name not in self.prices.types:
                yield (
                    f"cluster.{field}.{name}: expected a type that has a price"
                    f" ({', '.join(self.prices.types)}), found {shown(name)}"
                )
                continue
            for kind in self.tenants.mix:
                if name not in self._profiled(kind):
                    yield (
                        f"cluster.{field}.{name}: expected a type that {kind} tenants have a"
                        f" profile for, found {shown(name)}"
                    )

    def _latest_hours(self) -> float:
        """When a run ends at the latest, whatever is drawn: at the last deadline there can be, but
        with a `start` not before its hours."""
        longest = (
            [float(getattr(self, kind).hours[1]) for kind in self.tenants.mix]
            if self.tenants.count
            else []
        )
        own = self.tenants.arrivals_hours + max(longest) if longest else 0.0
        return own if self.start is None else max(own, self.hours)

    def _profiled(self, kind: str) -> frozenset[str]:
        """The types on which it is known how fast tenants of that kind are."""
        match kind:
            case "inference":
                return frozenset(built_in(INFERENCE_MODEL, 1))
            case "training":
                return frozenset.intersection(
                    *(frozenset(COMPACT[model].work_ms) for model in self.training.models)
                )
            case _:
                return frozenset(RUN_TIMES)


def is_there(file: str) -> bool:
    """Whether the file exists, as far as can be seen: its name may be too long, its folder
    closed."""
    try:
        return Path(file).is_file()
    except OSError:
        return False


class ScenarioError(ValueError):
    """A scenario that cannot be run; the message names the place, what was expected and what was
    found."""


def check_seed(seed: object) -> None:
    """Refuse anything else: 1.0 and True are equal to 1, and would draw other tenants than 1
    does."""
    if type(seed) is not int or seed < 0:
        raise ScenarioError(f"seed: expected a whole number from 0 on, found {shown(seed)}")
