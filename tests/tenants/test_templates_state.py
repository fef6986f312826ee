"""A template survives its runner: what it learned is written down as a small dict and read back,
and nothing else is believed."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.tenants import grow_price, keep_price
from laissez.tenants.templates import (
    DeadlineJob,
    OnDemand,
    SloService,
    Spot,
    Template,
    TemplateError,
)
from laissez.tenants.templates.template import started

pytestmark = pytest.mark.once

MINUTE = 60_000_000
HOUR = 60 * MINUTE
H1, H2 = "h100/zone-a/host1/gpu0", "h100/zone-a/host1/gpu1"


def on_demand(start: int = 0) -> OnDemand:
    return OnDemand(("h100",), 2, 5.0, start)


def spot(start: int = 0) -> Spot:
    return Spot(("h100",), 2, 2.0, start=start)


def job(start: int = 0) -> DeadlineJob:
    return DeadlineJob(
        ("h100",),
        2,
        start=start,
        due=20 * HOUR,
        work_hours=8.0,
        speeds={"h100": 1.0},
        value=60.0,
        checkpoint_s=1800.0,
    )


def service(start: int = 0) -> SloService:
    return SloService(("h100",), 2, penalty=10.0, most=9, start=start)


MAKERS = {"on_demand": on_demand, "spot": spot, "deadline": job, "slo": service}


def written(app: Template) -> dict[str, object]:
    """As it comes back from a file."""
    state: dict[str, object] = json.loads(json.dumps(app.state()))
    return state


@pytest.mark.parametrize("name", MAKERS)
def test_a_state_has_its_template_and_its_start(name: str) -> None:
    state = written(MAKERS[name](7))
    assert (name, 7) == (state["template"], started(state))
    fresh = MAKERS[name]()
    fresh.restore(state)
    assert 7 == fresh.start and state == fresh.state()


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 300),
            st.sampled_from([(), (H1,), (H1, H2)]),
            st.none() | st.floats(0, 1),
            st.booleans(),
        ),
        max_size=8,
    )
)
def test_a_restored_job_continues_as_if_it_had_never_stopped(
    steps: list[tuple[int, tuple[str, ...], float | None, bool]],
) -> None:
    steady, now = job(), 0
    for minutes, held, told, saved in steps:
        now += minutes * MINUTE
        again = job()
        again.restore(written(steady))
        for app in (steady, again):
            app.elapsed(held, now)
            if told is not None:
                app.progressed(told, now)
            if saved:
                app.checkpointed(now)
        assert steady.state() == again.state()
        assert keep_price(steady, H1, (H1,), now) == keep_price(again, H1, (H1,), now)


def test_a_node_held_while_the_runner_was_down_has_worked_meanwhile() -> None:
    before = job()
    before.elapsed((H1,), 0)
    after = job()
    after.restore(written(before))
    after.elapsed((H1,), 4 * HOUR + 5 * MINUTE)
    assert 0.5 == after.done


def test_a_service_remembers_its_need() -> None:
    before = service()
    before.needed(7, HOUR)
    after = service()
    after.restore(written(before))
    assert 7 == len(after.wishes((), HOUR))
    assert grow_price(before, "h100", (), HOUR) == grow_price(after, "h100", (), HOUR)


GOOD = {"template": "deadline", "start": 0, "done": 0.5, "at": 0, "saved_at": 0, "nodes": {}}


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"template": "slo", "start": 0, "needed": 1},
        GOOD | {"done": math.nan},
        GOOD | {"done": 1.5},
        GOOD | {"done": "half"},
        GOOD | {"start": 21 * HOUR},
        GOOD | {"nodes": {"h100/gpu0": "now"}},
        GOOD | {"more": 1},
    ],
)
def test_the_state_of_another_template_is_refused_and_changes_nothing(
    state: dict[str, object],
) -> None:
    app = job()
    before = app.state()
    with pytest.raises(TemplateError, match="expected a state"):
        app.restore(state)
    assert before == app.state()


@pytest.mark.parametrize("state", [{}, {"start": "now"}, {"start": True}])
def test_a_state_without_its_start_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(TemplateError, match="its start in microseconds"):
        started(state)
