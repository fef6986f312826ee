"""The run time of a sample on `n` GPUs of one machine, and the division of GPUs among the samples
of a batch.

    T(n) = serial + parallel / n

The A100 figures are those of the AT-CG group's blog, "Benchmarking human whole genome and RNA
sequencing using Nvidia Ampere A100 GPUs": fq2bam on a human genome read 50 times over (ERR194147).
`A100_DNA` meets the run on one GPU exactly and the others within 3 %.

There are no published runs of the same input on H100s. An H100 counts as `H100_SPEEDUP` times as
fast for this pipeline, which waits for CPUs and disks part of the time. This is an ASSUMPTION;
published figures for other inputs suggest 1.3 to 1.6.

All GPUs of one sample sit in one machine. A sample on `n` GPUs is less than `n` times as fast as on
one, so while there are enough samples every GPU takes its own. Near the end there are fewer samples
than GPUs; then the GPUs of one machine join, and a machine without a sample is of no use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from statistics import linear_regression
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, TypeAlias

import msgspec
from msgspec import Meta

from laissez.tenants.hooks import Leaves
from laissez.tenants.inputs import Checked, Count, NotNegative, Positive, checked, load_csv
from laissez.tenants.paths import parent_of, tree_of
from laissez.units import HOUR_S

Run: TypeAlias = Annotated[
    tuple[Count, Positive], Meta(description="[1 GPU or more, seconds above 0]")
]
# GPUs: seconds, published
A100_DNA_S: Final[Mapping[int, float]] = MappingProxyType(
    {1: 11_053.0, 2: 5_903.0, 4: 3_389.0, 8: 2_204.0}
)
H100_SPEEDUP: Final = 1.45  # an assumption
H100_SPEEDUP_RANGE: Final = (1.3, 1.6)  # what to try instead


class ParabricksError(ValueError):
    """A number or a file that no batch can use. The message has the expectation."""


class RunTime(Checked, frozen=True, gc=False):
    """The run time of one sample on one type of GPU, in seconds."""

    error: ClassVar = ParabricksError

    serial_s: NotNegative
    parallel_s: Positive

    def seconds(self, gpus: int) -> float:
        return self.serial_s + self.parallel_s / gpus

    def per_hour(self, gpus: int) -> float:
        """Samples per hour, one after the other, on this many GPUs together."""
        return HOUR_S / self.seconds(gpus)

    def sped_up(self, factor: float) -> RunTime:
        """The same on a GPU that is `factor` times as fast in everything."""
        checked("factor", factor, Positive, ParabricksError)
        return RunTime(self.serial_s / factor, self.parallel_s / factor)


A100_DNA: Final = RunTime(957.0, 10_096.0)
H100_DNA: Final = A100_DNA.sped_up(H100_SPEEDUP)
RUN_TIMES: Final[Mapping[str, RunTime]] = MappingProxyType({"a100": A100_DNA, "h100": H100_DNA})


class Published(msgspec.Struct, frozen=True, rename={"gpus": "num_gpus"}):
    """One published run. Only runs of one source can be compared: inputs differ."""

    total_s: Positive
    gpu: str = ""
    gpus: Count | None = None
    pipeline: str = ""
    source: str = ""


def load_published(path: Path) -> list[Published]:
    """Published run times from a CSV file; `num_gpus` may be empty."""
    return load_csv(path, Published, ParabricksError)


def fit(points: Iterable[tuple[int, float]]) -> RunTime:
    """The run time nearest, by least squares over 1/n, to runs on `n` GPUs and their seconds."""
    runs = checked("runs", tuple(points), tuple[Run, ...], ParabricksError)
    if len({gpus for gpus, _ in runs}) < 2:
        raise ParabricksError(
            "expected runs on at least two different counts of GPUs to fit a run time to, found"
            f" {len(runs)} run(s)"
        )
    inverse, seconds = [1.0 / gpus for gpus, _ in runs], [taken for _, taken in runs]
    slope, intercept = linear_regression(inverse, seconds)
    return RunTime(max(0.0, intercept), slope)


def machines(held: Leaves, scopes: Collection[str]) -> list[tuple[str, int]]:
    """The type and the number of GPUs of each machine. A scope stands for a GPU somewhere below it,
    taken to be alone in its machine."""
    alone = [(tree_of(leaf), 1) for leaf in held if leaf in scopes]
    counts = Counter(parent_of(leaf) for leaf in held if leaf not in scopes)
    return [*((tree_of(host), count) for host, count in counts.items()), *alone]


def slots(
    found: list[tuple[str, int]], samples: int, run_times: Mapping[str, RunTime]
) -> list[float]:
    """The speed of every slot in samples per hour, the fastest first, at most one slot per sample.

    The next slot goes to the machine that gains most by it. A machine gains less by each further
    slot, so this is optimal.
    """
    useful = [(run_times[kind], count) for kind, count in found if kind in run_times]
    if samples >= sum(count for _, count in useful):
        return sorted(
            (one.per_hour(1) for one, count in useful for _ in range(count)), reverse=True
        )
    given = [0] * len(useful)
    for _ in range(samples):
        gains = [
            _rate(one, count, given[at] + 1) - _rate(one, count, given[at])
            for at, (one, count) in enumerate(useful)
        ]
        given[max(range(len(gains)), key=gains.__getitem__)] += 1
    rates = (
        rate
        for (one, count), parts in zip(useful, given, strict=True)
        for rate in _split(one, count, parts)
    )
    return sorted(rates, reverse=True)


def _rate(run_time: RunTime, gpus: int, parts: int) -> float:
    """Samples per hour of a machine that works on up to one sample per GPU at once."""
    return sum(_split(run_time, gpus, min(parts, gpus)))


def _split(run_time: RunTime, gpus: int, parts: int) -> list[float]:
    """The speed of each part when the GPUs are shared as evenly as possible."""
    if not parts:
        return []
    each, more = divmod(gpus, parts)
    return [run_time.per_hour(each + 1)] * more + [run_time.per_hour(each)] * (parts - more)
