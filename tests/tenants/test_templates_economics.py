"""The economics of the templates: their bids and limits, through the prices of all applications."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.market.commands import Relinquish
from laissez.tenants import (
    AdapterSettings,
    EconAdapter,
    Held,
    TenantView,
    grow_price,
    keep_price,
    move_price,
)
from laissez.tenants.hooks import HOLD_S
from laissez.tenants.templates import (
    DeadlineJob,
    OnDemand,
    SloService,
    Spot,
    Template,
    TemplateError,
)
from laissez.tenants.templates.deadline import MARGIN

pytestmark = pytest.mark.once

MINUTE = 60_000_000
HOUR = 60 * MINUTE
SCOPES = ("h100", "a100/zone-a")
H1, H2, H3 = (f"h100/zone-a/rack1/host1/gpu{at}" for at in range(3))
A1 = "a100/zone-a/rack1/host1/gpu0"
ELSEWHERE = "a100/zone-b/rack1/host1/gpu0"
SPEEDS = {"h100": 1.0, "a100": 0.5}


def job(
    *,
    hours: float = 20.0,
    work: float = 10.0,
    nodes: int = 4,
    checkpoint_s: float | None = None,
    finish_late: bool = True,
) -> DeadlineJob:
    return DeadlineJob(
        SCOPES,
        nodes,
        start=0,
        due=round(hours * HOUR),
        work_hours=work,
        speeds=SPEEDS,
        value=6.88 * work * MARGIN,
        checkpoint_s=checkpoint_s,
        finish_late=finish_late,
    )


def service(
    *, replicas: int = 4, spares: int = 0, penalty: float = 40.0, most: int = 8
) -> SloService:
    return SloService(SCOPES, replicas, penalty=penalty, most=most, spares=spares, cold_s=60.0)


def test_on_demand_asks_and_keeps_at_its_price() -> None:
    app = OnDemand(SCOPES, 3, 9.5)
    assert 9.5 == grow_price(app, "h100", (), 0) == grow_price(app, "a100/zone-a", (H1, H2), 0)
    assert 9.5 == keep_price(app, H1, (H1, H2, H3), 0) == keep_price(app, H1, (H1,), 0)


def test_a_fixed_footprint_wishes_what_is_missing_and_pays_nothing_for_more() -> None:
    app = OnDemand(SCOPES, 2, 9.5)
    assert [SCOPES, SCOPES] == app.wishes((), 0)
    assert [SCOPES] == app.wishes((H1,), 0)
    assert [] == app.wishes((H1, A1), 0) == app.wishes((H1, H2, A1), 0)
    assert 0.0 == grow_price(app, "h100", (H1, H2), 0) == keep_price(app, H1, (H1, H2, H3), 0)


def test_nodes_outside_its_scopes_neither_count_nor_cost() -> None:
    app = OnDemand(SCOPES, 1, 9.5)
    assert [SCOPES] == app.wishes((ELSEWHERE,), 0)
    assert 0.0 == keep_price(app, ELSEWHERE, (ELSEWHERE,), 0)


def test_spot_keeps_and_asks_at_one_price() -> None:
    app = Spot(SCOPES, 2, 2.0)
    assert 2.0 == grow_price(app, "h100", (), 0) == keep_price(app, H1, (H1,), 0)


def test_spot_with_a_margin_leaves_before_it_is_outbid_and_does_not_come_back_at_once() -> None:
    app = Spot(SCOPES, 2, 2.0, margin=0.1)
    assert grow_price(app, "h100", (), 0) == pytest.approx(1.8)
    app.charged({H1: 1.7, H2: 1.9})
    assert 2.0 == keep_price(app, H1, (H1, H2), 0)
    assert 0.0 == keep_price(app, H2, (H1, H2), 0)
    assert grow_price(app, "h100", (H1,), 0) == pytest.approx(1.8)


def test_spot_gives_up_nodes_too_near_to_its_limit() -> None:
    app = Spot(SCOPES, 2, 2.0, margin=0.1)
    view = TenantView(
        0, (Held(1, H1, 0, 1_700_000, 2_000_000), Held(2, H2, 0, 1_900_000, 2_000_000))
    )
    app.see(view)
    commands = EconAdapter("t", app, AdapterSettings(moves_max=0)).decide(view)
    assert [2] == [command.lease for command in commands if isinstance(command, Relinquish)]


def test_a_job_bids_more_as_its_deadline_nears() -> None:
    bids = [grow_price(job(), "h100", (), hour * HOUR) for hour in (0, 5, 10, 14)]
    assert bids == sorted(set(bids)) and 0 < bids[0] < bids[-1]


def test_a_job_that_needs_all_its_speed_bids_the_on_demand_price_with_its_margin() -> None:
    tight = DeadlineJob(
        ("h100",),
        1,
        start=0,
        due=10 * HOUR,
        work_hours=10.0,
        speeds={"h100": 1.0},
        value=6.88 * 10.0 * MARGIN,
        cold_s=0.0,
    )
    assert grow_price(tight, "h100", (), 0) == pytest.approx(6.88 * MARGIN)


def test_a_job_on_slow_nodes_asks_for_more_of_them_and_pays_less_for_each() -> None:
    app = job(hours=10.0, work=30.0, nodes=8)
    assert grow_price(app, "h100", (), 0) == pytest.approx(
        2 * grow_price(app, "a100/zone-a", (), 0)
    )
    needed = [
        next(count for count in range(9) if app.utility_gap((scope,) * count, 0) <= 0)
        for scope in SCOPES
    ]
    assert [4, 7] == needed, "three on schedule, and one for the restarts it keeps back"


def test_a_job_asks_for_all_nodes_it_may_have_and_pays_half_for_those_not_needed_yet() -> None:
    app = job(hours=10.0, work=30.0, nodes=8)
    assert 8 == len(app.wishes((), 0)) and 4 == len(app.wishes((H1, H2, H3, A1), 0))
    full = grow_price(app, "h100", (), 0)
    prices = [grow_price(app, "h100", ("h100",) * count, 0) for count in range(8)]
    assert [full] * 3 == pytest.approx(prices[:3])
    assert full > prices[3] > full / 2, "needed in part, for the restarts it keeps back"
    assert [full / 2] * 4 == pytest.approx(prices[4:])


def test_a_job_ahead_of_schedule_gives_up_unneeded_nodes_that_get_dear() -> None:
    app, adapter_view = (
        job(),
        TenantView(
            0, tuple(Held(n, leaf, 0, 5_000_000, 9_000_000) for n, leaf in enumerate((H1, H2, H3)))
        ),
    )
    commands = EconAdapter("t", app, AdapterSettings(moves_max=0)).decide(adapter_view)
    given_up = [command.lease for command in commands if isinstance(command, Relinquish)]
    assert 1 <= len(given_up) < 3, "what is needed is worth more"
    kept = tuple(leaf for n, leaf in enumerate((H1, H2, H3)) if n not in given_up)
    assert app.utility_gap(kept, 0) <= 0


def test_a_nearly_done_job_asks_only_for_nodes_with_enough_work() -> None:
    app = job(work=10.0, nodes=4)
    # of work left; a node is worth its start of 5 minutes for 10 of them
    for minutes, wished in ((60, 4), (25, 3), (15, 2), (9, 1), (0, 0)):
        app.progressed(1.0 - minutes / 600, HOUR)
        assert wished == len(app.wishes((), HOUR)), minutes


def test_a_job_ahead_of_schedule_pays_less_and_one_behind_pays_more() -> None:
    prices = []
    for done in (0.75, 0.5, 0.25):
        app = job()
        app.progressed(done, 10 * HOUR)
        prices.append(keep_price(app, H1, (H1,), 10 * HOUR))
    assert prices == sorted(set(prices))


def test_a_job_that_is_done_wants_nothing_and_pays_nothing() -> None:
    app = job()
    app.progressed(1.0, HOUR)
    assert [] == app.wishes((), HOUR)
    assert 0.0 == grow_price(app, "h100", (), HOUR) == keep_price(app, H1, (H1,), HOUR)


def test_a_job_that_must_not_be_late_stops_asking_when_a_node_could_not_start_in_time() -> None:
    assert job().wishes((), 20 * HOUR - 4 * MINUTE)
    assert [] == job(finish_late=False).wishes((), 20 * HOUR - 4 * MINUTE)
    assert [] == job(finish_late=False).wishes((), 21 * HOUR)


def test_the_keep_price_of_a_job_climbs_with_unsaved_work_and_falls_at_a_checkpoint() -> None:
    app = job(checkpoint_s=1800.0)
    app.elapsed((H1,), 0)
    prices = [keep_price(app, H1, (H1,), minutes * MINUTE) for minutes in (1, 15, 29, 31)]
    assert prices[0] < prices[1] < prices[2] > prices[3]
    before = keep_price(app, H1, (H1,), 20 * MINUTE)
    app.checkpointed(20 * MINUTE)
    assert keep_price(app, H1, (H1,), 20 * MINUTE) < before


def test_a_job_trades_down_when_its_node_is_dear_and_another_cheap() -> None:
    app = job(work=5.0)
    app.elapsed((H1,), 0)
    assert move_price(app, "a100/zone-a", (H1,), H1, 6.88, HOUR) > 2.4


def test_a_job_uses_the_fastest_of_too_many_nodes() -> None:
    app = job(hours=1.0, nodes=1)
    assert 0.0 == keep_price(app, A1, (A1, H1), 0) < keep_price(app, H1, (A1, H1), 0)
    assert [] == app.wishes((A1,), 0)


def test_progress_is_estimated_from_held_time_less_cold_starts() -> None:
    app = job()
    app.elapsed((H1, A1, ELSEWHERE), 0)
    app.elapsed((H1, A1), HOUR + 5 * MINUTE)
    assert app.done == pytest.approx((1.0 + 0.5) / 10)
    app.elapsed((H1,), HOUR + 5 * MINUTE)
    app.elapsed((H1, H2), 2 * HOUR + 5 * MINUTE)
    assert app.done == pytest.approx((1.0 + 0.5 + 1.0) / 10)


def test_the_estimate_takes_back_the_unsaved_work_of_a_lost_node() -> None:
    app = job(checkpoint_s=1800.0)
    app.elapsed((H1,), 0)
    app.elapsed((H1,), 80 * MINUTE)
    assert app.done == pytest.approx(75 / 60 / 10)
    app.elapsed((), 80 * MINUTE)
    assert app.done == pytest.approx(55 / 60 / 10)
    assert 0.0 == app.since_checkpoint_s(85 * MINUTE)


def test_progress_reported_by_the_job_overrides_the_estimate() -> None:
    app = job()
    app.elapsed((H1,), 0)
    app.elapsed((H1,), 5 * HOUR)
    app.progressed(0.1, 5 * HOUR)
    assert 0.1 == app.done
    app.elapsed((H1,), 50 * HOUR)
    assert 1.0 == app.done


def test_a_job_sees_its_nodes_in_the_view_and_its_progress_in_the_probe() -> None:
    app = job()
    app.see(TenantView(0, (Held(1, H1, 0, 1, None),)))
    app.see(TenantView(HOUR + 5 * MINUTE, (Held(1, H1, 0, 1, None),)))
    assert app.done == pytest.approx(0.1)
    app.probed("progress", 0.3, 2 * HOUR)
    app.see(TenantView(2 * HOUR - MINUTE, (Held(1, H1, 0, 1, None),)))
    assert 0.3 == app.done, "the server's clock is behind: no time has passed"


def test_a_job_is_over_when_it_is_done_or_may_not_be_late() -> None:
    late, strict = job(), job(finish_late=False)
    assert [False, False, True] == [
        late.is_done(21 * HOUR),
        strict.is_done(19 * HOUR),
        strict.is_done(20 * HOUR),
    ]
    late.probed("progress", 1.0, 21 * HOUR)
    assert late.is_done(21 * HOUR)


def test_templates_without_an_end_are_never_done_and_take_no_probe() -> None:
    for app in (OnDemand(SCOPES, 1, 5.0), service()):
        before = app.state()
        app.see(TenantView(HOUR, (Held(1, H1, 0, 1, None),)))
        app.checkpointed(HOUR)
        assert before == app.state() and not app.is_done(HOUR)


def test_a_probe_sets_the_need_of_a_service() -> None:
    app = service()
    app.probed("needed", 6.0, 0)
    assert 6 == len(app.wishes((), 0))


def test_a_needed_replica_is_worth_its_share_of_the_penalty() -> None:
    app = service()
    assert grow_price(app, "h100", (), 0) == pytest.approx(10.0 * (1 - 60 / HOLD_S))
    assert keep_price(app, H1, (H1, H2), 0) == pytest.approx(10.0 * (1 + 60 / HOLD_S))


def test_a_service_follows_its_probe_within_its_bounds() -> None:
    app = service(most=6)
    assert 4 == len(app.wishes((), 0))
    app.needed(20, 0)
    assert 6 == len(app.wishes((), 0))
    app.needed(0, 0)
    assert 1 == len(app.wishes((), 0)) and [] == app.wishes((H1,), 0)
    assert 0.0 == keep_price(app, H2, (H1, H2), 0)


def test_a_spare_is_worth_the_cold_starts_it_saves_and_a_needed_one_keeps_its_full_price() -> None:
    app = service(replicas=2, spares=1)
    held = (H1, H2, H3)
    assert 3 == len(app.wishes((), 0)) and [] == app.wishes(held, 0)
    assert app.is_redundant(H3, held, 0) and not app.is_redundant(H1, held, 0)
    assert (
        keep_price(app, H3, held, 0)
        == pytest.approx(40.0 * 60 / HOLD_S)
        == grow_price(app, "h100", (H1, H2), 0)
    )
    assert (
        keep_price(app, H1, held, 0)
        == pytest.approx(20.0 * (1 + 60 / HOLD_S))
        == keep_price(app, H2, held, 0)
    )


def test_a_service_that_needs_nothing_wants_no_spares_and_pays_nothing() -> None:
    app = SloService(SCOPES, 2, penalty=5.0, least=0, spares=2)
    app.needed(0, 0)
    assert [] == app.wishes((), 0)
    assert 0.0 == grow_price(app, "h100", (), 0) == keep_price(app, H1, (H1,), 0)


HELD = st.lists(st.sampled_from([H1, H2, H3, A1, ELSEWHERE]), max_size=5, unique=True).map(
    lambda held: tuple(sorted(held))
)
POSITIVE = st.floats(0.01, 1e4)


def assert_prices_are_sound(app: Template, held: tuple[str, ...], now: int) -> None:
    prices = [
        *(grow_price(app, scope, held, now) for scope in SCOPES),
        *(keep_price(app, leaf, held, now) for leaf in held),
    ]
    assert all(0.0 <= price < math.inf for price in prices)
    assert len(app.wishes(held, now)) <= app.nodes_max


@settings(max_examples=40)
@given(HELD, st.integers(1, 6), POSITIVE, st.floats(0, 0.99))
def test_prices_of_fixed_footprints_are_sound(
    held: tuple[str, ...], nodes: int, price: float, margin: float
) -> None:
    spot = Spot(SCOPES, nodes, price, margin)
    spot.charged(dict.fromkeys(held, price * 0.9))
    assert_prices_are_sound(spot, held, 0)
    assert_prices_are_sound(OnDemand(SCOPES, nodes, price), held, 0)


@settings(max_examples=40)
@given(
    HELD,
    st.floats(0, 1),
    st.floats(0.001, 300),
    POSITIVE,
    st.integers(0, 400),
    st.sampled_from([None, 1.0, 600.0]),
    st.booleans(),
)
def test_prices_of_jobs_are_sound(
    held: tuple[str, ...],
    done: float,
    hours: float,
    work: float,
    now: int,
    checkpoint_s: float | None,
    finish_late: bool,
) -> None:
    app = job(hours=hours, work=work, checkpoint_s=checkpoint_s, finish_late=finish_late)
    app.elapsed(held, 0)
    app.progressed(done, now * HOUR)
    assert_prices_are_sound(app, held, now * HOUR)
    app.elapsed(held, now * HOUR)
    assert 0.0 <= app.done <= 1.0


@settings(max_examples=40)
@given(HELD, st.integers(1, 6), st.integers(0, 3), POSITIVE, st.integers(0, 20))
def test_prices_of_services_are_sound(
    held: tuple[str, ...], replicas: int, spares: int, penalty: float, needed: int
) -> None:
    app = SloService(SCOPES, replicas, penalty=penalty, least=0, spares=spares)
    app.needed(needed, 0)
    assert_prices_are_sound(app, held, 0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: OnDemand((), 1, 5.0), "at least one scope"),
        (lambda: OnDemand(("",), 1, 5.0), "none of them empty"),
        (lambda: OnDemand(SCOPES, 0, 5.0), "one node or more, found 0"),
        (
            lambda: OnDemand(SCOPES, 1, 0.0),
            "per hour: expected a number above 0 .*, found 0",
        ),
        (lambda: OnDemand(SCOPES, 1, math.nan), "found nan"),
        (lambda: OnDemand(SCOPES, 1, math.inf), "found inf"),
        (lambda: Spot(SCOPES, 1, 5.0, margin=1.0), "margin from 0 to below 1"),
        (lambda: Spot(SCOPES, 1, 5.0).charged({H1: math.nan}), "expected prices from 0"),
        (lambda: job(hours=0.0), "began before the deadline at 0, found 0"),
        (lambda: job(work=-1.0), "work_hours: expected a number above 0 .*, found -1"),
        (lambda: job(checkpoint_s=0.0), "checkpoint_s: expected a number above 0"),
        (
            lambda: DeadlineJob(
                SCOPES, 1, start=0, due=1, work_hours=1.0, speeds={"h100": 1.0}, value=1.0
            ),
            "found none for a100",
        ),
        (
            lambda: DeadlineJob(
                ("h100",), 1, start=0, due=1, work_hours=1.0, speeds={"h100": 0.0}, value=1.0
            ),
            "speed of h100: expected a number above 0",
        ),
        (
            lambda: DeadlineJob(
                ("h100",), 1, start=0, due=1, work_hours=1.0, speeds=SPEEDS, value=1.0, cold_s=-1.0
            ),
            "cold_s: expected a number from 0",
        ),
        (lambda: job().progressed(1.5, 0), "progress from 0 to 1, found 1.5"),
        (lambda: job().progressed(math.nan, 0), "found nan"),
        (lambda: job().probed("needed", 1.0, 0), "expected the probe progress, found needed"),
        (lambda: service().probed("progress", 1.0, 0), "expected the probe needed, found progress"),
        (lambda: service().probed("needed", 1.5, 0), "a whole number of replicas, found 1.5"),
        (lambda: service().probed("needed", math.nan, 0), "a whole number of replicas, found nan"),
        (
            lambda: OnDemand(SCOPES, 1, 5.0).probed("needed", 1.0, 0),
            "expected no probe, found needed",
        ),
        (lambda: service(penalty=0.0), "penalty in dollars per hour: expected a number above 0"),
        (lambda: service(spares=-1), "0 spare replicas or more"),
        (lambda: SloService(SCOPES, 2, penalty=1.0, least=3), "found 3 to 2"),
        (lambda: service().needed(-1, 0), "0 replicas or more"),
    ],
)
def test_numbers_without_a_price_are_refused(build: object, message: str) -> None:
    assert callable(build)
    with pytest.raises(TemplateError, match=message):
        build()
