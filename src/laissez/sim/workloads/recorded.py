"""Load that was recorded: the requests of a real trace, in bins.

A service of the size that is simulated has many times the requests of a public trace. Repeated as
they are, its bursts would be as many times as high; so each repetition is thought of as shifted by
up to a minute, which evens out what is shorter and keeps what is longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Final, Literal

from laissez.sim.worlds.inference import Load
from laissez.tenants.traces import Request, load_azure, load_mooncake
from laissez.units import SECOND_US

BIN_S: Final = 10
SHIFT_BINS: Final = 6


def read_bins(path: Path) -> tuple[Load, ...]:
    """The trace in `path`, from its first request to its last full bin: Azure's CSV or, if its name
    says `.jsonl`, Mooncake's lines."""
    return _read(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=4)  # every draw asks for it
def _read(path: Path, changed_at: int) -> tuple[Load, ...]:
    return binned(load_mooncake(path) if ".jsonl" in path.suffixes else load_azure(path))


def binned(requests: Sequence[Request]) -> tuple[Load, ...]:
    count = max(1, requests[-1].at_us // (BIN_S * SECOND_US))
    totals = [[0.0, 0.0, 0.0] for _ in range(count)]
    for request in requests:
        at = request.at_us // (BIN_S * SECOND_US)
        if at < count:
            for place, number in enumerate((1.0, request.input_tokens, request.output_tokens)):
                totals[at][place] += number
    return tuple(_evened(totals, at) for at in range(count))


def stretch(chance: Random, bins: Sequence[Load], count: int) -> list[Load]:
    """`count` bins from a random one on; after the last comes the first."""
    first = chance.randrange(len(bins))
    return [bins[(first + at) % len(bins)] for at in range(count)]


def mean_of(loads: Sequence[Load], length: Literal["isl", "osl"]) -> float:
    """The mean over requests."""
    requests = sum(load.requests for load in loads)
    return (
        sum(load.requests * float(getattr(load, length)) for load in loads) / requests
        if requests
        else 1.0
    )


def _evened(totals: list[list[float]], at: int) -> Load:
    near = totals[max(0, at - SHIFT_BINS) : at + SHIFT_BINS + 1]
    requests, came, answered = (sum(row[place] for row in near) for place in range(3))
    return (
        Load(requests / len(near), max(1.0, came / requests), max(1.0, answered / requests))
        if requests
        else Load(0.0, 1.0, 1.0)
    )
