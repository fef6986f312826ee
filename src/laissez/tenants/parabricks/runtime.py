"""How long a sample takes on `n` GPUs of one machine: a part that does not shrink, and a part that
is divided among them.

    T(n) = serial + parallel / n

The A100 figures are those of the AT-CG group's blog, "Benchmarking human whole genome and RNA
sequencing using Nvidia Ampere A100 GPUs": fq2bam on a human genome read 50 times over (ERR194147).
`A100_DNA` meets the run on one GPU exactly and the others within 3 %.

Nobody has published the same input on as many H100s. That an H100 is `H100_SPEEDUP` times as fast
for this pipeline, which waits for CPUs and disks part of the time, is an ASSUMPTION; what has been
published about unlike inputs leaves 1.3 to 1.6 open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from laissez.tenants.inputs import load_csv
from laissez.tenants.parabricks.errors import ParabricksError

# GPUs: seconds, published
A100_DNA_S: Final[Mapping[int, float]] = MappingProxyType(
    {1: 11_053.0, 2: 5_903.0, 4: 3_389.0, 8: 2_204.0}
)
H100_SPEEDUP: Final = 1.45  # an assumption
H100_SPEEDUP_RANGE: Final = (1.3, 1.6)  # what to try instead


class RunTime(msgspec.Struct, frozen=True, gc=False):
    """The run time of one sample on one type of GPU, in seconds."""

    serial_s: float
    parallel_s: float

    def __post_init__(self) -> None:
        if not (0 <= self.serial_s < math.inf and 0 < self.parallel_s < math.inf):
            raise ParabricksError(
                "expected a serial part from 0 s and a parallel part above 0 s, found"
                f" {self.serial_s} and {self.parallel_s}"
            )

    def seconds(self, gpus: int) -> float:
        return self.serial_s + self.parallel_s / gpus

    def per_hour(self, gpus: int) -> float:
        """Samples per hour, one after the other, on this many GPUs together."""
        return 3600.0 / self.seconds(gpus)

    def sped_up(self, factor: float) -> RunTime:
        """The same on a GPU that is `factor` times as fast in everything."""
        if not 0 < factor < math.inf:
            raise ParabricksError(f"expected a factor above 0, found {factor}")
        return RunTime(self.serial_s / factor, self.parallel_s / factor)


A100_DNA: Final = RunTime(957.0, 10_096.0)
H100_DNA: Final = A100_DNA.sped_up(H100_SPEEDUP)
RUN_TIMES: Final[Mapping[str, RunTime]] = MappingProxyType({"a100": A100_DNA, "h100": H100_DNA})


class Published(msgspec.Struct, frozen=True, rename={"gpus": "num_gpus"}):
    """One published run. Sources differ in input and version, so only runs of one source can be
    compared."""

    total_s: Annotated[float, Meta(gt=0, le=1e18)]
    gpu: str = ""
    gpus: Annotated[int, Meta(ge=1)] | None = None
    pipeline: str = ""
    source: str = ""


def fit(points: Iterable[tuple[int, float]]) -> RunTime:
    """The run time that lies nearest, by least squares over 1/n, to runs on `n` GPUs that took so
    many seconds."""
    runs = [(1.0 / gpus, seconds) for gpus, seconds in points if _is_run(gpus, seconds)]
    if len({x for x, _ in runs}) < 2:
        raise ParabricksError(
            "expected runs on at least two different counts of GPUs to fit a run time to, found"
            f" {len(runs)} run(s)"
        )
    x_mean = sum(x for x, _ in runs) / len(runs)
    y_mean = sum(y for _, y in runs) / len(runs)
    slope = sum((x - x_mean) * (y - y_mean) for x, y in runs) / sum(
        (x - x_mean) ** 2 for x, _ in runs
    )
    return RunTime(max(0.0, y_mean - slope * x_mean), slope)


def _is_run(gpus: int, seconds: float) -> bool:
    if gpus < 1 or not 0 < seconds < math.inf:
        raise ParabricksError(
            f"expected 1 GPU or more and seconds above 0, found {gpus} GPUs and {seconds} s"
        )
    return True


def load_published(path: Path) -> list[Published]:
    """Published run times from a CSV file; `num_gpus` may be empty."""
    return load_csv(path, Published, ParabricksError)
