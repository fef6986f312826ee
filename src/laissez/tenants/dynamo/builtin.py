"""Engines that are known without any file: small profiles of common models on H100 and A100 parts
of 80 GB.

All figures in `builtin.json` are from AIConfigurator 0.12.0 (ai-dynamo/aiconfigurator, Apache-2.0),
vLLM database, bf16: a part of what it gives for Dynamo's own sweep (prefill one request at a time;
decode with 500 output tokens), and a context of 1100 because many conversations are about that
long. They are modelled from kernel measurements, not measured on engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

import msgspec

from laissez.tenants.dynamo.profile import DynamoError, EngineProfile


class _Latencies(msgspec.Struct):
    """TTFT for each input length; ITL for each context and number of requests."""

    ttft_ms: tuple[float, ...]
    itl_ms: tuple[tuple[float, ...], ...]


class _Engine(msgspec.Struct):
    """`requests` are the numbers of requests at once, for each context."""

    model: str
    gpus: int
    max_kv_tokens: int
    requests: tuple[tuple[int, ...], ...]
    types: Mapping[str, _Latencies]


class _File(msgspec.Struct):
    isl: tuple[int, ...]
    contexts: tuple[int, ...]
    engines: tuple[_Engine, ...]


_FILE: Final = msgspec.json.decode(
    files(__package__).joinpath("builtin.json").read_bytes(), type=_File
)
_ENGINES: Final = {(engine.model, engine.gpus): engine for engine in _FILE.engines}
BUILT_IN: Final = tuple(_ENGINES)


def built_in(model: str, gpus: int) -> dict[str, EngineProfile]:
    """The engine of `gpus` GPUs that serves `model`, for each type of GPU."""
    engine = _ENGINES.get((model, gpus))
    if engine is None:
        known = ", ".join(f"{name} on {count}" for name, count in BUILT_IN)
        raise DynamoError(
            f"expected one of the built-in engines ({known}), found {model} on {gpus}; load a"
            " profile instead"
        )
    return {tree: _profile(engine, tree, found) for tree, found in engine.types.items()}


def _profile(engine: _Engine, tree: str, found: _Latencies) -> EngineProfile:
    decode = {
        float(context): [
            (count * context / engine.max_kv_tokens, ms)
            for count, ms in zip(counts, latencies, strict=True)
        ]
        for context, counts, latencies in zip(
            _FILE.contexts, engine.requests, found.itl_ms, strict=True
        )
    }
    prefill = list(zip(_FILE.isl, found.ttft_ms, strict=True))
    return EngineProfile(tree, engine.gpus, engine.max_kv_tokens, prefill, decode)
