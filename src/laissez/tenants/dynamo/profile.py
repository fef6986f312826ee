"""How fast one engine is: the time to first token by input length, and the time between tokens by
how much it has to do at once.

A decode step reads the weights, does a little for each request and reads every token in the cache:
ITL is about `a + b * n + c * n * context`. Profiles give it along curves of equal context, by the
share `kv` of the cache in use; with `kv` fixed the formula is linear in `1 / context`, so that is
how two curves are joined. (Joining them by the context itself, as a plane over `kv` and context
does, is wrong by 31 % at the median between contexts of 350 and 4320 in AIConfigurator's sweeps; by
its inverse, 2.6 %.) Nothing is extrapolated: outside of what was profiled the nearest profiled
value holds, and a batch never uses more of the cache than was profiled at that context, or
throughput would grow for nothing along the flat end of a curve.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from laissez.tenants.dynamo.curves import Band, curve
from laissez.tenants.dynamo.errors import ProfileError

CACHED_MAX: Final = 4096  # throughputs remembered by one profile


class DecodeStep(msgspec.Struct, frozen=True):
    """One step of decoding at one context: between two curves, and up to `used_max` of the cache.
    It is asked over and over for one context."""

    band: Band
    share: float
    tokens: float  # that one request has in the cache
    max_kv_tokens: int
    used_max: float
    batch_max: int  # the most requests at once that fit the cache and were profiled

    def itl_ms(self, concurrency: float) -> float:
        used = concurrency * self.tokens / self.max_kv_tokens
        return self.band.at(used if used < self.used_max else self.used_max, self.share)


class EngineProfile:
    """One engine of `gpus` GPUs of type `gpu` (a tree's name). `prefill` is TTFT by input length,
    `decode` ITL by context and cache in use (0..1)."""

    def __init__(
        self,
        gpu: str,
        gpus: int,
        max_kv_tokens: int,
        prefill: Sequence[tuple[float, float]],
        decode: Mapping[float, Sequence[tuple[float, float]]],
    ) -> None:
        if gpus < 1 or max_kv_tokens < 1 or not decode:
            raise ProfileError(
                f"{gpu}: expected GPUs, cache tokens and decode curves, found {gpus},"
                f" {max_kv_tokens} and {len(decode)}"
            )
        self.gpu, self.gpus, self.max_kv_tokens = gpu, gpus, max_kv_tokens
        self.prefill = curve(f"{gpu}, prefill", prefill)
        self.contexts = tuple(sorted(decode))
        if not 0 < self.contexts[0] <= self.contexts[-1] < math.inf:
            raise ProfileError(
                f"{gpu}, decode: expected finite contexts above 0, found {self.contexts}"
            )
        self.decode = tuple(
            curve(f"{gpu}, decode at context {context:g}", decode[context])
            for context in self.contexts
        )
        if max(each.xs[-1] for each in self.decode) > 1:
            raise ProfileError(
                f"{gpu}, decode: expected shares of the cache up to 1, found"
                f" {max(each.xs[-1] for each in self.decode)}"
            )
        self._bands = [
            Band(low, high)
            for low, high in pairwise((self.decode[0], *self.decode, self.decode[-1]))
        ]
        self._decoded: dict[tuple[float, float], float] = {}
        self._steps: dict[float, DecodeStep] = {}

    def ttft_ms(self, isl: float) -> float:
        """Time to first token of one request of `isl` tokens."""
        _real("isl", isl)
        return self.prefill.at(isl)

    def prefill_tokens_per_s(self, isl: float) -> float:
        """Input tokens that the whole engine reads per second, one request after the other."""
        return min(isl, self.prefill.xs[-1]) / self.ttft_ms(isl) * 1000

    def itl_ms(self, concurrency: float, context: float) -> float:
        """Time between tokens with `concurrency` requests of `context` tokens each."""
        _real("concurrency", concurrency)
        return self.step(context).itl_ms(concurrency)

    def batch_max(self, context: float) -> int:
        """The most requests at once that fit the cache and were profiled."""
        return self.step(context).batch_max

    def largest_batch(self, context: float, itl_slo_ms: float) -> int:
        """The most requests at once whose ITL meets the objective; 0 if not even one does."""
        step = self.step(context)
        itl_ms = step.itl_ms
        if not itl_ms(1) <= itl_slo_ms:
            return 0
        meets, fails = 1, step.batch_max + 1
        while fails - meets > 1:
            middle = (meets + fails) // 2
            if itl_ms(middle) <= itl_slo_ms:
                meets = middle
            else:
                fails = middle
        return meets

    def decode_tokens_per_s(self, context: float, itl_slo_ms: float) -> float:
        """Output tokens that the whole engine writes per second at its largest batch; 0 if it
        cannot meet the objective."""
        found = self._decoded.get((context, itl_slo_ms))
        if found is not None:
            return found
        batch = self.largest_batch(context, itl_slo_ms)
        found = batch / self.itl_ms(batch, context) * 1000
        if len(self._decoded) >= CACHED_MAX:
            self._decoded.clear()
        self._decoded[context, itl_slo_ms] = found
        return found

    def step(self, context: float) -> DecodeStep:
        """Decoding at that context."""
        found = self._steps.get(context)
        if found is None:
            if len(self._steps) >= CACHED_MAX:
                self._steps.clear()
            band, share = self._beside(context)
            low, high, tokens = band.low.xs[-1], band.high.xs[-1], max(context, self.contexts[0])
            used_max = low + (high - low) * share
            batch_max = max(1, int(used_max * self.max_kv_tokens / tokens + 1e-9))
            found = self._steps[context] = DecodeStep(
                band, share, tokens, self.max_kv_tokens, used_max, batch_max
            )
        return found

    def _beside(self, context: float) -> tuple[Band, float]:
        """What lies between the curves on either side of `context`, and how far it is from the
        first to the second."""
        _real("context", context)
        after = bisect_left(self.contexts, context)
        if after in (0, len(self.contexts)):
            return self._bands[after], 0.0
        low, high = 1 / self.contexts[after - 1], 1 / self.contexts[after]
        return self._bands[after], (1 / context - low) / (high - low)


def _real(name: str, value: float) -> None:
    if not 0 <= value < math.inf:
        raise ProfileError(f"expected {name} to be a number from 0 on, found {value}")
