"""The input of a decision: the time, the settings in force in the market, the readings, and the
memory of the previous decision. Nothing here does I/O.

The same view gives the same decision, live, simulated or in a test. The caller takes the readings
(`Operator.read`) and asks the market.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from laissez.market.answers import ControlsView


def path_of(node: str) -> tuple[str, ...]:
    """From the root down to the node itself."""
    words = node.split("/")
    return tuple("/".join(words[: depth + 1]) for depth in range(len(words)))


def in_path_order(node: str) -> list[str]:
    """The key that sorts as the market does: part by part."""
    return node.split("/")


class LeafIndex:
    """All leaves of a topology, in path order. It caches the leaves below each node, so make it
    once and put it into every view."""

    __slots__ = ("_below", "paths")

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(sorted(paths, key=in_path_order))
        self._below: dict[str, tuple[str, ...]] = {}

    def below(self, node: str) -> tuple[str, ...]:
        """The leaves below a node; none if there is no such node."""
        if node not in self._below:
            inside = node + "/"
            self._below[node] = tuple(
                leaf for leaf in self.paths if leaf == node or leaf.startswith(inside)
            )
        return self._below[node]


class Reading(msgspec.Struct, frozen=True, gc=False):
    """A value that is not yet checked, and its time in microseconds on the clock of
    `OperatorView.now`."""

    value: float
    at: int


class Missing(msgspec.Struct, frozen=True, gc=False):
    """No reading, and why."""

    reason: str


class AlarmKind(StrEnum):
    """`docs/guides/inframaps.md` says what each means and what to do."""

    MISSING = "missing"
    STALE = "stale"
    FROM_THE_FUTURE = "from_the_future"
    NOT_A_NUMBER = "not_a_number"
    OUT_OF_RANGE = "out_of_range"
    MAP_FAILED = "map_failed"
    UNKNOWN_NODE = "unknown_node"
    LEFT_OFFLINE = "left_offline"


class Alarm(msgspec.Struct, frozen=True, gc=False):
    """A fault that a person must mend. Every decision repeats it as long as it holds.

    `where` is the map, window or node; `signal` is empty if none is affected; `since` is in
    microseconds.
    """

    kind: AlarmKind
    where: str
    signal: str
    since: int
    reason: str

    @property
    def key(self) -> str:
        """The subject. An alarm whose kind changes is still the same alarm."""
        return alarm_key(self.where, self.signal)


def alarm_key(where: str, signal: str) -> str:
    return f"{where}: {signal}"


class FloorState(msgspec.Struct, frozen=True, gc=False):
    """The movement of a floor. `direction` is 1 up, -1 down, 0 at rest; `since` is its start or the
    time of the last request; `asked` is the requested price."""

    direction: int
    since: int
    asked: int | None = None


class Memory(msgspec.Struct, frozen=True):
    """The state between two decisions, as plain data that the caller carries or stores.

    A caller that loses it is always on the safe side: floors wait before they fall, alarms count
    from now, and leaves that maintenance took offline are named in an alarm instead of coming back.
    """

    floors: Mapping[str, FloorState] = {}  # by node
    alarms: Mapping[str, int] = {}  # by key: since when
    seen: Mapping[str, Reading] = {}  # the last usable reading of each signal of each map
    taken: frozenset[str] = frozenset()  # leaves that maintenance took offline


class OperatorView(msgspec.Struct, frozen=True):
    """One instant. Prices are micro-dollars per hour, times microseconds.

    `floors` and `controls` are the nodes' own, from any source; `leased` and `offline` are leaves.
    """

    now: int
    leaves: LeafIndex
    floors: Mapping[str, int] = {}
    controls: Mapping[str, ControlsView] = {}
    leased: frozenset[str] = frozenset()
    offline: frozenset[str] = frozenset()
    readings: Mapping[str, Reading | Missing | None] = {}
    memory: Memory = Memory()

    def online(self, node: str) -> tuple[str, ...]:
        """The leaves below a node that can be rented."""
        return tuple(leaf for leaf in self.leaves.below(node) if leaf not in self.offline)

    def share_leased(self, node: str) -> float:
        """The leased share of the online leaves below a node; 0 if none is online."""
        online = self.online(node)
        return sum(leaf in self.leased for leaf in online) / len(online) if online else 0.0

    def continued(self, alarm: Alarm) -> Alarm:
        """The alarm with its original time if it held before."""
        return msgspec.structs.replace(alarm, since=self.memory.alarms.get(alarm.key, alarm.since))
