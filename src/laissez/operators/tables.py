"""Reading one table of a TOML file into an object, field by field, so that each mistake is told
with its place: file, table, field.

What a table may hold is what the object's class says: the fields of the dataclass, their types and
bounds.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from laissez.operators.errors import MapError, OperatorError
from laissez.operators.fields import Instant, Price, shown
from laissez.operators.sources.python_callable import named

T = TypeVar("T")


class Tables:
    """A file while it is read. `mistakes` is all that is wrong so far; relative paths in it start
    at its folder."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.mistakes: list[str] = []

    def wrong(self, place: str, what: str) -> None:
        self.mistakes.append(f"{self.file}: {place}: {what}")

    def made(self, place: str, kind: type[T], table: object, **given: object) -> T | None:
        """A `kind` from a table and what the place of the table gives; `None`, and mistakes, if
        that cannot be."""
        if not isinstance(table, Mapping):
            self.wrong(place, f"expected a table, found {shown(table)}")
            return None
        hints = get_type_hints(kind, include_extras=True)
        fields = {
            each.name: each
            for each in dataclasses.fields(kind)  # type: ignore[arg-type]
            if each.init and each.name not in given
        }
        before = len(self.mistakes)
        values = {
            name: self._value(f"{place}.{name}", hints[name], table[name])
            for name in fields
            if name in table
        }
        for name in table:
            if name not in fields:
                self.wrong(
                    f"{place}.{name}", f"expected one of {', '.join(fields)}, found {shown(name)}"
                )
        for name, each in fields.items():
            if (
                name not in table
                and each.default is dataclasses.MISSING
                and each.default_factory is dataclasses.MISSING
            ):
                self.wrong(f"{place}.{name}", "expected to be set, found nothing")
        return self._built(place, kind, values | given) if len(self.mistakes) == before else None

    def _value(self, place: str, hint: Any, value: object) -> object:
        try:
            return msgspec.convert(value, hint, dec_hook=self._read)
        except msgspec.ValidationError as error:
            expected = _expected(error, hint)
            self.wrong(
                place, expected if ", found " in expected else f"{expected}, found {shown(value)}"
            )
            return None

    def _read(self, kind: Any, value: object) -> object:
        """What TOML has no type for."""
        if kind is Price:
            return Price.of(value)
        if kind is Instant:
            return Instant.of(value)
        if kind is Path and isinstance(value, str) and value:
            return self.file.parent / value
        if get_origin(kind) is Callable:
            function = named(value)
            if not callable(function):
                raise MapError(f"expected a function, found {shown(function)}")
            return function
        raise MapError(
            "expected the name of a file"
            if kind is Path
            else f"expected {kind}, which cannot be written in TOML"
        )

    def _built(self, place: str, kind: type[T], values: Mapping[str, object]) -> T | None:
        try:
            return kind(**values)
        except OperatorError as error:
            field = re.match(r"(\w+): ", str(error))
            if field is not None and field[1] in values:
                self.wrong(f"{place}.{field[1]}", str(error).removeprefix(field[0]))
            else:
                self.wrong(place, str(error))
            return None


def _expected(error: msgspec.ValidationError, hint: Any) -> str:
    """What msgspec expected, in words, and where in a nested value. It does not list the choices
    itself."""
    if get_origin(hint) is Literal:
        return f"expected one of {', '.join(get_args(hint))}"
    said, _, where = str(error).replace("`", "").partition(" - at $")
    said = said.partition(", got ")[0]
    return f"{where.lstrip('.') + ': ' if where else ''}{said[:1].lower()}{said[1:]}"
