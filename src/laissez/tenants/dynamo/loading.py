"""Reads engine profiles from files: Dynamo's pre-swept results (as JSON) and AIConfigurator's.

Both carry a throughput per GPU beside the latencies. It is not read: it follows from them, and in
Dynamo's H100 file it was divided by 8 for every TP. That file also gives all TPs one cache size.
This does not affect latencies, because the share in use was computed with the same size.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from laissez.config import ConfigError
from laissez.tenants.dynamo.profile import DynamoError, EngineProfile
from laissez.tenants.inputs import Count, Positive, load_json

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
OneCount: TypeAlias = Annotated[tuple[Count], Meta(description="[one integer from 1 on]")]
OneText: TypeAlias = Annotated[tuple[Text], Meta(description="[one text]")]
Numbers: TypeAlias = tuple[Positive, ...]


class _Columns(msgspec.Struct):
    """Tables whose columns must be of one length."""

    def __post_init__(self) -> None:
        columns = {
            name: column
            for name, column in msgspec.structs.asdict(self).items()
            if isinstance(column, tuple)
        }
        lengths = [len(column) for column in columns.values()]
        if len(set(lengths)) > 1 or not lengths[0]:
            raise ConfigError(
                f"expected {', '.join(columns)} to be of one length above 0, found {lengths}"
            )


class _Meta(msgspec.Struct):
    system: Text
    tp: Count


class _Prefill(_Columns):
    prefill_isl: Numbers
    prefill_ttft: Numbers


class _Decode(_Columns):
    y_context_length: Numbers
    x_kv_usage: Numbers
    z_itl: Numbers
    max_kv_tokens: Count


class _Engine(msgspec.Struct):
    """AIConfigurator's file."""

    meta: _Meta
    prefill: _Prefill
    decode: _Decode


class _PrefillRows(_Columns):
    """Dynamo's files hold a row per TP under each key. Single values are rows of one."""

    tp: tuple[OneCount, ...]
    gpu_type: tuple[OneText, ...]
    prefill_isl: tuple[Numbers, ...]
    prefill_ttft: tuple[Numbers, ...]


class _DecodeRows(_Columns):
    tp: tuple[OneCount, ...]
    max_kv_tokens: tuple[OneCount, ...]
    y_context_length: tuple[Numbers, ...]
    x_kv_usage: tuple[Numbers, ...]
    z_itl: tuple[Numbers, ...]


def load_aiconfigurator(path: Path) -> EngineProfile:
    """The engine of one AIConfigurator file: `meta`, `prefill`, `decode`."""
    return _profile(path, load_json(path, _Engine, DynamoError))


def load_dynamo(prefill_path: Path, decode_path: Path) -> dict[int, EngineProfile]:
    """The engines of two of Dynamo's files, by TP: each key holds one row per TP."""
    prefill: _PrefillRows = load_json(prefill_path, _PrefillRows, DynamoError)
    decode: _DecodeRows = load_json(decode_path, _DecodeRows, DynamoError)
    if prefill.tp != decode.tp:
        raise DynamoError(
            f"{decode_path}: tp: expected the TPs of {prefill_path}, {prefill.tp}, found"
            f" {decode.tp}"
        )
    engines = {}
    for row, (tp,) in enumerate(prefill.tp):
        try:
            engine = _Engine(
                _Meta(prefill.gpu_type[row][0], tp),
                _Prefill(prefill.prefill_isl[row], prefill.prefill_ttft[row]),
                _Decode(
                    decode.y_context_length[row],
                    decode.x_kv_usage[row],
                    decode.z_itl[row],
                    decode.max_kv_tokens[row][0],
                ),
            )
        except ConfigError as error:
            raise DynamoError(f"{decode_path}, TP {tp}: {error}") from None
        engines[tp] = _profile(decode_path, engine)
    return engines


def _profile(path: Path, engine: _Engine) -> EngineProfile:
    decode, prefill = engine.decode, engine.prefill
    curves: dict[float, list[tuple[float, float]]] = {}
    for context, used, itl in zip(
        decode.y_context_length, decode.x_kv_usage, decode.z_itl, strict=True
    ):
        curves.setdefault(context, []).append((used, itl))
    # `h100_sxm` is the tree `h100`
    tree = engine.meta.system.partition("_")[0].lower()
    points = list(zip(prefill.prefill_isl, prefill.prefill_ttft, strict=True))
    try:
        return EngineProfile(tree, engine.meta.tp, decode.max_kv_tokens, points, curves)
    except DynamoError as error:
        raise DynamoError(f"{path}: {error}") from None
