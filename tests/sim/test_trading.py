"""How tenants deal with their cloud: through adapters or as on demand today; what they believe; and
variations of one setting."""

from __future__ import annotations

import msgspec
import pytest

from laissez.sim import ScenarioError
from laissez.sim.clouds.cloud import Lease
from laissez.sim.results import RunResult, TenantResult
from laissez.sim.scenario import Band, MarketTable, Scenario
from laissez.sim.setting import Setting
from laissez.sim.tenant import Adaptive, Fixed
from laissez.sim.workloads.population import draw, node_hours, on_demand, shares_of, who_adapts
from laissez.sim.workloads.spec import Spec
from laissez.tenants.sailor import HostLayout
from laissez.units import HOUR_US
from support.sim_world import PLANNERS, accounts, leaf, passes, tiny

pytestmark = pytest.mark.once

SEED = 1
ROOMY = {"h100": 40, "a100": 40}
BATCH = "batch-3"


@pytest.fixture(scope="module")
def setting() -> Setting:
    """Three tenants, one of each kind, on fewer GPUs than they need."""
    return Setting(tiny(3), SEED, PLANNERS)


def outcome(run: RunResult, name: str = BATCH) -> TenantResult:
    return next(one for one in run.tenants if one.tenant == name)


def held_at(leases: tuple[Lease, ...], tenant: str, instant: int) -> int:
    return sum(one.tenant == tenant and one.start <= instant < one.end for one in leases)


def need(scenario: Scenario, spec: Spec) -> list[tuple[int, float]]:
    return spec.need(scenario, shares_of(scenario), PLANNERS)


# -- who adapts


def test_a_larger_adaptive_share_includes_the_smaller_one() -> None:
    few, more, all_of_them = (
        who_adapts(tiny(8, adaptive=share), SEED) for share in (0.25, 0.5, 1.0)
    )
    assert (len(few), len(more), len(all_of_them)) == (2, 4, 8)
    assert few < more < all_of_them


def test_the_adaptive_tenants_depend_on_the_seed() -> None:
    assert len({who_adapts(tiny(8, adaptive=0.5), seed) for seed in range(10)}) > 1


def test_only_adaptive_tenants_trade_through_adapters() -> None:
    scenario = tiny(6, adaptive=0.5)
    specs = draw(scenario, SEED, PLANNERS).specs
    assert {
        number for number, spec in enumerate(specs) if spec.trading == Adaptive()
    } == who_adapts(scenario, SEED)
    assert sum(isinstance(spec.trading, Fixed) for spec in specs) == 3


def test_the_adaptive_share_changes_nothing_but_the_trading() -> None:
    as_they_are = [
        msgspec.structs.replace(spec, trading=Adaptive())
        for spec in draw(tiny(6, adaptive=0.5), SEED, PLANNERS).specs
    ]
    assert as_they_are == list(draw(tiny(6), SEED, PLANNERS).specs)


# -- a fixed footprint


def test_on_demand_is_the_mean_need_at_a_limit_far_above_the_list_price() -> None:
    # 5 GPU-hours in 2 hours
    assert on_demand([(0, 1.0), (HOUR_US, 4.0), (2 * HOUR_US, 0.0)], highest=7.0) == Fixed(
        nodes=3, price=70.0
    )


def test_fixed_tenants_hold_their_mean_need_all_the_time() -> None:
    scenario = tiny(3, None, ROOMY, adaptive=0.0)
    fixed = Setting(scenario, SEED, PLANNERS)
    run = fixed.run("market")
    for spec, one in zip(fixed.population.specs, run.tenants, strict=True):
        assert isinstance(spec.trading, Fixed)
        nodes, span = spec.trading.nodes, round(one.end_s * 1_000_000) - spec.start
        assert (
            nodes - 1
            < node_hours(need(scenario, spec)) * HOUR_US / (spec.due - spec.start)
            <= nodes
        )
        assert {
            held_at(run.leases, spec.name, spec.start + span * tenth // 10)
            for tenth in range(1, 10)
        } == {nodes}
        assert (one.revocations, one.moves) == (0, 0)


# -- one tenant that trades otherwise


def test_a_limit_below_the_floors_buys_nothing(setting: Setting) -> None:
    found = outcome(setting.with_trading(BATCH, Fixed(2, 2.0, "spot"), 100.0).run("market"))
    assert (found.cost, found.performance, found.gains) == (0.0, 0.0, 0)


def test_the_highest_limit_gets_all_nodes_and_is_never_outbid(setting: Setting) -> None:
    """At a price just above the floor of A100s the same tenant has to wait until another leaves."""
    high, low = (
        outcome(setting.with_trading(BATCH, Fixed(2, price, "spot"), 100.0).run("market"))
        for price in (1000.0, 3.0)
    )
    assert (high.gains, high.revocations) == (2, 0)
    assert high.performance > low.performance > 0


def test_a_budget_bounds_the_spending_and_binds(setting: Setting) -> None:
    free = outcome(setting.run("market")).cost
    value = setting.population.value
    bounded = outcome(
        setting.with_trading(BATCH, Adaptive(budget=free / 2), value).run("market")
    ).cost
    assert 0 < bounded <= free / 2


def test_work_of_lower_value_pays_less(setting: Setting) -> None:
    usual = outcome(setting.run("market"))
    modest = outcome(
        setting.with_trading(BATCH, Adaptive(), setting.population.value / 4).run("market")
    )
    assert modest.cost < usual.cost


def test_other_tenants_and_the_setting_itself_do_not_change(setting: Setting) -> None:
    before = setting.population
    other = setting.with_trading(BATCH, Fixed(1, 5.0), 50.0)
    assert setting.population == before
    changed = [
        new for new, old in zip(other.population.specs, before.specs, strict=True) if new != old
    ]
    assert [(spec.name, spec.trading, spec.value) for spec in changed] == [
        (BATCH, Fixed(1, 5.0), 50.0)
    ]
    assert other.alone == setting.alone


def test_unknown_tenants_are_refused(setting: Setting) -> None:
    with pytest.raises(
        ScenarioError,
        match=(
            "expected the name of a tenant, one of inference-1, training-2, batch-3, found"
            " 'batch-9'"
        ),
    ):
        setting.with_trading("batch-9", Adaptive(), 1.0)


# -- beliefs


@pytest.mark.parametrize("kind", ["inference", "training", "batch"])
def test_a_wrong_belief_does_not_change_true_cold_starts(kind: str) -> None:
    right, wrong = tiny(3), tiny(3, believed_overhead=3.0)
    spec = next(one for one in draw(right, SEED, PLANNERS).specs if one.kind == kind)
    believing, mistaken = (
        spec.make(scenario, HostLayout(6, 8), PLANNERS) for scenario in (right, wrong)
    )
    for world in (believing, mistaken):
        world.gain(leaf(1), spec.start)
        world.gain(leaf(2), spec.start)
        passes(world, spec.start / 1_000_000 + 600)
    assert mistaken.app.cold_start_s(leaf(1)) == pytest.approx(
        3 * believing.app.cold_start_s(leaf(1))
    )
    assert accounts(mistaken) == accounts(believing)
    assert accounts(mistaken)[1] > 0
    assert mistaken.performance() == believing.performance()


# -- variations


def test_a_variation_equals_a_fresh_setting(setting: Setting) -> None:
    band = Band(share=0.5, seconds=60.0)
    scenario = msgspec.structs.replace(
        tiny(3, adaptive=0.34, believed_overhead=2.0), name="other", market=MarketTable(rise=band)
    )
    varied, fresh = setting.varied(scenario), Setting(scenario, SEED, PLANNERS)
    assert varied.population == fresh.population
    assert varied.run("market") == fresh.run("market")
    assert varied.run("market") != msgspec.structs.replace(setting.run("market"), scenario="other")


@pytest.mark.parametrize(
    "change",
    [{"demand": 1.0}, {"tenants": tiny(3, worth=5.0).tenants}, {"tenants": tiny(4).tenants}],
)
def test_a_scenario_that_differs_elsewhere_is_refused(
    setting: Setting, change: dict[str, object]
) -> None:
    with pytest.raises(
        ScenarioError, match=r"expected a scenario that differs in name, market, tenants\.adaptive"
    ):
        setting.varied(msgspec.structs.replace(tiny(3), **change))
