"""JSON and CSV files that other programs wrote: profiles and published run times. Keys and columns
that are not known are passed over."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from pathlib import Path
from typing import Any, TypeVar

from laissez.config import Reader, fields_of, shown

T = TypeVar("T")


def load_json(file: Path, kind: Any, error: type[Exception], *keys: str) -> Any:
    """What is under `keys` in a JSON file, gzipped or not, as a `kind`."""
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
    """The rows of a CSV file, each as a `kind`. An empty cell counts as not there."""
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
