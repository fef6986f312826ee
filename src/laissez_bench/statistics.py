"""The statistics of a load: latency histograms, counts of a phase, and ratios with their
confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median
from typing import Any

import msgspec

CONFIDENCE = 0.95


class Times(msgspec.Struct):
    """A histogram in steps of 1 %, so that hours of load do not fill the memory."""

    counts: dict[int, int] = msgspec.field(default_factory=dict)

    def add(self, seconds: float, count: int = 1) -> None:
        step = round(math.log(seconds if seconds > 1e-6 else 1e-6) * 100.5)
        self.counts[step] = self.counts.get(step, 0) + count

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    def above(self, seconds: float) -> int:
        most = round(math.log(seconds) * 100.5)
        return sum(count for step, count in self.counts.items() if step > most)

    def quantile_ms(self, share: float) -> float:
        """0 if the histogram is empty."""
        left = self.count * share
        for step in sorted(self.counts):
            left -= self.counts[step]
            if left < 0:
                return round(math.exp(step / 100.5) * 1000, 3)
        return 0.0


class Counted(msgspec.Struct):
    """The results of a phase. Latencies are of requests due in the measured time; `answered` counts
    the answers that came in it, whenever their requests were sent."""

    seconds: float = 0.0
    answered: int = 0
    offered: int = 0
    unanswered: int = 0
    admitted: Times = msgspec.field(default_factory=Times)
    refused: Times = msgspec.field(default_factory=Times)
    late: Times = msgspec.field(default_factory=Times)  # the delay of the generator itself
    problems: dict[str, int] = msgspec.field(default_factory=dict)
    pause_s: float = 0.0  # the longest without any answer while commands were in flight
    generator_cpu_s: float = 0.0
    server_main_s: float = 0.0
    server_others_s: float = 0.0

    @staticmethod
    def sum_of(phases: Iterable[Counted]) -> Counted:
        whole = Counted()
        for phase in phases:
            whole.merge(phase)
        return whole

    @property
    def per_second(self) -> float:
        return self.answered / self.seconds if self.seconds else 0.0

    @property
    def server_cpu_s(self) -> float:
        return self.server_main_s + self.server_others_s

    @property
    def done(self) -> int:
        """Commands that were admitted and answered."""
        return self.admitted.count - self.unanswered

    @property
    def p50_ms(self) -> float:
        return self.admitted.quantile_ms(0.5)

    @property
    def p99_ms(self) -> float:
        return self.admitted.quantile_ms(0.99)

    def merge(self, other: Counted) -> None:
        for name in self.__struct_fields__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, Times):
                _add_counts(mine.counts, theirs.counts)
            elif isinstance(mine, dict):
                _add_counts(mine, theirs)
            elif name == "pause_s":
                self.pause_s = max(mine, theirs)
            else:
                setattr(self, name, mine + theirs)


def _add_counts(counts: dict[Any, int], others: dict[Any, int]) -> None:
    for key, count in others.items():
        counts[key] = counts.get(key, 0) + count


class Ratio(msgspec.Struct):
    """A median with its 95 % confidence interval."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"x{self.median:.2f} {self.low:.2f}-{self.high:.2f}"


def ratio_of(rounds: Iterable[tuple[float, float, float]]) -> Ratio:
    """The slowdown over rounds of (before, with, after) the noise. The interval is that of order
    statistics, which assumes nothing about the distribution; with fewer than six rounds it is the
    whole range."""
    ratios = sorted(
        loud / ((before + after) / 2) if before + after else 0.0 for before, loud, after in rounds
    )
    count, tail, rank = len(ratios), 0.0, 0
    while (tail := tail + math.comb(count, rank) / 2**count) <= (1 - CONFIDENCE) / 2:
        rank += 1
    rank = max(rank, 1)
    low, high = ratios[rank - 1], ratios[count - rank]
    return Ratio(round(median(ratios), 3), round(low, 3), round(high, 3))
