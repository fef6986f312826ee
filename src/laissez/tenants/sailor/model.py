"""What Sailor measured: how long each layer takes, how large it is, and how fast messages travel.

Sailor (Strati et al., SOSP 2025; repository eth-easl/sailor, MIT) times every layer of a model on
one GPU type by microbatch and by the number of GPUs that share the layer (tensor parallelism, tp),
and fits the bandwidth between two GPUs as a parabola over the logarithm of the message. From these
facts alone `iteration` computes how long any way of training the model takes, without training it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from laissez.tenants.sailor.errors import ProfileError

FLOAT_BYTES: Final = 4


class Curve(msgspec.Struct, frozen=True, gc=False):
    """GB/s that one GPU gets for a message of x bytes: a m^2 + b m + c with m = log2(x / 1e6).

    The fit holds from about 1 MB up to its peak. Below, it would soon give nothing or less; above,
    it would fall again. So m stays between the two.
    """

    a: float
    b: float
    c: float

    def __post_init__(self) -> None:
        for name in ("a", "b", "c"):
            finite(f"bandwidth coefficient {name}", getattr(self, name))
        if self.c <= 0 or self.b < 0:
            raise ProfileError(
                "expected a bandwidth above 0 that grows from 1 MB on (c > 0, b >= 0), found b ="
                f" {self.b}, c = {self.c}"
            )

    def seconds(self, size: float) -> float:
        """How long a message of `size` bytes takes."""
        if size <= 0:
            return 0.0
        m = max(0.0, math.log2(size / 1e6))
        if self.a < 0:
            m = min(m, -self.b / (2 * self.a))
        return size / 1e9 / (self.a * m * m + self.b * m + self.c)

    def scaled(self, factor: float) -> Curve:
        return Curve(self.a * factor, self.b * factor, self.c * factor)


class Gpu(msgspec.Struct, frozen=True, gc=False):
    """A GPU type: its memory, and its links inside a host and between hosts (by how many GPUs of a
    host use the network together)."""

    memory_bytes: float
    intra: Curve
    inter: Mapping[int, Curve]

    def __post_init__(self) -> None:
        positive("memory of a GPU", self.memory_bytes)
        if 1 not in self.inter:
            raise ProfileError(
                "expected the bandwidth between hosts for 1 GPU at least, found it for"
                f" {sorted(self.inter)}"
            )

    def far(self, tp: int) -> Curve:
        """The link between hosts when `tp` GPUs share it; where that was not measured, the nearest
        smaller number."""
        return self.inter[max(count for count in self.inter if count <= tp)]


class LayerSize(msgspec.Struct, frozen=True, gc=False):
    """What one GPU holds of a layer and passes on per sample, in numbers of 4 bytes."""

    params: float
    output: float
    activations: float

    def __post_init__(self) -> None:
        for name in ("params", "output", "activations"):
            not_negative(f"{name} of a layer", getattr(self, name))


class LayerTime(msgspec.Struct, frozen=True, gc=False):
    """Seconds for forward and backward of one microbatch, and for the optimizer's update."""

    work_s: float
    update_s: float

    def __post_init__(self) -> None:
        not_negative("forward and backward time of a layer", self.work_s)
        not_negative("update time of a layer", self.update_s)


Sizes = Mapping[int, tuple[LayerSize, ...]]  # by tp
Times = Mapping[int, Mapping[int, tuple[LayerTime, ...]]]  # by microbatch, then tp


class Profile(msgspec.Struct, frozen=True):
    """A model to train: its batch, its layers by tp, and their times by GPU type."""

    model: str
    global_batch: int
    sizes: Sizes
    times: Mapping[str, Times]
    gpus: Mapping[str, Gpu]

    def __post_init__(self) -> None:
        if self.global_batch < 1:
            raise ProfileError(
                f"expected a global batch of 1 sample or more for {self.model}, found"
                f" {self.global_batch}"
            )
        if not self.sizes or not self.times:
            raise ProfileError(
                f"expected sizes and times for {self.model}, found {len(self.sizes)} tp and"
                f" {len(self.times)} GPU types"
            )
        self._check_layers()

    @property
    def layers(self) -> int:
        return len(next(iter(self.sizes.values())))

    def _check_layers(self) -> None:
        for tp, sizes in self.sizes.items():
            _same_layers(self.layers, len(sizes), f"sizes of {self.model}, tp {tp}")
        for gpu, microbatches in self.times.items():
            if gpu not in self.gpus:
                raise ProfileError(
                    f"expected memory and network of GPU type {gpu}, found them for"
                    f" {sorted(self.gpus)}"
                )
            for microbatch, tps in microbatches.items():
                for tp, times in tps.items():
                    self._check_times(
                        times,
                        tp,
                        f"times of {self.model} on {gpu}, microbatch {microbatch}, tp {tp}",
                    )

    def _check_times(self, times: tuple[LayerTime, ...], tp: int, where: str) -> None:
        if tp not in self.sizes:
            raise ProfileError(
                f"{where}: expected sizes for this tp, found them for {sorted(self.sizes)}"
            )
        _same_layers(self.layers, len(times), where)
        if sum(time.work_s for time in times) <= 0:
            raise ProfileError(f"{where}: expected some time to be spent, found none")


def finite(what: str, number: float) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise ProfileError(f"{what}: expected a finite number, found {number!r}")
    return number


def not_negative(what: str, number: float) -> float:
    if finite(what, number) < 0:
        raise ProfileError(f"{what}: expected a number from 0 on, found {number}")
    return number


def positive(what: str, number: float) -> float:
    if finite(what, number) <= 0:
        raise ProfileError(f"{what}: expected a number above 0, found {number}")
    return number


def _same_layers(expected: int, found: int, where: str) -> None:
    if found != expected or found == 0:
        raise ProfileError(
            f"{where}: expected {expected or 'some'} layers as for the others, found {found}"
        )
