"""Profiles from files: the two formats, the refusals, and the fit of the model to the public sweeps
if they are here."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from laissez.tenants.dynamo.loading import load_aiconfigurator, load_dynamo
from laissez.tenants.dynamo.profile import DynamoError, EngineProfile
from support.paths import PUBLIC_DATA

pytestmark = pytest.mark.once

real = pytest.mark.skipif(not PUBLIC_DATA.is_dir(), reason="the public sweeps are not here")

# A few points of AIConfigurator 0.12.0, vLLM, Llama-3.1-8B on one H100.
CONFIGURATOR: dict[str, Any] = {
    "meta": {"system": "h100_sxm", "tp": 1},
    "prefill": {"prefill_isl": [100, 1085, 3055], "prefill_ttft": [7.315, 23.971, 65.79]},
    "decode": {
        "x_kv_usage": [0.001111, 0.583333, 0.007413, 0.896937],
        "y_context_length": [350.0, 350.0, 2335.0, 2335.0],
        "z_itl": [6.148, 21.287, 6.244, 18.888],
        "max_kv_tokens": 315_000,
    },
}
# A few points of Dynamo 0.7.0's sweep of Llama-3.3-70B FP8 on H100, TP 8 and 4. The stored
# throughput was divided by 8 for both.
PREFILL: dict[str, Any] = {
    "prefill_isl": [[100, 2135, 4170], [100, 2135, 4170]],
    "prefill_ttft": [[18.98, 95.20, 162.32], [23.42, 132.46, 236.22]],
    "prefill_thpt_per_gpu": [[658.5, 2803.3, 3211.2], [533.7, 2014.7, 2206.6]],
    "gpu_type": [["h100_sxm"], ["h100_sxm"]],
    "tp": [[8], [4]],
}
DECODE: dict[str, Any] = {
    "x_kv_usage": [[0.00156, 0.0734, 0.0744], [0.00156, 0.0734, 0.0744]],
    "y_context_length": [[350, 350, 16671], [350, 350, 16671]],
    "z_itl": [[9.5, 12.8, 10.6], [12.1, 16.2, 13.5]],
    "max_kv_tokens": [[224_133], [224_133]],
    "tp": [[8], [4]],
}


def written(path: Path, whole: object) -> Path:
    path.write_text(json.dumps(whole))
    return path


def test_an_aiconfigurator_file_is_one_engine(tmp_path: Path) -> None:
    profile = load_aiconfigurator(written(tmp_path / "one.json", CONFIGURATOR))
    assert ("h100", 1, 315_000) == (profile.gpu, profile.gpus, profile.max_kv_tokens)
    assert 65.79 == profile.ttft_ms(3055)
    assert 18.888 == pytest.approx(profile.itl_ms(121, 2335), rel=1e-5)


def test_dynamo_files_hold_one_engine_per_tp_and_throughput_is_recomputed(tmp_path: Path) -> None:
    by_tp = load_dynamo(written(tmp_path / "p.json", PREFILL), written(tmp_path / "d.json", DECODE))
    assert [8, 4] == list(by_tp)
    assert 132.46 == by_tp[4].ttft_ms(2135)
    assert 12.1 == pytest.approx(by_tp[4].itl_ms(1, 350), rel=1e-4)
    # of the engine: the stored value, times 8 and not times 4
    assert 2135 / 132.46 * 1000 == by_tp[4].prefill_tokens_per_s(2135)


@pytest.mark.parametrize(
    ("part", "key", "value", "said"),
    [
        ("meta", None, None, "meta: expected a table, found nothing"),
        ("meta", "system", 7, "meta.system: expected a text in quotes that is not empty, found 7"),
        ("meta", "tp", 0, "meta.tp: expected an integer from 1 on, found"),
        ("meta", "tp", True, "meta.tp: expected an integer from 1 on, found"),
        (
            "prefill",
            "prefill_ttft",
            None,
            "prefill.prefill_ttft: expected a list, each a number above 0",
        ),
        ("prefill", "prefill_ttft", [7.3, 24.0], r"one length above 0, found \[3, 2\]"),
        (
            "prefill",
            "prefill_ttft",
            [7.3, float("nan"), 65.0],
            r"prefill_ttft\[1\]: expected a number above 0 .*, found nan",
        ),
        ("prefill", "prefill_ttft", [7.3, -24.0, 65.0], r"prefill_ttft\[1\]"),
        ("prefill", "prefill_isl", [100, "1085", 3055], r"prefill_isl\[1\]"),
        ("prefill", "prefill_isl", [100, 100, 3055], "expected each point once"),
        ("decode", "z_itl", [6.1, float("inf"), 6.2, 18.8], r"z_itl\[1\]"),
        ("decode", "x_kv_usage", [0.1, 1.4, 0.1, 0.9], "expected shares of the cache up to 1"),
        ("decode", "max_kv_tokens", 315_000.5, "decode.max_kv_tokens"),
    ],
)
def test_a_bad_aiconfigurator_file_is_refused_with_the_field(
    tmp_path: Path, part: str, key: str | None, value: object, said: str
) -> None:
    whole = copy.deepcopy(CONFIGURATOR)
    if key is None:
        del whole[part]
    else:
        whole[part][key] = value
    path = written(tmp_path / "bad.json", whole)
    with pytest.raises(DynamoError, match=said) as refused:
        load_aiconfigurator(path)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    ("prefill", "decode", "said"),
    [
        ({"tp": [[8], [2]]}, {}, "expected the TPs of"),
        ({"tp": [8, 4]}, {}, r"tp\[0\]: expected \[one integer from 1 on\], found 8"),
        (
            {"prefill_ttft": [[18.98, 95.20, 162.32]]},
            {},
            r"prefill_ttft to be of one length above 0, found \[2, 2, 2, 1\]",
        ),
        ({}, {"z_itl": [[9.5, 12.8, float("nan")], [1, 2, 3]]}, r"z_itl\[0\]\[2\]"),
        ({}, {"max_kv_tokens": [[0], [5]]}, r"max_kv_tokens\[0\]"),
    ],
)
def test_bad_dynamo_files_are_refused(
    tmp_path: Path, prefill: dict[str, Any], decode: dict[str, Any], said: str
) -> None:
    paths = (
        written(tmp_path / "p.json", PREFILL | prefill),
        written(tmp_path / "d.json", DECODE | decode),
    )
    with pytest.raises(DynamoError, match=said):
        load_dynamo(*paths)


def test_files_without_a_json_object_are_refused(tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_text("{")
    for path in (
        tmp_path / "torn.json",
        tmp_path / "absent.json",
        written(tmp_path / "list.json", []),
    ):
        with pytest.raises(DynamoError, match=r"expected (JSON|a file that can be read|a table)"):
            load_aiconfigurator(path)


@real
def test_the_measured_sweep_is_read_as_published() -> None:
    stem = "h100_sxm_vllm_Llama-3.3-70B-Instruct-FP8"
    by_tp = load_dynamo(
        PUBLIC_DATA / "dynamo" / f"{stem}_prefill.json",
        PUBLIC_DATA / "dynamo" / f"{stem}_decode.json",
    )
    expected = {
        2: [32, 208, 397, 832, 1957],
        4: [23, 132, 236, 499, 1133],
        8: [19, 95, 162, 321, 704],
    }
    assert expected == {
        tp: [round(by_tp[tp].ttft_ms(isl)) for isl in (100, 2135, 4170, 8240, 16_380)]
        for tp in expected
    }
    modelled = load_aiconfigurator(
        PUBLIC_DATA / "aiconfigurator" / "h100_sxm__vllm-0.24.0__Meta-Llama-3.1-70B__fp8__tp4.json"
    )
    errors = {
        isl: modelled.ttft_ms(isl) / by_tp[4].ttft_ms(isl) - 1
        for isl in (100, 2135, 4170, 8240, 14_345)
    }
    assert all(abs(errors[isl]) < 0.07 for isl in (2135, 4170))
    assert all(-0.36 < errors[isl] < 0 for isl in (100, 8240, 14_345))


@real
def test_points_left_out_are_recovered_by_interpolation() -> None:
    ttft_errors: list[float] = []
    itl_errors: list[float] = []
    for path in sorted((PUBLIC_DATA / "aiconfigurator").glob("*Llama*bf16*.json")):
        whole = load_aiconfigurator(path)
        prefill = list(zip(whole.prefill.xs, whole.prefill.ys, strict=True))
        decode = {
            context: list(zip(curve.xs, curve.ys, strict=True))
            for context, curve in zip(whole.contexts, whole.decode, strict=True)
        }
        for at in range(1, len(prefill) - 1):
            rest = EngineProfile(
                whole.gpu, whole.gpus, whole.max_kv_tokens, prefill[:at] + prefill[at + 1 :], decode
            )
            ttft_errors.append(abs(rest.ttft_ms(prefill[at][0]) / prefill[at][1] - 1))
        for context in whole.contexts[1:-1]:
            rest = EngineProfile(
                whole.gpu,
                whole.gpus,
                whole.max_kv_tokens,
                prefill,
                {other: decode[other] for other in decode if other != context},
            )
            itl_errors += [
                abs(rest.itl_ms(used * whole.max_kv_tokens / context, context) / itl - 1)
                for used, itl in decode[context]
            ]
    assert median(ttft_errors) < 0.005 and max(ttft_errors) < 0.15
    assert median(itl_errors) < 0.02 and max(itl_errors) < 0.2
