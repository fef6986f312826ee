"""Sailor's measurements: the time and the size of each layer, and the speed of messages.

Sailor (Strati et al., SOSP 2025; repository eth-easl/sailor, MIT) times every layer of a model on
one GPU type by microbatch and by the number of GPUs that share the layer (tensor parallelism, tp),
and fits the bandwidth between two GPUs as a parabola over the logarithm of the message. From these
facts alone `iteration` computes how long any way of training the model takes, without training it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, TypeAlias

from msgspec import Meta

from laissez.tenants.inputs import Checked, Count, Finite, NotNegative, Positive

FLOAT_BYTES: Final = 4


class SailorError(ValueError):
    """Input that Sailor cannot use. The message has the place and the expectation."""


class SailorInput(Checked, frozen=True):
    error: ClassVar = SailorError


class Curve(SailorInput, frozen=True, gc=False):
    """GB/s that one GPU gets for a message of x bytes: a m^2 + b m + c with m = log2(x / 1e6).

    The fit holds from about 1 MB up to its peak. Below, it would soon give nothing or less; above,
    it would fall again. So m stays between the two.
    """

    a: Finite
    b: NotNegative
    c: Positive

    def seconds(self, size: float) -> float:
        """The time of a message of `size` bytes."""
        if size <= 0:
            return 0.0
        m = max(0.0, math.log2(size / 1e6))
        if self.a < 0:
            m = min(m, -self.b / (2 * self.a))
        return size / 1e9 / (self.a * m * m + self.b * m + self.c)


def shared(inter: Mapping[int, tuple[float, float, float]]) -> dict[int, Curve]:
    """The bandwidth that each of several GPUs gets, from what they reach together."""
    return {
        count: Curve(*(coefficient * (1 / count) for coefficient in curve))
        for count, curve in inter.items()
    }


class Gpu(SailorInput, frozen=True, gc=False):
    """A GPU type: its memory, and its links inside a host and between hosts (by how many GPUs of a
    host use the network together)."""

    memory_bytes: Positive
    intra: Curve
    inter: Mapping[int, Curve]

    def __post_init__(self) -> None:
        super().__post_init__()
        if 1 not in self.inter:
            raise SailorError(
                "expected the bandwidth between hosts for 1 GPU at least, found it for"
                f" {sorted(self.inter)}"
            )

    def inter_for(self, tp: int) -> Curve:
        """The link between hosts for `tp` GPUs, or for fewer if that was not measured."""
        return self.inter[max(count for count in self.inter if count <= tp)]


class LayerSize(SailorInput, frozen=True, gc=False):
    """The part of a layer that one GPU holds, and its output per sample, in numbers of 4 bytes."""

    params: NotNegative
    output: NotNegative
    activations: NotNegative


class LayerTime(SailorInput, frozen=True, gc=False):
    """Seconds for forward and backward of one microbatch, and for the optimizer's update."""

    work_s: NotNegative
    update_s: NotNegative


Sizes: TypeAlias = Mapping[int, tuple[LayerSize, ...]]  # by tp
Times: TypeAlias = Mapping[int, Mapping[int, tuple[LayerTime, ...]]]  # by microbatch, then tp


class Profile(SailorInput, frozen=True):
    """A model to train: its batch, its layers by tp, and their times by GPU type."""

    model: str
    global_batch: Count
    sizes: Annotated[Sizes, Meta(min_length=1)]
    times: Annotated[Mapping[str, Times], Meta(min_length=1)]
    gpus: Mapping[str, Gpu]

    def __post_init__(self) -> None:
        super().__post_init__()
        for tp, sizes in self.sizes.items():
            self._check_count(len(sizes), f"sizes of {self.model}, tp {tp}")
        for gpu, microbatches in self.times.items():
            if gpu not in self.gpus:
                raise SailorError(
                    f"expected memory and network of GPU type {gpu}, found them for"
                    f" {sorted(self.gpus)}"
                )
            for microbatch, tps in microbatches.items():
                for tp, times in tps.items():
                    where = f"times of {self.model} on {gpu}, microbatch {microbatch}, tp {tp}"
                    self._check_times(times, tp, where)

    @property
    def layers(self) -> int:
        return len(next(iter(self.sizes.values())))

    def _check_count(self, found: int, where: str) -> None:
        if found != self.layers or found == 0:
            raise SailorError(
                f"{where}: expected {self.layers or 'some'} layers as for the others, found {found}"
            )

    def _check_times(self, times: tuple[LayerTime, ...], tp: int, where: str) -> None:
        if tp not in self.sizes:
            raise SailorError(
                f"{where}: expected sizes for this tp, found them for {sorted(self.sizes)}"
            )
        self._check_count(len(times), where)
        if sum(time.work_s for time in times) <= 0:
            raise SailorError(f"{where}: expected some time to be spent, found none")
