"""A scenario: the cluster, the prices and the tenants. With the cloud and the seed it determines a
run.

Ranges, [low, high], are drawn from uniformly. The defaults are those of the retention experiment.
`docs/examples/scenario.toml` shows every field in a file.
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
from laissez.tenants.sailor.builtin import MODELS
from laissez.units import HOUR_S, MICRO_PER_DOLLAR

# the bound of fields without a bound of their own, such as GPUs or hours
LARGEST: Final = 1_000_000

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Texts: TypeAlias = Annotated[tuple[Text, ...], Meta(min_length=1)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=LARGEST)]
Positive: TypeAlias = Annotated[float, Meta(gt=0, le=LARGEST)]
Parts: TypeAlias = Annotated[Mapping[str, Positive], Meta(min_length=1)]  # only their ratio counts
# dollars per GPU-hour, up to the highest price of the market
Price: TypeAlias = Annotated[float, Meta(gt=0, le=PRICE_MAX / MICRO_PER_DOLLAR)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0, le=LARGEST)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Hours: TypeAlias = Annotated[float, Meta(ge=0.01, le=LARGEST)]
# seconds; a run with decisions at ever shorter intervals would not end
Pace: TypeAlias = Annotated[float, Meta(ge=1, le=LARGEST)]
# nor would a job of ever smaller samples
Size: TypeAlias = Annotated[float, Meta(ge=0.001, le=LARGEST)]
Range: TypeAlias = tuple[Positive, Positive]
HoursRange: TypeAlias = tuple[Hours, Hours]
PaceRange: TypeAlias = tuple[Pace, Pace]
SizeRange: TypeAlias = tuple[Size, Size]

KINDS: Final = ("inference", "training", "batch")
INFERENCE_MODEL: Final = "llama-3.1-8b"  # of every service, on engines of one GPU
COLD_STARTS: Final = 2  # that a job has time for: the first, and one after a change


class ScenarioError(ValueError):
    """The scenario cannot be run. The message has the field, the expectation and the value."""


def check_seed(seed: object) -> None:
    """Accept integers only: 1.0 and True equal 1 but would draw other tenants."""
    if type(seed) is not int or seed < 0:
        raise ScenarioError(f"seed: expected a whole number from 0 on, found {shown(seed)}")


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file. The constructor checks it, also for scenarios made in Python."""

    def __post_init__(self) -> None:
        mistakes = mistakes_in(self) or list(self.conflicts())
        if mistakes:
            raise ScenarioError("\n".join(mistakes))

    def conflicts(self) -> Iterator[str]:
        """Invalid combinations of individually valid fields: "field: expected ..., found ..."."""
        yield from ()

    def _missing_files(self, *fields: str) -> Iterator[str]:
        for field in fields:
            file = getattr(self, field)
            if file is not None and not _exists(file):
                yield f"{field}: expected a file that is there, found {shown(file)}"


class ClusterTable(Table, frozen=True, kw_only=True):
    """Counts of GPUs by type, or shares of the GPUs that `Scenario.demand` implies."""

    gpus: Annotated[Mapping[str, Count], Meta(min_length=1)] | None = None
    shares: Parts = msgspec.field(default_factory=lambda: {"h100": 0.5, "a100": 0.5})
    gpus_per_host: Count = 8  # one NVLink domain

    @property
    def types(self) -> Mapping[str, float]:
        """The types, each with a number in proportion to its GPUs."""
        return self.gpus or self.shares


class PricesTable(Table, frozen=True, kw_only=True):
    """Dollars per GPU-hour on demand: AWS p5 and p4de, US regions, August 2026."""

    h100: Price = 6.88
    a100: Price = 3.43  # with 80 GB
    # the market's floors as a share of the price on demand: break-even at a utilisation of 70 %
    floor: Share = 0.70

    @property
    def by_type(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "floor"}


class TenantsTable(Table, frozen=True, kw_only=True):
    """The tenants. Performance 1 instead of 0 is worth the same to each: `worth` times the mean
    cost, on demand, of the GPU-hours that tenants need."""

    count: Annotated[int, Meta(ge=0, le=LARGEST)] = 24  # 0 only with a start
    mix: Parts = msgspec.field(default_factory=lambda: dict.fromkeys(KINDS, 1.0))
    arrivals_hours: NotNegative = 0.75  # all arrive within this time
    worth: Positive = 4.0
    # between two decisions of a job; an inference service decides with each plan
    decide_seconds: Pace = 30.0
    moves_max: Annotated[int, Meta(ge=0, le=LARGEST)] = 1  # at once, per tenant
    # the share that trades through adapters; the others hold their mean need at a fixed price
    adaptive: Share = 1.0
    believed_overhead: Positive = 1.0  # as a multiple of the true cost of a reconfiguration

    def conflicts(self) -> Iterator[str]:
        for kind in self.mix:
            if kind not in KINDS:
                yield f"mix.{kind}: expected one of {', '.join(KINDS)}, found {shown(kind)}"


class InferenceTable(Table, frozen=True, kw_only=True):
    engines: Range = (2.0, 8.0)  # GPUs that the mean load needs
    hours: HoursRange = (1.5, 2.5)  # of service
    plan_seconds: Pace = 10.0  # between two plans
    hold_plan_seconds: NotNegative = 300.0  # before a plan may shrink
    cold_seconds: Positive = 60.0  # until a new engine serves
    headroom: Annotated[float, Meta(gt=0, le=10)] = 1.25  # planned over predicted load
    trace: File | None = None  # a file of requests; None: the load is drawn

    def conflicts(self) -> Iterator[str]:
        shortest_s = self.hours[0] * HOUR_S
        for field in ("cold_seconds", "plan_seconds"):
            if getattr(self, field) >= shortest_s:
                yield (
                    f"{field}: expected less than the shortest of hours, {shortest_s:g} s,"
                    f" found {getattr(self, field):g}"
                )
        yield from self._missing_files("trace")


class JobTable(Table, frozen=True, kw_only=True):
    gpus: Range = (2.0, 8.0)  # needed to do the work evenly until the deadline
    hours: HoursRange = (1.5, 2.5)  # until the deadline
    cold_seconds: Range  # to start, and to add or remove GPUs
    checkpoint_seconds: PaceRange  # of work between two checkpoints

    def conflicts(self) -> Iterator[str]:
        bound_s = self.hours[0] * HOUR_S / COLD_STARTS
        if self.cold_seconds[1] >= bound_s:
            yield (
                f"cold_seconds: expected less than half of the shortest of hours, {bound_s:g} s,"
                f" found {self.cold_seconds[1]:g}"
            )


class TrainingTable(JobTable, frozen=True, kw_only=True):
    cold_seconds: Range = (60.0, 240.0)
    checkpoint_seconds: PaceRange = (300.0, 900.0)
    models: Texts = ("OPT-350", "GPT-Neo-2.7")  # of Sailor; each job trains one of them
    # False: jobs bid the same for any GPU of a type, as if their GPUs were packed into hosts
    topology_aware: bool = True

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        for model in self.models:
            if model not in MODELS:
                yield f"models: expected models of {', '.join(MODELS)}, found {shown(model)}"


class BatchTable(JobTable, frozen=True, kw_only=True):
    cold_seconds: Range = (240.0, 720.0)
    checkpoint_seconds: PaceRange = (600.0, 1200.0)
    sample_size: SizeRange = (0.1, 0.4)  # 1 is a human genome read 50 times over


class Band(Table, frozen=True, kw_only=True):
    """Prices move by at most this share of themselves within `seconds`."""

    share: Annotated[float, Meta(ge=0, le=1000)]  # a band of a thousand anchors bounds nothing
    seconds: Positive


class MarketTable(Table, frozen=True, kw_only=True):
    """The market's controls, the same for every tree. None leaves the market's default."""

    rise: Band | None = None  # of bids
    fall: Band | None = None  # of floors
    hold_seconds: NotNegative | None = None  # a younger lease is not taken away by price
    flash_seconds: NotNegative | None = None  # the minimum charge of an order that is cancelled

    @property
    def sets_any(self) -> bool:
        return any(getattr(self, field) is not None for field in MarketTable.__struct_fields__)


class FloorTable(Table, frozen=True, kw_only=True):
    node: Text
    # dollars per GPU-hour, up to the highest price of the market
    price: Annotated[float, Meta(ge=0, le=10_000)]


class ControlsTable(MarketTable, frozen=True, kw_only=True):
    node: Text


class ActionTable(Table, frozen=True, kw_only=True):
    """One action of the operator. Floors and controls exist in the market alone."""

    at_minutes: NotNegative
    floor: FloorTable | None = None
    controls: ControlsTable | None = None
    offline: Text | None = None  # a node: all leaves below it
    online: Text | None = None

    def conflicts(self) -> Iterator[str]:
        given = self._given()
        if len(given) != 1:
            yield (
                f"at_minutes: expected one of {', '.join(self.__struct_fields__[1:])} beside it,"
                f" found {' and '.join(given) or 'none'}"
            )

    @property
    def target(self) -> tuple[str, str]:
        """The field that names the node, and the node."""
        ((field, value),) = self._given().items()
        return (field, value) if isinstance(value, str) else (f"{field}.node", value.node)

    def _given(self) -> dict[str, str | FloorTable | ControlsTable]:
        fields = msgspec.structs.asdict(self)
        return {name: fields[name] for name in list(fields)[1:] if fields[name] is not None}


class FailuresTable(Table, frozen=True, kw_only=True):
    """Hosts fail and are repaired after exponentially distributed times; these are the means."""

    mtbf_hours: Annotated[float, Meta(ge=0.1, le=LARGEST)]
    repair_hours: Positive = 1.0


class Scenario(Table, frozen=True, kw_only=True):
    name: Text = "scenario"
    hours: Hours = 3.0  # the shortest run from a start; others end with the last deadline
    demand: Positive | None = None  # GPUs that all tenants typically need over GPUs that exist
    start: File | None = None  # a snapshot of a market to start from, with its cluster
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

    def conflicts(self) -> Iterator[str]:
        yield from self._missing_files("start", "maps")
        end_min = self._latest_hours() * 60
        for at, action in enumerate(self.actions):
            if action.at_minutes >= end_min:
                yield (
                    f"actions[{at}].at_minutes: expected less than {end_min:g}, when every run is"
                    f" over, found {action.at_minutes:g}"
                )
        if self.start is None:  # a start brings its own cluster
            yield from self._cluster_conflicts()

    def _cluster_conflicts(self) -> Iterator[str]:
        if not self.tenants.count:
            yield (
                "tenants.count: expected an integer from 1 on where nobody is there before them (no"
                " start), found 0"
            )
        if (self.demand is None) == (self.cluster.gpus is None):
            found = "neither" if self.demand is None else "both"
            yield f"demand: expected either this or cluster.gpus, found {found}"
        field = "shares" if self.cluster.gpus is None else "gpus"
        priced = self.prices.by_type
        for name in self.cluster.types:
            if name not in priced:
                yield (
                    f"cluster.{field}.{name}: expected a type that has a price"
                    f" ({', '.join(priced)}), found {shown(name)}"
                )
                continue
            for kind in self.tenants.mix:
                if name not in self._profiled(kind):
                    yield (
                        f"cluster.{field}.{name}: expected a type that {kind} tenants have a"
                        f" profile for, found {shown(name)}"
                    )

    def _latest_hours(self) -> float:
        """The latest possible end of a run: the last deadline, with a start at least `hours`."""
        longest = [getattr(self, kind).hours[1] for kind in self.tenants.mix if self.tenants.count]
        latest: float = self.tenants.arrivals_hours + max(longest) if longest else 0.0
        return latest if self.start is None else max(latest, self.hours)

    def _profiled(self, kind: str) -> frozenset[str]:
        """The types on which the speed of such tenants is known."""
        match kind:
            case "inference":
                return frozenset(built_in(INFERENCE_MODEL, 1))
            case "training":
                profiles = (MODELS[model].work_ms for model in self.training.models)
                return frozenset.intersection(*map(frozenset, profiles))
            case _:
                return frozenset(RUN_TIMES)


def _exists(file: str) -> bool:
    try:
        return Path(file).is_file()
    except OSError:  # the name may be too long, or the folder closed
        return False
