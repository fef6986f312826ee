"""Between telemetry and maps: missing, stale, absurd or non-numeric readings go no further.

An alarm reports them. One lost answer must not cost a tenant its lease, so the last usable reading
holds until it is older than the map's `stale_after_s`; from then on the map presses with its
`safe_pressure`. So does a map that fails: a mistake in one map must neither set an absurd price nor
keep the other maps from theirs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from laissez.config import shown
from laissez.operators.fields import Range
from laissez.operators.inframap import InfraMap
from laissez.operators.view import Alarm, AlarmKind, Missing, OperatorView, Reading, alarm_key
from laissez.units import SECOND_US

# more than the clocks of one site differ; a reading from further ahead would never become stale
AHEAD_MAX_US: Final = 60 * SECOND_US


class Judgement(msgspec.Struct, frozen=True, gc=False):
    """The finite pressures of a map on its nodes, its alarms, and the readings to remember."""

    pressures: Mapping[str, float]
    alarms: tuple[Alarm, ...]
    seen: Mapping[str, Reading]


class _Unusable(Exception):
    """A reading that no map may see, or a map that failed."""

    def __init__(self, kind: AlarmKind, reason: str, since: int | None = None) -> None:
        super().__init__(reason)
        self.kind = kind
        self.since = since


def judge(each: InfraMap, view: OperatorView) -> Judgement:
    """Ask a map for its pressures if its readings are usable."""
    signals = each.signals()
    seen: dict[str, Reading] = {}
    alarms: list[Alarm] = []
    for signal, plausible in signals.items():
        try:
            seen[signal] = _usable(view.readings.get(signal), plausible, each, view.now)
        except _Unusable as found:
            last = view.memory.seen.get(alarm_key(each.name, signal))
            if last is not None and _is_fresh(last, each, view.now):
                seen[signal] = last
            alarms.append(_alarm(each, signal, found, view, is_safe=signal not in seen))
    pressures = dict.fromkeys(each.nodes, each.safe_pressure)
    if len(seen) == len(signals):
        try:
            values = {signal: float(reading.value) for signal, reading in seen.items()}
            pressures = {node: _pressure(each, node, values, view) for node in each.nodes}
        except _Unusable as found:
            alarms.append(_alarm(each, "", found, view, is_safe=True))
    remembered = {alarm_key(each.name, signal): reading for signal, reading in seen.items()}
    return Judgement(pressures, tuple(alarms), remembered)


def _usable(
    reading: Reading | Missing | None, plausible: Range, each: InfraMap, now: int
) -> Reading:
    if not isinstance(reading, Reading):
        raise _Unusable(AlarmKind.MISSING, "nobody read it" if reading is None else reading.reason)
    value: object = reading.value
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124
        raise _Unusable(AlarmKind.NOT_A_NUMBER, f"expected a number, found {shown(value)}")
    low, high = plausible
    if not low <= value <= high:
        reason = f"expected {low:g} to {high:g}, found {shown(value)}"
        raise _Unusable(AlarmKind.OUT_OF_RANGE, reason)
    age_us = now - reading.at
    if age_us < -AHEAD_MAX_US:
        raise _Unusable(
            AlarmKind.FROM_THE_FUTURE,
            f"expected a reading of now or before, found one of {-age_us / SECOND_US:.0f} s ahead",
        )
    if not _is_fresh(reading, each, now):
        raise _Unusable(
            AlarmKind.STALE,
            f"expected a reading of the last {each.stale_after_s:g} s, found one"
            f" {age_us / SECOND_US:.0f} s old",
            since=reading.at + round(each.stale_after_s * SECOND_US),
        )
    return reading


def _is_fresh(reading: Reading, each: InfraMap, now: int) -> bool:
    return now - reading.at <= each.stale_after_s * SECOND_US


def _pressure(each: InfraMap, node: str, values: Mapping[str, float], view: OperatorView) -> float:
    try:
        pressure = float(each.pressure(node, values, view))
    except Exception as error:  # an operator's own code may raise anything
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
    then = "its last reading still holds"
    if is_safe:
        then = f"the map presses with its safe pressure, {each.safe_pressure:g}"
    since = view.now if found.since is None else found.since
    return view.continued(Alarm(found.kind, each.name, signal, since, f"{found}; {then}"))
