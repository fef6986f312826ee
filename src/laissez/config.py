"""Read tables of configuration files into structs, and report every mistake with its place.

A table is described by a class, a msgspec struct or a dataclass: its fields, types and bounds. All
mistakes are reported at once, each with file, key, expected and found value.

- A class checks combinations of fields in its constructor and raises `ValueError` with lines such
  as "field: expected ..., found ...".
- `REFUSED` of a class lists keys that people expect but the class does not take, each with the
  remedy.
- A type with a class method `of` parses its own values, or raises `ValueError`; its `expected`
  describes them.
- A pair of numbers is a range, the lower end first.
- Prices and times are text in a file and integers in the struct.
- Relative paths start at the folder of the file.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
import reprlib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta, inspect
from msgspec.structs import FieldInfo

from laissez.market.commands import TIME_MAX_US
from laissez.units import format_price, parse_price, parse_time

T = TypeVar("T")
Place: TypeAlias = tuple[str | int, ...]
# the name of a file, relative to the folder of the configuration file
File: TypeAlias = Annotated[str, Meta(min_length=1, title="file")]

SHOWN_MAX: Final = 60  # characters of a value that a message repeats
_REPR: Final = reprlib.Repr()
_REPR.maxlevel, _REPR.maxstring, _REPR.maxother, _REPR.maxlong = 2, 1000, 1000, 1000


class ConfigError(ValueError):
    """The file cannot be used. The message has one line for each mistake."""


class Price(int):
    """Micro-dollars per hour, written as dollars in quotes. Floats are refused: most decimals have
    no exact binary form."""

    expected: ClassVar = 'dollars per hour in quotes, such as "2.75"'
    least: ClassVar = 0

    @classmethod
    def of(cls, text: object) -> Price:
        price = parse_price(_text(text))
        if price < cls.least:
            raise ConfigError(f"expected at least {format_price(cls.least)} dollars per hour")
        return cls(price)


class Instant(int):
    """Microseconds since 1970, written as RFC 3339."""

    expected: ClassVar = (
        "a date and time with its offset, such as 2026-09-01T02:00:00Z, after 1970 and before 2255"
    )

    @classmethod
    def of(cls, when: object) -> Instant:
        try:
            at = parse_time(_text(when.isoformat() if isinstance(when, datetime) else when))
        except ValueError:
            at = -1
        if not 0 <= at <= TIME_MAX_US:
            raise ConfigError(f"expected {cls.expected}")
        return cls(at)


class Reader:
    """Reads the tables of one `source` and collects `mistakes`. The source is a name, or a function
    that names the source of a place."""

    def __init__(
        self,
        source: str | Callable[[Place], str],
        folder: Path | None = None,
        *,
        strict: bool = True,
        closed: bool = True,
    ) -> None:
        self.mistakes: list[str] = []
        self._source = source
        self._folder = folder
        self._strict = strict  # otherwise text is converted to the type of its field
        self._closed = closed  # otherwise unknown keys are ignored

    def wrong(self, place: Place, what: str) -> None:
        self.mistakes.append(self.told(place, what))

    def told(self, place: Place, what: str) -> str:
        """A mistake as text, with its source and place."""
        source = self._source if isinstance(self._source, str) else self._source(place)
        return ": ".join(filter(None, (source, place_text(place), what)))

    def check(self, error: type[Exception] = ConfigError) -> None:
        if self.mistakes:
            raise error("\n".join(self.mistakes))

    def table(self, place: Place, kind: type[T], content: object, **given: object) -> T | None:
        """A `kind` made of a table and the `given` fields, or None after a mistake."""
        before = len(self.mistakes)
        values = self.fields(place, kind, content, given)
        if len(self.mistakes) > before:
            return None
        try:
            return kind(**values, **given)
        except ValueError as error:
            for line in str(error).splitlines():
                self.wrong_inside(place, kind, line)
            return None

    def fields(
        self, place: Place, kind: type, content: object, given: Iterable[str] = ()
    ) -> dict[str, Any]:
        """The values of a table by attribute; None for a value with a mistake."""
        if not isinstance(content, Mapping):
            self.wrong(place, f"expected a table, found {shown(content)}")
            return {}
        known = {key: field for key, field in fields_of(kind).items() if field.name not in given}
        values: dict[str, object] = {}
        for key, found in content.items():
            if key in known:
                values[known[key].name] = self.value((*place, key), known[key].type, found)
            elif key in (refused := getattr(kind, "REFUSED", {})):
                self.wrong((*place, key), f"cannot be honoured here; {refused[key]}")
            elif self._closed:
                self.wrong((*place, key), unknown(key, known))
        for key, field in known.items():
            if field.required and key not in content:
                self.wrong((*place, key), f"expected {describe(field.type)}, found nothing")
        return values

    def value(self, place: Place, kind: Any, found: object) -> Any:
        """One value of a table as a `kind`, or None after a mistake."""
        if type(None) in get_args(kind):
            if found is None:
                return None
            kind = Union[tuple(one for one in get_args(kind) if one is not type(None))]  # noqa: UP007
        if is_table(kind):
            return found if isinstance(found, kind) else self.table(place, kind, found)
        bare, *metas = get_args(kind) if get_origin(kind) is Annotated else (kind,)
        is_mapping = get_origin(bare) in (Mapping, dict)
        if not is_mapping and not (get_origin(bare) is tuple and Ellipsis in get_args(bare)):
            return self._single(place, kind, found)
        if not self._strict and isinstance(found, str):
            found = [part.strip() for part in found.split(",")]
        least = max((meta.min_length or 0 for meta in metas), default=0)
        if not isinstance(found, Mapping if is_mapping else list | tuple) or len(found) < least:
            self.wrong(place, f"expected {describe(kind)}, found {shown(found)}")
            return None
        item = get_args(bare)[is_mapping]
        if isinstance(found, Mapping):
            return {key: self.value((*place, key), item, one) for key, one in found.items()}
        return tuple(self.value((*place, at), item, one) for at, one in enumerate(found))

    def _single(self, place: Place, kind: Any, found: object) -> object:
        try:
            return self._converted(kind, found)
        except ValueError as error:
            said = str(error) if str(error).startswith("expected") else f"expected {describe(kind)}"
            self.wrong(place, said if ", found " in said else f"{said}, found {shown(found)}")
            return None

    def _converted(self, kind: Any, found: Any) -> object:
        if kind is Any:
            return found
        if hasattr(kind, "of"):
            return kind.of(found)
        if kind is Path:
            return (self._folder or Path()) / _text(found)
        if get_origin(kind) is Callable:
            return _function(found)
        plain = found.plain if isinstance(found, Scalar) else found
        value: Any = msgspec.convert(plain, kind, strict=self._strict)
        match value:
            case (float(low), float(high)) if low > high:
                raise ConfigError(f"expected the lower end first, found {low:g} before {high:g}")
        if kind == File and self._folder is not None:
            return str((self._folder / value).absolute())
        return value

    def wrong_inside(self, place: Place, kind: type, line: str) -> None:
        """Report a mistake that a class found itself. The line may start with a field's name."""
        field, _, what = line.partition(": ")
        name = re.match(r"\w+", field)
        if name is not None and any(name[0] == known.name for known in fields_of(kind).values()):
            self.wrong((*place, field), what)
        else:
            self.wrong(place, line)


def load_toml(file: Path, error: type[Exception] = ConfigError) -> dict[str, Any]:
    try:
        # some editors write a byte order mark
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as reason:
        raise error(f"{file}: expected a file that can be read: {reason.strerror}") from None
    # covers invalid UTF-8 and integers of thousands of digits too
    except (ValueError, RecursionError) as reason:
        raise error(f"{file}: expected TOML: {reason}") from None


def mistakes_in(table: msgspec.Struct) -> list[str]:
    """The mistakes in the fields of an object that was made in Python."""
    reader = Reader("")
    for key, field in fields_of(type(table)).items():
        reader.value((key,), field.type, getattr(table, field.name))
    return reader.mistakes


class Scalar(str):
    """A YAML scalar as it was written; `plain` is the value that YAML gives it."""

    __slots__ = ("plain",)
    plain: object


def is_table(kind: Any) -> bool:
    return isinstance(kind, type) and (
        issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind)
    )


@cache
def fields_of(kind: Any) -> dict[str, FieldInfo]:
    """The fields of a class by their keys in a file."""
    if issubclass(kind, msgspec.Struct):
        return {field.encode_name: field for field in msgspec.structs.fields(kind)}
    hints = get_type_hints(kind, include_extras=True)
    fields = {}
    for field in dataclasses.fields(kind):
        is_required = field.default is field.default_factory is dataclasses.MISSING
        default = msgspec.NODEFAULT if is_required else None
        if field.init:
            fields[field.name] = FieldInfo(field.name, field.name, hints[field.name], default)
    return fields


def place_text(place: Place) -> str:
    """Such as `actions[0].floor.price`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(steps).removeprefix(".")


def unknown(name: object, known: Iterable[str]) -> str:
    near = get_close_matches(str(name), known, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"expected one of {', '.join(known)}, found {shown(name)}{hint}"


def _text(found: object) -> str:
    if not isinstance(found, str) or not found:
        raise ConfigError("not a text")
    return found


def _function(found: object) -> object:
    function = imported(found)
    if not callable(function):
        raise ConfigError(f"expected a function, found {shown(function)}")
    return function


def imported(place: object) -> Any:
    """The object that "package.module:name" names."""
    module, _, name = place.partition(":") if isinstance(place, str) else ("", "", "")
    if not module or not name:
        raise ConfigError(f'expected "package.module:name", found {shown(place)}')
    try:
        return getattr(importlib.import_module(module), name)
    # ValueError and TypeError: the module's name is malformed
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ConfigError(f"expected {name} in the Python module {module}: {error}") from error


def shown(value: object) -> str:
    """A value for a message, cut short."""
    if value is None or (isinstance(value, Scalar) and value.plain is None):
        return "nothing"
    try:
        text = repr(value) if isinstance(value, str) else _REPR.repr(value)
    except ValueError:  # Python does not print integers that long
        text = "a number of thousands of digits"
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "..."


def describe(kind: Any) -> str:
    """The values that a type allows, in words."""
    return _words(inspect.type_info(kind))


_WORDS: Final[dict[type, str]] = {
    inspect.BoolType: "true or false",
    inspect.StructType: "a table",
    inspect.DataclassType: "a table",
    inspect.TimeType: "a time of day such as 09:30:00",
}


def _words(kind: inspect.Type) -> str:
    match kind:
        case inspect.Metadata(inner, schema):
            return str((schema or {}).get("description") or _words(inner))
        case inspect.UnionType(types):
            return " or ".join(_words(one) for one in types)
        case inspect.IntType() | inspect.FloatType():
            number = "an integer" if isinstance(kind, inspect.IntType) else "a number"
            return number + _bounds(kind)
        case inspect.LiteralType(values):
            return f"one of {', '.join(map(str, values))}"
        case inspect.TupleType((low, _)):
            return f"[low, high], each {_words(low)}"
        case inspect.StrType(least):
            return f"a text in quotes{_filled(least)}"
        case inspect.VarTupleType(item, least):
            return f"a list{_filled(least)}, each {_words(item)}"
        case inspect.DictType(_, value, least):
            return f"a table{_filled(least)}, each entry {_words(value)}"
        case inspect.CustomType(cls):
            usual = "the name of a file" if cls is Path else '"package.module:name"'
            return str(getattr(cls, "expected", usual))
        case _:
            return _WORDS.get(type(kind), "a text in quotes")


def _filled(least: int | None) -> str:
    return " that is not empty" if least else ""


def _bounds(kind: inspect.IntType | inspect.FloatType) -> str:
    low = "" if kind.ge is None else f" from {kind.ge:,.15g}"
    low = low if kind.gt is None else f" above {kind.gt:,.15g}"
    if kind.lt is not None:
        return f"{low} to below {kind.lt:,.15g}"
    return f"{low} up to {kind.le:,.15g}" if kind.le is not None else f"{low} on"
