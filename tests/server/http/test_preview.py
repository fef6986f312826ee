"""A preview shows the exact effects of commands and changes nothing: all its predictions come
true."""

from __future__ import annotations

import asyncio
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from laissez.exchange.commands import OPERATOR, SERVICE, Request
from laissez.exchange.exchange import Exchange
from laissez.market import commands as market
from laissez.market.events import LeaseEnded, LeaseStarted
from laissez.server import preview
from laissez.server.forked import Copy, CopyFailed
from laissez.wire.limits import PREVIEW_COMMANDS_MAX
from server.test_gateway import Gate
from support.live_world import settle_loop
from support.service_world import HOUR_US, LEAVES, World, with_service

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

FLOOR = {"type": "set_floor", "node": "h100", "price": "4"}
Commands = list[dict[str, Any]]


async def asked(world: World, commands: Commands) -> dict[str, Any]:
    answer = await world.ask("operator", "POST", "/v1/preview", {"commands": commands})
    assert 200 == answer.status_code, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def busy_market(world: World) -> None:
    """Ann holds the east at limits from 2 to 5, Bob two leaves of the west. Both have open orders:
    Ann would win back the first leaf of the east."""
    for number, leaf in enumerate(LEAVES[:4]):
        await world.place("ann", leaf, str(2 + number))
    await world.place("bob", LEAVES[4], "6")
    await world.place("bob", "h100/east", "1.5")
    await world.place("ann", LEAVES[0], "1.8")
    await world.place("bob", "h100/west", "4.5", "1")
    await world.place("ann", "a100", "3")
    await world.ask("operator", "PUT", "/v1/controls/a100", {"hold_s": 60})
    world.passing.pass_us(HOUR_US)


async def actual_effects(world: World, commands: Commands) -> list[dict[str, Any]]:
    results = (await world.ask("operator", "POST", "/v1/batch", {"commands": commands})).json()[
        "results"
    ]
    assert len(commands) == len(results)
    return list(results)


async def owners(world: World) -> dict[str, dict[str, Any]]:
    return {
        one["leaf"]: one
        for one in (await world.ask("operator", "GET", "/v1/resources")).json()["data"]
    }


async def rates(world: World) -> dict[tuple[str, str], str]:
    leases = (await world.ask("operator", "GET", "/v1/leases")).json()["data"]
    return {(lease["tenant"], lease["id"]): lease["charged"] for lease in leases}


STEPS: dict[str, Commands] = {
    "a floor that ends some leases": [FLOOR],
    "a floor above everybody": [{"type": "set_floor", "node": "h100", "price": "100"}],
    "floors up and down again": [
        FLOOR,
        {"type": "set_floor", "node": "h100", "price": None},
        {"type": "set_floor", "node": "h100/east", "price": "1"},
    ],
    "controls, then a floor that they clip": [
        {
            "type": "set_controls",
            "node": "h100",
            "rise": {"fraction": "0.1", "seconds": 60},
            "hold_s": 30,
        },
        {"type": "set_floor", "node": "h100", "price": "1"},
        FLOOR,
    ],
    "several leaves offline": [{"type": "take_offline", "leaf": leaf} for leaf in LEAVES[2:7]],
    "offline and back": [
        {"type": "take_offline", "leaf": LEAVES[0]},
        {"type": "bring_online", "leaf": LEAVES[0]},
    ],
    "refused among them": [
        {"type": "take_offline", "leaf": "h100/moon"},
        FLOOR,
        {"type": "set_floor", "node": "h100", "price": "cheap"},
        {"type": "bring_online", "leaf": LEAVES[0]},
        {"type": "set_controls", "node": "h100", "hold_s": -1},
        {"type": "take_offline", "leaf": LEAVES[0]},
    ],
}


@pytest.mark.parametrize("step", STEPS)
def test_a_preview_predicts_the_effects_exactly(tmp_path: Path, step: str) -> None:
    async def story(world: World) -> None:
        await busy_market(world)
        commands = STEPS[step]
        state, position = world.gateway.exchange.snapshot(), world.gateway.position
        said = await asked(world, commands)
        assert (state, position) == (world.gateway.exchange.snapshot(), world.gateway.position)

        were, charged = await owners(world), await rates(world)
        results = await actual_effects(world, commands)
        now, charged_now = await owners(world), await rates(world)
        told = [
            (one["event"], one.get("tenant"))
            for result in results
            for one in result.get("events", [])
        ]
        ended = [(event, tenant) for event, tenant in told if event["type"] == "lease.ended"]
        started = [tenant for event, tenant in told if event["type"] == "lease.started"]
        refused = [
            {"index": index, "code": one["code"], "detail": one["detail"]}
            for index, one in enumerate(results)
            if "code" in one
        ]
        assert sorted(refused, key=lambda one: int(one["index"])) == said["refused"]
        assert (len(ended), len(started)) == (said["leases_ended"], said["leases_started"])
        fields = ("leaf", "reason", "rate", "limit")
        assert [
            {**{field: event[field] for field in fields}, "tenant": tenant}
            for event, tenant in ended
        ] == said["ended"]
        lost, won = Counter(tenant for _, tenant in ended), Counter(started)
        assert {one["tenant"]: (one["lost"], one["won"]) for one in said["tenants"]} == {
            name: (lost[name], won[name]) for name in {*lost, *won}
        }
        both = [
            (were[leaf]["owner"], now[leaf]["owner"])
            for leaf in were
            if were[leaf]["owner"] and now[leaf]["owner"]
        ]
        assert sum(before != after for before, after in both) == said["transfers"]
        lasting = [
            (float(charged[lease]), float(charged_now[lease]))
            for lease in charged
            if lease in charged_now
        ]
        assert (sum(b > a for a, b in lasting), sum(b < a for a, b in lasting)) == (
            said["dearer"],
            said["cheaper"],
        )
        assert sum(map(float, charged.values())) == pytest.approx(float(said["rate_before"]))
        assert sum(map(float, charged_now.values())) == pytest.approx(float(said["rate_after"]))
        idle = [
            sum(one["online"] and one["owner"] is None for one in look.values())
            for look in (were, now)
        ]
        assert idle == [said["idle_before"], said["idle_after"]]

    with_service(tmp_path / "data", story)


def test_the_steps_cover_every_effect(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await busy_market(world)
        found = [await asked(world, commands) for commands in STEPS.values()]
        kinds = ("refused", "leases_ended", "leases_started", "transfers", "dearer", "cheaper")
        assert [] == [kind for kind in kinds if not any(one[kind] for one in found)]

    with_service(tmp_path / "data", story)


def test_due_events_are_no_effects_of_a_preview(tmp_path: Path) -> None:
    """The hold of a lease has ended without a command since: its end is due anyway."""

    async def story(world: World) -> None:
        await world.ask("operator", "PUT", "/v1/controls/a100", {"hold_s": 60})
        await world.place("ann", "a100", "1")
        await world.place("bob", "a100", "5")
        state = world.gateway.exchange.snapshot()
        world.passing.pass_us(HOUR_US)
        copy = Exchange.restore(state)
        at = world.gateway.clock.now()
        passed = copy.apply(at, Request(OPERATOR, SERVICE, "", b"", market.AdvanceTime()))
        assert [LeaseEnded, LeaseStarted] == [
            type(event) for event in passed.events if hasattr(event, "lease")
        ]
        said = await asked(world, [{"type": "set_floor", "node": "h100", "price": "0.5"}])
        assert (0, 0, state) == (
            said["leases_ended"],
            said["leases_started"],
            world.gateway.exchange.snapshot(),
        )

    with_service(tmp_path / "data", story)


BODIES: list[tuple[object, int]] = [
    ({"commands": []}, 400),
    ({"commands": [FLOOR] * (PREVIEW_COMMANDS_MAX + 1)}, 400),
    ({"commands": [{"type": "place_order", "alternatives": []}]}, 400),
    ({"commands": [FLOOR], "colour": "red"}, 400),
    ({"commands": [FLOOR] * PREVIEW_COMMANDS_MAX}, 200),
]


def test_an_invalid_preview_is_refused(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for body, status in BODIES:
            answer = await world.ask("operator", "POST", "/v1/preview", body)
            assert status == answer.status_code, answer.text
            assert 403 == (await world.ask("ann", "POST", "/v1/preview", body)).status_code

    with_service(tmp_path / "data", story)


# -- the fork


def never(*_: Any) -> None:
    while True:
        os.read(0, 0)


def one_bug(*_: Any) -> None:
    raise ValueError("of the copy")


def test_a_preview_that_takes_too_long_is_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(preview, "PREVIEW_S", 0.05)
            patched.setattr(preview, "carried_out", never)
            answer = await world.ask("operator", "POST", "/v1/preview", {"commands": [FLOOR]})
        assert (503, "overloaded", "60") == (
            answer.status_code,
            answer.json()["code"],
            answer.headers["retry-after"],
        )
        await asked(world, [FLOOR])

    with_service(tmp_path / "data", story)


def test_a_third_preview_at_a_time_is_refused_and_none_outlives_its_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[int] = []
    fork = os.fork

    def noted() -> int:
        copies.append(fork())
        return copies[-1]

    async def story(world: World) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fork", noted)
            patched.setattr(preview, "carried_out", never)
            asking = [asyncio.create_task(asked(world, [FLOOR])) for _ in range(2)]
            await until(lambda: 2 == len(copies))
            third = await world.ask("operator", "POST", "/v1/preview", {"commands": [FLOOR]})
            assert (503, "overloaded", "1") == (
                third.status_code,
                third.json()["code"],
                third.headers["retry-after"],
            )
            for task in (*asking, *world.app.tasks):
                task.cancel()
            await asyncio.gather(*asking, *world.app.tasks, return_exceptions=True)
        for child in copies:
            with pytest.raises(ChildProcessError):
                os.waitpid(child, os.WNOHANG)  # it has been reaped
        await asked(world, [FLOOR])

    with_service(tmp_path / "data", story)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_so():
            await asyncio.sleep(0)


def test_a_bug_in_the_fork_is_an_internal_problem_and_logged_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(world: World) -> None:
        monkeypatch.setattr(preview, "carried_out", one_bug)
        answer = await world.ask("operator", "POST", "/v1/preview", {"commands": [FLOOR]})
        assert (500, "internal") == (answer.status_code, answer.json()["code"])
        assert "ValueError: of the copy" in caplog.text and "one_bug" in caplog.text
        assert "of the copy" not in answer.text and world.gateway.failure is None

    with_service(tmp_path / "data", story)


def test_a_failed_fork_is_reported_and_leaves_no_open_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> int:
        raise OSError(11, "Resource temporarily unavailable")

    async def story(world: World) -> None:
        open_before = len(os.listdir("/proc/self/fd"))
        with monkeypatch.context() as patched:
            patched.setattr(os, "fork", full)
            answer = await world.ask("operator", "POST", "/v1/preview", {"commands": [FLOOR]})
        assert (503, "overloaded") == (answer.status_code, answer.json()["code"])
        await asked(world, [FLOOR])
        assert open_before == len(os.listdir("/proc/self/fd"))

    with_service(tmp_path / "data", story)


def test_a_stopping_server_makes_no_previews(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.gateway.stopping = True
        answer = await world.ask("operator", "POST", "/v1/preview", {"commands": [FLOOR]})
        assert (503, "stopping") == (answer.status_code, answer.json()["code"])

    with_service(tmp_path / "data", story)


def test_a_stopping_server_waits_for_no_preview(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        monkeypatch.setattr(preview, "carried_out", never)
        asking = asyncio.create_task(
            world.ask("operator", "POST", "/v1/preview", {"commands": [FLOOR]})
        )
        previews = world.app.site.previews
        await until(lambda: bool(previews._under_way))
        world.gateway.stopping = True
        previews.give_up()
        async with asyncio.timeout(preview.PREVIEW_S / 2):
            answer = await asking
        assert (503, "stopping") == (answer.status_code, answer.json()["code"])
        assert not previews._under_way

    with_service(tmp_path / "data", story)


def test_a_preview_waits_until_its_state_is_durable(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        with Gate(world) as gate:
            placing = asyncio.create_task(world.place("ann", "a100", "5"))
            await until(lambda: world.gateway.position > world.gateway.durable)
            asking = asyncio.create_task(
                asked(world, [{"type": "take_offline", "leaf": LEAVES[-1]}])
            )
            previews = world.app.site.previews
            await until(lambda: len(previews._under_way) == 1)
            await until(lambda: len(previews._under_way) == 0)
            await settle_loop()
            assert not asking.done()
            gate.open()
            assert 1 == (await asking)["leases_ended"]
            await placing

    with_service(tmp_path / "data", story)


def in_a_loop(story: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await story()

    asyncio.run(run())


def test_a_fork_keeps_only_its_socket_open() -> None:
    def work(line: socket.socket) -> None:
        heard = line.recv(5)
        line.sendall(
            heard
            + b" "
            + ",".join(sorted(set(os.listdir("/proc/self/fd")) - {"0", "1", "2"})).encode()
        )

    async def story() -> None:
        with Path(os.devnull).open() as held, Copy(work) as copy:
            assert held.fileno() > 2
            await copy.tell(b"hello")
            word, _, files = (await copy.answer()).partition(b" ")
        assert b"hello" == word
        assert 2 == len(files.split(b","))  # the socket, and the folder being listed

    in_a_loop(story)


@pytest.mark.parametrize(("status", "words"), [(3, "ended with 3"), (-9, "ended with -9")])
def test_a_failed_fork_reports_its_status(status: int, words: str) -> None:
    def work(line: socket.socket) -> None:
        if status < 0:
            os.kill(os.getpid(), -status)
        os._exit(status)

    async def story() -> None:
        with pytest.raises(CopyFailed, match=words), Copy(work) as copy:
            await copy.answer()

    in_a_loop(story)
