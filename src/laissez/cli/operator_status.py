"""`laissez operator status`: what the maps of an operator read, how hard they press, and how each
floor comes about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import typer

from laissez.cli.connection import connected
from laissez.cli.output import Format, FormatOption
from laissez.cli.tables import Column, moment, money, show, show_json
from laissez.client import Client
from laissez.wire.inframaps import AlarmReport, FloorReport, MapReport, RunnerShown, SignalRead


class MapRow(NamedTuple):
    """A map and one of its signals; a map without signals has one row too."""

    map: MapReport
    signal: SignalRead | None

    @property
    def nodes(self) -> str:
        first, *others = self.map.nodes
        return f"{first} and {len(others)} more" if len(others) > 1 else " ".join(self.map.nodes)

    @property
    def value(self) -> str | None:
        if self.signal is None:
            return None
        return "none" if self.signal.value is None else f"{self.signal.value:g}"

    @property
    def pressure(self) -> float:
        return max((one.pressure for one in self.map.pressures), default=0.0)


MAPS: list[Column[MapRow]] = [
    Column("MAP", lambda row: row.map.name),
    Column("KIND", lambda row: row.map.kind),
    Column("NODES", lambda row: row.nodes),
    Column("SIGNAL", lambda row: row.signal and row.signal.signal, optional=True),
    Column("VALUE", lambda row: row.value, right=True, optional=True),
    Column("WEIGHT", lambda row: f"{row.map.weight:g}", right=True),
    Column("PRESSURE", lambda row: f"{row.pressure:.3f}", right=True),
    Column("STARTS", lambda row: moment(row.map.start), optional=True),
    Column("ENDS", lambda row: moment(row.map.end), optional=True),
]
FLOORS: list[Column[FloorReport]] = [
    Column("FLOOR", lambda floor: floor.node),
    Column("IN FORCE $/h", lambda floor: money(floor.in_force), right=True),
    Column(
        "ASKED $/h", lambda floor: floor.asked and money(floor.asked), right=True, optional=True
    ),
    Column("WANTED $/h", lambda floor: money(floor.wanted), right=True),
    Column("FROM", lambda floor: how(floor)),  # noqa: PLW0108  defined below
]
ALARMS: list[Column[AlarmReport]] = [
    Column("ALARM", lambda alarm: alarm.kind),
    Column("WHERE", lambda alarm: alarm.where),
    Column("SIGNAL", lambda alarm: alarm.signal, optional=True),
    Column("SINCE", lambda alarm: moment(alarm.since)),
    Column("REASON", lambda alarm: alarm.reason),
]


def how(floor: FloorReport) -> str:
    """How the floor that is wanted comes about; maps that do not press are left out."""
    terms = "".join(
        f" + {term.weight:g} x {term.pressure:.3g} {term.map}"
        for term in floor.terms
        if term.pressure
    )
    return f"{money(floor.base)} x (1{terms})" if terms else money(floor.base)


@connected
def status(client: Client, output: FormatOption = Format.TABLE) -> None:
    """Show what the maps read, how hard they press, and how each floor comes about."""
    found = client.inframaps()
    if output is Format.JSON:
        show_json(found)
    elif not found.runners:
        typer.echo("no maps have reported lately; `laissez operator run` starts them", err=True)
    for number, runner in enumerate(found.runners if output is Format.TABLE else ()):
        if number:
            typer.echo()
        _show(runner)


def _show(runner: RunnerShown) -> None:
    typer.echo(
        f"{runner.runner}: {moment(runner.at)}, every {runner.pace_s:g}"
        f" s{': LATE, nothing was heard of it since' if runner.late else ''}"
    )
    show(list(_rows(runner)), MAPS, Format.TABLE, "no maps")
    if runner.floors:
        typer.echo()
        show(runner.floors, FLOORS, Format.TABLE, "")
    if runner.alarms:
        typer.echo()
        show(runner.alarms, ALARMS, Format.TABLE, "")


def _rows(runner: RunnerShown) -> Iterator[MapRow]:
    for each in runner.maps:
        yield from (MapRow(each, signal) for signal in each.signals or (None,))
