"""An operator's maps against a real server: floors follow the telemetry, leaves go offline, alarms
are told once, all of it is reported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

import pytest

from laissez.client import AsyncClient
from laissez.live import operator_runner
from laissez.live.operator_runner import OperatorRunner
from laissez.live.sample.maps import make_operator
from laissez.market.commands import Band, SetControls
from laissez.operators import (
    Base,
    Composition,
    Controls,
    DryRun,
    Instant,
    Maintenance,
    Missing,
    Move,
    Operator,
    Power,
    Price,
    PythonCallable,
    Reading,
    SlewLimits,
)
from laissez.server.first_start import SAMPLE_TOPOLOGY as TOPOLOGY
from laissez.wire.inframaps import FloorReport, FloorTerm, Pressed, RunnerShown
from support.live_world import Live, with_live

pytestmark = pytest.mark.once

MINUTE = 60_000_000


class Site:
    """A cluster whose power can be set, and the events of its runner."""

    def __init__(self, live: Live, client: AsyncClient, **more: object) -> None:
        self.power: object = 0.5
        self.said: list[tuple[str, dict[str, str]]] = []
        self.passing = live.world.passing
        self.now = live.world.gateway.clock.now
        maps = [
            Power(
                name="east-power",
                nodes=("h100/east",),
                signal="east",
                cap=0.8,
                comfortable=0.1,
                safe_pressure=2.0,
                stale_after_s=30.0,
            )
        ]
        bases = [Base(node="h100", price=Price(2_000_000), floor_max=Price(20_000_000))]
        composition = Composition(bases=bases, maps=maps, limits=SlewLimits(settle_s=0.0), **more)  # type: ignore[arg-type]
        self.operator = Operator(composition, {"east": PythonCallable(call=lambda now: self.power)})
        self.client = client
        self.runner = self.named("site")

    def named(self, name: str) -> OperatorRunner:
        """A runner of the maps by that name."""
        return OperatorRunner(
            self.operator, self.client, self.tell, clock=self.now, name=name, pace_s=60.0
        )

    def tell(self, what: str, **facts: str) -> None:
        self.said.append((what, facts))

    async def turn(self, minutes: int = 1) -> list[tuple[str, dict[str, str]]]:
        """The events of the next turn."""
        self.passing.pass_us(minutes * MINUTE)
        self.said.clear()
        await self.runner.turn()
        return list(self.said)

    async def shown(self) -> RunnerShown:
        """The report that the server shows."""
        (runner,) = (await self.client.inframaps()).runners
        return runner


def with_site(
    folder: Path,
    tale: Callable[[Live, Site], Awaitable[None]],
    make: Callable[[Live], dict[str, object]] = lambda live: {},
) -> None:
    async def told(live: Live) -> None:
        async with AsyncClient(
            f"http://127.0.0.1:{live.port}", live.world.secrets["operator"]
        ) as client:
            await tale(live, Site(live, client, **make(live)))

    with_live(folder, told)


def test_floors_rise_at_once_with_power_and_fall_slowly(tmp_path: Path) -> None:
    async def tale(live: Live, site: Site) -> None:
        assert [
            ("set_floor", {"node": "h100", "price": "2"}),
            ("set_floor", {"node": "h100/east", "price": "2"}),
        ] == await site.turn()
        assert [] == await site.turn()
        site.power = 0.8
        assert [("set_floor", {"node": "h100/east", "price": "4"})] == await site.turn()
        site.power = 0.5
        await site.turn()
        (fell,) = await site.turn()
        assert "set_floor" == fell[0] and 3.5 < float(fell[1]["price"]) < 4

    with_site(tmp_path, tale)


def test_a_power_jump_moves_movable_tenants_and_charges_the_others(tmp_path: Path) -> None:
    async def tale(live: Live, site: Site) -> None:
        await site.turn()
        flexible = await live.world.place("ann", "h100/east", "3")
        urgent = await live.world.place("bob", "h100/east", "9")
        assert flexible["lease"] and urgent["lease"]
        site.power = 0.8
        await site.turn()
        assert [] == (await live.world.ask("ann", "GET", "/v1/leases")).json()["data"]
        (kept,) = (await live.world.ask("bob", "GET", "/v1/leases")).json()["data"]
        assert "4" == kept["rate"]

    with_site(tmp_path, tale)


@pytest.mark.parametrize("absurd", [float("nan"), 1e308, -5.0, "abc", None])
def test_absurd_telemetry_holds_the_safe_price_and_is_reported_once(
    tmp_path: Path, absurd: object
) -> None:
    async def tale(live: Live, site: Site) -> None:
        await site.turn()
        site.power = absurd
        said = await site.turn()
        assert ("set_floor", {"node": "h100/east", "price": "6"}) in said
        assert ["alarm"] == [what for what, _ in said if what.startswith("alarm")]
        assert [] == await site.turn()
        site.power = 0.8
        assert "alarm_over" in [what for what, _ in await site.turn()]

    with_site(tmp_path, tale)


def test_maintenance_raises_prices_then_takes_leaves_offline_then_brings_them_back(
    tmp_path: Path,
) -> None:
    def window(live: Live) -> dict[str, object]:
        start = live.world.gateway.clock.now() + 60 * MINUTE
        return {
            "maintenance": [
                Maintenance(
                    name="cabling",
                    nodes=("h100/west",),
                    start=Instant(start),
                    end=Instant(start + 60 * MINUTE),
                    lead_s=3600.0,
                )
            ]
        }

    async def tale(live: Live, site: Site) -> None:
        floors = [
            float(facts["price"])
            for minutes in (10, 20, 20)
            for what, facts in await site.turn(minutes)
            if facts.get("node") == "h100/west"
        ]
        assert floors == sorted(floors) and len(set(floors)) == 3
        gone = await site.turn(15)
        assert 4 == [what for what, _ in gone].count("take_offline")
        assert 4 == [what for what, _ in await site.turn(60)].count("bring_online")

    with_site(tmp_path, tale, window)


def test_controls_are_set_once_and_again_after_a_manual_change(tmp_path: Path) -> None:
    def bands(live: Live) -> dict[str, object]:
        return {
            "controls": [Controls(node="h100", rise=Move(fraction=0.5, every_s=60.0), hold_s=30.0)]
        }

    async def tale(live: Live, site: Site) -> None:
        said = await site.turn()
        assert ("set_controls", {"node": "h100", "rise": "0.5/60s", "hold_s": "30"}) in said
        view = live.world.gateway.exchange.market.controls()
        assert [SetControls("h100", Band(500_000, MINUTE), None, 30_000_000, None)] == [
            SetControls(one.node, one.rise, one.fall, one.hold_us, one.flash_us) for one in view
        ]
        assert [] == await site.turn()
        await live.world.ask("operator", "PUT", "/v1/controls/h100", {"hold_s": 5})
        assert ["set_controls"] == [what for what, _ in await site.turn()]

    with_site(tmp_path, tale, bands)


def test_an_alarm_is_reported_again_when_the_safe_price_takes_over(tmp_path: Path) -> None:
    async def tale(live: Live, site: Site) -> None:
        await site.turn()
        site.power = "abc"
        first = [facts["why"] for what, facts in await site.turn(0) if what == "alarm"]
        assert 1 == len(first) and first[0].endswith("its last reading still holds")
        assert [] == [what for what, _ in await site.turn(0)]
        second = [facts["why"] for what, facts in await site.turn(1) if what == "alarm"]
        assert 1 == len(second) and second[0].endswith("presses with its safe pressure, 2")

    with_site(tmp_path, tale)


def test_the_floor_of_a_removed_map_is_removed(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with AsyncClient(
            f"http://127.0.0.1:{live.port}", live.world.secrets["operator"]
        ) as client:
            site = Site(live, client)
            await site.turn()
            bases = [Base(node="h100", price=Price(2_000_000), floor_max=Price(20_000_000))]
            site.runner = OperatorRunner(
                Operator(Composition(bases=bases), {}),
                client,
                site.tell,
                site.runner.memory,
                live.world.gateway.clock.now,
            )
            assert [("set_floor", {"node": "h100/east"})] == await site.turn()
            assert [] == await site.turn()

    with_live(tmp_path, tale)


# -- reports


def test_a_turn_is_reported_with_its_readings_and_the_terms_of_each_floor(
    tmp_path: Path,
) -> None:
    async def tale(live: Live, site: Site) -> None:
        await site.turn()
        site.power = 0.8
        await site.turn()
        shown = await site.shown()
        assert ("site", 60.0, False, ()) == (shown.runner, shown.pace_s, shown.late, shown.alarms)
        (east,) = shown.maps
        assert ("east-power", "power", ("h100/east",), 1.0) == (
            east.name,
            east.kind,
            east.nodes,
            east.weight,
        )
        assert [("east", 0.8, None)] == [
            (one.signal, one.value, one.missing) for one in east.signals
        ]
        assert (Pressed("h100/east", 1.0),) == east.pressures
        assert [(0.5, 0.0), (0.8, 1.0)] == [
            (value, pressure) for _, value, pressure in east.history
        ]
        assert (
            FloorReport("h100/east", "2", "4", "2", "4", (FloorTerm("east-power", 1.0, 1.0),))
            == shown.floors[1]
        )

    with_site(tmp_path, tale)


def test_an_unusable_reading_is_reported_beside_the_one_in_force(
    tmp_path: Path,
) -> None:
    async def tale(live: Live, site: Site) -> None:
        await site.turn()
        site.power = "abc"
        await site.turn(0)
        holds = (await site.shown()).maps[0].signals[0]
        assert (0.5, True) == (
            holds.value,
            str(holds.missing).endswith("its last reading still holds"),
        )
        await site.turn(1)
        shown = await site.shown()
        safe = shown.maps[0].signals[0]
        assert (None, None, True) == (
            safe.value,
            safe.at,
            str(safe.missing).endswith("safe pressure, 2"),
        )
        assert [("missing", "east-power", "east", safe.missing)] == [
            (one.kind, one.where, one.signal, one.reason) for one in shown.alarms
        ]

    with_site(tmp_path, tale)


def test_a_maintenance_window_is_reported_with_its_times(tmp_path: Path) -> None:
    def window(live: Live) -> dict[str, object]:
        return {
            "maintenance": [
                Maintenance(
                    name="cabling",
                    nodes=("h100/west",),
                    start=Instant(10**15),
                    end=Instant(10**15 + MINUTE),
                )
            ]
        }

    async def tale(live: Live, site: Site) -> None:
        await site.turn()
        _, cabling = (await site.shown()).maps
        assert ("maintenance", "2001-09-09T01:46:40.000000Z", "2001-09-09T01:47:40.000000Z") == (
            cabling.kind,
            cabling.start,
            cabling.end,
        )

    with_site(tmp_path, tale, window)


@pytest.mark.parametrize("name", ["x" * 65, "nothing/there"])
def test_a_failed_report_is_reported_once_and_stops_no_price(tmp_path: Path, name: str) -> None:
    async def tale(live: Live, site: Site) -> None:
        site.runner = site.named(name)
        said = await site.turn()
        assert ["set_floor", "set_floor", "report_failed"] == [what for what, _ in said] and said[
            -1
        ][1]["why"]
        site.power = 0.8
        assert [("set_floor", {"node": "h100/east", "price": "4"})] == await site.turn()
        assert () == (await site.client.inframaps()).runners

    with_site(tmp_path, tale)


def test_prices_do_not_wait_for_reports_and_later_failures_are_reported_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tale(live: Live, site: Site) -> None:
        for within_s in (0.0, 60.0, 0.0):
            monkeypatch.setattr(operator_runner, "REPORT_WITHIN_S", within_s)
            said = await site.turn()
            assert (within_s == 0) is ("report_failed" in [what for what, _ in said])
        assert site.runner.memory.floors

    with_site(tmp_path, tale)


def test_a_reading_with_an_impossible_time_is_reported(tmp_path: Path) -> None:
    async def tale(live: Live, site: Site) -> None:
        for at in (float("nan"), float("-inf"), -1, 1.5, 10**30):
            site.power = Reading(0.7, at)  # type: ignore[arg-type]  # an operator's own code may give anything
            assert "report_failed" not in [what for what, _ in await site.turn()]
            assert 1 == len((await site.shown()).alarms)

    with_site(tmp_path, tale)


def test_texts_that_are_too_long_or_not_encodable_are_truncated(tmp_path: Path) -> None:
    async def tale(live: Live, site: Site) -> None:
        site.power = Missing("\ud800" + "x" * 10_000)
        assert "report_failed" not in [what for what, _ in await site.turn()]
        (alarm,) = (await site.shown()).alarms
        assert alarm.reason.startswith("?xxx") and alarm.reason.endswith("x...")

    with_site(tmp_path, tale)


def test_a_plan_is_not_reported(tmp_path: Path) -> None:
    async def tale(live: Live, site: Site) -> None:
        await site.runner.plan()
        assert () == (await site.client.inframaps()).runners

    with_site(tmp_path, tale)


# -- the sample


def test_the_samples_maps_are_quiet_beside_the_power_of_its_racks() -> None:
    """A round of the grid and of the racks: what no rack's power moves changes a few times, by two
    percent in all, and nothing goes offline."""
    operator = make_operator(0)
    world = DryRun(operator, TOPOLOGY.leaves)
    floors = []
    for now in range(0, 12 * MINUTE, 10_000_000):
        assert () == world.tick(now, operator.read(now)).alarms
        floors.append((world.floors["a100"], world.floors["a100/zone-a/rack4"]))
    assert all(tree == rack for tree, rack in floors)
    assert (1_100_000, 1_122_000) == (min(floors)[0], max(floors)[0])
    assert sum(one != other for one, other in pairwise(floors)) <= 12
    assert frozenset() == world.offline
