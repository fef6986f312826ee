"""Between the telemetry and the maps: whatever is missing, old, no number or absurd goes no further
than this.

An alarm says what came. One lost answer must not cost a tenant its lease, so the last reading that
could be used holds until it is older than the map's `stale_after_s`; from then on the map presses
with its stated `safe_pressure`. So does a map that fails by itself: one mistake in one map must
neither set an absurd price nor keep the other maps from theirs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from laissez.config import shown
from laissez.operators.alarms import Alarm, AlarmKind, subject
from laissez.operators.fields import Range
from laissez.operators.inframap import InfraMap
from laissez.operators.reading import Missing, Reading
from laissez.operators.view import OperatorView
from laissez.units import SECOND_US

# clocks of one site differ by less; a reading further ahead would never be old
AHEAD_MAX_US: Final = 60 * SECOND_US


class Judgement(msgspec.Struct, frozen=True, gc=False):
    """The pressure of one map on each of its nodes, finite and not negative; what is wrong; and the
    readings to remember."""

    pressures: Mapping[str, float]
    alarms: tuple[Alarm, ...]
    seen: Mapping[str, Reading]


class _Unusable(Exception):
    """A reading that no map is shown."""

    def __init__(self, kind: AlarmKind, reason: str, since: int | None = None) -> None:
        super().__init__(reason)
        self.kind = kind
        self.since = since


def judge(each: InfraMap, view: OperatorView) -> Judgement:
    """Ask a map, if what it reads can be used."""
    signals = each.signals()
    seen: dict[str, Reading] = {}
    alarms: list[Alarm] = []
    for signal, plausible in signals.items():
        try:
            seen[signal] = _usable(view.readings.get(signal), plausible, each, view.now)
        except _Unusable as found:
            seen |= _remembered(each, signal, view)
            alarms.append(_alarm(each, signal, found, view, is_safe=signal not in seen))
    pressures = dict.fromkeys(each.nodes, each.safe_pressure)
    if len(seen) == len(signals):
        try:
            values = {signal: float(reading.value) for signal, reading in seen.items()}
            pressures = {node: _pressure(each, node, values, view) for node in each.nodes}
        except _Unusable as found:
            alarms.append(_alarm(each, "", found, view, is_safe=True))
    return Judgement(
        pressures,
        tuple(alarms),
        {subject(each.name, signal): reading for signal, reading in seen.items()},
    )


def _usable(
    reading: Reading | Missing | None, plausible: Range, each: InfraMap, now: int
) -> Reading:
    if reading is None:
        raise _Unusable(AlarmKind.MISSING, "nobody read it")
    if isinstance(reading, Missing):
        raise _Unusable(AlarmKind.MISSING, reading.reason)
    value: object = reading.value
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124
        raise _Unusable(AlarmKind.NOT_A_NUMBER, f"expected a number, found {shown(value)}")
    if not plausible[0] <= value <= plausible[1]:
        raise _Unusable(
            AlarmKind.OUT_OF_RANGE,
            f"expected {plausible[0]:g} to {plausible[1]:g}, found {shown(value)}",
        )
    if reading.at > now + AHEAD_MAX_US:
        raise _Unusable(
            AlarmKind.FROM_THE_FUTURE,
            "expected a reading of now or before, found one of"
            f" {(reading.at - now) / SECOND_US:.0f} s ahead",
        )
    if not _is_fresh(reading, each, now):
        found = f"found one {(now - reading.at) / SECOND_US:.0f} s old"
        since = reading.at + round(each.stale_after_s * SECOND_US)
        raise _Unusable(
            AlarmKind.STALE,
            f"expected a reading of the last {each.stale_after_s:g} s, {found}",
            since,
        )
    return reading


def _is_fresh(reading: Reading, each: InfraMap, now: int) -> bool:
    return now - reading.at <= each.stale_after_s * SECOND_US


def _remembered(each: InfraMap, signal: str, view: OperatorView) -> dict[str, Reading]:
    last = view.memory.seen.get(subject(each.name, signal))
    return {signal: last} if last is not None and _is_fresh(last, each, view.now) else {}


def _pressure(each: InfraMap, node: str, values: Mapping[str, float], view: OperatorView) -> float:
    try:
        pressure = float(each.pressure(node, values, view))
    except Exception as error:  # whatever an operator's own code may raise
        raise _Unusable(
            AlarmKind.MAP_FAILED,
            f"expected a pressure for {node}, found {type(error).__name__}: {error}",
        ) from error
    if not math.isfinite(pressure):
        raise _Unusable(
            AlarmKind.MAP_FAILED, f"expected a finite pressure for {node}, found {pressure}"
        )
    return max(0.0, pressure)


def _alarm(
    each: InfraMap, signal: str, found: _Unusable, view: OperatorView, *, is_safe: bool
) -> Alarm:
    then = (
        f"the map presses with its safe pressure, {each.safe_pressure:g}"
        if is_safe
        else "its last reading still holds"
    )
    return standing(
        Alarm(
            found.kind,
            each.name,
            signal,
            view.now if found.since is None else found.since,
            f"{found}; {then}",
        ),
        view,
    )


def standing(alarm: Alarm, view: OperatorView) -> Alarm:
    """The alarm with the time since which it stands, if it stood before."""
    return msgspec.structs.replace(alarm, since=view.memory.alarms.get(alarm.key, alarm.since))
