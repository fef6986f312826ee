"""Checks of numbers that applications are given, and readers of JSON and CSV files that other
programs wrote: profiles and published run times."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from laissez.config import ConfigError, Reader, fields_of, mistakes_in, shown

T = TypeVar("T")

# The upper bounds keep out infinity.
Positive: TypeAlias = Annotated[float, Meta(gt=0, le=1e18)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0, le=1e18)]
Finite: TypeAlias = Annotated[float, Meta(ge=-1e18, le=1e18)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Count: TypeAlias = Annotated[int, Meta(ge=1)]


class Checked(msgspec.Struct, frozen=True):
    """A struct that raises `error` if a field is outside the bounds of its type."""

    error: ClassVar[type[ValueError]] = ConfigError

    def __post_init__(self) -> None:
        if mistakes := mistakes_in(self):
            raise self.error("\n".join(mistakes))


def checked(name: str, found: T, kind: Any, error: type[ValueError]) -> T:
    """`found`, if it is a `kind`, such as `Positive`."""
    reader = Reader("")
    # a task's durations are a subclass of float, which msgspec does not take
    plain = float(found) if isinstance(found, float) else found
    value: T = reader.value((name,), kind, plain)
    reader.check(error)
    return value


def load_json(file: Path, kind: Any, error: type[Exception], *keys: str) -> Any:
    """The value below `keys` in a JSON file, gzipped or not. Unknown keys are ignored."""
    reader = Reader(str(file), closed=False)
    found = _json(file, error)
    for at, key in enumerate(keys):
        if not isinstance(found, dict) or key not in found:
            names = sorted(found) if isinstance(found, dict) else found
            raise error(reader.told(keys[:at], f"expected {key!r}, found {shown(names)}"))
        found = found[key]
    value = reader.value(keys, kind, found)
    reader.check(error)
    return value


def _json(file: Path, error: type[Exception]) -> Any:
    try:
        raw = file.read_bytes()
        return json.loads(gzip.decompress(raw) if file.suffix == ".gz" else raw)
    except OSError as reason:
        raise error(f"{file}: expected a file that can be read: {reason}") from None
    except (ValueError, EOFError, RecursionError, zlib.error) as reason:
        raise error(f"{file}: expected JSON: {reason}") from None


def load_csv(file: Path, kind: type[T], error: type[Exception]) -> list[T]:
    """The rows of a CSV file. Empty cells count as missing; unknown columns are ignored."""
    found = []
    table: type = kind
    try:
        with file.open(newline="", encoding="utf-8") as lines:
            rows = csv.DictReader(lines)
            missing = [key for key in fields_of(table) if key not in (rows.fieldnames or ())]
            if missing:
                raise error(f"{file}: expected all columns, found no {', '.join(missing)}")
            for row in rows:
                reader = Reader(f"{file}, line {rows.line_num}", strict=False, closed=False)
                given = {key: cell for key, cell in row.items() if cell}
                found.append(reader.table((), kind, given))
                reader.check(error)
    except (OSError, UnicodeDecodeError, csv.Error) as reason:
        raise error(f"{file}: expected a CSV file that can be read: {reason}") from None
    return [one for one in found if one is not None]
