"""The bids of an inference service: for missing capacity, for capacity that it would miss, and not
for spare capacity."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from laissez.tenants.dynamo import fleet
from laissez.tenants.dynamo.builtin import built_in
from laissez.tenants.dynamo.credits import Credits, in_proportion, service_credits
from laissez.tenants.dynamo.planner import Observation, Sla
from laissez.tenants.dynamo.pools import Coverage, Pools
from laissez.tenants.dynamo.predictors import Constant, Steady
from laissez.tenants.dynamo.pricing import Dynamo
from laissez.tenants.dynamo.profile import DynamoError
from laissez.tenants.dynamo.serving import SHORT_MAX, Serving
from laissez.tenants.paths import without
from laissez.tenants.pricing import grow_price, keep_price

pytestmark = pytest.mark.once

# Llama-3.1-8B, 2000 tokens in and 200 out. An A100 reads 2000 tokens in 125 ms and writes them at
# 12 ms each at best.
LOOSE = Sla(isl=2000, osl=200, ttft_ms=500, itl_ms=50)
TIGHT_ITL = Sla(isl=2000, osl=200, ttft_ms=500, itl_ms=11)
TIGHT_TTFT = Sla(isl=2000, osl=200, ttft_ms=100, itl_ms=50)
TREES = ("h100", "a100")


def service(
    req_per_s: float,
    sla: Sla = LOOSE,
    *,
    model: str = "llama-3.1-8b",
    gpus: int = 1,
    min_endpoint: int = 1,
    nominal: float = 0.0,
) -> Dynamo:
    serving = Serving(
        built_in(model, gpus), sla, predictor=Constant, min_endpoint=min_endpoint, correct=False
    )
    app = Dynamo(serving, TREES, 100.0, nominal)
    app.observe(traffic(req_per_s, sla), ())
    return app


def traffic(req_per_s: float, sla: Sla = LOOSE) -> Observation:
    return Observation(req_per_s * 10, sla.isl, sla.osl, 100, 20, 5, 10)


def leaves(h100: int, a100: int = 0) -> tuple[str, ...]:
    return tuple(
        f"{tree}/zone-a/host{at // 8}/gpu{at % 8}"
        for tree, count in (("h100", h100), ("a100", a100))
        for at in range(count)
    )


def total(app: Dynamo, tree: str = "h100") -> int:
    return sum(app.serving.plan.replicas(tree))


def test_the_loss_climbs_through_the_service_credits_or_in_proportion() -> None:
    assert [0.0, 0.05, 0.10, 0.25, 1.0, 1.0] == pytest.approx(
        [service_credits(late) for late in (0, 0.0005, 0.001, 0.01, 1, 2)]
    )
    assert [0.0, 0.001, 0.5, 1.0] == [in_proportion(late) for late in (0, 0.001, 0.5, 1)]
    assert 0.0 == service_credits(1e-12) == in_proportion(1e-12), "an error of rounding"


def test_a_request_needs_both_pools_so_the_worse_one_decides_the_loss() -> None:
    for credits in (service_credits, in_proportion):
        now = Pools((Coverage(0.2, 0.3), Coverage(0.05, 0.1)), (True, True), credits).service_level(
            (2, 3)
        )
        served = min(1 - now.prefill_late, 1 - now.decode_late)
        assert 0 < served < 1 and now.lost == pytest.approx(credits(1 - served))
    only_prefill = Pools((Coverage(0.5, 0.0),), (True, True), service_credits).service_level((3,))
    assert 1.0 == only_prefill.lost == only_prefill.decode_late, "one pool alone serves nobody"


def test_a_service_paid_by_the_request_bids_the_earnings_of_its_requests() -> None:
    by_request = Serving(
        built_in("llama-3.1-8b", 1),
        LOOSE,
        predictor=Constant,
        min_endpoint=0,
        correct=False,
        credits=in_proportion,
    )
    app = Dynamo(by_request, TREES, 100.0)
    app.observe(traffic(200), ())
    late = app.serving.service_level(leaves(6))
    assert app.utility_gap(leaves(6), 0) == pytest.approx(max(late.prefill_late, late.decode_late))
    assert grow_price(app, "h100", leaves(6), 0) < grow_price(
        service(200, min_endpoint=0), "h100", leaves(6), 0
    )


def test_a_service_without_nodes_misses_everything_and_with_its_plan_nothing() -> None:
    app = service(60)
    assert 4 < total(app)
    assert 1.0 == app.utility_gap((), 0)
    assert app.utility_gap(leaves(total(app) - 1), 0) > 0
    assert app.utility_gap(leaves(total(app)), 0) <= 0
    assert app.utility_gap(leaves(total(app) + 3), 0) < 0


def test_there_is_one_wish_for_each_engine_short_and_none_beyond() -> None:
    app = service(60)
    for count in range(total(app) + 3):
        wishes = app.wishes(leaves(count), 0)
        assert max(0, total(app) - count) == len(wishes)
        assert {TREES} >= set(wishes)


def test_a_type_that_misses_the_objective_is_not_requested() -> None:
    # an A100 may still prefill
    assert {("h100",), TREES} == set(service(60, TIGHT_ITL).wishes((), 0))
    assert {("h100",), TREES} == set(service(60, TIGHT_TTFT).wishes((), 0))  # or decode
    neither = service(60, Sla(isl=2000, osl=200, ttft_ms=100, itl_ms=11))
    assert {("h100",)} == set(neither.wishes((), 0))
    assert 0.0 == grow_price(neither, "a100", (), 0)
    assert neither.utility_gap(leaves(0, 50), 0) == 1.0
    assert ({}, {}) == neither.serving.at_work(leaves(0, 3))


def test_the_bid_rises_with_load() -> None:
    held = leaves(4)
    bids = [grow_price(service(load, nominal=60), "h100", held, 0) for load in (10, 40, 60, 80)]
    assert 0.0 == bids[0]
    assert bids == sorted(bids) and bids[-1] > 0


def test_the_better_type_is_worth_more() -> None:
    app = service(60)
    assert grow_price(app, "h100", leaves(3), 0) > 1.5 * grow_price(app, "a100", leaves(3), 0) > 0


def test_a_needed_node_is_kept_at_a_price_and_a_redundant_one_at_none() -> None:
    app = service(60)
    needed, spare = leaves(total(app)), leaves(total(app) + 2)
    assert not app.is_redundant(needed[0], needed, 0)
    assert app.is_redundant(spare[0], spare, 0) and app.is_redundant("h100", needed, 0)
    assert app.marginal_utility(spare[0], spare, 0) > 0, "it leaves more to spare"
    assert 0.0 == keep_price(app, spare[0], spare, 0) < keep_price(app, needed[0], needed, 0)


def test_keeping_a_node_costs_a_cold_start_more_than_its_worth() -> None:
    app, held = service(60), leaves(3)
    worth = 100.0 * app.marginal_utility(held[0], held, 0)
    assert worth * (1 + 60 / 3600) == pytest.approx(keep_price(app, held[0], held, 0))
    rest = without(held, held[0])
    assert worth * (1 - 60 / 3600) == pytest.approx(grow_price(app, held[0], rest, 0))


def test_without_traffic_one_engine_of_each_kind_is_kept_unless_told_otherwise() -> None:
    assert 2 == len(service(0).wishes((), 0))
    assert 0 == len(service(0, min_endpoint=0).wishes((), 0))
    assert service(0, min_endpoint=0).utility_gap((), 0) <= 0
    assert 0.0 == keep_price(service(0, min_endpoint=0), leaves(1)[0], leaves(1), 0)


def test_before_the_first_observation_the_fewest_engines_are_requested() -> None:
    assert 2 == len(Dynamo(Serving(built_in("llama-3.1-8b", 1), LOOSE), TREES, 100.0).wishes((), 0))


def test_revenue_follows_the_load_if_a_nominal_load_is_given() -> None:
    assert 100.0 == service(30).value_per_utility(0)
    assert [10.0, 50.0, 200.0] == pytest.approx(
        [service(load, nominal=60).value_per_utility(0) for load in (0, 30, 120)]
    )


def test_types_are_put_where_they_are_comparatively_good() -> None:
    app = service(60)
    need = app.serving.plan.replicas("h100")[0]
    prefill, decode = app.serving.at_work(leaves(need, 30))
    # 2.8x in prefill, 2x in decode
    assert need == prefill["h100"]
    assert {"a100"} == set(decode)
    assert need + 30 == sum(prefill.values()) + sum(decode.values())


def test_with_too_few_nodes_both_pools_are_served_alike() -> None:
    app = service(200)
    prefills, decodes = (sum(pool.values()) for pool in app.serving.at_work(leaves(6)))
    prefill, decode = app.serving.plan.replicas("h100")
    assert 1 <= prefills <= 5 and 6 == prefills + decodes
    assert prefills / prefill == pytest.approx(decodes / decode, abs=0.2)


def test_observed_corrections_change_the_plan() -> None:
    serving = Serving(built_in("llama-3.1-8b", 1), LOOSE, predictor=Constant)
    serving.observe(traffic(60), leaves(6))
    slow = Observation(600, 2000, 200, 40, 60, 12, 10)
    before = serving.plan.decode_need / serving.plan.capacity["h100"].decode
    serving.observe(slow, leaves(6))
    assert serving.corrections.decode > 1
    assert serving.plan.decode_need / serving.plan.capacity["h100"].decode > before


def test_a_wild_prediction_is_bounded() -> None:
    app = service(1e9)
    assert 2 * SHORT_MAX == len(app.wishes((), 0))
    assert 0 < grow_price(app, "h100", (), 0) < 1.0


def test_an_engine_of_four_takes_four_leaves_of_one_host() -> None:
    app = service(5, Sla(1155, 211, 500, 50), model="llama-3.1-70b", gpus=4)
    profile = app.serving.profiles["h100"]
    scattered = tuple(f"h100/zone-a/host{at}/gpu0" for at in range(4))
    together = tuple(f"h100/zone-a/host0/gpu{at}" for at in range(4))
    assert [] == fleet.engines(scattered, profile)
    assert [together] == fleet.engines(together, profile)
    assert app.utility_gap(together, 0) < app.utility_gap(scattered, 0)
    assert 0.0 == app.marginal_utility(scattered[3], scattered, 0)  # one engine is built at a time
    assert [("h100/zone-a/host0",)] * 2 == list(app.wishes(together[:2], 0))[:2]
    assert grow_price(app, "h100/zone-a/host0", together[:2], 0) > 0
    assert app.utility_gap((*together[:3], "h100/zone-a/host0"), 0) == app.utility_gap(together, 0)


def test_impossible_services_are_refused() -> None:
    serving = Serving(built_in("llama-3.1-8b", 1), LOOSE)
    for bad in ((), ("h200",), ("h100", "v100/zone-a")):
        with pytest.raises(DynamoError, match="expected scopes in"):
            Dynamo(serving, bad, 100.0)
    for revenue in (math.nan, math.inf, -1.0):
        with pytest.raises(DynamoError, match="revenue_per_hour"):
            Dynamo(serving, TREES, revenue)
    with pytest.raises(DynamoError, match="cold_start_s"):
        Dynamo(serving, TREES, 1.0, cold_start_s=math.nan)
    with pytest.raises(DynamoError, match="at least one type"):
        Serving({}, LOOSE)
    with pytest.raises(DynamoError, match="expected the profile of h200"):
        Serving({"h200": built_in("llama-3.1-8b", 1)["h100"]}, LOOSE)
    with pytest.raises(DynamoError, match="headroom"):
        Serving(built_in("llama-3.1-8b", 1), LOOSE, headroom=0.0)


@pytest.mark.parametrize(("h100", "a100", "closes_all"), [(1, 0, False), (2, 1, True)])
def test_an_engine_that_frees_another_for_the_late_pool_is_worth_the_gap_it_closes(
    h100: int, a100: int, closes_all: bool
) -> None:
    """Here an A100 can only decode, and prefill is late. With one more of them an H100 that decodes
    can prefill instead."""
    app, held = service(26, TIGHT_TTFT), leaves(h100, a100)
    assert 0.0 == app.serving.nodes["a100"].prefill < app.serving.service_level(held).prefill_late
    after = app.utility_gap((*held, "a100"), 0)
    assert closes_all == (after <= 0)
    closed = app.utility_gap(held, 0) - max(0.0, after)
    assert closed > 0.2 and not app.is_redundant("a100", (*held, "a100"), 0)
    assert 100 * closed * (1 - 60 / 3600) == pytest.approx(grow_price(app, "a100", held, 0))
    assert 100 * closed * (1 + 60 / 3600) == pytest.approx(
        keep_price(app, "a100", (*held, "a100"), 0)
    )


shares = st.floats(0.01, 0.6)
pools = st.builds(Coverage, shares, shares)


@settings(max_examples=100)
@given(
    counts=st.tuples(st.integers(0, 6), st.integers(0, 6)),
    steps=st.tuples(pools, pools),
    credits=st.sampled_from([service_credits, in_proportion]),
)
def test_the_shares_of_all_missing_nodes_add_up_to_the_loss(
    counts: tuple[int, int], steps: tuple[Coverage, Coverage], credits: Credits
) -> None:
    now = Pools(steps, (True, True), credits).service_level(counts)
    for step in steps:
        missing = now.prefill_late / step.prefill + now.decode_late / step.decode
        assert now.closed_by(step) * max(1.0, missing) == pytest.approx(
            now.lost if missing else 0.0
        )
    prefill, decode = (
        now.closed_by(only)
        for only in (Coverage(steps[0].prefill, 0.0), Coverage(0.0, steps[0].decode))
    )
    assert prefill <= now.lost and decode <= now.lost
    # specialists share it by what each pool lacks
    if (
        now.lost
        and min(now.prefill_late / steps[0].prefill, now.decode_late / steps[0].decode) >= 1
    ):
        together = (
            prefill * now.prefill_late / steps[0].prefill
            + decode * now.decode_late / steps[0].decode
        )
        assert together == pytest.approx(now.lost)


@settings(max_examples=100)
@given(
    counts=st.lists(st.integers(0, 6), min_size=3, max_size=3),
    steps=st.lists(pools, min_size=3, max_size=3),
)
def test_no_other_split_between_the_pools_serves_more(
    counts: list[int], steps: list[Coverage]
) -> None:
    ranked = sorted(zip(counts, steps, strict=True), key=lambda one: -one[1].advantage)
    nodes = [step for count, step in ranked for _ in range(count)]
    splits = [
        (sum(one.prefill for one in nodes[:at]), sum(one.decode for one in nodes[at:]))
        for at in range(len(nodes) + 1)
    ]
    served = max(min(split) for split in splits)
    both = Pools(steps, (True, True), in_proportion)
    assert max(0.0, 1 - served) == pytest.approx(both.service_level(counts).lost, abs=1e-8)
    at = sum(both.prefills(counts))
    assert served == pytest.approx(min(splits[at]))


def test_up_at_once_and_down_slowly() -> None:
    steady = Steady(3, Constant)
    assert 0.0 == steady.next()
    expected = {5.0: 5.0, 9.0: 9.0, 2.0: 9.0, 3.0: 9.0, 1.0: 3.0, 0.0: 3.0}
    for seen, predicted in expected.items():
        steady.add(seen)
        assert predicted == steady.next(), seen


def test_a_service_with_a_steady_predictor_keeps_its_engines_through_a_lull() -> None:
    serving = Serving(
        built_in("llama-3.1-8b", 1), LOOSE, predictor=lambda: Steady(5, Constant), correct=False
    )
    app = Dynamo(serving, TREES, 100.0)
    app.observe(traffic(60), ())
    held = leaves(total(app))
    for _ in range(4):
        app.observe(traffic(5), held)
        assert keep_price(app, held[0], held, 0) > 0
    app.observe(traffic(5), held)
    assert 0.0 == keep_price(app, held[0], held, 0), "five intervals are over"


slas = st.sampled_from(
    [LOOSE, TIGHT_ITL, TIGHT_TTFT, Sla(isl=2000, osl=200, ttft_ms=100, itl_ms=11)]
)


@settings(max_examples=60)
# a new split closes the gap: the node is the last one missing
@example(load=35, sla=LOOSE, h100=2, a100=1, min_endpoint=1, added="a100")
@example(load=31, sla=LOOSE, h100=0, a100=3, min_endpoint=1, added="h100")
@given(
    load=st.floats(0, 500),
    sla=slas,
    h100=st.integers(0, 12),
    a100=st.integers(0, 12),
    min_endpoint=st.integers(0, 2),
    added=st.sampled_from(TREES),
)
def test_more_held_never_widens_the_gap_and_every_price_is_finite(
    load: float, sla: Sla, h100: int, a100: int, min_endpoint: int, added: str
) -> None:
    app, held = service(load, sla, min_endpoint=min_endpoint), leaves(h100, a100)
    gap, after = app.utility_gap(held, 0), app.utility_gap((*held, added), 0)
    assert -1 <= after <= gap + 1e-12 <= 1 + 1e-9
    marginal = app.marginal_utility(added, held, 0)
    assert 0 <= marginal <= max(0.0, gap) + max(0.0, -after) + 1e-12
    assert marginal > 0 or gap == pytest.approx(after), "what helps is worth something"
    assert after > 0 or marginal == pytest.approx(gap - after), (
        "the last one closes all that is open"
    )
    assert marginal == app.marginal_utility(added, (*held, added), 0), "coming or going"
    bid = grow_price(app, added, held, 0)
    assert 0 <= bid <= keep_price(app, added, (*held, added), 0) + 1e-9 <= 200
    for leaf in held[:1]:
        spare = app.utility_gap(without(held, leaf), 0) <= 0
        assert not spare or keep_price(app, leaf, held, 0) == 0


@settings(max_examples=20)
@given(load=st.floats(1, 300), sla=slas)
def test_the_wishes_are_the_engines_that_the_plan_lacks(load: float, sla: Sla) -> None:
    app = service(load, sla)
    wished = tuple(wish[0] for wish in app.wishes((), 0))
    assert total(app) == len(wished)
    assert app.utility_gap(wished, 0) <= 0
