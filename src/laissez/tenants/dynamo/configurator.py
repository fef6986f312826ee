"""Asks AIConfigurator for the profile of an engine, for which there is no file yet.

An extra: `pip install 'laissezcloud[aiconfigurator]'` brings the package `aiconfigurator-core`,
which carries NVIDIA's kernel measurements. It is imported on first use. The sweep is Dynamo's:
prefill one request at a time; decode with 500 output tokens, from one request to as many as fit.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from laissez.tenants.dynamo.profile import DynamoError, EngineProfile

EXTRA: Final = "laissezcloud[aiconfigurator]"
ISL_MIN: Final = 100
OSL: Final = 500
PREFILL_ROOM: Final = 512  # of the context, kept free for an answer
PREFILL_STEPS: Final = 16
DECODE_STEPS: Final = 8
CONCURRENCIES: Final = 8
CONCURRENCY_MAX: Final = 2000
MEMORY_SHARE: Final = 0.9  # vLLM's own default for the part of the GPU it takes
BATCHED_TOKENS: Final = 8192  # vLLM's largest prefill step, for which it keeps memory free
BATCHED_REQUESTS: Final = 256


def ask(
    model: str,
    system: str,
    tp: int,
    *,
    backend: str = "vllm",
    version: str = "current",
    context_max: int = 16_384,
    max_kv_tokens: int | None = None,
) -> EngineProfile:
    """The engine of `tp` GPUs of `system` (such as `h100_sxm`) for `model` (its name at Hugging
    Face). AIConfigurator estimates `max_kv_tokens` unless it is given."""
    sdk = _sdk()
    try:
        engine = sdk.EngineHandle.compile(
            model, system, backend, backend_version=version, tp_size=tp
        )
        max_kv = max_kv_tokens or _cache(sdk, model, system, tp, backend, version)
        return EngineProfile(
            system.partition("_")[0],
            tp,
            max_kv,
            _prefill(engine, context_max),
            _decode(engine, context_max, max_kv),
        )
    except DynamoError:
        raise
    except Exception as error:  # whatever its database lacks, in whichever of its layers
        raise DynamoError(
            f"expected AIConfigurator to know {model} on {tp} x {system} with {backend} {version},"
            f" found: {error}"
        ) from error


def _sdk() -> Any:
    try:
        return import_module("aiconfigurator_core.sdk")
    except ImportError as error:
        raise DynamoError(
            f"expected the package aiconfigurator-core, found none: install {EXTRA}"
        ) from error


def _cache(sdk: Any, model: str, system: str, tp: int, backend: str, version: str) -> int:
    room = {
        "max_num_tokens": BATCHED_TOKENS,
        "max_batch_size": BATCHED_REQUESTS,
        "memory_fraction_value": MEMORY_SHARE,
    }
    kind = "of_free" if backend == "trtllm" else "of_total"
    found = sdk.estimate_kv_cache(
        model, system, backend, version, tp_size=tp, memory_fraction_kind=kind, **room
    )
    return int(found["total_kv_size_tokens"])


def _prefill(engine: Any, context_max: int) -> list[tuple[float, float]]:
    step = (context_max - PREFILL_ROOM - ISL_MIN) // PREFILL_STEPS
    lengths = [ISL_MIN + step * at for at in range(PREFILL_STEPS + 1)]
    return [(isl, float(engine.predict_prefill_latency(1, isl))) for isl in lengths]


def _decode(engine: Any, context_max: int, max_kv: int) -> dict[float, list[tuple[float, float]]]:
    step = (context_max - OSL) // DECODE_STEPS
    curves = {}
    for isl in (ISL_MIN + step * at for at in range(DECODE_STEPS)):
        context = isl + OSL / 2
        curves[context] = [
            (count * context / max_kv, _itl(engine, count, isl))
            for count in _concurrencies(max_kv // (isl + OSL))
        ]
    return curves


def _concurrencies(fit: int) -> list[int]:
    most = max(1, min(CONCURRENCY_MAX, fit))
    return sorted({1 + (most - 1) * at // (CONCURRENCIES - 1) for at in range(CONCURRENCIES)})


def _itl(engine: Any, count: int, isl: int) -> float:
    """The first token comes from the prefill: the time is that of all the others."""
    return float(engine.predict_decode_latency(count, isl, OSL)) / (OSL - 1)
