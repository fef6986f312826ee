"""Reads Sailor's own files: layer times, layer sizes, networks and GPU memory.

Every reader names the file and the field of a mistake, and takes a file as it is or gzipped
(`.gz`). Sailor names GPU types `A100-40` or `GH-96`; a cluster has names of its own (`a100`), so
`load_profile` gets the mapping.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from laissez.config import shown
from laissez.tenants.inputs import NotNegative, Positive, load_json
from laissez.tenants.sailor.model import (
    Curve,
    Gpu,
    LayerSize,
    LayerTime,
    Profile,
    SailorError,
    Sizes,
    Times,
    shared,
)

T = TypeVar("T")
LINK_GPUS: Final = "2"  # the link inside a host is the one between two GPUs

_Row: TypeAlias = Annotated[
    tuple[NotNegative, NotNegative, NotNegative],
    Meta(description="[forward, backward, update] in seconds, each from 0 on"),
]
_Link: TypeAlias = Annotated[
    tuple[tuple[float, float, float], Any],
    Meta(description="[[a, b, c], most bytes per second]"),
]


class _Size(msgspec.Struct):
    params_floats: NotNegative
    act_output_floats: NotNegative
    act_mem_floats: NotNegative


class _Memory(msgspec.Struct):
    mem_per_gpu: Positive


def load_profile(folder: Path, model: str, gpus: Mapping[str, str], global_batch: int) -> Profile:
    """A model's profile from Sailor's files; `gpus` has Sailor's name of each GPU type."""
    memory = folder / "basic_cluster_config.json"
    network = _existing(folder, "network_coeffs_all_homo.json")
    times = _existing(folder, "profiles_tmp.json")
    return Profile(
        model=model,
        global_batch=global_batch,
        sizes=load_sizes(_existing(folder, "llm_info.json"), model),
        times={ours: load_times(times, model, theirs) for ours, theirs in gpus.items()},
        gpus={
            ours: load_gpu(
                network, theirs, load_json(memory, _Memory, SailorError, theirs).mem_per_gpu
            )
            for ours, theirs in gpus.items()
        },
    )


def load_times(path: Path, model: str, gpu: str) -> Times:
    """Layer times of one model on one GPU type: `{model: {gpu: {microbatch: {tp: {layer: [fwd_s,
    bwd_s, update_s]}}}}}`."""
    found = load_json(path, Mapping[str, Mapping[str, Mapping[str, _Row]]], SailorError, model, gpu)
    return {
        microbatch: {
            tp: tuple(
                LayerTime(forward + backward, update)
                for _, (forward, backward, update) in _numbered(path, rows, least=0)
            )
            for tp, rows in _numbered(path, tps)
        }
        for microbatch, tps in _numbered(path, found)
    }


def load_sizes(path: Path, model: str) -> Sizes:
    """Layer sizes of one model: `{model: {tp: {layer: {params_floats, act_output_floats,
    act_mem_floats, ...}}}}`."""
    found = load_json(path, Mapping[str, Mapping[str, _Size]], SailorError, model)
    return {
        tp: tuple(
            LayerSize(*msgspec.structs.astuple(size)) for _, size in _numbered(path, rows, least=0)
        )
        for tp, rows in _numbered(path, found)
    }


def load_gpu(path: Path, gpu: str, memory_bytes: float) -> Gpu:
    """A GPU type's links: `{inter|intra: {gpu: {GPUs of a node used: [[a, b, c], max bytes/s]}}}`,
    each as what one of these GPUs gets."""
    inter = load_json(path, Mapping[str, _Link], SailorError, "inter", gpu)
    intra = load_json(path, _Link, SailorError, "intra", gpu, LINK_GPUS)
    together = {count: link[0] for count, link in _numbered(path, inter)}
    return Gpu(memory_bytes, Curve(*intra[0]), shared(together))


def _numbered(path: Path, found: Mapping[str, T], least: int = 1) -> list[tuple[int, T]]:
    """The entries of a table whose keys are whole numbers, in their order."""
    for key in found:
        if not key.isdecimal() or int(key) < least:
            raise SailorError(
                f"{path}: expected a whole number from {least} on as a key, found {shown(key)}"
            )
    return sorted(((int(key), one) for key, one in found.items()), key=itemgetter(0))


def _existing(folder: Path, name: str) -> Path:
    zipped = folder / f"{name}.gz"
    return zipped if zipped.exists() else folder / name
