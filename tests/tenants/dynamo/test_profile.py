"""Engine profiles: linear along curves, in 1 / context between them, and never beyond what was
profiled."""

from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.tenants.dynamo.builtin import BUILT_IN, built_in
from laissez.tenants.dynamo.profile import CACHED_MAX, DynamoError, EngineProfile

pytestmark = pytest.mark.once

# ITL = 10 + 0.02 n + 0.0001 n context, which the interpolation must get exactly right.
KV = 100_000
CONTEXTS = (500.0, 1000.0, 4000.0)


def modelled_ms(requests: float, context: float) -> float:
    return 10 + 0.02 * requests + 0.0001 * requests * context


def example() -> EngineProfile:
    decode = {
        context: [(used, modelled_ms(used * KV / context, context)) for used in (0.04, 0.4, 0.8)]
        for context in CONTEXTS
    }
    return EngineProfile("h100", 1, KV, [(100, 20.0), (1000, 50.0), (3000, 150.0)], decode)


def test_ttft_is_linear_between_points_and_flat_beyond_them() -> None:
    profile = example()
    assert [20.0, 35.0, 100.0, 150.0, 150.0] == [
        profile.ttft_ms(isl) for isl in (1, 550, 2000, 3000, 90_000)
    ]
    assert 20_000 == pytest.approx(profile.prefill_tokens_per_s(2000))
    # not 90,000 tokens in the time of 3,000
    assert 20_000 == pytest.approx(profile.prefill_tokens_per_s(90_000))
    assert 500 == pytest.approx(profile.prefill_tokens_per_s(10))


@pytest.mark.parametrize(("requests", "context"), [(20, 500), (40, 750), (25, 1600), (10, 3999)])
def test_itl_between_contexts_follows_the_cost_of_a_step(requests: float, context: float) -> None:
    assert modelled_ms(requests, context) == pytest.approx(example().itl_ms(requests, context))


def test_a_batch_never_uses_more_of_the_cache_than_was_profiled() -> None:
    profile = example()
    assert 160 == profile.step(500).batch_max
    assert profile.itl_ms(160, 500) == profile.itl_ms(10_000, 500)
    assert 160 / profile.itl_ms(160, 500) * 1000 == pytest.approx(
        profile.decode_tokens_per_s(500, 1e9)
    )
    assert 1 == profile.step(1e9).batch_max


def test_a_short_context_is_served_like_the_shortest_profiled() -> None:
    assert example().itl_ms(100, 500) == example().itl_ms(100, 3)


def test_the_largest_batch_is_the_last_one_that_meets_the_objective() -> None:
    profile = example()
    batch = profile.largest_batch(1000, 14.0)
    assert 33 == batch  # 10 + 0.12 n <= 14
    assert profile.itl_ms(batch, 1000) <= 14.0 < profile.itl_ms(batch + 1, 1000)
    assert 0 == profile.largest_batch(1000, 10.0)
    assert 0.0 == profile.decode_tokens_per_s(1000, 10.0)
    assert 0 == profile.largest_batch(1000, math.nan)


def test_a_point_that_is_slower_than_a_harder_one_is_lowered() -> None:
    profile = EngineProfile(
        "h100", 1, KV, [(100, 20.0), (1000, 500.0), (2000, 300.0)], {500: [(0.1, 10.0)]}
    )
    assert 300.0 == profile.ttft_ms(1000)


@pytest.mark.parametrize("number", [math.nan, math.inf, -1.0])
def test_invalid_numbers_have_no_latency(number: float) -> None:
    for asked in (
        example().ttft_ms,
        lambda isl: example().itl_ms(isl, 500),
        lambda context: example().itl_ms(1, context),
    ):
        with pytest.raises(DynamoError, match="from 0 on"):
            asked(number)


@pytest.mark.parametrize(
    ("prefill", "decode"),
    [
        ([], {500: [(0.1, 10.0)]}),
        ([(100, math.nan)], {500: [(0.1, 10.0)]}),
        ([(100, 0.0)], {500: [(0.1, 10.0)]}),
        ([(100, 1.0), (100, 2.0)], {500: [(0.1, 10.0)]}),
        ([(100, 1.0)], {}),
        ([(100, 1.0)], {500: []}),
        ([(100, 1.0)], {500: [(1.5, 10.0)]}),
        ([(100, 1.0)], {math.inf: [(0.1, 10.0)]}),
        ([(100, 1.0)], {500: [(0.1, math.inf)]}),
    ],
)
def test_a_profile_of_bad_points_is_refused(
    prefill: list[tuple[float, float]], decode: dict[float, list[tuple[float, float]]]
) -> None:
    with pytest.raises(DynamoError, match="h100"):
        EngineProfile("h100", 1, KV, prefill, decode)


def test_caches_are_bounded_and_profiles_can_be_pickled() -> None:
    profile = example()
    for context in range(CACHED_MAX + 10):
        profile.decode_tokens_per_s(500 + context / 10, 5.0)
    assert len(profile._throughputs) <= CACHED_MAX
    assert profile.itl_ms(5, 700) == pickle.loads(pickle.dumps(profile)).itl_ms(5, 700)


@pytest.mark.parametrize(("model", "gpus"), BUILT_IN)
def test_an_h100_is_faster_than_an_a100_at_everything(model: str, gpus: int) -> None:
    h100, a100 = built_in(model, gpus)["h100"], built_in(model, gpus)["a100"]
    assert 2.2 < h100.prefill_tokens_per_s(3055) / a100.prefill_tokens_per_s(3055) < 3.0
    assert 1.6 < a100.itl_ms(1, 2335) / h100.itl_ms(1, 2335) < 2.2


def test_the_built_in_8b_engine_has_the_published_figures() -> None:
    h100, a100 = built_in("llama-3.1-8b", 1)["h100"], built_in("llama-3.1-8b", 1)["a100"]
    assert 46_436 == pytest.approx(h100.prefill_tokens_per_s(3055), rel=0.005)
    assert 16_115 == pytest.approx(a100.prefill_tokens_per_s(3055), rel=0.005)
    assert 3465 == pytest.approx(h100.decode_tokens_per_s(2335, 10.15), rel=0.01)
    assert 2647 == pytest.approx(a100.decode_tokens_per_s(2335, 26.15), rel=0.01)


def test_an_unknown_built_in_engine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DynamoError, match=r"llama-3\.1-8b on 1"):
        built_in("llama-3.1-8b", 3)


@settings(max_examples=40)
@given(
    engine=st.sampled_from(BUILT_IN),
    requests=st.floats(0, 1e6),
    context=st.floats(0, 1e6),
    slo=st.floats(0.1, 500),
)
def test_every_answer_is_finite_and_more_work_is_never_faster(
    engine: tuple[str, int], requests: float, context: float, slo: float
) -> None:
    for profile in built_in(*engine).values():
        itl = profile.itl_ms(requests, context)
        assert 0 < itl <= profile.itl_ms(requests + 1, context) < math.inf
        assert 0 <= profile.decode_tokens_per_s(context, slo) < math.inf
        batch = profile.largest_batch(context, slo)
        assert batch == 0 or profile.itl_ms(batch, context) <= slo
        assert 0 < profile.ttft_ms(context) <= profile.ttft_ms(context * 2) < math.inf
