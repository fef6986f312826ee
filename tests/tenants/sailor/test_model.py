"""Sailor's model of iteration time, against what Sailor measured, and the readers of its files."""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgspec
import pytest

from laissez.tenants.sailor.builtin import builtin_profile
from laissez.tenants.sailor.iteration import (
    Group,
    Plan,
    Stage,
    iteration_time,
    ring_time,
    send_times,
    split_layers,
)
from laissez.tenants.sailor.loading import load_gpu, load_profile, load_sizes, load_times
from laissez.tenants.sailor.model import Curve, LayerTime, Profile, SailorError
from support.paths import PUBLIC_DATA
from support.tenant_world import fits

pytestmark = pytest.mark.once

DATA = PUBLIC_DATA / "sailor"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="Sailor's own files are not here")

# From Sailor's validation runs (repository eth-easl/sailor, MIT) on GH200 nodes of 4 GPUs, tp 4:
# model, replicas, microbatch, global batch, layers per stage, seconds per iteration.
MEASURED = (
    ("GPT-Neo-2.7", 4, 4, 1024, (7, 9, 9, 9), 7.03897),
    ("GPT-Neo-2.7", 8, 4, 1024, (16, 18), 6.4286),
    ("GPT-Neo-2.7", 16, 4, 1024, (7, 9, 9, 9), 2.00042),
    ("GPT-Neo-2.7", 2, 1, 64, (16, 18), 2.29028),
    ("OPT-350", 16, 8, 1024, (26,), 1.92557),
    ("OPT-350", 8, 8, 1024, (12, 14), 2.31116),
    ("OPT-350", 8, 8, 1024, (5, 7, 7, 7), 1.47485),
    ("OPT-350", 2, 2, 32, (26,), 0.8048),
)
BAD_RECORD = "GPT-NEO/N4/plan_config_N4_D4"  # its time is another run's


class Measured(NamedTuple):
    """One measured iteration and its plan, every group on a host of its own type."""

    model: str
    gpu: str
    replicas: int
    tp: int
    microbatch: int
    global_batch: int
    layers: tuple[int, ...]
    seconds: float


def load_measured(path: Path) -> Iterator[Measured]:
    """Sailor's own measurements, without nodes of several types."""
    with path.open(newline="") as lines:
        for row in csv.DictReader(lines):
            if BAD_RECORD not in row["file"] and "|" not in row["gpu_types"]:
                layers = tuple(map(int, row["layers_per_stage"].split("|")))
                yield Measured(
                    row["model"],
                    row["gpu_types"],
                    int(row["dp"]),
                    int(row["tp"]),
                    int(row["mbs"]),
                    int(row["gbs"]),
                    layers,
                    float(row["real_iter_s"]),
                )


def measured_plan(row: Measured) -> Plan:
    """Every group is a whole node."""
    node = tuple(f"gpu{n}" for n in range(row.tp))
    groups = [
        [Group(row.gpu, f"node{at}-{replica}", node) for replica in range(row.replicas)]
        for at in range(len(row.layers))
    ]
    return Plan(
        row.microbatch,
        tuple(Stage(count, tuple(stage)) for count, stage in zip(row.layers, groups, strict=True)),
    )


def error(profile: Profile, row: Measured) -> float:
    return (
        iteration_time(
            msgspec.structs.replace(profile, global_batch=row.global_batch), measured_plan(row)
        )
        / row.seconds
        - 1
    )


def one_host(
    profile: Profile,
    gpu: str,
    stages: int,
    replicas: int,
    microbatch: int,
    tp: int = 1,
    *,
    apart: bool = False,
) -> Plan:
    groups = [
        [
            Group(
                gpu,
                f"host{at}-{replica}" if apart else "host",
                tuple(f"{at}-{replica}-{n}" for n in range(tp)),
            )
            for replica in range(replicas)
        ]
        for at in range(stages)
    ]
    return Plan(
        microbatch,
        tuple(
            Stage(count, tuple(stage))
            for count, stage in zip(split_layers(profile.layers, stages), groups, strict=True)
        ),
    )


def test_the_model_is_within_10_percent_of_measured_iterations() -> None:
    rows = [
        Measured(model, "h100", replicas, 4, microbatch, batch, layers, real)
        for model, replicas, microbatch, batch, layers, real in MEASURED
    ]
    errors = [abs(error(builtin_profile(row.model), row)) for row in rows]
    assert median(errors) < 0.05
    assert max(errors) < 0.12


@needs_data
def test_the_full_profile_is_within_10_percent_of_all_measured_iterations() -> None:
    rows = list(load_measured(DATA / "measured_iterations.csv"))
    profiles = {
        model: load_profile(DATA, model, {"GH-96": "GH-96"}, 1)
        for model in ("OPT-350", "GPT-Neo-2.7")
    }
    errors = [abs(error(profiles[row.model], row)) for row in rows]
    assert 26 == len(errors)
    assert median(errors) < 0.10


@needs_data
@pytest.mark.parametrize(
    ("model", "config"), [("OPT-350", "opt_350"), ("GPT-Neo-2.7", "gpt_neo27")]
)
def test_the_built_in_profile_is_within_1_percent_of_the_full_one(model: str, config: str) -> None:
    compact = builtin_profile(model)
    training = json.loads((DATA / f"training_config_{config}.json").read_text())
    assert (model, compact.global_batch) == (training["model"], training["global_batch_size"])
    full = load_profile(DATA, model, {"h100": "GH-96", "a100": "A100-40"}, compact.global_batch)
    for gpu in ("h100", "a100"):
        for stages, replicas, microbatch, tp in (
            (1, 4, 1, 4),
            (2, 2, 2, 2),
            (4, 8, 1, 1),
            (8, 1, 4, 2),
        ):
            plan = one_host(compact, gpu, stages, replicas, microbatch, tp, apart=replicas == 8)
            assert fits(full, plan) == fits(compact, plan)
            assert iteration_time(full, plan) == pytest.approx(
                iteration_time(compact, plan), rel=0.01
            )


def test_iteration_time_by_hand() -> None:
    """Two stages of one layer each, 1 s of work a microbatch, 4 microbatches; a message takes 1 s
    between hosts, gradients of 1 GB too."""
    link = Curve(0.0, 0.0, 1.0)
    base = builtin_profile("OPT-350")
    layer = msgspec.structs.replace(base.sizes[1][1], params=0.25e9, output=0.25e9)
    gpu = msgspec.structs.replace(base.gpus["a100"], intra=Curve(0.0, 0.0, 1e9), inter={1: link})
    profile = Profile(
        "toy", 8, {1: (layer, layer)}, {"x": {1: {1: (LayerTime(1.0, 0.5),) * 2}}}, {"x": gpu}
    )
    # N = 4, C = (1, 1), S = (1, 2), T_pp = 3 x 3 + 3 + 2 + 0.5; the all-reduce over 2 replicas
    # sends 2 x 0.5 GB.
    assert 14.5 + 1.0 == pytest.approx(
        iteration_time(profile, one_host(profile, "x", 2, 2, 1, apart=True))
    )
    assert 3 * 1 + 2 + 0.5 == pytest.approx(
        iteration_time(profile, one_host(profile, "x", 2, 2, 1)), abs=1e-6
    )


def test_extra_layers_are_in_the_last_stages() -> None:
    assert (6, 6, 7, 7) == split_layers(26, 4)


@pytest.mark.parametrize(
    ("boundaries", "sent"),
    [([], [0]), ([1], [1, 2]), ([1, 10], [1, 11, 20]), ([1, 10, 100], [2, 11, 110, 200])],
)
def test_stages_send_activations_and_gradients(boundaries: list[float], sent: list[float]) -> None:
    assert sent == send_times(boundaries)


def test_one_replica_has_nothing_to_reduce() -> None:
    assert 0 == ring_time(Curve(0, 0, 1), 1e9, 1)


@pytest.mark.parametrize("gpu", ["h100", "a100"])
def test_a_plan_in_one_host_is_faster_than_one_over_many(gpu: str) -> None:
    profile = builtin_profile("OPT-350", 64)
    assert iteration_time(profile, one_host(profile, gpu, 1, 8, 2)) < iteration_time(
        profile, one_host(profile, gpu, 1, 8, 2, apart=True)
    )


def test_a_model_that_needs_more_memory_than_a_gpu_has_does_not_fit() -> None:
    profile = builtin_profile("GPT-Neo-2.7")
    assert not fits(profile, one_host(profile, "a100", 1, 1, 1))
    assert fits(profile, one_host(profile, "a100", 4, 1, 1))


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6, 5e8, 1e10, 1e15])
@pytest.mark.parametrize("gpu", ["h100", "a100"])
def test_larger_messages_always_take_longer(gpu: str, size: float) -> None:
    kind = builtin_profile("OPT-350").gpus[gpu]
    for curve in (kind.intra, *kind.inter.values()):
        assert 0 < curve.seconds(size) < curve.seconds(2 * size) < math.inf


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, -1.0])
def test_numbers_without_a_time_are_refused(bad: float) -> None:
    with pytest.raises(SailorError):
        LayerTime(bad, 0.0)
    with pytest.raises(SailorError):
        Curve(0.0, 0.0, bad)


def test_plans_that_the_profile_cannot_time_are_refused() -> None:
    profile = builtin_profile("OPT-350")
    plan = one_host(profile, "a100", 2, 2, 1)
    uneven = (
        plan.stages[0],
        msgspec.structs.replace(plan.stages[1], replicas=plan.stages[1].replicas[:1]),
    )
    for bad in (
        Plan(1, plan.stages[:1]),
        Plan(1, uneven),
        Plan(3, plan.stages),
        one_host(profile, "v100", 1, 1, 1),
    ):
        with pytest.raises(SailorError, match="expected"):
            iteration_time(profile, bad)


def write(path: Path, content: object) -> Path:
    text = json.dumps(content).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


ROW = [0.001, 0.002, 0.0005]
SIZE = {"params_floats": 10, "act_output_floats": 20, "act_mem_floats": 30, "act_input_floats": 5}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "profiles_tmp.json.gz", {"m": {"A": {"1": {"1": {"0": ROW, "1": ROW}}}}})
    write(tmp_path / "llm_info.json", {"m": {"1": {"0": SIZE, "1": SIZE}}})
    write(
        tmp_path / "network_coeffs_all_homo.json",
        {
            "inter": {"A": {"1": [[0, 0, 2], 1], "2": [[0, 0, 6], 1]}},
            "intra": {"A": {"2": [[0, 1, 9], 1]}},
        },
    )
    write(
        tmp_path / "basic_cluster_config.json",
        {"A": {"gpus_per_node": 4, "mem_per_gpu": 1e9}, "zone": "us-central1-a"},
    )
    return tmp_path


def test_sailors_files_are_read(folder: Path) -> None:
    profile = load_profile(folder, "m", {"a100": "A"}, 16)
    assert (0.003, 0.0005) == msgspec.structs.astuple(profile.times["a100"][1][1][0])
    assert (10, 20, 30) == msgspec.structs.astuple(profile.sizes[1][1])
    assert Curve(0, 0, 3) == profile.gpus["a100"].inter_for(3), "2 GPUs that reach 6 get 3 each"
    assert 1e9 == profile.gpus["a100"].memory_bytes


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([math.nan, 0.1, 0.1], r"m.A.1.1.0: expected .* in seconds, each from 0 on, found \[nan"),
        ([1, -1, 1], "from 0 on"),
        ([1, 2], "backward"),
        (["1", 2, 3], "'1'"),
    ],
)
def test_a_bad_time_is_refused_with_its_place(tmp_path: Path, row: list[Any], message: str) -> None:
    path = write(tmp_path / "times.json", {"m": {"A": {"1": {"1": {"0": row}}}}})
    with pytest.raises(SailorError, match=message):
        load_times(path, "m", "A")


def test_missing_parts_of_files_are_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SailorError, match=r"expected 'B', found \['A'\]"):
        load_times(folder / "profiles_tmp.json.gz", "m", "B")
    with pytest.raises(SailorError, match="expected 'n'"):
        load_sizes(folder / "llm_info.json", "n")
    with pytest.raises(SailorError, match="inter: expected 'B'"):
        load_gpu(folder / "network_coeffs_all_homo.json", "B", 1.0)
    with pytest.raises(SailorError, match="can be read"):
        load_sizes(tmp_path / "nowhere.json", "m")
    with pytest.raises(SailorError, match="built-in model"):
        builtin_profile("GPT-5")


def test_files_of_another_form_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(SailorError, match="expected JSON"):
        load_sizes(broken, "m")
    with pytest.raises(SailorError, match="from 1 on as a key"):
        load_sizes(write(tmp_path / "sizes.json", {"m": {"0": {}}}), "m")
    with pytest.raises(SailorError, match=r"\[\[a, b, c\]"):
        load_gpu(
            write(
                tmp_path / "network.json", {"inter": {"A": {"1": [1]}}, "intra": {"A": {"2": [1]}}}
            ),
            "A",
            1.0,
        )


def test_a_profile_whose_layers_do_not_agree_is_refused() -> None:
    base = builtin_profile("OPT-350")
    with pytest.raises(SailorError, match="26 layers"):
        msgspec.structs.replace(base, times={"a100": {1: {1: base.times["a100"][1][1][:-1]}}})
    with pytest.raises(SailorError, match="GPU type v100"):
        msgspec.structs.replace(base, times={"v100": base.times["a100"]})
    with pytest.raises(SailorError, match="global_batch"):
        builtin_profile("OPT-350", 0)
