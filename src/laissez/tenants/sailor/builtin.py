"""Small profiles of two models on two GPU types, so that a simulation needs no download.

`builtin.json` has facts from Sailor's repository (eth-easl/sailor, MIT; `profiles_tmp.json`,
`llm_info.json`, `network_coeffs_all_homo.json`), rounded. A model is its first layer (embedding),
one average transformer layer that is repeated, and its last layer (head). There is no plain H100 in
that repository: `h100` is GH-96, the Hopper of a Grace Hopper with 96 GB. `a100` is A100-40.
`loading.load_profile` reads the full files.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final, TypeAlias

import msgspec

from laissez.tenants.sailor.model import (
    Curve,
    Gpu,
    LayerSize,
    LayerTime,
    Profile,
    SailorError,
    shared,
)

TPS: Final = (1, 2, 4)  # the tensor parallelism of each row
Row: TypeAlias = tuple[float, float, float]  # first, middle and last layer
Coefficients: TypeAlias = tuple[float, float, float]


class Links(msgspec.Struct, frozen=True):
    """A GPU's memory and bandwidths. `inter` is what the GPUs of a host reach together."""

    memory_bytes: float
    intra: Coefficients
    inter: Mapping[int, Coefficients]


class Compact(msgspec.Struct, frozen=True):
    """A model in three layers: by tp, millions of parameters, outputs and activations; by GPU type
    and microbatch, milliseconds for each tp."""

    layers: int
    global_batch: int
    params: tuple[Row, Row, Row]
    output: Row
    activations: tuple[Row, Row, Row]
    work_ms: Mapping[str, Mapping[int, tuple[Row, Row, Row]]]
    update_ms: Mapping[str, Row]  # for each tp


class _File(msgspec.Struct):
    gpus: Mapping[str, Links]
    models: Mapping[str, Compact]


_FILE: Final = msgspec.json.decode(
    files(__package__).joinpath("builtin.json").read_bytes(), type=_File
)
MODELS: Final = _FILE.models
GPUS: Final = {
    name: Gpu(links.memory_bytes, Curve(*links.intra), shared(links.inter))
    for name, links in _FILE.gpus.items()
}


def builtin_profile(model: str, global_batch: int | None = None) -> Profile:
    """A built-in model, with Sailor's own global batch unless another is given."""
    compact = MODELS.get(model)
    if compact is None:
        raise SailorError(
            f"expected a built-in model ({', '.join(sorted(MODELS))}), found {model!r}; others are"
            " read with load_profile"
        )
    return Profile(
        model=model,
        global_batch=compact.global_batch if global_batch is None else global_batch,
        sizes={tp: _sizes(compact, at) for at, tp in enumerate(TPS)},
        times={
            gpu: {microbatch: _times(compact, gpu, rows) for microbatch, rows in table.items()}
            for gpu, table in compact.work_ms.items()
        },
        gpus=GPUS,
    )


def _sizes(compact: Compact, at: int) -> tuple[LayerSize, ...]:
    rows = zip(compact.params[at], compact.output, compact.activations[at], strict=True)
    first, middle, last = (LayerSize(*(number * 1e6 for number in row)) for row in rows)
    return (first, *[middle] * (compact.layers - 2), last)


def _times(
    compact: Compact, gpu: str, rows: tuple[Row, Row, Row]
) -> dict[int, tuple[LayerTime, ...]]:
    found = {}
    for tp, row, update in zip(TPS, rows, compact.update_ms[gpu], strict=True):
        first, middle, last = (LayerTime(work / 1e3, update / 1e3) for work in row)
        found[tp] = (first, *[middle] * (compact.layers - 2), last)
    return found
