"""Small profiles of two models on two GPU types, so that nothing has to be downloaded to train in a
simulation.

Facts from Sailor's repository (eth-easl/sailor, MIT; `profiles_tmp.json`, `llm_info.json`,
`network_coeffs_all_homo.json`), rounded. A model is its first layer (embedding), one average
transformer layer that is repeated, and its last layer (head). There is no plain H100 in that
repository: `h100` is GH-96, the Hopper of a Grace Hopper with 96 GB. `a100` is A100-40.
`loading.load_profile` reads the full files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from laissez.tenants.sailor.errors import ProfileError
from laissez.tenants.sailor.model import Curve, Gpu, LayerSize, LayerTime, Profile

TPS: Final = (1, 2, 4)
Row: TypeAlias = tuple[float, float, float]  # first, middle and last layer

# Bandwidth between hosts is what 1, 2 or 4 GPUs of a host reach together; one of them gets its
# part.
GPUS: Final[Mapping[str, Gpu]] = {
    "h100": Gpu(
        memory_bytes=102_625_181_696,
        intra=Curve(-0.523, 14.226, 44.10),
        inter={
            1: Curve(-0.1657, 2.794, 11.744),
            2: Curve(-0.3346, 5.651, 23.304).scaled(1 / 2),
            4: Curve(-0.6535, 11.426, 45.250).scaled(1 / 4),
        },
    ),
    "a100": Gpu(
        memory_bytes=42_338_615_296,
        intra=Curve(0.808, 16.401, 32.98),
        inter={
            1: Curve(-0.00244, 0.14086, 1.11682),
            2: Curve(-0.00720, 0.23169, 2.11271).scaled(1 / 2),
            4: Curve(-0.03668, 0.47733, 4.55926).scaled(1 / 4),
        },
    ),
}


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


COMPACT: Final[Mapping[str, Compact]] = {
    "OPT-350": Compact(
        layers=26,
        global_batch=1024,
        params=((53.608, 12.596, 51.513), (27.918, 6.301, 25.823), (15.073, 3.154, 12.978)),
        output=(2.097152, 2.097152, 103.022593),
        activations=((2.097, 90.182, 208.674), (2.102, 48.239, 105.913), (2.102, 27.267, 54.533)),
        work_ms={
            "h100": {
                1: ((0.22, 3.92, 4.18), (0.46, 3.12, 2.84), (0.97, 3.23, 4.07)),
                2: ((0.21, 7.00, 7.42), (0.52, 4.75, 4.38), (0.46, 3.54, 3.12)),
                4: ((0.24, 13.93, 14.80), (0.82, 8.81, 8.15), (0.63, 5.02, 5.00)),
                8: ((0.37, 28.52, 34.02), (1.21, 17.03, 17.53), (0.92, 9.17, 9.96)),
            },
            "a100": {
                1: ((0.40, 8.24, 8.50), (0.83, 5.30, 4.92), (0.96, 4.41, 4.29)),
                2: ((0.43, 15.81, 15.75), (0.88, 8.96, 8.82), (0.99, 6.41, 5.99)),
                4: ((0.51, 30.94, 30.98), (1.02, 17.04, 16.33), (1.05, 9.87, 9.22)),
                8: ((0.69, 61.18, 61.99), (1.44, 33.18, 31.90), (1.56, 19.03, 17.04)),
            },
        },
        update_ms={"h100": (1.36, 0.76, 0.46), "a100": (2.94, 1.51, 0.95)},
    ),
    "GPT-Neo-2.7": Compact(
        layers=34,
        global_batch=2048,
        params=((134.021, 78.676, 0.005), (69.796, 39.346, 0.005), (37.683, 19.681, 0.005)),
        output=(5.24288, 5.24288, 5.242881),
        activations=((6.554, 170.402, 10.493), (6.558, 97.001, 10.493), (6.558, 61.088, 10.493)),
        work_ms={
            "h100": {
                1: ((0.31, 7.96, 0.69), (0.70, 7.27, 2.52), (0.55, 3.82, 1.39)),
                2: ((0.30, 15.54, 0.64), (1.01, 10.25, 1.42), (0.71, 6.01, 1.62)),
                4: ((0.51, 31.00, 0.96), (1.53, 19.42, 1.10), (1.10, 10.47, 0.99)),
                8: ((0.92, 65.62, 1.48), (2.65, 38.62, 1.52), (1.99, 20.17, 1.57)),
            },
            "a100": {
                1: ((3.12, 16.60, 0.73), (3.48, 9.64, 1.42), (4.08, 6.57, 1.74)),
                2: ((3.68, 32.20, 1.04), (4.08, 18.04, 1.08), (4.18, 10.95, 1.09)),
                4: ((4.72, 64.91, 1.62), (5.65, 35.48, 1.65), (6.17, 21.09, 1.68)),
                8: ((6.10, 132.31, 2.66), (7.82, 71.24, 2.71), (8.17, 41.28, 2.72)),
            },
        },
        update_ms={"h100": (2.89, 1.56, 0.87), "a100": (6.56, 3.36, 1.75)},
    ),
}


def builtin_profile(model: str, global_batch: int | None = None) -> Profile:
    """A built-in model, with Sailor's own global batch unless another is given."""
    compact = COMPACT.get(model)
    if compact is None:
        raise ProfileError(
            f"expected a built-in model ({', '.join(sorted(COMPACT))}), found {model!r}; others are"
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
