"""The load of services: drawn to fit the public traces, or taken from one."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pstdev

import pytest

from laissez.sim import ClusterTable, InferenceTable, Scenario, Setting, TenantsTable
from laissez.sim.kernel import random_stream
from laissez.sim.workloads.inference import (
    BIN_S,
    SHIFT_BINS,
    TRAFFIC,
    Traffic,
    draw_bin,
    draw_levels,
    draw_stretch,
    mean_of,
    read_bins,
    to_bins,
)
from laissez.sim.worlds.inference import Load
from laissez.tenants.traces import Request, TraceError
from laissez.units import SECOND_US
from support.paths import PUBLIC_DATA
from support.sim_world import PLANNERS

pytestmark = pytest.mark.once

AZURE = PUBLIC_DATA / "azure-llm-2023" / "AzureLLMInferenceTrace_conv.csv.gz"
MOONCAKE = PUBLIC_DATA / "mooncake" / "conversation_trace.jsonl.gz"


@pytest.mark.parametrize("traffic", TRAFFIC.values(), ids=list(TRAFFIC))
def test_drawn_load_has_the_figures_of_the_trace(traffic: Traffic) -> None:
    """One stream, 4,000 windows: mean, variation between windows, and how far they go with the one
    before."""
    levels = draw_levels(random_stream(1, "levels"), traffic, 4000)
    windows = levels[:: len(levels) // 4000]
    assert fmean(windows) == pytest.approx(1.0, abs=0.03)
    assert pstdev(windows) / fmean(windows) == pytest.approx(traffic.windows, rel=0.1)
    logs = [math.log(level) for level in windows]
    middle, spread = fmean(logs), pstdev(logs)
    memory = fmean((one - middle) * (other - middle) for one, other in pairwise(logs)) / spread**2
    assert memory == pytest.approx(traffic.correlation, abs=0.05)


@pytest.mark.parametrize("streams", [1, 25])
def test_bursts_within_a_window_are_independent_between_streams(streams: int) -> None:
    traffic, rng = TRAFFIC["code"], random_stream(2, "bins")
    bins = [draw_bin(rng, traffic, 1.0, streams) for _ in range(3000)]
    requests = [load.requests for load in bins]
    assert fmean(requests) == pytest.approx(traffic.req_per_s * BIN_S * streams, rel=0.06)
    assert pstdev(requests) / fmean(requests) == pytest.approx(
        traffic.bursts / math.sqrt(streams), rel=0.1
    )
    assert mean_of(bins, "isl") == pytest.approx(traffic.isl, rel=0.05)


def test_bins_count_every_request_and_even_out_over_a_minute() -> None:
    burst = [
        Request(at_us=(600 + at) * SECOND_US, input_tokens=100 + at, output_tokens=7)
        for at in range(10)
    ]
    ends = [Request(at_us=at * SECOND_US, input_tokens=50, output_tokens=3) for at in (0, 1210)]
    bins = to_bins([ends[0], *burst, ends[1]])
    near = bins[60 - SHIFT_BINS : 60 + SHIFT_BINS + 1]
    assert [pytest.approx(10 / len(near))] * len(near) == [load.requests for load in near]
    assert (104.5, 7.0) == (near[0].isl, near[0].osl)
    assert 0 == bins[60 - SHIFT_BINS - 1].requests == bins[60 + SHIFT_BINS + 1].requests


def test_a_stretch_begins_anywhere_and_is_cyclic() -> None:
    bins = [Load(float(at), 1.0, 1.0) for at in range(5)]
    found = {
        tuple(load.requests for load in draw_stretch(random_stream(seed, "stretch"), bins, 7))
        for seed in range(60)
    }
    assert {tuple(float((first + at) % 5) for at in range(7)) for first in range(5)} == found


def test_a_trace_without_a_request_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "empty.csv"
    file.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n")
    with pytest.raises(TraceError, match="expected at least one request"):
        read_bins(file)


@pytest.mark.parametrize("trace", [AZURE, MOONCAKE], ids=["azure", "mooncake"])
def test_services_run_on_a_real_trace(trace: Path) -> None:
    """Two services with a stretch of it each, as many times as many requests as keep their engines
    busy, alone and together."""
    if not trace.is_file():
        pytest.skip(f"the public trace {trace.name} is not here")
    scenario = Scenario(
        cluster=ClusterTable(gpus={"h100": 16, "a100": 16}),
        tenants=TenantsTable(count=2, mix={"inference": 1.0}, arrivals_hours=0.05),
        inference=InferenceTable(trace=str(trace), engines=(2.0, 4.0), hours=(0.4, 0.5)),
    )
    setting = Setting(scenario, 0, PLANNERS)
    assert all(achieved > 0.85 for achieved in setting.alone.values())
    result = setting.run("market")
    assert 0.9 < result.retention < 1.05 and result.total("useful_hours") > 1
