"""Sailor's own files, read as they are: layer times, layer sizes, networks, GPU memory, training
settings, measured iterations.

Every reader names the file and the field when something is not as expected, and takes a file as it
is or gzipped (`.gz`). Sailor names GPU types `A100-40` or `GH-96`; a cluster has names of its own
(`a100`), so `load_profile` is told which is which.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from laissez.tenants.sailor.errors import ProfileError
from laissez.tenants.sailor.model import (
    Curve,
    Gpu,
    LayerSize,
    LayerTime,
    Profile,
    Sizes,
    Times,
    not_negative,
    positive,
)

LINK_GPUS: Final = "2"  # the link inside a host is the one between two GPUs


class Measured(msgspec.Struct, frozen=True):
    """One measured iteration and the plan it ran under, every group on a host of its own type."""

    name: str
    model: str
    gpu: str
    replicas: int
    tp: int
    microbatch: int
    global_batch: int
    layers: tuple[int, ...]
    seconds: float


def load_profile(folder: Path, model: str, gpus: Mapping[str, str], global_batch: int) -> Profile:
    """A model's profile from a folder of Sailor's files; `gpus` gives Sailor's name for each GPU
    type of the cluster."""
    memory = load_memory(folder / "basic_cluster_config.json")
    network = _existing(folder, "network_coeffs_all_homo.json")
    times = _existing(folder, "profiles_tmp.json")
    return Profile(
        model=model,
        global_batch=global_batch,
        sizes=load_sizes(_existing(folder, "llm_info.json"), model),
        times={ours: load_times(times, model, theirs) for ours, theirs in gpus.items()},
        gpus={
            ours: load_gpu(network, theirs, _field(memory, theirs, "basic_cluster_config.json"))
            for ours, theirs in gpus.items()
        },
    )


def load_times(path: Path, model: str, gpu: str) -> Times:
    """Layer times of one model on one GPU type: `{model: {gpu: {microbatch: {tp: {layer: [fwd_s,
    bwd_s, update_s]}}}}}`."""
    found = _field(_field(read_json(path), model, path), gpu, f"{path}, {model}")
    where = f"{path}, {model}, {gpu}"
    return {
        _count(microbatch, where): {
            _count(tp, where): tuple(
                _layer_time(row, f"{where}, microbatch {microbatch}, tp {tp}, layer {at}")
                for at, row in _layers(rows, where)
            )
            for tp, rows in _mapping(tps, where).items()
        }
        for microbatch, tps in _mapping(found, where).items()
    }


def load_sizes(path: Path, model: str) -> Sizes:
    """Layer sizes of one model: `{model: {tp: {layer: {params_floats, act_output_floats,
    act_mem_floats, ...}}}}`."""
    found = _mapping(_field(read_json(path), model, path), f"{path}, {model}")
    return {
        _count(tp, path): tuple(
            _layer_size(row, f"{path}, {model}, tp {tp}, layer {at}")
            for at, row in _layers(rows, f"{path}, {model}, tp {tp}")
        )
        for tp, rows in found.items()
    }


def load_gpu(path: Path, gpu: str, memory_bytes: float) -> Gpu:
    """A GPU type's links: `{inter|intra: {gpu: {GPUs of a node used: [[a, b, c], max bytes/s]}}}`,
    each as what one of these GPUs gets."""
    found = read_json(path)
    inter = _mapping(
        _field(_field(found, "inter", path), gpu, f"{path}, inter"), f"{path}, inter, {gpu}"
    )
    intra = _field(
        _field(_field(found, "intra", path), gpu, f"{path}, intra"),
        LINK_GPUS,
        f"{path}, intra, {gpu}",
    )
    far = {
        _count(count, path): (
            _curve(row, f"{path}, inter, {gpu}, {count}").scaled(1 / _count(count, path))
        )
        for count, row in inter.items()
    }
    return Gpu(memory_bytes, _curve(intra, f"{path}, intra, {gpu}, {LINK_GPUS}"), far)


def load_memory(path: Path) -> dict[str, float]:
    """Bytes per GPU by type, from a cluster's configuration."""
    rows = {
        name: row for name, row in _mapping(read_json(path), path).items() if isinstance(row, dict)
    }
    return {
        name: positive(
            f"{path}, {name}, mem_per_gpu", _field(row, "mem_per_gpu", f"{path}, {name}")
        )
        for name, row in rows.items()
    }


def load_training(path: Path) -> tuple[str, int]:
    """The model and the global batch of a training configuration."""
    found = read_json(path)
    batch = _field(found, "global_batch_size", path)
    if not isinstance(batch, int) or batch < 1:
        raise ProfileError(
            f"{path}, global_batch_size: expected a whole number from 1 on, found {batch!r}"
        )
    return str(_field(found, "model", path)), batch


def load_measured(path: Path) -> list[Measured]:
    """Measured iterations on nodes of one GPU type; rows of mixed nodes are left out."""
    with path.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [
        _measured(row, f"{path}, line {line}")
        for line, row in enumerate(rows, start=2)
        if "|" not in (row.get("gpu_types") or "")
    ]


def read_json(path: Path) -> Any:
    """A JSON file, gzipped or not."""
    try:
        raw = path.read_bytes()
        return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    except OSError as error:
        raise ProfileError(f"{path}: expected a file that can be read, found: {error}") from error
    except (ValueError, EOFError) as error:
        raise ProfileError(f"{path}: expected JSON, found: {error}") from error


def _existing(folder: Path, name: str) -> Path:
    zipped = folder / f"{name}.gz"
    return zipped if zipped.exists() else folder / name


def _measured(row: Mapping[str, str], where: str) -> Measured:
    try:
        counts = {name: int(row[name]) for name in ("dp", "tp", "mbs", "gbs")}
        layers = tuple(int(word) for word in row["layers_per_stage"].split("|"))
        seconds = float(row["real_iter_s"])
    except (KeyError, TypeError, ValueError) as error:
        raise ProfileError(
            f"{where}: expected columns dp, tp, mbs, gbs, layers_per_stage and real_iter_s as"
            f" numbers, found: {error}"
        ) from error
    if min(*counts.values(), *layers) < 1:
        raise ProfileError(
            f"{where}: expected numbers from 1 on, found {counts} and layers {layers}"
        )
    positive(f"{where}, real_iter_s", seconds)
    return Measured(
        row["file"],
        row["model"],
        row["gpu_types"],
        counts["dp"],
        counts["tp"],
        counts["mbs"],
        counts["gbs"],
        layers,
        seconds,
    )


def _layer_time(row: object, where: str) -> LayerTime:
    if not isinstance(row, list) or len(row) != 3:
        raise ProfileError(
            f"{where}: expected [forward, backward, update] in seconds, found {row!r}"
        )
    forward, backward, update = (not_negative(where, number) for number in row)
    return LayerTime(forward + backward, update)


def _layer_size(row: object, where: str) -> LayerSize:
    params, output, memory = (
        not_negative(f"{where}, {name}", _field(row, name, where))
        for name in ("params_floats", "act_output_floats", "act_mem_floats")
    )
    return LayerSize(params, output, memory)


def _curve(row: object, where: str) -> Curve:
    if not isinstance(row, list) or not row or not isinstance(row[0], list) or len(row[0]) != 3:
        raise ProfileError(f"{where}: expected [[a, b, c], most bytes per second], found {row!r}")
    return Curve(*row[0])


def _layers(rows: object, where: object) -> list[tuple[int, object]]:
    return sorted(
        (_count(layer, where, least=0), row) for layer, row in _mapping(rows, where).items()
    )


def _mapping(found: object, where: object) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ProfileError(f"{where}: expected an object, found {type(found).__name__}")
    return found


def _field(found: object, name: str, where: object) -> Any:
    fields = _mapping(found, where)
    if name not in fields:
        raise ProfileError(f"{where}: expected {name!r}, found {sorted(fields)}")
    return fields[name]


def _count(text: str, where: object, least: int = 1) -> int:
    if not text.isdecimal() or int(text) < least:
        raise ProfileError(
            f"{where}: expected a whole number from {least} on as a key, found {text!r}"
        )
    return int(text)
