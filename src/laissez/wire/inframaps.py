"""Reports of an operator's infrastructure maps: the signals they read, the pressure they add, and
the floors that result.

Each report replaces the one before. Prices and times are text; other values are finite numbers.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

RUNNER_MAX: Final = 64  # characters of a runner's name
NAME_MAX: Final = 200  # characters of a map's or a signal's name
PATH_MAX: Final = 1_100  # characters; the longest path has fewer
WORDS_MAX: Final = 500  # characters of a reason
MAPS_MAX: Final = 500
SIGNALS_MAX: Final = 20  # per map
NODES_MAX: Final = 2_000  # per map, and with a floor: always fits into a request
PACE_S_MAX: Final = 86_400

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=NAME_MAX)]
Path: TypeAlias = Annotated[str, Meta(min_length=1, max_length=PATH_MAX)]
Words: TypeAlias = Annotated[str, Meta(max_length=WORDS_MAX)]
Pressure: TypeAlias = Annotated[float, Meta(ge=0)]
Paths: TypeAlias = Annotated[tuple[Path, ...], Meta(min_length=1, max_length=NODES_MAX)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class SignalRead(_Part, frozen=True):
    """`value` is the reading that the map uses, taken at `at`. `missing` says why the latest
    reading is unusable; then `value` is an earlier one, or `null` once that is too old."""

    signal: Name
    value: float | None = None
    at: str | None = None
    missing: Words | None = None


class Pressed(_Part, frozen=True):
    node: Path
    pressure: Pressure


class MapReport(_Part, frozen=True):
    """`kind` is power, cooling, carbon, utilisation, maintenance, or "module:Class" for a map of
    the operator's own. Only maintenance has `start` and `end`."""

    name: Name
    kind: Name
    nodes: Paths
    weight: Pressure
    signals: Annotated[tuple[SignalRead, ...], Meta(max_length=SIGNALS_MAX)]
    pressures: Annotated[tuple[Pressed, ...], Meta(max_length=NODES_MAX)]
    start: str | None = None
    end: str | None = None


class FloorTerm(_Part, frozen=True):
    """One map's share in a floor: it adds `weight x pressure` times the base price."""

    map: Name
    weight: Pressure
    pressure: Pressure


class FloorReport(_Part, frozen=True):
    """`wanted` is `base x (1 + sum of the terms)`, within its bounds. `in_force` is the floor that
    the runner found in the market. `asked` is the floor that it then requested, if any."""

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
    """The readings and decisions of an operator's maps at `at`. The next report is due in `pace_s`
    seconds."""

    at: str
    pace_s: Annotated[float, Meta(gt=0, le=PACE_S_MAX)]
    maps: Annotated[tuple[MapReport, ...], Meta(max_length=MAPS_MAX)]
    floors: Annotated[tuple[FloorReport, ...], Meta(max_length=NODES_MAX)]
    alarms: Annotated[tuple[AlarmReport, ...], Meta(max_length=NODES_MAX)]


class MapShown(MapReport, frozen=True, kw_only=True):
    """A map with its `history`, oldest first: the time, the value of its first signal, and its
    highest pressure."""

    history: tuple[tuple[str, float | None, float], ...]


class RunnerShown(msgspec.Struct, frozen=True):
    """The last report of one runner. It is `late` if the next report is well overdue."""

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
