"""What operators' maps report, and what of it is shown. Nothing of it changes the market, so
nothing is stored."""

from __future__ import annotations

from collections.abc import Iterable

from laissez.server.http.call import Answer, Call
from laissez.wire.decoding import read_price, read_time
from laissez.wire.inframaps import RUNNER_MAX, FloorReport, InfraMapsReport, MapReport
from laissez.wire.problems import Code, ProblemError
from laissez.wire.views import Done


def report(call: Call) -> Answer:
    name = call.path["runner"]
    if len(name) > RUNNER_MAX or not name.isprintable():
        raise ProblemError(
            Code.BAD_REQUEST,
            f"runner: expected 1 to {RUNNER_MAX} printable characters, found {name[:RUNNER_MAX]!r}",
        )
    _check(call.body)
    call.site.inframaps.take(name, call.body, call.gateway.clock.now())
    return Answer(Done(()))


def shown(call: Call) -> Answer:
    return Answer(call.site.inframaps.shown(call.gateway.clock.now(), call.time("since")))


def _check(reported: InfraMapsReport) -> None:
    """What the structs themselves do not see to: that times are times, prices are prices, and every
    map has a name of its own."""
    read_time(reported.at, "at")
    _once((each.name for each in reported.maps), "maps")
    _once((each.node for each in reported.floors), "floors")
    for index, each in enumerate(reported.maps):
        _check_map(each, f"maps[{index}]")
    for index, floor in enumerate(reported.floors):
        _check_floor(floor, f"floors[{index}]")
    for index, alarm in enumerate(reported.alarms):
        read_time(alarm.since, f"alarms[{index}].since")


def _check_map(each: MapReport, place: str) -> None:
    times = {"start": each.start, "end": each.end} | {
        f"signals[{index}].at": signal.at for index, signal in enumerate(each.signals)
    }
    for field, text in times.items():
        if text is not None:
            read_time(text, f"{place}.{field}")


def _check_floor(floor: FloorReport, place: str) -> None:
    for field, text in (
        ("base", floor.base),
        ("wanted", floor.wanted),
        ("in_force", floor.in_force),
        ("asked", floor.asked),
    ):
        if text is not None:
            read_price(text, f"{place}.{field}")


def _once(names: Iterable[str], place: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ProblemError(
                Code.BAD_REQUEST, f"{place}: expected each once, found {name!r} more often"
            )
        seen.add(name)
