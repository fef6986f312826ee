"""An operator's maps against a real server: floors follow the telemetry, leaves go offline, alarms are told once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from laissez.client import AsyncClient
from laissez.live.operator_runner import OperatorRunner
from laissez.market.commands import Band, SetControls
from laissez.operators import Base, Composition, Controls, Instant, Maintenance, Move, Operator, Pace, Power, Price, PythonCallable
from live_world import Live, with_live

pytestmark = pytest.mark.once

MINUTE = 60_000_000


class Site:
    """A cluster whose power can be set, and what was said about it."""

    def __init__(self, live: Live, client: AsyncClient, **more: object) -> None:
        self.power: object = 0.5
        self.said: list[tuple[str, dict[str, str]]] = []
        self.passing = live.world.passing
        maps = [Power(name="east-power", nodes=("h100/east",), signal="east", cap=0.8, comfortable=0.1, safe_pressure=2.0, stale_after_s=30.0)]
        bases = [Base(node="h100", price=Price(2_000_000), floor_max=Price(20_000_000))]
        composition = Composition(bases=bases, maps=maps, pace=Pace(settle_s=0.0), **more)  # type: ignore[arg-type]
        operator = Operator(composition, {"east": PythonCallable(call=lambda now: self.power)})
        self.runner = OperatorRunner(operator, client, self.tell, clock=live.world.desk.clock.now)

    def tell(self, what: str, **facts: str) -> None:
        self.said.append((what, facts))

    async def turn(self, minutes: int = 1) -> list[tuple[str, dict[str, str]]]:
        """What was said in the next turn."""
        self.passing.pass_us(minutes * MINUTE)
        self.said.clear()
        await self.runner.turn()
        return list(self.said)


def with_site(folder: Path, tale: Callable[[Live, Site], Awaitable[None]], make: Callable[[Live], dict[str, object]] = lambda live: {}) -> None:
    async def told(live: Live) -> None:
        async with AsyncClient(f"http://127.0.0.1:{live.port}", live.world.secrets["operator"]) as client:
            await tale(live, Site(live, client, **make(live)))

    with_live(folder, told)


def test_floors_rise_at_once_with_power_and_fall_slowly(tmp_path: Path) -> None:
    async def tale(live: Live, site: Site) -> None:
        assert [("set_floor", {"node": "h100", "price": "2"}), ("set_floor", {"node": "h100/east", "price": "2"})] == await site.turn()
        assert [] == await site.turn()
        site.power = 0.8
        assert [("set_floor", {"node": "h100/east", "price": "4"})] == await site.turn()
        site.power = 0.5
        await site.turn()
        (fell,) = await site.turn()
        assert "set_floor" == fell[0] and 3.5 < float(fell[1]["price"]) < 4

    with_site(tmp_path, tale)


def test_a_power_jump_moves_who_can_move_and_charges_who_stays(tmp_path: Path) -> None:
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
def test_telemetry_that_makes_no_sense_holds_the_safe_price_and_is_told_once(tmp_path: Path, absurd: object) -> None:
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


def test_maintenance_presses_then_takes_offline_then_brings_back(tmp_path: Path) -> None:
    def window(live: Live) -> dict[str, object]:
        start = live.world.desk.clock.now() + 60 * MINUTE
        return {
            "maintenance": [Maintenance(name="cabling", nodes=("h100/west",), start=Instant(start), end=Instant(start + 60 * MINUTE), lead_s=3600.0)]
        }

    async def tale(live: Live, site: Site) -> None:
        floors = [float(facts["price"]) for minutes in (10, 20, 20) for what, facts in await site.turn(minutes) if facts.get("node") == "h100/west"]
        assert floors == sorted(floors) and len(set(floors)) == 3
        gone = await site.turn(15)
        assert 4 == [what for what, _ in gone].count("take_offline")
        assert 4 == [what for what, _ in await site.turn(60)].count("bring_online")

    with_site(tmp_path, tale, window)


def test_controls_are_set_once_and_again_when_somebody_changed_them(tmp_path: Path) -> None:
    def bands(live: Live) -> dict[str, object]:
        return {"controls": [Controls(node="h100", rise=Move(fraction=0.5, every_s=60.0), hold_s=30.0)]}

    async def tale(live: Live, site: Site) -> None:
        said = await site.turn()
        assert ("set_controls", {"node": "h100", "rise": "0.5/60s", "hold_s": "30"}) in said
        view = live.world.desk.exchange.market.controls()
        assert [SetControls("h100", Band(500_000, MINUTE), None, 30_000_000, None)] == [
            SetControls(one.node, one.rise, one.fall, one.hold_us, one.flash_us) for one in view
        ]
        assert [] == await site.turn()
        await live.world.ask("operator", "PUT", "/v1/controls/h100", {"hold_s": 5})
        assert ["set_controls"] == [what for what, _ in await site.turn()]

    with_site(tmp_path, tale, bands)


def test_an_alarm_is_told_again_when_the_safe_price_takes_over(tmp_path: Path) -> None:
    async def tale(live: Live, site: Site) -> None:
        await site.turn()
        site.power = "abc"
        first = [facts["why"] for what, facts in await site.turn(0) if what == "alarm"]
        assert 1 == len(first) and first[0].endswith("its last reading still holds")
        assert [] == [what for what, _ in await site.turn(0)]
        second = [facts["why"] for what, facts in await site.turn(1) if what == "alarm"]
        assert 1 == len(second) and second[0].endswith("presses with its safe pressure, 2")

    with_site(tmp_path, tale)


def test_the_floor_of_a_map_that_is_gone_is_removed(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with AsyncClient(f"http://127.0.0.1:{live.port}", live.world.secrets["operator"]) as client:
            site = Site(live, client)
            await site.turn()
            bases = [Base(node="h100", price=Price(2_000_000), floor_max=Price(20_000_000))]
            site.runner = OperatorRunner(Operator(Composition(bases=bases), {}), client, site.tell, site.runner.memory, live.world.desk.clock.now)
            assert [("set_floor", {"node": "h100/east"})] == await site.turn()
            assert [] == await site.turn()

    with_live(tmp_path, tale)
