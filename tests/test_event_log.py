"""What is kept of the past: events for streams that resume and ids of requests sent again; bounded
by count and age, the same after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from laissez.exchange.codec import Codec
from laissez.exchange.commands import OPERATOR
from laissez.exchange.events import Applied, Event, tenant_of
from laissez.exchange.names import Names
from laissez.market.events import FloorSet, LimitSet
from laissez.server.data_folder import open_folder
from laissez.server.event_log import EventLog, IdempotencyKeys
from laissez.server.settings import Limits
from laissez.wire.problems import ProblemError
from service_world import HOUR_US, World, with_service

pytestmark = pytest.mark.once

PLENTY = 1_000
AGE_US = 100


class Telling:
    """A history that is told of entries one after the other."""

    def __init__(self, events_max: int = PLENTY) -> None:
        self.history = EventLog(events_max, AGE_US)
        self.entries: list[tuple[int, int, Applied]] = []
        self.first = 1
        self.own: dict[str, int] = {}

    def add(self, *tenants: str | None, at: int = 0) -> None:
        events = tuple(_event(at, tenant) for tenant in tenants)
        numbers = tuple(self._number(tenant) for tenant in tenants)
        self.entries.append(
            (at, len(self.entries) + 1, Applied(self.first, events, tenants, numbers, None))
        )
        self.first += len(events)
        if events:
            self.history.add(*self.entries[-1])

    def _number(self, tenant: str | None) -> int:
        if tenant is None:
            return 0
        self.own[tenant] = self.own.get(tenant, 0) + 1
        return self.own[tenant]

    def after(self, holder: str, n: int) -> list[int]:
        return self.history.entries_after(holder, n, self.latest(holder))

    def latest(self, holder: str) -> int:
        return self.first - 1 if holder == OPERATOR else self.own.get(holder, 0)

    def gone(self, holder: str) -> int:
        return self.history.gone_until(holder, self.latest(holder))


def _event(at: int, tenant: str | None) -> Event:
    event = FloorSet(at, "h100", 1, False) if tenant is None else LimitSet(at, tenant, 1, "h100", 1)
    assert tenant == tenant_of(event)
    return event


def told_some(events_max: int = PLENTY) -> Telling:
    one = Telling(events_max)
    one.add("ann", "ann")
    one.add("bob")
    one.add()
    one.add("ann", None, "bob")
    return one


# -- events


def test_entries_are_found_by_the_numbers_of_whoever_asks() -> None:
    some = told_some()
    assert [[1, 4], [1, 4], [4], []] == [some.after("ann", n) for n in range(4)]
    assert [[2, 4], [4], []] == [some.after("bob", n) for n in range(3)]
    assert [[1, 2, 4], [1, 2, 4], [2, 4], [4], [4], [4], []] == [
        some.after(OPERATOR, n) for n in range(7)
    ]
    assert [] == some.after("cid", 0)
    assert 6 == len(some.history)


def test_only_so_many_events_are_kept_and_the_oldest_go_first() -> None:
    full = told_some(6)
    assert (0, 0, 0) == (full.gone("ann"), full.gone("bob"), full.gone(OPERATOR))
    full.add("bob")
    assert (2, 0, 2) == (full.gone("ann"), full.gone("bob"), full.gone(OPERATOR))
    assert 5 == len(full.history)  # an entry goes as a whole
    assert ([4], [2, 4, 5]) == (full.after("ann", 2), full.after(OPERATOR, 2))
    for holder, n in (("ann", 1), ("ann", 0), (OPERATOR, 1)):
        with pytest.raises(ProblemError, match="no longer kept") as gone:
            full.after(holder, n)
        assert 410 == gone.value.status


def test_events_are_kept_for_so_long() -> None:
    some = told_some()
    some.add("ann", at=AGE_US)
    assert 7 == len(some.history)
    some.add("ann", at=AGE_US + 1)
    assert 2 == len(some.history) and (3, 2, 6) == (
        some.gone("ann"),
        some.gone("bob"),
        some.gone(OPERATOR),
    )


def test_an_entry_with_more_events_than_are_kept_is_not_kept() -> None:
    small = told_some(3)
    small.add(*["ann"] * 4)
    assert 0 == len(small.history) and 7 == small.gone("ann")
    small.add("ann")
    assert [6] == small.after("ann", 7)


@pytest.mark.parametrize("n", [-1, 4, 10**18])
def test_a_number_that_no_event_has_is_refused(n: int) -> None:
    with pytest.raises(ProblemError, match="from 0 to 3, your latest"):
        told_some().after("ann", n)


@pytest.mark.parametrize("events_max", [1, 2, 3, 4, 5, 6, 7, 100])
def test_reading_backwards_gives_what_was_kept_live(events_max: int) -> None:
    live = told_some(events_max)
    live.add("bob", None)
    again = EventLog(events_max, AGE_US)
    codec = Codec(Names(()))
    for at, seq, applied in reversed(live.entries):
        if not again.add_older(at, seq, *codec.tenants_in(codec.pack_outcome(at, applied))):
            break
    assert vars(live.history) == vars(again)


def test_entries_without_events_take_no_place() -> None:
    history = EventLog(1, AGE_US)
    for seq in range(5, 0, -1):
        assert history.add_older(0, seq, 1, ())
    assert 0 == len(history) == len(vars(history)["_places"])


def test_what_is_too_old_is_forgotten_though_nothing_happens() -> None:
    """Else what a tenant still finds would tell it whether others were busy."""
    one = told_some()
    one.history.forget(AGE_US)
    assert 0 == one.gone("ann")
    one.history.forget(AGE_US * 1_000)
    assert one.latest("ann") == one.gone("ann") and 0 == len(one.history)


# -- ids


def test_ids_are_kept_for_each_holder_apart() -> None:
    kept = IdempotencyKeys(PLENTY, AGE_US)
    kept.add(1, "ann", "x", 1)
    kept.add(1, "bob", "x", 2)
    assert (1, 2, None, None) == (
        kept.find("ann", "x"),
        kept.find("bob", "x"),
        kept.find("ann", "y"),
        kept.find("cid", "x"),
    )


def test_only_so_many_ids_are_kept() -> None:
    kept = IdempotencyKeys(3, AGE_US)
    for seq in range(1, 5):
        kept.add(1, "ann", str(seq), seq)
    assert 3 == len(kept) and [None, 2, 3, 4] == [kept.find("ann", str(seq)) for seq in range(1, 5)]


def test_ids_are_kept_for_so_long() -> None:
    kept = IdempotencyKeys(PLENTY, AGE_US)
    kept.add(0, "ann", "a", 1)
    kept.add(AGE_US, "ann", "b", 2)
    assert 1 == kept.find("ann", "a")
    kept.add(AGE_US + 1, "bob", "c", 3)
    assert kept.find("ann", "a") is None and 2 == kept.find("ann", "b")


def test_ids_that_are_too_old_are_forgotten_though_none_comes() -> None:
    kept = IdempotencyKeys(PLENTY, AGE_US)
    kept.add(0, "ann", "a", 1)
    kept.forget(AGE_US)
    assert 1 == kept.find("ann", "a")
    kept.forget(AGE_US + 1)
    assert kept.find("ann", "a") is None and 0 == len(kept)


def test_looking_forgets_what_is_too_old(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100", "1")
        world.passing.pass_us(2 * HOUR_US)
        assert [] == (await world.ask("ann", "GET", "/v1/events")).json()["data"]
        assert 410 == (await world.ask("ann", "GET", "/v1/events?after=0")).status_code

    with_service(tmp_path / "data", story, Limits(history_hours=1.0))


def test_an_id_that_was_forgotten_and_used_again_stands_for_the_later_request() -> None:
    uses = [(1, "ann", "x", 1), (2, "ann", "y", 2), (3, "ann", "x", 3)]
    kept = IdempotencyKeys(PLENTY, AGE_US)
    assert all(kept.add_older(*use) for use in reversed(uses))
    assert 3 == kept.find("ann", "x") and 2 == len(kept)
    for seq in range(4, 10):
        kept.add(AGE_US * seq, "bob", str(seq), seq)
    assert kept.find("ann", "x") is None


def test_ids_read_backwards_stop_where_there_is_no_room() -> None:
    kept = IdempotencyKeys(2, AGE_US)
    assert [True, True, False] == [kept.add_older(1, "ann", str(seq), seq) for seq in (3, 2, 1)]
    assert (None, 2, 3) == tuple(kept.find("ann", str(seq)) for seq in (1, 2, 3))


# -- over a restart


def test_a_restart_remembers_what_the_running_service_did(tmp_path: Path) -> None:
    live: list[tuple[dict[str, object], dict[str, object]]] = []

    async def story(world: World) -> None:
        for turn in range(6):
            await world.ask(
                "ann",
                "POST",
                "/v1/orders",
                {"alternatives": [{"scope": "a100", "limit": str(turn)}]},
                key=f"k{turn}",
            )
            await world.ask("bob", "DELETE", "/v1/orders/ord_x", key=f"k{turn}")
            await world.ask("operator", "PUT", "/v1/floors/h100", {"price": str(turn + 1)})
            world.passing.pass_us(HOUR_US // 2)
        live.append((vars(world.gateway.event_log), vars(world.gateway.idempotency_keys)))

    limits = Limits(history_hours=2.0, idempotency_hours=1.0)
    with_service(tmp_path / "data", story, limits)
    opened = open_folder(tmp_path / "data", limits)
    opened.journal.close()
    # The clock of the story ran ahead of the wall clock, so the service goes on from its last
    # entry, as if no time had passed.
    assert live == [(vars(opened.event_log), vars(opened.idempotency_keys))]
    assert 0 < len(opened.idempotency_keys) < 12 and 0 < len(opened.event_log)


def test_pages_and_numbers_go_on_over_a_restart_and_the_oldest_are_gone(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    limits = Limits(history_events_max=6)

    async def place(world: World) -> None:
        for _ in range(3):
            await world.place("ann", "h100", "1")
        latest = world.gateway.latest("ann")
        page = (await world.ask("ann", "GET", f"/v1/events?after={latest - 6}")).json()["data"]
        assert list(range(latest - 5, latest + 1)) == [one["n"] for one in page]
        everything = (
            await world.ask(
                "operator", "GET", f"/v1/events?after={world.gateway.latest(OPERATOR) - 6}"
            )
        ).json()["data"]
        assert page == [
            {"n": one["n"], "event": other["event"]}
            for one, other in zip(page, everything, strict=True)
        ]
        for n, status in (
            (latest - 6, 200),
            (latest - 7, 410 if latest > 6 else 400),
            (latest + 1, 400),
        ):
            assert status == (await world.ask("ann", "GET", f"/v1/events?after={n}")).status_code, n

    with_service(tmp_path / "data", place, limits, secrets=secrets)
    with_service(tmp_path / "data", place, limits, secrets=secrets)
