"""The report of a decision by an operator's maps, for the server to show. It has all inputs of the
decision.

A report is for people, so a text that is too long for the server is truncated instead of refused.
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

KINDS: Final[dict[type[InfraMap], str]] = {
    **{kind: name for name, kind in MAPS.items()},
    Maintenance: "maintenance",
}


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
    period = (each.start, each.end) if isinstance(each, Maintenance) else ()
    return MapReport(
        _cut(each.name, NAME_MAX),
        _kind(type(each)),
        each.nodes,
        each.weight,
        tuple(_signal(each, signal, decision, alarms) for signal in each.signals()),
        tuple(Pressed(*pressed) for pressed in decision.pressures[each.name].items()),
        *map(format_time, period),
    )


def _kind(kind: type[InfraMap]) -> str:
    """The kind as a file of maps spells it."""
    return _cut(KINDS.get(kind, f"{kind.__module__}:{kind.__qualname__}"), NAME_MAX)


def _signal(
    each: InfraMap, signal: str, decision: Decision, alarms: Mapping[str, Alarm]
) -> SignalRead:
    key = alarm_key(each.name, signal)
    reading, alarm = decision.memory.seen.get(key), alarms.get(key)
    missing = None if alarm is None else _cut(alarm.reason, WORDS_MAX)
    if reading is None:
        return SignalRead(_cut(signal, NAME_MAX), missing=missing)
    return SignalRead(_cut(signal, NAME_MAX), float(reading.value), _time(reading.at), missing)


def _floor(priced: Priced) -> FloorReport:
    terms = tuple(
        FloorTerm(_cut(term.name, NAME_MAX), term.weight, term.pressure) for term in priced.terms
    )
    base, wanted, in_force = map(format_price, (priced.base, priced.wanted, priced.in_force))
    asked = None if priced.asked is None else format_price(priced.asked)
    return FloorReport(priced.node, base, wanted, in_force, asked, terms)


def _alarm(alarm: Alarm) -> AlarmReport:
    signal, where = _cut(alarm.signal, NAME_MAX), _cut(alarm.where, PATH_MAX)
    since, reason = _time(alarm.since), _cut(alarm.reason, WORDS_MAX)
    return AlarmReport(alarm.kind.value, where, signal, since, reason)


def _time(us: float) -> str:
    """The time of a reading, 1970 if its source gave an impossible one."""
    return format_time(int(us) if 0 <= us <= TIME_MAX_US else 0)


def _cut(text: str, most: int) -> str:
    """Truncate a text. An operator's own code may produce text that JSON cannot encode."""
    sound = text.encode(errors="replace").decode()
    return sound if len(sound) <= most else sound[: most - 3] + "..."
