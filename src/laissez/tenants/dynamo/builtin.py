"""Engines that are known without any file: small profiles of common models on H100 and A100 parts
of 80 GB.

All figures are from AIConfigurator 0.12.0 (ai-dynamo/aiconfigurator, Apache-2.0), vLLM database,
bf16: a part of what it gives for Dynamo's own sweep (prefill one request at a time; decode with 500
output tokens), and a context of 1100 because many conversations are about that long. They are
modelled from kernel measurements, not measured on engines.
"""

from __future__ import annotations

from typing import Final

from laissez.tenants.dynamo.errors import ProfileError
from laissez.tenants.dynamo.profile import EngineProfile

ISL: Final = (100, 1085, 3055, 7980, 14875)
CONTEXTS: Final = (350, 1100, 2335, 8290)

# (model, GPUs per engine): tokens that fit the cache; requests at once, for each context; for each
# tree TTFT in ms by ISL and ITL in ms by context.
_Row = tuple[
    int,
    tuple[tuple[int, ...], ...],
    dict[str, tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]],
]
_TABLE: Final[dict[tuple[str, int], _Row]] = {
    ("llama-3.1-8b", 1): (
        315_000,
        ((1, 150, 300, 525), (1, 67, 133, 233), (1, 35, 69, 121), (1, 11, 21, 36)),
        {
            "h100": (
                (7.32, 24.0, 65.8, 194, 393),
                (
                    (6.15, 9.93, 14.5, 21.3),
                    (6.19, 10.3, 13.5, 19.3),
                    (6.24, 10.1, 13.5, 18.9),
                    (6.4, 10.9, 14.5, 19.0),
                ),
            ),
            "a100": (
                (14.2, 68.3, 190, 541, 1163),
                (
                    (11.8, 23.4, 32.4, 52.2),
                    (11.9, 18.8, 26.8, 42.7),
                    (12.0, 20.4, 26.1, 37.6),
                    (12.5, 19.2, 26.5, 41.4),
                ),
            ),
        },
    ),
    ("llama-3.1-8b", 2): (
        661_500,
        ((1, 315, 630, 1102), (1, 140, 280, 490), (1, 73, 146, 255), (1, 22, 44, 77)),
        {
            "h100": (
                (4.95, 16.1, 43.0, 119, 234),
                (
                    (3.98, 9.18, 15.0, 25.0),
                    (4.02, 8.28, 12.8, 19.5),
                    (4.05, 8.12, 12.2, 18.5),
                    (4.13, 8.1, 11.8, 17.8),
                ),
            ),
            "a100": (
                (8.76, 43.6, 112, 316, 651),
                (
                    (6.71, 19.2, 34.2, 60.6),
                    (6.79, 16.1, 25.8, 42.5),
                    (6.87, 16.1, 24.4, 37.9),
                    (7.21, 14.8, 22.9, 41.4),
                ),
            ),
        },
    ),
    ("llama-3.1-70b", 4): (
        304_500,
        ((1, 145, 290, 507), (1, 65, 129, 225), (1, 34, 67, 117), (1, 10, 20, 35)),
        {
            "h100": (
                (19.2, 72.7, 199, 560, 1025),
                (
                    (14.8, 21.1, 28.4, 41.9),
                    (14.9, 19.5, 23.1, 29.3),
                    (15.0, 20.2, 21.7, 25.7),
                    (15.2, 18.3, 20.4, 25.6),
                ),
            ),
            "a100": (
                (36.7, 191, 498, 1334, 2645),
                (
                    (27.0, 46.3, 66.7, 114),
                    (27.2, 36.9, 46.8, 68.3),
                    (27.4, 35.9, 42.0, 54.0),
                    (28.3, 34.2, 39.4, 47.7),
                ),
            ),
        },
    ),
    ("llama-3.1-70b", 8): (
        574_000,
        ((1, 273, 546, 956), (1, 122, 243, 425), (1, 64, 127, 222), (1, 19, 38, 67)),
        {
            "h100": (
                (13.7, 49.2, 129, 335, 624),
                (
                    (10.1, 20.7, 30.3, 47.7),
                    (10.1, 14.5, 20.1, 30.1),
                    (10.2, 14.0, 16.7, 23.1),
                    (10.4, 13.0, 15.4, 19.1),
                ),
            ),
            "a100": (
                (27.0, 132, 322, 810, 1611),
                (
                    (17.0, 40.2, 83.4, 125),
                    (17.2, 29.1, 43.0, 71.4),
                    (17.4, 24.5, 33.3, 48.8),
                    (18.1, 23.6, 28.6, 35.3),
                ),
            ),
        },
    ),
    ("qwen3-32b", 2): (
        217_000,
        ((1, 103, 206, 361), (1, 46, 91, 160), (1, 24, 47, 83), (1, 7, 14, 25)),
        {
            "h100": (
                (18.4, 66.6, 167, 463, 935),
                (
                    (13.3, 17.7, 21.5, 28.5),
                    (13.4, 17.2, 19.8, 24.5),
                    (13.5, 17.1, 19.7, 23.4),
                    (13.6, 16.6, 18.9, 23.4),
                ),
            ),
            "a100": (
                (32.9, 159, 429, 1212, 2534),
                (
                    (25.4, 34.4, 55.5, 70.7),
                    (25.5, 31.3, 39.8, 62.9),
                    (25.7, 31.6, 36.8, 50.2),
                    (26.4, 29.8, 35.3, 43.9),
                ),
            ),
        },
    ),
    ("qwen3-32b", 4): (
        479_500,
        ((1, 229, 457, 799), (1, 102, 203, 355), (1, 53, 106, 185), (1, 16, 32, 56)),
        {
            "h100": (
                (12.6, 41.2, 103, 266, 531),
                (
                    (8.13, 14.7, 22.2, 34.5),
                    (8.16, 12.6, 17.1, 24.2),
                    (8.26, 12.3, 15.4, 21.7),
                    (8.42, 11.9, 15.2, 19.4),
                ),
            ),
            "a100": (
                (21.3, 102, 249, 691, 1403),
                (
                    (14.1, 29.2, 52.5, 91.9),
                    (14.3, 24.9, 36.4, 56.4),
                    (14.4, 21.8, 31.6, 46.7),
                    (15.2, 21.0, 27.3, 36.9),
                ),
            ),
        },
    ),
}

BUILT_IN: Final = tuple(_TABLE)


def built_in(model: str, gpus: int) -> dict[str, EngineProfile]:
    """The engine of `gpus` GPUs that serves `model`, for each tree."""
    row = _TABLE.get((model, gpus))
    if row is None:
        known = ", ".join(f"{name} on {count}" for name, count in BUILT_IN)
        raise ProfileError(
            f"expected one of the built-in engines ({known}), found {model} on {gpus}; load a"
            " profile instead"
        )
    max_kv, requests, by_tree = row
    return {
        tree: _engine(tree, gpus, max_kv, requests, ttft, itl)
        for tree, (ttft, itl) in by_tree.items()
    }


def _engine(
    tree: str,
    gpus: int,
    max_kv: int,
    requests: tuple[tuple[int, ...], ...],
    ttft: tuple[float, ...],
    itl: tuple[tuple[float, ...], ...],
) -> EngineProfile:
    decode = {}
    for context, counts, latencies in zip(CONTEXTS, requests, itl, strict=True):
        decode[float(context)] = [
            (count * context / max_kv, ms) for count, ms in zip(counts, latencies, strict=True)
        ]
    return EngineProfile(tree, gpus, max_kv, list(zip(ISL, ttft, strict=True)), decode)
