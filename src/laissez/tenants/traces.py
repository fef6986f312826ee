"""Request traces: when each request of an inference service came, and how many tokens it and its
answer had.

Two public formats are read: the Azure LLM inference traces (Patel et al., Splitwise, ISCA 2024),
CSV with a timestamp of 100 ns digits, and the Mooncake traces (FAST 2025), JSON lines with
milliseconds since the start. Either may be gzipped. Instants are microseconds since the first
request of the file.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from laissez.config import Reader, shown

AZURE_HEADER: Final = "TIMESTAMP,ContextTokens,GeneratedTokens"
T = TypeVar("T")
# No model reads more at once: more is a damaged row.
Tokens: TypeAlias = Annotated[int, Meta(ge=0, le=100_000_000)]


class TraceError(ValueError):
    """A trace that cannot be read. The message names the file and the line."""


class Request(msgspec.Struct, frozen=True, gc=False):
    at_us: int
    input_tokens: int
    output_tokens: int


class _AzureRow(msgspec.Struct):
    TIMESTAMP: str
    ContextTokens: Tokens
    GeneratedTokens: Tokens


class _MooncakeRow(msgspec.Struct):
    timestamp: Annotated[float, Meta(ge=0, le=1e15)]  # milliseconds
    input_length: Tokens
    output_length: Tokens


def load_azure(path: Path) -> tuple[Request, ...]:
    """The requests of an Azure LLM inference trace, `.csv` or `.csv.gz`."""
    lines = _lines(path)
    _, header = next(lines, ("", ""))
    if header != AZURE_HEADER:
        raise TraceError(
            f"{path}, line 1: expected the header {AZURE_HEADER!r}, found {header[:80]!r}"
        )
    return _in_order(path, [(place, _azure_request(place, line)) for place, line in lines])


def load_mooncake(path: Path) -> tuple[Request, ...]:
    """The requests of a Mooncake trace, `.jsonl` or `.jsonl.gz`."""
    return _in_order(
        path, [(place, _mooncake_request(place, line)) for place, line in _lines(path)]
    )


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines that are not empty, each with its place."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}, line {number}", line.strip()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: expected a readable trace, found {error}") from error


def _azure_request(place: str, line: str) -> Request:
    cells = line.split(",")
    if len(cells) != 3:
        raise TraceError(f"{place}: expected 3 fields, found {len(cells)} in {shown(line)}")
    row = _row(
        place, _AzureRow, dict(zip(AZURE_HEADER.split(","), cells, strict=True)), strict=False
    )
    try:
        # the seventh digit of a second is cut off
        came = datetime.fromisoformat(row.TIMESTAMP) - datetime.min  # noqa: DTZ901  no zone
    except (ValueError, TypeError):
        raise TraceError(
            f"{place}: TIMESTAMP: expected a time like 2023-11-16 18:15:46.6805900, found"
            f" {shown(row.TIMESTAMP)}"
        ) from None
    at_us = came // timedelta(microseconds=1)
    return Request(at_us, row.ContextTokens, row.GeneratedTokens)


def _mooncake_request(place: str, line: str) -> Request:
    try:
        content = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise TraceError(f"{place}: expected JSON: {error}") from None
    row = _row(place, _MooncakeRow, content, strict=True)
    return Request(round(row.timestamp * 1000), row.input_length, row.output_length)


def _row(place: str, kind: type[T], content: Any, strict: bool) -> T:
    try:
        return msgspec.convert(content, kind, strict=strict)
    except msgspec.ValidationError:  # traces have millions of rows, so only this one is explained
        reader = Reader(place, strict=strict, closed=False)
        reader.table((), kind, content)
        reader.check(TraceError)
        raise


def _in_order(path: Path, rows: list[tuple[str, Request]]) -> tuple[Request, ...]:
    if not rows:
        raise TraceError(f"{path}: expected at least one request, found none")
    start_us = before_us = rows[0][1].at_us
    for place, row in rows:
        if row.at_us < before_us:
            raise TraceError(
                f"{place}: expected requests in the order in which they came, found one"
                f" {before_us - row.at_us} us too early"
            )
        before_us = row.at_us
    return tuple(msgspec.structs.replace(row, at_us=row.at_us - start_us) for _, row in rows)
