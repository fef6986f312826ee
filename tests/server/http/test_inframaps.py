"""Reports of InfraMaps are shown unchanged, for a while, to the operator only, and change
nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from laissez.server.http.schemas import EXAMPLES
from laissez.server.inframaps import POINTS_PER_MAP_MAX, RUNNERS_MAX, Board
from laissez.units import HOUR_US, SECOND_US, format_time
from laissez.wire.inframaps import (
    MAPS_MAX,
    NODES_MAX,
    InfraMapsReport,
    MapReport,
    Pressed,
    SignalRead,
)
from laissez.wire.limits import BATCH_BYTES_MAX, BODY_BYTES_MAX
from support.service_world import World, with_service

pytestmark = pytest.mark.once

PATH = "/v1/inframaps"
REPORT: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(EXAMPLES[InfraMapsReport]))
POWER = MapReport(
    "power",
    "power",
    ("h100",),
    1.0,
    (SignalRead("row1", 0.7, format_time(0)),),
    (Pressed("h100/east", 0.25), Pressed("h100/west", 0.5)),
)
HOT = MapReport(
    "hot",
    "site_maps:Hot",
    ("h100",),
    1.0,
    (SignalRead("row2", missing="no answer"),),
    (Pressed("h100", 2.0),),
)
BUSY = MapReport("busy", "utilisation", ("h100",), 1.0, (), ())


def changed(**parts: object) -> dict[str, Any]:
    return REPORT | parts


def first_map(**parts: object) -> dict[str, Any]:
    return changed(maps=[REPORT["maps"][0] | parts])


def report(at: int, *maps: MapReport, pace_s: float = 10.0) -> InfraMapsReport:
    return InfraMapsReport(format_time(at), pace_s, maps, (), ())


async def runners(world: World, query: str = "") -> list[dict[str, Any]]:
    answer = await world.ask("operator", "GET", PATH + query)
    assert 200 == answer.status_code, answer.text
    found: list[dict[str, Any]] = answer.json()["runners"]
    return found


# -- over HTTP


def test_a_report_is_shown_unchanged_with_its_history_and_enters_no_command(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        position = world.gateway.position
        assert [] == await runners(world)
        taken = await world.ask("operator", "PUT", f"{PATH}/row 1", REPORT)
        assert (200, {"events": []}) == (taken.status_code, taken.json())
        (shown,) = await runners(world)
        (of_map,) = shown.pop("maps")
        assert [[REPORT["at"], 0.76, 0.5]] == of_map.pop("history")
        assert REPORT | {"runner": "row 1", "late": False} == shown | {"maps": [of_map]}
        assert position == world.gateway.position

    with_service(tmp_path / "data", story)


def test_a_report_replaces_the_previous_one_whatever_its_idempotency_key(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for minute in range(3):
            answer = await world.ask(
                "operator",
                "PUT",
                f"{PATH}/maps",
                changed(at=f"2026-11-15T08:3{minute}:00.000000Z"),
                key="same",
            )
            assert 200 == answer.status_code and "idempotency-replayed" not in answer.headers
        (shown,) = await runners(world)
        assert "2026-11-15T08:32:00.000000Z" == shown["at"]
        assert 3 == len(shown["maps"][0]["history"])

    with_service(tmp_path / "data", story)


def test_a_query_since_the_last_answer_gets_all_later_reports_whatever_the_runners_clock(
    tmp_path: Path,
) -> None:
    async def story(world: World) -> None:
        await world.ask("operator", "PUT", f"{PATH}/maps", REPORT)
        seen = (await world.ask("operator", "GET", PATH)).json()["at"]
        (nothing,) = await runners(world, f"?since={seen}")
        assert [] == nothing["maps"][0]["history"]
        await world.ask(
            "operator", "PUT", f"{PATH}/maps", changed(at="2026-11-15T08:31:00.000000Z")
        )
        (later,) = await runners(world, f"?since={seen}")
        assert ["2026-11-15T08:31:00.000000Z"] == [at for at, _, _ in later["maps"][0]["history"]]

    with_service(tmp_path / "data", story)


def test_only_the_operator_reports_and_reads(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        reading = world.new_secret("operator", "read")
        for who, reports, looks in ((None, 401, 401), ("ann", 403, 403), (reading, 403, 200)):
            assert reports == (await world.ask(who, "PUT", f"{PATH}/maps", REPORT)).status_code
            assert looks == (await world.ask(who, "GET", PATH)).status_code
        assert [] == await runners(world)

    with_service(tmp_path / "data", story)


WRONG: list[tuple[dict[str, Any], str]] = [
    (changed(at="yesterday"), "at: expected a time such as"),
    (changed(pace_s=0), "$.pace_s"),
    (changed(pace_s=1e9), "$.pace_s"),
    (changed(pace_s="10"), "$.pace_s"),
    (changed(colour="red"), "colour"),
    (changed(maps=REPORT["maps"] * 2), "maps: expected each once, found 'row1-power' more often"),
    (changed(maps=REPORT["maps"] * (MAPS_MAX + 1)), f"length <= {MAPS_MAX}"),
    (first_map(name=""), "$.maps[0].name"),
    (first_map(name="x" * 201), "$.maps[0].name"),
    (first_map(nodes=[]), "$.maps[0].nodes"),
    (first_map(nodes=["h100"] * (NODES_MAX + 1)), "$.maps[0].nodes"),
    (first_map(weight=-1), "$.maps[0].weight"),
    (first_map(end="later"), "maps[0].end: expected a time"),
    (first_map(signals=[{"signal": "s", "value": True}]), "$.maps[0].signals[0].value"),
    (
        first_map(signals=[{"signal": "s", "value": 1, "at": "1"}]),
        "maps[0].signals[0].at: expected a time",
    ),
    (first_map(signals=[{"signal": "s", "missing": "x" * 501}]), "$.maps[0].signals[0].missing"),
    (first_map(pressures=[{"node": "h100", "pressure": -0.1}]), "$.maps[0].pressures[0].pressure"),
    (
        changed(floors=[REPORT["floors"][0] | {"asked": "cheap"}]),
        "floors[0].asked: expected dollars per hour",
    ),
    (changed(floors=[REPORT["floors"][0] | {"base": 2}]), "$.floors[0].base"),
    (
        changed(floors=REPORT["floors"] * 2),
        "floors: expected each once, found 'h100/west' more often",
    ),
    (changed(alarms=[REPORT["alarms"][0] | {"since": ""}]), "alarms[0].since: expected a time"),
]


def test_an_invalid_report_is_refused_with_the_place(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for body, told in WRONG:
            assert_refused(await world.ask("operator", "PUT", f"{PATH}/maps", body), told)
        for name in ("x" * 65, "a%0Ab"):
            assert_refused(
                await world.ask("operator", "PUT", f"{PATH}/{name}", REPORT),
                "runner: expected 1 to 64 printable characters",
            )
        assert_refused(
            await world.ask("operator", "GET", f"{PATH}?since=now"), "since: expected a time"
        )
        assert [] == await runners(world)

    with_service(tmp_path / "data", story)


def assert_refused(answer: httpx.Response, told: str) -> None:
    assert (400, "bad_request") == (answer.status_code, answer.json()["code"])
    assert told in answer.json()["detail"]


def test_a_time_out_of_range_is_refused(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for at in (
            "9999-12-31T23:59:59-23:59",
            "0001-01-01T00:00:00+23:59",
            "1969-12-31T23:59:59Z",
        ):
            answer = await world.ask("operator", "PUT", f"{PATH}/maps", changed(at=at))
            assert (422, "time_out_of_range") == (answer.status_code, answer.json()["code"])
            assert (
                422 == (await world.ask("operator", "GET", PATH, params={"since": at})).status_code
            )
        assert [] == await runners(world)

    with_service(tmp_path / "data", story)


def test_a_number_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for number in (b"1e999", b"NaN", b"-Infinity"):
            body = msgspec.json.encode(REPORT).replace(b"0.76", number)
            answer = await world.ask(
                "operator",
                "PUT",
                f"{PATH}/maps",
                content=body,
                headers={"Content-Type": "application/json"},
            )
            assert_refused(answer, "the body cannot be read")

    with_service(tmp_path / "data", story)


def test_a_report_may_be_as_large_as_a_batch(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        maps = [REPORT["maps"][0] | {"name": f"map{number}"} for number in range(MAPS_MAX)]
        floors = [REPORT["floors"][0] | {"node": f"h100/{number}"} for number in range(MAPS_MAX)]
        large = changed(maps=maps, floors=floors)
        assert BODY_BYTES_MAX < len(msgspec.json.encode(large)) < BATCH_BYTES_MAX
        assert 200 == (await world.ask("operator", "PUT", f"{PATH}/maps", large)).status_code
        (shown,) = await runners(world)
        assert MAPS_MAX == len(shown["maps"])
        too_large = large | {"alarms": [REPORT["alarms"][0] | {"reason": "x" * 500}] * 500}
        assert 413 == (await world.ask("operator", "PUT", f"{PATH}/maps", too_large)).status_code

    with_service(tmp_path / "data", story)


def test_a_runner_is_late_after_three_intervals_and_gone_after_an_hour(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.ask("operator", "PUT", f"{PATH}/maps", changed(pace_s=10))
        seen = []
        for passed_s in (29, 2, 3600 - 32, 2):
            world.passing.pass_us(passed_s * SECOND_US)
            seen.append([runner["late"] for runner in await runners(world)])
        assert [[False], [True], [True], []] == seen

    with_service(tmp_path / "data", story)


# -- the board


def test_the_history_is_the_first_signal_and_the_highest_pressure() -> None:
    board = Board()
    board.take("maps", report(0, POWER, HOT, BUSY), 0)
    (runner,) = board.shown(0, None).runners
    zero = format_time(0)
    assert [((zero, 0.7, 0.5),), ((zero, None, 2.0),), ((zero, None, 0.0),)] == [
        each.history for each in runner.maps
    ]


def test_the_history_keeps_the_latest_points_of_present_maps() -> None:
    board = Board()
    for second in range(POINTS_PER_MAP_MAX + 5):
        board.take("maps", report(second * SECOND_US, POWER, *((HOT,) if second < 3 else ())), 0)
    (runner,) = board.shown(0, None).runners
    (kept,) = runner.maps
    assert (POINTS_PER_MAP_MAX, format_time(5 * SECOND_US)) == (
        len(kept.history),
        kept.history[0][0],
    )
    board.take("maps", report(HOUR_US, POWER, HOT), 0)
    assert [POINTS_PER_MAP_MAX, 1] == [
        len(each.history) for each in board.shown(0, None).runners[0].maps
    ]


def test_a_repeated_report_is_one_point_and_a_clock_set_back_starts_again() -> None:
    board = Board()

    def times_after(at: int) -> list[str]:
        board.take("maps", report(at, POWER), 0)
        return [time for time, _, _ in board.shown(0, None).runners[0].maps[0].history]

    first, second, before = format_time(SECOND_US), format_time(2 * SECOND_US), format_time(0)
    assert [[first], [first, second], [first, second], [before]] == [
        times_after(at * SECOND_US) for at in (1, 2, 2, 0)
    ]


def test_many_maps_keep_fewer_points_each() -> None:
    board = Board(points_max=20)
    for second in range(10):
        board.take("a", report(second * SECOND_US, POWER), 0)
        board.take("b", report(second * SECOND_US, POWER, HOT, BUSY), 0)
    assert [[5], [5, 5, 5]] == [
        [len(each.history) for each in runner.maps] for runner in board.shown(0, None).runners
    ]


def test_silent_runners_lose_points_too_as_others_report() -> None:
    board = Board(points_max=20)
    for second in range(20):
        board.take("silent", report(second * SECOND_US, POWER), 0)
    board.take("maps", report(0, POWER, HOT, BUSY), 0)
    maps, silent = board.shown(0, None).runners
    assert [[1, 1, 1], [5]] == [
        [len(each.history) for each in runner.maps] for runner in (maps, silent)
    ]
    assert format_time(19 * SECOND_US) == silent.maps[0].history[-1][0]


def test_a_runner_slower_than_an_hour_is_kept_until_it_is_late() -> None:
    board = Board()
    board.take("slow", report(0, POWER, pace_s=7200.0), 0)
    assert [1, 0] == [len(board.shown(hours * HOUR_US, None).runners) for hours in (6, 7)]


def test_above_the_bound_the_longest_silent_runner_is_dropped() -> None:
    board = Board()
    for number in range(RUNNERS_MAX):
        board.take(f"r{number:02}", report(0, POWER), number)
    board.take("r00", report(1, POWER), RUNNERS_MAX)
    board.take("new", report(0, POWER), RUNNERS_MAX + 1)
    assert ["new", "r00", *(f"r{number:02}" for number in range(2, RUNNERS_MAX))] == [
        each.runner for each in board.shown(RUNNERS_MAX, None).runners
    ]
