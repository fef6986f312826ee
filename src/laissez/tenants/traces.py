"""Request traces: when each request of an inference service came, how many tokens it brought and
how many it was answered with.

Two public formats are read: the Azure LLM inference traces (Patel et al., Splitwise, ISCA 2024),
CSV with a timestamp of 100 ns digits, and the Mooncake traces (FAST 2025), JSON lines with
milliseconds since the start. Either may be gzipped. Instants are microseconds since the first
request of the file.
"""

from __future__ import annotations

import gzip
import json
import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from laissez.units import SECOND_US

AZURE_HEADER: Final = "TIMESTAMP,ContextTokens,GeneratedTokens"
TOKENS_MAX: Final = 100_000_000  # no model reads more at once; more is a damaged row


class TraceError(ValueError):
    """A trace that cannot be read; the message names the file and the line."""


class Request(msgspec.Struct, frozen=True, gc=False):
    """One request: it came at `at_us`."""

    at_us: int
    input_tokens: int
    output_tokens: int


def load_azure(path: Path) -> tuple[Request, ...]:
    """The requests of an Azure LLM inference trace, `.csv` or `.csv.gz`."""
    lines = _lines(path)
    header = next(lines, (1, ""))[1]
    if header != AZURE_HEADER:
        raise TraceError(
            f"{path}, line 1: expected the header {AZURE_HEADER!r}, found {header[:80]!r}"
        )
    return _in_order(path, [(number, _azure_row(path, number, line)) for number, line in lines])


def load_mooncake(path: Path) -> tuple[Request, ...]:
    """The requests of a Mooncake trace, `.jsonl` or `.jsonl.gz`."""
    return _in_order(
        path, [(number, _mooncake_row(path, number, line)) for number, line in _lines(path)]
    )


def window(requests: Sequence[Request], start_us: int, length_us: int) -> tuple[Request, ...]:
    """The requests from `start_us` on, for `length_us`; the instants count from `start_us`."""
    if length_us <= 0:
        raise TraceError(f"expected a window longer than 0 us, found {length_us}")
    first = bisect_left(requests, start_us, key=lambda request: request.at_us)
    last = bisect_left(requests, start_us + length_us, key=lambda request: request.at_us)
    return tuple(
        Request(request.at_us - start_us, request.input_tokens, request.output_tokens)
        for request in requests[first:last]
    )


def scaled(
    requests: Sequence[Request], factor: float, seed: int = 0, jitter_us: int = SECOND_US
) -> tuple[Request, ...]:
    """`factor` times as many requests: each is repeated or left out by chance, and a repetition
    comes up to `jitter_us` later."""
    if not 0 < factor <= 1_000:
        raise TraceError(f"expected a factor above 0 and up to 1000, found {factor}")
    chance = random.Random(seed)
    copies = []
    for request in requests:
        count = int(factor) + (chance.random() < factor % 1)
        later = [0, *(chance.randrange(jitter_us + 1) for _ in range(count - 1))][:count]
        copies += [
            Request(request.at_us + shift, request.input_tokens, request.output_tokens)
            for shift in later
        ]
    return tuple(sorted(copies, key=lambda request: request.at_us))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, counted from 1; the last one may lack its end."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.strip()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: expected a readable trace, found {error}") from error


def _azure_row(path: Path, number: int, line: str) -> Request:
    fields = line.split(",")
    if len(fields) != 3:
        raise TraceError(
            f"{path}, line {number}: expected 3 fields, found {len(fields)} in {line[:80]!r}"
        )
    instant, came, answered = fields
    return Request(
        _instant_us(path, number, instant),
        _tokens(path, number, came),
        _tokens(path, number, answered),
    )


def _instant_us(path: Path, number: int, text: str) -> int:
    """Microseconds since year 1: seven digits of a second are one more than `datetime` reads, so
    they are read here."""
    head, _, digits = text.partition(".")
    try:
        if len(head) != 19 or (digits and not digits.isdecimal()):
            raise ValueError(text)
        since = datetime.fromisoformat(head) - datetime.min  # noqa: DTZ901  the trace names no zone
    except ValueError:
        raise TraceError(
            f"{path}, line {number}: expected a time like 2023-11-16 18:15:46.6805900, found"
            f" {text[:80]!r}"
        ) from None
    return (since.days * 86_400 + since.seconds) * SECOND_US + int(digits.ljust(6, "0")[:6])


def _mooncake_row(path: Path, number: int, line: str) -> Request:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise TraceError(f"{path}, line {number}: expected a JSON object, found {line[:80]!r}")
    at_ms = row.get("timestamp")
    if isinstance(at_ms, bool) or not isinstance(at_ms, int | float) or not 0 <= at_ms < 1e15:
        raise TraceError(
            f"{path}, line {number}: expected timestamp in milliseconds from 0 on, found {at_ms!r}"
        )
    return Request(
        round(at_ms * 1000),
        _tokens(path, number, row.get("input_length")),
        _tokens(path, number, row.get("output_length")),
    )


def _tokens(path: Path, number: int, value: Any) -> int:
    tokens = (
        int(value)
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 12
        else value
    )
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 0 <= tokens <= TOKENS_MAX:
        raise TraceError(
            f"{path}, line {number}: expected a whole number of tokens up to {TOKENS_MAX}, found"
            f" {value!r}"
        )
    return tokens


def _in_order(path: Path, rows: list[tuple[int, Request]]) -> tuple[Request, ...]:
    if not rows:
        raise TraceError(f"{path}: expected at least one request, found none")
    start_us = before_us = rows[0][1].at_us
    for number, row in rows:
        if row.at_us < before_us:
            raise TraceError(
                f"{path}, line {number}: expected requests in the order in which they came, found"
                f" one {before_us - row.at_us} us too early"
            )
        before_us = row.at_us
    return tuple(
        Request(row.at_us - start_us, row.input_tokens, row.output_tokens) for _, row in rows
    )
