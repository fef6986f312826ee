"""`maps.toml`: all of an operator's maps in one file. `docs/examples/maps.toml` shows every table
and `docs/guides/inframaps.md` explains them.

Reading asks neither the market nor a source; it only loads traces and imports Python code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from laissez.config import Reader, imported, load_toml, shown
from laissez.operators.composition import Composition
from laissez.operators.controls import Controls
from laissez.operators.fields import MapError, MapsFileError, Node
from laissez.operators.inframap import InfraMap
from laissez.operators.maintenance import Maintenance
from laissez.operators.maps import Carbon, Cooling, Power, Utilisation
from laissez.operators.operator import Operator
from laissez.operators.pricing import Base
from laissez.operators.slew import SlewLimits
from laissez.operators.sources import CsvTrace, PrometheusQuery, PythonCallable, Source

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
    """The operator in a file. Raises `MapsFileError` with all mistakes."""
    file = Path(path)
    maps_file = _MapsFile(file)
    bases = maps_file.named("base", Base, "node")
    sources = dict(maps_file.sources())
    maps = list(maps_file.maps())
    maintenance = maps_file.named("maintenance", Maintenance, "name")
    controls = maps_file.named("controls", Controls, "node")
    floors = maps_file.sections.get("floors") or {}
    limits = maps_file.reader.table(("floors",), SlewLimits, floors)
    maps_file.check(bases, maps)
    assert limits is not None
    try:
        composition = Composition(
            bases=bases, maps=maps, maintenance=maintenance, controls=controls, limits=limits
        )
    except MapError as error:
        raise MapsFileError(f"{file}: {error}") from None
    return Operator(composition, sources)


class _MapsFile:
    """A file while it is read, section by section."""

    def __init__(self, file: Path) -> None:
        self.reader = Reader(str(file), file.parent)
        self.sections = self.reader.fields((), _Sections, load_toml(file, MapsFileError))

    def named(self, section: str, kind: type[T], key: str) -> list[T]:
        """The tables of a section; the name of a table becomes the field `key`."""
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
                self._unknown_kind(("signals", name, "source"), SOURCES, table)
                continue
            del table["source"]
            if source := self.reader.table(("signals", name), kind, table):
                yield name, source

    def maps(self) -> Iterator[InfraMap]:
        for name, table in self._tables("maps"):
            kind = self._map_class(name, table)
            table.pop("kind", None)
            if kind and (each := self.reader.table(("maps", name), kind, table, name=name)):
                yield each

    def check(self, bases: list[Base], maps: list[InfraMap]) -> None:
        """Check the references between sections, and raise all mistakes."""
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

    def _map_class(self, name: str, table: Mapping[str, object]) -> type[InfraMap] | None:
        written, place = table.get("kind"), ("maps", name, "kind")
        if not isinstance(written, str) or ":" not in written:
            if written not in MAPS:
                self._unknown_kind(place, [*MAPS, '"package.module:Class"'], table)
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

    def _unknown_kind(
        self, place: tuple[str, str, str], known: Iterable[str], table: Mapping[str, object]
    ) -> None:
        found = shown(table.get(place[-1]))
        self.reader.wrong(place, f"expected one of {', '.join(known)}, found {found}")
