"""Engine profiles from files: Dynamo's pre-swept results (as JSON) and AIConfigurator's.

Both carry a throughput per GPU beside the latencies. It is not read: it follows from them, and in
Dynamo's H100 file it was divided by 8 for every TP. That file also gives all TPs one cache size;
latencies are not touched by that, because the share in use was computed with the same size.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from laissez.tenants.dynamo.errors import ProfileError
from laissez.tenants.dynamo.profile import EngineProfile


def load_aiconfigurator(path: Path) -> EngineProfile:
    """The engine of one AIConfigurator file: `meta`, `prefill`, `decode`."""
    whole = _read(path)
    meta, prefill, decode = (_mapping(path, whole, part) for part in ("meta", "prefill", "decode"))
    system, tp = _named(path, meta, "system"), _count(path, "meta.tp", meta.get("tp"))
    max_kv = _count(path, "decode.max_kv_tokens", decode.get("max_kv_tokens"))
    return _engine(
        path,
        _tree(system),
        tp,
        max_kv,
        _columns(path, prefill, PREFILL),
        _columns(path, decode, DECODE),
    )


def load_dynamo(prefill_path: Path, decode_path: Path) -> dict[int, EngineProfile]:
    """The engines of two of Dynamo's files, by TP: each key holds one row per TP."""
    prefill, decode = _read(prefill_path), _read(decode_path)
    tps = [
        _count(prefill_path, f"tp[{row}]", value)
        for row, value in enumerate(_singles(prefill_path, prefill, "tp"))
    ]
    if tps != _singles(decode_path, decode, "tp"):
        raise ProfileError(
            f"{decode_path}: expected the TPs of {prefill_path}, {tps}, found {decode.get('tp')}"
        )
    engines = {}
    for row, (tp, system) in enumerate(
        zip(tps, _singles(prefill_path, prefill, "gpu_type"), strict=True)
    ):
        max_kv = _count(
            decode_path,
            f"max_kv_tokens[{row}]",
            _singles(decode_path, decode, "max_kv_tokens")[row],
        )
        isl_ttft = _columns(prefill_path, _row(prefill_path, prefill, PREFILL, row), PREFILL)
        engines[tp] = _engine(
            decode_path,
            _tree(str(system)),
            tp,
            max_kv,
            isl_ttft,
            _columns(decode_path, _row(decode_path, decode, DECODE, row), DECODE),
        )
    return engines


PREFILL = ("prefill_isl", "prefill_ttft")
DECODE = ("y_context_length", "x_kv_usage", "z_itl")


def _engine(
    path: Path,
    tree: str,
    tp: int,
    max_kv: int,
    prefill: list[list[float]],
    decode: list[list[float]],
) -> EngineProfile:
    curves: dict[float, list[tuple[float, float]]] = {}
    for context, used, itl in zip(*decode, strict=True):
        curves.setdefault(context, []).append((used, itl))
    try:
        return EngineProfile(
            tree, tp, max_kv, [(isl, ttft) for isl, ttft in zip(*prefill, strict=True)], curves
        )
    except ProfileError as error:
        raise ProfileError(f"{path}: {error}") from None


def _tree(system: str) -> str:
    """`h100_sxm` is the tree `h100`."""
    return system.partition("_")[0].lower()


def _read(path: Path) -> Mapping[str, Any]:
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ProfileError(f"{path}: expected a JSON file, found {error}") from error
    if not isinstance(whole, dict):
        raise ProfileError(f"{path}: expected a JSON object, found {type(whole).__name__}")
    return whole


def _mapping(path: Path, whole: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = whole.get(key)
    if not isinstance(part, dict):
        raise ProfileError(f"{path}: expected an object under {key!r}, found {type(part).__name__}")
    return part


def _named(path: Path, meta: Mapping[str, Any], key: str) -> str:
    name = meta.get(key)
    if not isinstance(name, str) or not name:
        raise ProfileError(f"{path}: expected a name under {key!r}, found {name!r}")
    return name


def _count(path: Path, field: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ProfileError(f"{path}, {field}: expected a whole number above 0, found {value!r}")
    return value


def _columns(path: Path, part: Mapping[str, Any], keys: Sequence[str]) -> list[list[float]]:
    """The columns under `keys`, all of one length and of finite numbers above 0."""
    columns = [
        [_number(path, f"{key}[{at}]", value) for at, value in enumerate(_list(path, part, key))]
        for key in keys
    ]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1 or not lengths[0]:
        raise ProfileError(
            f"{path}: expected {', '.join(keys)} to be of one length above 0, found {lengths}"
        )
    return columns


def _number(path: Path, field: str, value: Any) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 < value < float("inf")
    ):
        raise ProfileError(f"{path}, {field}: expected a finite number above 0, found {value!r}")
    return float(value)


def _list(path: Path, part: Mapping[str, Any], key: str) -> list[Any]:
    values = part.get(key)
    if not isinstance(values, list):
        raise ProfileError(f"{path}: expected a list under {key!r}, found {type(values).__name__}")
    return values


def _singles(path: Path, whole: Mapping[str, Any], key: str) -> list[Any]:
    """One value per TP, each in a list of its own."""
    rows = _list(path, whole, key)
    if not rows or not all(isinstance(row, list) and len(row) == 1 for row in rows):
        raise ProfileError(
            f"{path}: expected one value per TP under {key!r}, found {str(rows)[:80]}"
        )
    return [row[0] for row in rows]


def _row(path: Path, whole: Mapping[str, Any], keys: Sequence[str], row: int) -> dict[str, Any]:
    """What is under `keys` for one TP."""
    found = {}
    for key in keys:
        rows = _list(path, whole, key)
        if row >= len(rows):
            raise ProfileError(f"{path}: expected a row per TP under {key!r}, found {len(rows)}")
        found[key] = rows[row]
    return found
