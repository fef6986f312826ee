"""The event log: events for streams that resume and idempotency keys; bounded by count and age, the
same after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from laissez.exchange.commands import OPERATOR
from laissez.journal import snapshots
from laissez.server.data_folder import open_folder
from laissez.server.event_log import EventLog
from laissez.server.settings import Limits
from laissez.wire.problems import ProblemError
from support.service_world import HOUR_US, World, with_service

pytestmark = pytest.mark.once

PLENTY = 1_000
AGE_US = 100


class FilledLog:
    """An event log to which the test adds entries."""

    def __init__(self, events_max: int = PLENTY, commands_max: int = PLENTY) -> None:
        self.log = EventLog(events_max, commands_max, AGE_US)
        self.entries = 0
        self.first = 1
        self.own: dict[str, int] = {}

    def add(self, *tenants: str | None, at: int = 0, who: str = "operator", id: str = "") -> None:
        self.entries += 1
        self.log.add(at, self.entries, who, id, self.first, tenants)
        self.first += len(tenants)
        for tenant in tenants:
            if tenant is not None:
                self.own[tenant] = self.own.get(tenant, 0) + 1

    def after(self, holder: str, n: int, most: int | None = None) -> list[int]:
        return self.log.entries_after(holder, n, self.latest(holder), most)

    def latest(self, holder: str) -> int:
        return self.first - 1 if holder == OPERATOR else self.own.get(holder, 0)

    def gone(self, holder: str) -> int:
        return self.log.gone_until(holder, self.latest(holder))

    def found(self, *ids: str) -> list[int | None]:
        return [self.log.find("ann", id) for id in ids]


def some_events(events_max: int = PLENTY) -> FilledLog:
    one = FilledLog(events_max)
    one.add("ann", "ann")
    one.add("bob")
    one.add()
    one.add("ann", None, "bob")
    return one


# -- events


def test_entries_are_found_by_the_event_numbers_of_each_holder() -> None:
    some = some_events()
    assert [[1, 4], [1, 4], [4], []] == [some.after("ann", n) for n in range(4)]
    assert [[2, 4], [4], []] == [some.after("bob", n) for n in range(3)]
    assert [[1, 2, 4], [1, 2, 4], [2, 4], [4], [4], [4], []] == [
        some.after(OPERATOR, n) for n in range(7)
    ]
    assert [] == some.after("cid", 0)
    assert 6 == some.log.events


def test_a_page_has_the_entries_of_the_next_events() -> None:
    some = some_events()
    assert [[1], [1], [1, 4]] == [some.after("ann", 0, most) for most in (1, 2, 3)]
    assert [[1], [1, 2], [1, 2, 4]] == [some.after(OPERATOR, 0, most) for most in (1, 2, 3)]


def test_the_oldest_entries_are_forgotten_above_the_bound() -> None:
    full = some_events(6)
    assert (0, 0, 0) == (full.gone("ann"), full.gone("bob"), full.gone(OPERATOR))
    full.add("bob")
    assert (2, 0, 2) == (full.gone("ann"), full.gone("bob"), full.gone(OPERATOR))
    assert 5 == full.log.events  # an entry is forgotten as a whole
    assert ([4], [2, 4, 5]) == (full.after("ann", 2), full.after(OPERATOR, 2))
    for holder, n in (("ann", 1), ("ann", 0), (OPERATOR, 1)):
        with pytest.raises(ProblemError, match="no longer kept") as gone:
            full.after(holder, n)
        assert 410 == gone.value.status


def test_old_events_and_keys_are_forgotten() -> None:
    some = some_events()
    some.add("ann", at=AGE_US, who="ann", id="a")
    assert (7, 1) == (some.log.events, some.log.keys)
    some.add("ann", at=AGE_US + 1)
    assert 2 == some.log.events and (3, 2, 6) == (
        some.gone("ann"),
        some.gone("bob"),
        some.gone(OPERATOR),
    )
    assert [5] == some.found("a")
    some.add(at=2 * AGE_US + 1)
    assert [None] == some.found("a")


def test_an_entry_with_more_events_than_are_kept_is_not_kept() -> None:
    small = some_events(3)
    small.add(*["ann"] * 4)
    assert 0 == small.log.events and 7 == small.gone("ann")
    small.add("ann")
    assert [6] == small.after("ann", 7)


@pytest.mark.parametrize("n", [-1, 4, 10**18])
def test_an_event_number_out_of_range_is_refused(n: int) -> None:
    with pytest.raises(ProblemError, match="from 0 to 3, your latest"):
        some_events().after("ann", n)


def test_old_entries_are_forgotten_even_without_new_ones() -> None:
    """Otherwise a tenant could tell from its own history whether others were active."""
    one = some_events()
    one.add(who="ann", id="a")
    one.log.forget(AGE_US)
    assert 0 == one.gone("ann") and [5] == one.found("a")
    one.log.forget(AGE_US * 1_000)
    assert one.latest("ann") == one.gone("ann") and 0 == one.log.events == one.log.keys
    assert [None] == one.found("a")


# -- idempotency keys


def test_idempotency_keys_belong_to_their_holder() -> None:
    log = FilledLog()
    log.add(who="ann", id="x")
    log.add(who="bob", id="x")
    found = [log.log.find(*one) for one in (("ann", "x"), ("bob", "x"), ("ann", "y"), ("cid", "x"))]
    assert [1, 2, None, None] == found


def test_a_forgotten_idempotency_key_can_be_used_again() -> None:
    log = FilledLog(commands_max=2)
    for id in ("x", "y", "z", "x"):
        log.add(who="ann", id=id)
    assert [4, None, 3] == log.found("x", "y", "z") and 2 == log.log.keys


def test_requests_without_an_idempotency_key_count_too() -> None:
    """So a start knows how far back to read."""
    log = FilledLog(commands_max=3)
    log.add(who="ann", id="a")
    for _ in range(2):
        log.add()
    assert [1] == log.found("a")
    log.add()
    assert [None] == log.found("a") and 0 == log.log.keys


def test_reading_forgets_old_entries(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100", "1")
        world.passing.pass_us(2 * HOUR_US)
        assert [] == (await world.ask("ann", "GET", "/v1/events")).json()["data"]
        assert 410 == (await world.ask("ann", "GET", "/v1/events?after=0")).status_code

    with_service(tmp_path / "data", story, Limits(history_hours=1.0))


# -- across a restart


def kept_by(log: EventLog) -> tuple[object, ...]:
    return log.events, log._last, log._entries, log._by_tenant, log._keys, log._by_key


@pytest.mark.parametrize(
    "limits",
    [
        Limits(history_hours=2.0),
        Limits(history_events_max=7, history_commands_max=5),
        Limits(history_events_max=1, history_commands_max=100),
        Limits(),
    ],
)
@pytest.mark.parametrize("snapshot", [False, True])
def test_a_restart_restores_the_event_log(tmp_path: Path, limits: Limits, snapshot: bool) -> None:
    live: list[EventLog] = []

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
            if snapshot and turn == 3:
                await world.gateway.all_durable()
                journal = world.gateway._journal
                body = world.gateway.exchange.snapshot()
                snapshots.write(journal.folder, journal.last, journal.head, body)
        live.append(world.gateway.event_log)

    with_service(tmp_path / "data", story, limits)
    opened = open_folder(tmp_path / "data", limits)
    opened.journal.close()
    # The clock of the story ran ahead of the wall clock, so time continues from the last entry.
    assert kept_by(live[0]) == kept_by(opened.event_log)
    assert 0 < opened.event_log.keys and 0 < opened.event_log.events
    assert (opened.snapshot_seq > 0) is snapshot


def test_pages_and_numbers_continue_across_a_restart_without_the_oldest(tmp_path: Path) -> None:
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
