"""`maps.toml`: all of an operator's maps in one file. `docs/maps.toml` shows every table and
`docs/operators.md` says what they mean.

Nothing is asked of the market or of a source while reading, except that traces are loaded and
Python code is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from laissez.config import Reader, imported, load_toml, shown
from laissez.operators.base import Base
from laissez.operators.carbon import Carbon
from laissez.operators.composition import Composition
from laissez.operators.controls import Controls
from laissez.operators.cooling import Cooling
from laissez.operators.course import Pace
from laissez.operators.errors import MapError, MapsFileError
from laissez.operators.fields import Node
from laissez.operators.inframap import InfraMap
from laissez.operators.maintenance import Maintenance
from laissez.operators.operator import Operator
from laissez.operators.power import Power
from laissez.operators.sources import CsvTrace, PrometheusQuery, PythonCallable, Source
from laissez.operators.utilisation import Utilisation

T = TypeVar("T")
_Table: TypeAlias = Annotated[dict[str, Any], Meta(description="a table")]
_Tables: TypeAlias = Mapping[str, _Table]

MAPS: Final[dict[str, type[InfraMap]]] = {
    "power": Power,
    "cooling": Cooling,
    "carbon": Carbon,
    "utilisation": Utilisation,
}
SOURCES: Final[dict[str, type[Source]]] = {
    "csv": CsvTrace,
    "prometheus": PrometheusQuery,
    "python": PythonCallable,
}


class _Sections(msgspec.Struct):
    floors: _Table = {}
    base: _Tables = {}
    signals: _Tables = {}
    maps: _Tables = {}
    maintenance: _Tables = {}
    controls: _Tables = {}


def read_maps(path: Path | str) -> Operator:
    """The operator that a file describes. Raises `MapsFileError` with all that is wrong with it."""
    file = Path(path)
    reading = _Reading(file)
    bases = reading.each("base", Base, "node")
    sources = dict(reading.sources())
    maps = list(reading.maps())
    maintenance = reading.each("maintenance", Maintenance, "name")
    controls = reading.each("controls", Controls, "node")
    pace = reading.reader.table(("floors",), Pace, reading.sections.get("floors") or {})
    reading.check(bases, maps)
    try:
        composition = Composition(
            bases=bases,
            maps=maps,
            maintenance=maintenance,
            controls=controls,
            pace=pace or Pace(),
        )
    except MapError as error:
        raise MapsFileError(f"{file}: {error}") from None
    return Operator(composition, sources)


class _Reading:
    """A file while it is read, section by section."""

    def __init__(self, file: Path) -> None:
        self.reader = Reader(str(file), file.parent)
        self.sections = self.reader.fields((), _Sections, load_toml(file, MapsFileError))

    def each(self, section: str, kind: type[T], key: str) -> list[T]:
        """The tables of a section, each called by its name, which becomes the field `key`."""
        made = []
        for name, table in self._tables(section):
            if key == "node":
                self.reader.value((section, name), Node, name)
            made.append(self.reader.table((section, name), kind, table, **{key: name}))
        return [each for each in made if each is not None]

    def sources(self) -> Iterator[tuple[str, Source]]:
        for name, table in self._tables("signals"):
            kind = SOURCES.get(str(table.get("source")))
            if kind is None:
                self._wrong_kind(("signals", name, "source"), SOURCES, table)
                continue
            del table["source"]
            source = self.reader.table(("signals", name), kind, table)
            if source is not None:
                yield name, source

    def maps(self) -> Iterator[InfraMap]:
        for name, table in self._tables("maps"):
            kind = self._kind_of_map(name, table)
            table.pop("kind", None)
            if kind is not None and (
                each := self.reader.table(("maps", name), kind, table, name=name)
            ):
                yield each

    def check(self, bases: list[Base], maps: list[InfraMap]) -> None:
        signals = self.sections.get("signals") or {}
        for each in maps:
            for signal in each.signals():
                if signal not in signals:
                    self.reader.wrong(
                        ("maps", each.name),
                        f"expected a signal with a table [signals.{signal}], found"
                        f" {', '.join(signals) or 'no signals'}",
                    )
        if not bases and not self.reader.mistakes:
            self.reader.wrong(
                ("base",),
                "expected at least one base price, such as a table [base.h100], found none",
            )
        self.reader.check(MapsFileError)

    def _tables(self, section: str) -> Iterator[tuple[str, dict[str, Any]]]:
        tables = self.sections.get(section) or {}
        return ((name, table) for name, table in tables.items() if table is not None)

    def _kind_of_map(self, name: str, table: Mapping[str, object]) -> type[InfraMap] | None:
        written, place = table.get("kind"), ("maps", name, "kind")
        if not isinstance(written, str) or ":" not in written:
            if written not in MAPS:
                self._wrong_kind(place, [*MAPS, '"package.module:Class"'], table)
            return MAPS.get(str(written))
        try:
            found: type[InfraMap] = imported(written)
        except ValueError as error:
            self.reader.wrong(place, str(error))
            return None
        is_map = isinstance(found, type) and issubclass(found, InfraMap)
        if not is_map or issubclass(found, Maintenance):
            self.reader.wrong(place, f"expected a subclass of InfraMap, found {shown(found)}")
            return None
        return found

    def _wrong_kind(
        self, place: tuple[str, str, str], known: Iterable[str], table: Mapping[str, object]
    ) -> None:
        found = shown(table.get(place[-1]))
        self.reader.wrong(place, f"expected one of {', '.join(known)}, found {found}")
