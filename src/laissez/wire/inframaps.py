"""Reports of an operator's InfraMaps: the signals they read, their pressures, and how each floor
comes about. Each report replaces the previous one."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

RUNNER_MAX: Final = 64  # characters of a runner's name
NAME_MAX: Final = 200  # characters of a map's or a signal's name
PATH_MAX: Final = 1_100  # characters: more than the longest path has
WORDS_MAX: Final = 500  # characters of a reason
MAPS_MAX: Final = 500
SIGNALS_MAX: Final = 20  # that one map reads
# that one map presses on, or that have a floor: what fits into a request in any case
NODES_MAX: Final = 2_000
PACE_S_MAX: Final = 86_400

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=NAME_MAX)]
Path: TypeAlias = Annotated[str, Meta(min_length=1, max_length=PATH_MAX)]
Words: TypeAlias = Annotated[str, Meta(max_length=WORDS_MAX)]
Pressure: TypeAlias = Annotated[float, Meta(ge=0)]
Paths: TypeAlias = Annotated[tuple[Path, ...], Meta(min_length=1, max_length=NODES_MAX)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class SignalRead(_Part, frozen=True):
    """`value` is what the map uses, read at `at`: the last reading, or the one before while that is
    fresh enough; `null` if neither is usable. `missing` says why the last one is not."""

    signal: Name
    value: float | None = None
    at: str | None = None
    missing: Words | None = None


class Pressed(_Part, frozen=True):
    node: Path
    pressure: Pressure


class MapReport(_Part, frozen=True):
    """`kind` is power, cooling, carbon, utilisation, maintenance, or "module:Class" of an
    operator's own; `start` and `end` are of maintenance."""

    name: Name
    kind: Name
    nodes: Paths
    weight: Pressure
    signals: Annotated[tuple[SignalRead, ...], Meta(max_length=SIGNALS_MAX)]
    pressures: Annotated[tuple[Pressed, ...], Meta(max_length=NODES_MAX)]
    start: str | None = None
    end: str | None = None


class FloorTerm(_Part, frozen=True):
    """A map adds `weight x pressure` base prices to a floor."""

    map: Name
    weight: Pressure
    pressure: Pressure


class FloorReport(_Part, frozen=True):
    """`wanted` is `base x (1 + sum of the terms)` within its bounds, `in_force` the market's floor,
    and `asked` the new one asked for, if any."""

    node: Path
    base: str
    wanted: str
    in_force: str
    asked: str | None
    terms: Annotated[tuple[FloorTerm, ...], Meta(max_length=MAPS_MAX)]


class AlarmReport(_Part, frozen=True):
    kind: Name
    where: Path
    signal: Annotated[str, Meta(max_length=NAME_MAX)]
    since: str
    reason: Words


class InfraMapsReport(_Part, frozen=True):
    """The state of an operator's maps at `at`; the next report is due in `pace_s` seconds."""

    at: str
    pace_s: Annotated[float, Meta(gt=0, le=PACE_S_MAX)]
    maps: Annotated[tuple[MapReport, ...], Meta(max_length=MAPS_MAX)]
    floors: Annotated[tuple[FloorReport, ...], Meta(max_length=NODES_MAX)]
    alarms: Annotated[tuple[AlarmReport, ...], Meta(max_length=NODES_MAX)]


class MapShown(MapReport, frozen=True, kw_only=True):
    """`history`, oldest first: when, the value of the map's first signal, and its highest
    pressure."""

    history: tuple[tuple[str, float | None, float], ...]


class RunnerShown(msgspec.Struct, frozen=True):
    """The last report of one runner; `late` if the next one is overdue."""

    runner: str
    at: str
    pace_s: float
    late: bool
    maps: tuple[MapShown, ...]
    floors: tuple[FloorReport, ...]
    alarms: tuple[AlarmReport, ...]


class InfraMaps(msgspec.Struct, frozen=True):
    at: str
    runners: tuple[RunnerShown, ...]
