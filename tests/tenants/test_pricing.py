"""The worth of a node: to get it and to keep it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.config import ConfigError
from laissez.tenants import (
    AdapterSettings,
    Deadline,
    HookError,
    grow_price,
    keep_price,
    move_price,
)
from support.tenant_world import HOUR, Plain

pytestmark = pytest.mark.once


def test_a_node_is_worth_the_part_of_the_gap_that_it_closes() -> None:
    assert 3.0 == grow_price(Plain(want=2), "h", (), 0)
    assert 1.5 == grow_price(Plain(want=1, value=1.5, speeds={"h": 4.0}), "h", (), 0)
    assert 0.0 == grow_price(Plain(want=1), "h", ("h/a",), 0)


def test_a_node_is_kept_for_the_gap_that_its_loss_would_open() -> None:
    assert 3.0 == keep_price(Plain(want=1), "h/a", ("h/a",), 0)
    assert 0.0 == keep_price(Plain(want=1), "h/a", ("h/a", "h/b"), 0)
    assert 3.0 == keep_price(Plain(want=5), "h/a", ("h/a", "h/b"), 0)


class Job(Plain):
    is_storable = True


def test_a_partly_needed_node_is_asked_for_at_its_need_and_half_of_the_rest() -> None:
    app = Job(want=1, speeds={"h": 4.0})
    assert 12.0 == keep_price(app, "h/a", ("h/a",), 0)
    assert 3.0 + 0.5 * 9.0 == grow_price(app, "h", (), 0)


def test_progress_that_is_not_required_yet_is_worth_half_to_get_and_to_keep() -> None:
    app = Job(want=1)
    assert 1.5 == grow_price(app, "h", ("h/a",), 0)
    assert 1.5 == keep_price(app, "h/a", ("h/a", "h/b"), 0)
    assert 0.0 == grow_price(Plain(want=1), "h", ("h/a",), 0), (
        "what cannot be stored is worth nothing beyond the objective"
    )


def test_one_more_node_in_a_scope_of_which_one_is_thought_to_be_held_is_valued_after_it() -> None:
    """A scope may stand for a node that an order before this one would get."""

    class Lessening(Plain):
        def utility_gap(self, held: tuple[str, ...], now: int) -> float:
            return 3.0 - sum(1 / (at + 1) for at in range(len(held)))

        def marginal_utility(self, node: str, held: tuple[str, ...], now: int) -> float:
            rest = len(held) - (node in held)
            return 1 / (rest + 1)

    assert [3.0, 1.5, 1.0] == pytest.approx(
        [grow_price(Lessening(), "h", ("h",) * count, 0) for count in range(3)]
    )


def test_a_cold_start_lowers_the_price_of_growing_and_raises_that_of_keeping() -> None:
    app = Plain(cold_s=360.0)  # a tenth of the hour that a node is kept
    assert pytest.approx(2.7) == grow_price(app, "h", (), 0)
    assert pytest.approx(3.3) == keep_price(app, "h/a", ("h/a",), 0)


def test_the_limit_climbs_with_the_work_at_stake_and_falls_after_a_checkpoint() -> None:
    def limit(since_s: float) -> float:
        return keep_price(Plain(since_s=since_s, until_s=600.0 - since_s), "h/a", ("h/a",), 0)

    climbing = [limit(since_s) for since_s in (0.0, 100.0, 300.0, 500.0, 540.0)]
    assert climbing == sorted(climbing) and climbing[0] == 3.0
    assert pytest.approx(6.0) == limit(300.0)  # as much behind as ahead: worth twice
    assert 3.0 == limit(0.0)


@pytest.mark.parametrize(
    ("since_s", "times"), [(60.0, 1), (119.0, 1), (120.0, 2), (600.0, 8), (1000.0, 16), (1e9, 16)]
)
def test_the_price_before_a_checkpoint_rises_in_steps_up_to_a_last_one(
    since_s: float, times: int
) -> None:
    assert pytest.approx(3.0 + 3.0 * times) == keep_price(
        Plain(since_s=since_s, until_s=0.0), "h/a", ("h/a",), 0
    )


def test_work_that_is_never_saved_is_spread_over_the_time_a_node_is_kept() -> None:
    assert pytest.approx(3.0 + 3.0 * 0.5) == keep_price(Plain(since_s=1800.0), "h/a", ("h/a",), 0)


def test_a_restarting_application_puts_everything_at_stake_with_any_change() -> None:
    held = ("h/a", "h/b", "h/c", "h/d")
    assert pytest.approx(3.0 + 0.3) == keep_price(Plain(want=4, cold_s=360.0), "h/a", held, 0)
    assert pytest.approx(3.0 + 4 * 0.3) == keep_price(
        Plain(want=4, cold_s=360.0, restarts=True), "h/a", held, 0
    )
    assert pytest.approx(3.0 - 4 * 0.3) == grow_price(
        Plain(want=5, cold_s=360.0, restarts=True), "h", held, 0
    )


def test_unsaved_work_of_an_application_that_restarts_is_shared_by_all_its_nodes() -> None:
    """Pressure before a checkpoint usually falls on all nodes: together they pay for the lost work
    once."""
    held = ("h/a", "h/b", "h/c", "h/d")
    app = Plain(want=4, since_s=300.0, until_s=300.0, restarts=True)
    assert pytest.approx(4 * (3.0 + 3.0)) == sum(keep_price(app, leaf, held, 0) for leaf in held)
    app.speeds = {"h": 1.0, "a": 0.0}  # a node that does nothing is one of those who pay
    assert pytest.approx(12.0 / 5) == keep_price(app, "a/x", (*held, "a/x"), 0)


def test_growing_waits_for_a_checkpoint_that_is_near_rather_than_doing_work_again() -> None:
    far = grow_price(Plain(want=2, since_s=100.0, until_s=1e9, restarts=True), "h", ("h/a",), 0)
    near = grow_price(Plain(want=2, since_s=3000.0, until_s=72.0, restarts=True), "h", ("h/a",), 0)
    assert pytest.approx(3.0 - 3.0 * 100 / 3600) == far
    assert pytest.approx(3.0 - 3.0 * 72 / 3600) == near


def test_growing_loses_no_work_where_nothing_restarts() -> None:
    assert 3.0 == grow_price(Plain(want=2, since_s=3000.0, until_s=36.0), "h", ("h/a",), 0)


def test_unsaved_work_on_an_unneeded_node_is_worth_waiting_for_its_checkpoint() -> None:
    app = Plain(want=1, since_s=300.0, until_s=300.0, cold_s=60.0)
    assert pytest.approx(3.0) == keep_price(app, "h/a", ("h/a", "h/b"), 0)
    app.since_s = 0.0
    assert 0.0 == keep_price(app, "h/a", ("h/a", "h/b"), 0)


def test_a_redundant_node_is_priced_lower() -> None:
    needed, spare = (
        Plain(cold_s=360.0, since_s=60.0),
        Plain(cold_s=360.0, since_s=60.0, redundant=True),
    )
    assert keep_price(spare, "h/a", ("h/a",), 0) < keep_price(needed, "h/a", ("h/a",), 0)


def test_moving_is_worth_the_difference_less_its_cost() -> None:
    app = Plain(want=1, value=4.0, scopes=("h", "a"), speeds={"a": 0.75}, cold_s=360.0)
    assert pytest.approx(6.0 - 1.0 - 0.4) == move_price(app, "a", ("h/a",), "h/a", 6.0, 0)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"value": math.nan}, "value_per_utility"),
        ({"value": -1.0}, "value_per_utility"),
        ({"speeds": {"h": math.nan}}, "utility_gap"),
        ({"cold_s": math.inf}, "cold_start_s"),
        ({"cold_s": -1.0}, "cold_start_s"),
        ({"since_s": math.nan}, "since_checkpoint_s"),
        ({"until_s": math.nan}, "until_checkpoint_s"),
        ({"until_s": -1.0}, "until_checkpoint_s"),
    ],
)
def test_an_invalid_number_is_refused_by_name(change: dict[str, Any], named: str) -> None:
    with pytest.raises(HookError, match=f"expected {named}"):
        keep_price(Plain(**change), "h/a", ("h/a",), 0)


finite = st.floats(0, 1e6)


@settings(max_examples=200)
@given(
    st.floats(-100, 100),
    st.floats(-10, 100),
    finite,
    finite,
    finite,
    finite | st.just(math.inf),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_no_price_is_negative_or_infinite_and_keeping_is_never_worth_less_than_growing(
    gap: float,
    mu: float,
    value: float,
    cold_s: float,
    since_s: float,
    until_s: float,
    redundant: bool,
    restarts: bool,
    storable: bool,
) -> None:
    class Drawn(Plain):
        is_storable = storable

        def utility_gap(self, held: tuple[str, ...], now: int) -> float:
            return gap if held == () else gap - mu

        def marginal_utility(self, node: str, held: tuple[str, ...], now: int) -> float:
            return mu

    app = Drawn(
        value=value,
        cold_s=cold_s,
        since_s=since_s,
        until_s=until_s,
        redundant=redundant,
        restarts=restarts,
    )
    terms = AdapterSettings(price_max=10_000_000)
    grow, keep = (
        terms.price(grow_price(app, "h", (), 0)),
        terms.price(keep_price(app, "h/a", ("h/a",), 0)),
    )
    assert 0 <= grow <= 10_000_000 and 0 <= keep <= 10_000_000
    assert mu < 0 or grow <= keep  # a node that does harm is worth neither


def test_the_worth_of_progress_rises_as_the_deadline_nears() -> None:
    deadline = Deadline(start=0, due=10 * HOUR, value=100.0)
    worth = [deadline.value_of_progress(0.2, hour * HOUR) for hour in (0, 2, 5, 8, 9)]
    assert worth == sorted(worth)
    assert pytest.approx(100.0) == deadline.value_of_progress(0.2, 2 * HOUR)  # on schedule
    # far ahead: half, and no less until it is done
    assert 50.0 == deadline.value_of_progress(0.8, 2 * HOUR)
    assert 0.0 == deadline.value_of_progress(1.0, 2 * HOUR)


def test_the_last_bit_of_the_work_is_worth_finishing_in_time_and_late() -> None:
    deadline = Deadline(start=0, due=24 * HOUR, value=165.0)
    uniform = 1 / 24
    assert deadline.required(0.9995, 23 * HOUR) > uniform
    for late in (24 * HOUR, 36 * HOUR, 240 * HOUR):
        assert deadline.required(0.9995, late) > 1.0  # more than any node does
        assert 4.0 == deadline.urgency(0.9995, late)
    assert 1 == deadline.nodes_useful(0.05, 0.9995, 0, 300.0), "and one will do"


def test_nodes_are_useful_if_they_find_work_for_twice_their_cold_start() -> None:
    deadline = Deadline(start=0, due=HOUR, value=1.0)
    assert [10, 5, 0] == [deadline.nodes_useful(0.5, done, 0, 360.0) for done in (0.0, 0.5, 1.0)]
    assert (
        deadline.nodes_useful(0.5, 0.0, 0, 60.0) == deadline.nodes_useful(0.5, 0.0, 0, 0.0) == 60
    ), "a cold start counts as a minute at least"


def test_work_with_equal_parts_is_not_worth_more_when_behind() -> None:
    plain, even = (
        Deadline(start=0, due=10 * HOUR, value=100.0, urgency_max=most) for most in (4.0, 1.0)
    )
    assert [100.0, 200.0, 400.0] == pytest.approx(
        [plain.value_of_progress(0.0, now * HOUR) for now in (0, 5, 9)]
    )
    assert [100.0, 100.0, 100.0] == pytest.approx(
        [even.value_of_progress(0.0, now * HOUR) for now in (0, 5, 9)]
    )
    assert 50.0 == even.value_of_progress(0.9, HOUR), "being ahead is still a reason to pay less"


URGENCIES: list[dict[str, Any]] = [
    {"urgency_max": 0.4},
    {"urgency_max": math.inf},
    {"urgency_max": math.nan},
]


@pytest.mark.parametrize(
    "wrong",
    [
        {"due": 0},
        {"due": -5},
        {"value": math.nan},
        {"value": -3.0},
        {"value": math.inf},
        *URGENCIES,
    ],
)
def test_a_deadline_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Deadline(**{"start": 0, "due": HOUR, "value": 1.0, **wrong})


def test_after_the_deadline_work_is_worth_nothing_unless_it_is_to_be_finished() -> None:
    strict, lenient = (Deadline(0, HOUR, 100.0, finish_late) for finish_late in (False, True))
    assert 0.0 == strict.value_of_progress(0.5, HOUR)
    assert pytest.approx(400.0) == lenient.value_of_progress(0.5, HOUR)
    assert 0.0 == lenient.value_of_progress(1.0, HOUR)


@pytest.mark.parametrize(
    "wrong",
    [
        {"price_max": -1},
        {"budget": -1},
        {"guard_s": 0.0},
        {"retry_s": math.nan},
        {"tolerance": 1.0},
        {"orders_max": 100_000},
        {"moves_max": -1},
    ],
)
def test_impossible_settings_are_refused_by_name(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        AdapterSettings(**wrong)  # type: ignore[arg-type]
