"""From a decision of an operator's maps to the report that the server shows. Everything in it is
what the decision was made of.

A report is for people to look at, so what is longer than the server takes is cut short rather than
not told at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from laissez.market.commands import TIME_MAX_US
from laissez.operators import Alarm, Decision, InfraMap, Maintenance, Priced
from laissez.operators.config import MAPS
from laissez.operators.view import alarm_key
from laissez.units import format_price, format_time
from laissez.wire.inframaps import (
    NAME_MAX,
    PATH_MAX,
    WORDS_MAX,
    AlarmReport,
    FloorReport,
    FloorTerm,
    InfraMapsReport,
    MapReport,
    Pressed,
    SignalRead,
)

KINDS: Final = {kind: name for name, kind in MAPS.items()}


def make_report(
    maps: Sequence[InfraMap], decision: Decision, now: int, pace_s: float
) -> InfraMapsReport:
    alarms = {alarm.key: alarm for alarm in decision.alarms}
    return InfraMapsReport(
        format_time(now),
        pace_s,
        tuple(_map(each, decision, alarms) for each in maps),
        tuple(_floor(each) for each in decision.priced),
        tuple(_alarm(each) for each in decision.alarms),
    )


def _map(each: InfraMap, decision: Decision, alarms: Mapping[str, Alarm]) -> MapReport:
    start, end = (
        (format_time(each.start), format_time(each.end))
        if isinstance(each, Maintenance)
        else (None, None)
    )
    signals = tuple(_signal(each, signal, decision, alarms) for signal in each.signals())
    pressures = tuple(
        Pressed(node, pressure) for node, pressure in decision.pressures[each.name].items()
    )
    return MapReport(
        _cut(each.name, NAME_MAX),
        _kind(each),
        each.nodes,
        each.weight,
        signals,
        pressures,
        start,
        end,
    )


def _kind(each: InfraMap) -> str:
    """As it is written in a file of maps."""
    kind = type(each)
    own = (
        "maintenance" if isinstance(each, Maintenance) else f"{kind.__module__}:{kind.__qualname__}"
    )
    return _cut(KINDS.get(kind, own), NAME_MAX)


def _signal(
    each: InfraMap, signal: str, decision: Decision, alarms: Mapping[str, Alarm]
) -> SignalRead:
    key = alarm_key(each.name, signal)
    reading, alarm = decision.memory.seen.get(key), alarms.get(key)
    missing = None if alarm is None else _cut(alarm.reason, WORDS_MAX)
    if reading is None:
        return SignalRead(_cut(signal, NAME_MAX), missing=missing)
    return SignalRead(_cut(signal, NAME_MAX), float(reading.value), _moment(reading.at), missing)


def _floor(priced: Priced) -> FloorReport:
    terms = tuple(
        FloorTerm(_cut(term.name, NAME_MAX), term.weight, term.pressure) for term in priced.terms
    )
    asked = None if priced.asked is None else format_price(priced.asked)
    return FloorReport(
        priced.node,
        format_price(priced.base),
        format_price(priced.wanted),
        format_price(priced.in_force),
        asked,
        terms,
    )


def _alarm(alarm: Alarm) -> AlarmReport:
    signal, where, reason = (
        _cut(alarm.signal, NAME_MAX),
        _cut(alarm.where, PATH_MAX),
        _cut(alarm.reason, WORDS_MAX),
    )
    return AlarmReport(alarm.kind.value, where, signal, _moment(alarm.since), reason)


def _moment(us: float) -> str:
    """A reading may bear any time that a source gives it, also one that is none; that is 1970
    then."""
    return format_time(int(us) if 0 <= us <= TIME_MAX_US else 0)


def _cut(text: str, most: int) -> str:
    """An operator's own code may say anything, also what no JSON can hold."""
    sound = text.encode(errors="replace").decode()
    return sound if len(sound) <= most else sound[: most - 3] + "..."
