"""What the tables of a scenario may hold, and how a mistake in one is told: where, what was
expected, what was found.

A table looks at itself when it is made, so a scenario that was written in Python is held to the
same rules as one that was read from a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeAlias, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, inspect

from laissez.market.commands import PRICE_MAX
from laissez.operators.fields import shown
from laissez.sim.errors import ScenarioError
from laissez.tenants.units import MICRO

# of anything that has no bound of its own: a cluster of so many GPUs, or a century of hours
LARGEST: Final = 1_000_000

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Texts: TypeAlias = Annotated[tuple[Text, ...], Meta(min_length=1)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=LARGEST)]
Positive: TypeAlias = Annotated[float, Meta(gt=0, le=LARGEST)]
# dollars per GPU-hour; the market takes no more
Price: TypeAlias = Annotated[float, Meta(gt=0, le=PRICE_MAX / MICRO)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0, le=LARGEST)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Hours: TypeAlias = Annotated[float, Meta(ge=0.01, le=LARGEST)]
# seconds: whoever acts without a pause never comes to an end
Pace: TypeAlias = Annotated[float, Meta(ge=1, le=LARGEST)]
# a job of ever smaller pieces would have no end either
Size: TypeAlias = Annotated[float, Meta(ge=0.001, le=LARGEST)]
Range: TypeAlias = tuple[Positive, Positive]
# in a scenario file, relative to its folder
FilePath: TypeAlias = Annotated[str, Meta(min_length=1, title="file")]
HoursRange: TypeAlias = tuple[Hours, Hours]
PaceRange: TypeAlias = tuple[Pace, Pace]
SizeRange: TypeAlias = tuple[Size, Size]


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file; `place` is its name there, if it has only one."""

    place: ClassVar[str] = ""

    def __post_init__(self) -> None:
        mistakes = wrong_fields(type(self), msgspec.structs.asdict(self)) or [
            told(self.place, *each) for each in self.impossible()
        ]
        if mistakes:
            raise ScenarioError("\n".join(mistakes))

    def impossible(self) -> Iterator[tuple[str, str]]:
        """What cannot be although each field by itself can: field, and what was expected and found.
        All fields are of their kind here."""
        yield from ()


def wrong_fields(table: type[Table], values: Mapping[str, object]) -> list[str]:
    """What is wrong with each of the values by itself."""
    kinds = fields_of(table)
    return [
        told(table.place, *mistake)
        for name, value in values.items()
        for mistake in _wrong(name, kinds[name], value)
    ]


@cache
def fields_of(table: type[Table]) -> Mapping[str, Any]:
    """The fields of a table, each with its type."""
    hints = get_type_hints(table, include_extras=True)
    return {name: hints[name] for name in table.__struct_fields__}


def table_in(kind: Any) -> type[Table] | None:
    """The table that a field is, may be, or is a list of."""
    return next(
        (
            one
            for one in (kind, *get_args(kind))
            if isinstance(one, type) and issubclass(one, Table)
        ),
        None,
    )


def is_list(kind: Any) -> bool:
    return Ellipsis in get_args(kind)


def is_file(kind: Any) -> bool:
    return any(one == FilePath for one in (kind, *get_args(kind)))


def is_there(file: str) -> bool:
    """Whether there is such a file, for all that can be seen from here: a name may be longer than
    any file's, or a folder closed."""
    try:
        return Path(file).is_file()
    except OSError:
        return False


def told(*words: str) -> str:
    """A place in a place, and what is wrong there."""
    place, field, *what = words
    return ": ".join([f"{place}.{field}" if place else field, *what])


def _wrong(place: str, kind: Any, value: object) -> Iterator[tuple[str, str]]:
    table = table_in(kind)
    if table is not None:
        yield from _no_table(place, table, kind, value)
        return
    entry = _entry(kind)
    if entry is not None and isinstance(value, Mapping):
        for name, one in value.items():
            yield from _wrong(f"{place}.{name}", entry, one)
        if not value:
            yield place, "expected at least one entry, found none"
        return
    try:
        found = msgspec.convert(value, kind)
    except msgspec.ValidationError:
        yield place, f"expected {_in_words(inspect.type_info(kind))}, found {shown(value)}"
        return
    if _is_range(kind) and found[0] > found[1]:
        yield place, f"expected the lower end first, found {found[0]:g} before {found[1]:g}"


def _no_table(
    place: str, table: type[Table], kind: Any, value: object
) -> Iterator[tuple[str, str]]:
    if is_list(kind):
        if not isinstance(value, tuple | list) or not all(isinstance(one, table) for one in value):
            yield place, f"expected a list of tables, found {shown(value)}"
    elif not isinstance(value, table) and not (value is None and kind is not table):
        yield place, f"expected a table, found {shown(value)}"


def _entry(kind: Any) -> Any:
    """The type of what a mapping holds, if this is one or none at all."""
    return next(
        (get_args(one)[1] for one in (kind, *get_args(kind)) if get_origin(one) is Mapping), None
    )


def _is_range(kind: Any) -> bool:
    return get_origin(kind) is tuple and len(get_args(kind)) == 2 and not is_list(kind)


def _in_words(kind: inspect.Type) -> str:
    match kind:
        case inspect.UnionType(types):
            return " or ".join(
                _in_words(one) for one in types if not isinstance(one, inspect.NoneType)
            )
        case inspect.IntType():
            return f"an integer{_bounds(kind)}"
        case inspect.FloatType():
            return f"a number{_bounds(kind)}"
        case inspect.TupleType(items):
            return f"[low, high], each {_in_words(items[0])}"
        case inspect.VarTupleType(item):
            return f"a list that is not empty, each {_in_words(item)}"
        case inspect.DictType():
            return f"a table, each entry {_in_words(kind.value_type)}"
        case _:
            return "a text in quotes"


def _bounds(kind: inspect.IntType | inspect.FloatType) -> str:
    low = (
        f" above {kind.gt:,g}"
        if kind.gt is not None
        else f" from {kind.ge:,g}"
        if kind.ge is not None
        else ""
    )
    return f"{low} up to {kind.le:,.12g}" if kind.le is not None else f"{low} on"
