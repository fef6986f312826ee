"""A recorded trace, replayed: a table of times in microseconds and values, in the format of
Google's power traces (`powerdata_2019`).

Google's tables flag rows of low confidence in `bad_measurement_data` and
`bad_production_power_data`. The documentation says "when false, indicates low-confidence", but
Google's own analysis keeps the rows where the flag is false, as its name suggests. So true means
bad here, and such rows are skipped.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from laissez.config import Instant, shown
from laissez.operators.fields import Text, TraceError
from laissez.operators.sources.source import Source
from laissez.operators.view import Missing, Reading
from laissez.units import SECOND_US

TIME: Final = "time"
BAD: Final = {
    "measured_power_util": "bad_measurement_data",
    "production_power_util": "bad_production_power_data",
}
FLAGS: Final = {"true": True, "1": True, "false": False, "0": False, "": False}


@dataclass(kw_only=True)
class CsvTrace(Source):
    """The first row happens at `starts_at`, by default at the first read, and the others follow at
    `speed` times the recorded pace. A value holds until the next row.

    `where` selects rows by the text of columns, such as `{"pdu": "pdu9"}`; `start_row` counts from
    0 among those.
    """

    file: Path
    column: Text = "measured_power_util"
    where: Mapping[str, str] = field(default_factory=dict)
    start_row: Annotated[int, Meta(ge=0)] = 0
    speed: Annotated[float, Meta(gt=0, le=1_000_000)] = 1.0
    starts_at: Instant | None = None
    repeat: bool = False

    def __post_init__(self) -> None:
        rows = list(_rows(self.file, self.column, self.where))[self.start_row :]
        if len(rows) < 2:
            raise TraceError(
                f"{self.file}: expected at least two usable rows from row {self.start_row} on,"
                f" found {len(rows)}"
            )
        self._times = [time - rows[0][0] for time, _ in rows]
        self._values = [value for _, value in rows]
        # the last value holds as long as the one before it
        self._length = self._times[-1] + self._times[-1] - self._times[-2]

    def read(self, now: int) -> Reading | Missing:
        if self.starts_at is None:
            self.starts_at = Instant(now)
        passed = int((now - self.starts_at) * self.speed)
        if passed < 0:
            wait_s = (self.starts_at - now) / SECOND_US
            return Missing(f"the trace {self.file.name} starts in {wait_s:.0f} s")
        if passed >= self._length and not self.repeat:
            return Missing(f"the trace {self.file.name} has ended")
        rounds, within = divmod(passed, self._length)
        row = bisect_right(self._times, within) - 1
        since = math.ceil((rounds * self._length + self._times[row]) / self.speed)
        return Reading(self._values[row], self.starts_at + since)


def _rows(file: Path, column: str, where: Mapping[str, str]) -> Iterator[tuple[int, float]]:
    """Time and value of every selected row that is not flagged as bad."""
    table = csv.DictReader(io.StringIO(_text(file), newline=""), strict=True)
    _check_columns(file, table, {TIME, column, *where})
    before = -1
    try:
        for row in table:
            place = f"{file}, line {table.line_num}"
            if None in row or None in row.values():
                raise TraceError(
                    f"{place}: expected {len(table.fieldnames or ())} columns, found"
                    f" {shown(list(row.values()))}"
                )
            is_selected = all(row[name] == text for name, text in where.items())
            if is_selected and not _is_bad(row, column, place):
                before = _time(row[TIME], before, place)
                yield before, _value(row[column], column, place)
    except csv.Error as error:
        raise TraceError(
            f"{file}, line {table.line_num}: expected comma-separated values: {error}"
        ) from None


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
        return (gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise TraceError(
            f"{file}: expected a table that can be read, .csv or .csv.gz: {reason}"
        ) from None


def _check_columns(file: Path, table: csv.DictReader[str], needed: set[str]) -> None:
    found = table.fieldnames or ()
    for name in sorted(needed.difference(found)):
        raise TraceError(
            f"{file}, line 1: expected a column {name!r}, found {', '.join(found) or 'nothing'}"
        )


def _is_bad(row: Mapping[str, str], column: str, place: str) -> bool:
    flag = BAD.get(column, "")
    if flag not in row:
        return False
    text = row[flag].strip().lower()
    if text not in FLAGS:
        raise TraceError(f"{place}: {flag}: expected true or false, found {shown(row[flag])}")
    return FLAGS[text]


def _time(text: str, before: int, place: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise TraceError(f"{place}: {TIME}: expected whole microseconds, found {shown(text)}")
    if int(text) <= before:
        raise TraceError(
            f"{place}: {TIME}: expected a time after the one before, {before}, found {int(text)};"
            " a table of several power domains needs `where`"
        )
    return int(text)


def _value(text: str, column: str, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TraceError(f"{place}: {column}: expected a finite number, found {shown(text)}")
    return value
