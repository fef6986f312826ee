"""Profiles straight from AIConfigurator: the sweep, against a small stand-in always and against the
package where it is installed."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType, SimpleNamespace

import pytest

from laissez.tenants.dynamo import configurator
from laissez.tenants.dynamo.configurator import ask
from laissez.tenants.dynamo.profile import DynamoError

pytestmark = pytest.mark.once


class Engine:
    """5 ms and 20 us per input token; 10 ms and 1 us per cached token of a step."""

    def predict_prefill_latency(self, requests: int, isl: int) -> float:
        return requests * (5 + 0.02 * isl)

    def predict_decode_latency(self, requests: int, isl: int, osl: int) -> float:
        return (osl - 1) * (10 + 0.001 * requests * (isl + osl / 2))


def compiled(
    model: str, system: str, backend: str, *, backend_version: str, tp_size: int
) -> Engine:
    if model == "unknown":
        raise RuntimeError("no such model")
    return Engine()


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    sdk = ModuleType("aiconfigurator_core.sdk")
    sdk.__dict__.update(
        EngineHandle=SimpleNamespace(compile=compiled),
        estimate_kv_cache=lambda *_, **__: {"total_kv_size_tokens": 400_000},
    )
    monkeypatch.setitem(sys.modules, "aiconfigurator_core", ModuleType("aiconfigurator_core"))
    monkeypatch.setitem(sys.modules, "aiconfigurator_core.sdk", sdk)


@pytest.mark.usefixtures("stand_in")
def test_the_sweep_is_dynamos() -> None:
    profile = ask("some/model", "h100_sxm", 2)
    assert ("h100", 2, 400_000) == (profile.gpu, profile.gpus, profile.max_kv_tokens)
    assert (100, 1085, 15_860) == (
        profile.prefill.xs[0],
        profile.prefill.xs[1],
        profile.prefill.xs[-1],
    )
    assert (350, 2335, 14_245) == (profile.contexts[0], profile.contexts[1], profile.contexts[-1])
    assert 26.7 == pytest.approx(profile.ttft_ms(1085))
    assert 10 + 0.001 * 40 * 2335 == pytest.approx(profile.itl_ms(40, 2335))
    assert 300_000 == ask("some/model", "h100_sxm", 2, max_kv_tokens=300_000).max_kv_tokens


@pytest.mark.usefixtures("stand_in")
def test_all_failures_of_aiconfigurator_are_one_kind_of_error() -> None:
    with pytest.raises(
        DynamoError, match="unknown on 1 x h100_sxm with vllm current, found: no such model"
    ):
        ask("unknown", "h100_sxm", 1)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiconfigurator_core.sdk", None)
    with pytest.raises(DynamoError, match=r"laissezcloud\[aiconfigurator\]"):
        ask("some/model", "h100_sxm", 1)


def test_few_requests_fit_a_small_cache() -> None:
    assert [1] == configurator._concurrencies(0)
    assert [1, 2, 3] == configurator._concurrencies(3)
    assert [1, 75, 150, 225, 300, 375, 450, 525] == configurator._concurrencies(525)


@pytest.mark.skipif(
    importlib.util.find_spec("aiconfigurator_core") is None,
    reason="the extra laissezcloud[aiconfigurator] is not installed",
)
@pytest.mark.filterwarnings("default")
def test_the_package_itself_gives_the_built_in_engine() -> None:
    profile = ask("meta-llama/Meta-Llama-3.1-8B", "h100_sxm", 1, max_kv_tokens=315_000)
    assert 65.79 == pytest.approx(profile.ttft_ms(3055), rel=0.1)
    assert 10.1 == pytest.approx(profile.itl_ms(35, 2335), rel=0.1)
