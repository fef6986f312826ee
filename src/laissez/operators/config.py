"""`maps.toml`: all of an operator's maps in one file. `docs/maps.toml` shows every table and
`docs/operators.md` says what they mean.

Whatever is unknown, of the wrong kind or impossible is refused, all at once, each with its place.
Nothing is asked of the market or of a source while reading, except that traces are loaded and
Python code is imported.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from laissez.operators.base import Base
from laissez.operators.carbon import Carbon
from laissez.operators.composition import Composition
from laissez.operators.controls import Controls
from laissez.operators.cooling import Cooling
from laissez.operators.course import Pace
from laissez.operators.errors import MapError, MapsFileError
from laissez.operators.fields import Node, shown
from laissez.operators.inframap import InfraMap
from laissez.operators.maintenance import Maintenance
from laissez.operators.operator import Operator
from laissez.operators.power import Power
from laissez.operators.sources import CsvTrace, PrometheusQuery, PythonCallable, Source
from laissez.operators.sources.python_callable import named
from laissez.operators.tables import Tables
from laissez.operators.utilisation import Utilisation

T = TypeVar("T")

SECTIONS: Final = ("floors", "base", "signals", "maps", "maintenance", "controls")
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


def read_maps(path: Path | str) -> Operator:
    """The operator that a file describes. Raises `MapsFileError` with all that is wrong with it."""
    file = Path(path)
    return _Reading(file, _parsed(file)).operator()


class _Reading:
    """A file while it is read, section by section."""

    def __init__(self, file: Path, content: Mapping[str, object]) -> None:
        self.tables = Tables(file)
        self.content = content

    def operator(self) -> Operator:
        for section in self.content:
            if section not in SECTIONS:
                self.tables.wrong(
                    section,
                    f"expected one of the tables {', '.join(SECTIONS)}, found {shown(section)}",
                )
        pace = self.tables.made("floors", Pace, self.content.get("floors", {}))
        bases = self._each("base", Base, "node")
        sources = dict(self._sources())
        maps = list(self._maps())
        maintenance = self._each("maintenance", Maintenance, "name")
        controls = self._each("controls", Controls, "node")
        self._check_signals(maps)
        if not bases and not self.tables.mistakes:
            self.tables.wrong(
                "base", "expected at least one base price, such as a table [base.h100], found none"
            )
        self._refuse()
        return Operator(self._composed(pace or Pace(), bases, maps, maintenance, controls), sources)

    def _composed(
        self,
        pace: Pace,
        bases: list[Base],
        maps: list[InfraMap],
        maintenance: list[Maintenance],
        controls: list[Controls],
    ) -> Composition:
        try:
            return Composition(
                bases=bases, maps=maps, maintenance=maintenance, controls=controls, pace=pace
            )
        except MapError as error:
            raise MapsFileError(f"{self.tables.file}: {error}") from None

    def _section(self, section: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The tables of a section: place, name and fields."""
        tables = self.content.get(section, {})
        if not isinstance(tables, dict):
            self.tables.wrong(
                section, f"expected tables such as [{section}.name], found {shown(tables)}"
            )
            return
        for name, table in tables.items():
            if isinstance(table, dict):
                yield f"{section}.{name}", name, table
            else:
                self.tables.wrong(f"{section}.{name}", f"expected a table, found {shown(table)}")

    def _each(self, section: str, kind: type[T], key: str) -> list[T]:
        made = []
        for place, name, table in self._section(section):
            if key == "node" and not _is_node(name):
                self.tables.wrong(
                    place,
                    f'expected the path of a node, such as [{section}."h100/row1"], found'
                    f" {shown(name)}",
                )
            made.append(self.tables.made(place, kind, table, **{key: name}))
        return [each for each in made if each is not None]

    def _sources(self) -> Iterator[tuple[str, Source]]:
        for place, name, table in self._section("signals"):
            written = table.pop("source", None)
            kind = SOURCES.get(written) if isinstance(written, str) else None
            if kind is None:
                self.tables.wrong(
                    f"{place}.source",
                    f"expected one of {', '.join(SOURCES)}, found {shown(written)}",
                )
                continue
            source = self.tables.made(place, kind, table)
            if source is not None:
                yield name, source

    def _maps(self) -> Iterator[InfraMap]:
        for place, name, table in self._section("maps"):
            kind = self._kind_of_map(f"{place}.kind", table.pop("kind", None))
            each = None if kind is None else self.tables.made(place, kind, table, name=name)
            if each is not None:
                yield each

    def _kind_of_map(self, place: str, kind: object) -> type[InfraMap] | None:
        if isinstance(kind, str) and ":" in kind:
            return self._own_map(place, kind)
        if not isinstance(kind, str) or kind not in MAPS:
            self.tables.wrong(
                place,
                f'expected one of {", ".join(MAPS)}, or "package.module:Class", found'
                f" {shown(kind)}",
            )
            return None
        return MAPS[kind]

    def _own_map(self, place: str, kind: str) -> type[InfraMap] | None:
        try:
            found = named(kind)
        except MapError as error:
            self.tables.wrong(place, str(error))
            return None
        if not (isinstance(found, type) and issubclass(found, InfraMap)) or issubclass(
            found, Maintenance
        ):
            self.tables.wrong(place, f"expected a subclass of InfraMap, found {shown(found)}")
            return None
        return found

    def _check_signals(self, maps: list[InfraMap]) -> None:
        signals = self.content.get("signals", {})
        written = signals if isinstance(signals, dict) else {}
        for each in maps:
            for signal in each.signals():
                if signal not in written:
                    self.tables.wrong(
                        f"maps.{each.name}",
                        f"expected a signal with a table [signals.{signal}], found"
                        f" {_names(written)}",
                    )

    def _refuse(self) -> None:
        if self.tables.mistakes:
            raise MapsFileError("\n".join(self.tables.mistakes))


def _parsed(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise MapsFileError(
            f"{file}: expected a file of maps that can be read: {error.strerror}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MapsFileError(f"{file}: expected TOML: {error}") from None


def _is_node(name: str) -> bool:
    try:
        msgspec.convert(name, Node)
    except msgspec.ValidationError:
        return False
    return True


def _names(tables: Mapping[str, object]) -> str:
    return ", ".join(tables) or "no signals"
