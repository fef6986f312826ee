"""Stories of the paper, told by real applications through real sessions to a real server, whose
clock the story moves."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest

from laissez.client import AsyncClient, AsyncSession
from laissez.live.operator_runner import OperatorRunner
from laissez.live.trader import Trader
from laissez.market import Topology
from laissez.operators import Base, Composition, Operator, Power, Price, PythonCallable, SlewLimits
from laissez.tenants import AdapterSettings, Application, Deadline, EconAdapter
from laissez.tenants.parabricks import Batch, Parabricks
from laissez.tenants.templates import DeadlineJob
from support.live_world import Live, with_live

pytestmark = pytest.mark.once

MINUTE = 60_000_000
HOUR = 60 * MINUTE


class Tenant:
    """One application that trades in one session."""

    def __init__(
        self,
        live: Live,
        session: AsyncSession,
        name: str,
        app: Application,
        settings: AdapterSettings | None = None,
    ) -> None:
        self.app = app
        self.adapter = EconAdapter(name, app, settings)
        self.trader = Trader(session, self.adapter, clock=live.world.gateway.clock.now)

    async def turn(self) -> tuple[str, ...]:
        """Look, decide, send. Returns the leaves held, as seen."""
        view = await self.trader.look()
        await self.trader.send(self.adapter.decide(view), view.now)
        return tuple(sorted(lease.leaf for lease in view.leases))


@contextlib.asynccontextmanager
async def tenant(live: Live, name: str, app: Application, settings: AdapterSettings | None = None):  # type: ignore[no-untyped-def]
    async with AsyncSession(f"http://127.0.0.1:{live.port}", live.world.secrets[name]) as session:
        yield Tenant(live, session, name, app, settings)


async def set_floor(live: Live, node: str, price: str) -> None:
    assert (
        200
        == (
            await live.world.ask("operator", "PUT", f"/v1/floors/{node}", {"price": price})
        ).status_code
    )


def test_app_a_keeps_hw1_until_its_checkpoint_and_then_app_b_gets_it(tmp_path: Path) -> None:
    """Section 3.1: A trains and saves its work every 20 minutes; B must be done in two hours, for
    which it needs HW1 before long."""

    async def tale(live: Live) -> None:
        for node in ("hw1", "hw2", "hw3"):
            await set_floor(live, node, "1")
        start = live.world.gateway.clock.now()
        training = DeadlineJob(
            ("hw1", "hw3"),
            1,
            start=start,
            due=start + 5 * HOUR,
            work_hours=3,
            speeds={"hw1": 1.0, "hw3": 0.8},
            value=12.0,
            checkpoint_s=1200.0,
            cold_s=60.0,
        )
        analytics = DeadlineJob(
            ("hw1", "hw2"),
            1,
            start=start,
            due=start + 2 * HOUR,
            work_hours=3,
            speeds={"hw1": 2.5, "hw2": 1.0},
            value=6.0,
            checkpoint_s=600.0,
            cold_s=60.0,
        )
        places: list[tuple[str, str]] = []
        limits: list[int | None] = []
        in_time = [0, 0]  # minutes that B and A took
        async with tenant(live, "ann", training) as app_a, tenant(live, "bob", analytics) as app_b:
            held_by_a = await app_a.turn()
            for _ in range(5 * 60):
                if training.is_done(live.world.gateway.clock.now()) and analytics.is_done(
                    live.world.gateway.clock.now()
                ):
                    break
                held_by_a, held_by_b = await app_a.turn(), await app_b.turn()
                places.append((" ".join(held_by_a), " ".join(held_by_b)))
                in_time = [in_time[0] + (analytics.done < 1), in_time[1] + (training.done < 1)]
                limits += [
                    lease.limit
                    for lease in (await app_a.trader.look()).leases
                    if lease.leaf == "hw1/gpu"
                ]
                live.world.passing.pass_us(MINUTE)
        moved_at = next(minute for minute, (_, of_b) in enumerate(places) if of_b == "hw1/gpu")
        assert ("hw1/gpu", "hw2/gpu") in places[:moved_at]  # at first each has a machine of its own
        assert {"hw1/gpu", ""} == {of_a for of_a, _ in places[:moved_at]} | {""}
        assert moved_at % 20 <= 2  # a checkpoint, to the minute
        # what it was kept for in between
        assert max(limit or 0 for limit in limits) > 5 * min(limit or 0 for limit in limits)
        assert "hw3/gpu" == places[moved_at + 3][0]  # A goes on there
        assert analytics.done == training.done == 1.0
        assert in_time[0] <= 120 and in_time[1] <= 300

    with_live(tmp_path, tale, topology=Topology.of(["hw1/gpu", "hw2/gpu", "hw3/gpu"]))


def test_a_batch_trades_down_when_prices_rise_pauses_when_ahead_and_resumes_when_they_fall(
    tmp_path: Path,
) -> None:
    """Section 5.3: on an H100 while it is cheap, on an A100 when that is not, on nothing when it is
    ahead and both are dear, on an H100 again."""
    # for five minutes each
    prices = [("1.8", "2")] * 48 + [("12", "2")] * 48 + [("12", "5")] * 24 + [("1.8", "5")] * 168

    async def tale(live: Live) -> None:
        now = live.world.gateway.clock.now()
        batch = Batch([1.0] * 6, ("h100", "a100"), now=now, nodes_max=1)
        states: list[str] = []
        async with tenant(
            live, "ann", Parabricks(batch, Deadline(now, now + 24 * HOUR, 90.0), cold_s=480.0)
        ) as trading:
            held: tuple[str, ...] = ()
            for h100, a100 in prices:
                await set_floor(live, "h100", h100)
                await set_floor(live, "a100", a100)
                await trading.turn()
                before, held = held, await trading.turn()
                states.append(
                    "+".join(leaf.partition("/")[0] for leaf in held)
                    or ("done" if batch.done >= 1 else "paused")
                )
                live.world.passing.pass_us(5 * MINUTE)
                batch.advance(
                    tuple(leaf for leaf in before if leaf in held), live.world.gateway.clock.now()
                )
        course = [state for state, _ in groupby(states) if "+" not in state]  # both, while it moves
        assert ["h100", "a100", "paused", "h100"] == course[:4], course
        assert "done" == course[-1]

    with_live(tmp_path, tale)


def test_a_power_jump_moves_load_to_the_other_row_and_costs_the_tenants_that_stay(
    tmp_path: Path,
) -> None:
    """Section 5.4: two rows of four nodes; the floor of each follows its power."""
    leaves = [f"h100/row{row}/gpu{gpu}" for row in (1, 2) for gpu in range(4)]
    power = {"h100/row1": 0.70, "h100/row2": 0.70}

    def reading(row: str) -> Callable[[int], float]:
        return lambda now: power[row]

    def job(live: Live, value: float) -> DeadlineJob:
        now = live.world.gateway.clock.now()
        return DeadlineJob(
            ("h100",),
            3,
            start=now,
            due=now + 10 * HOUR,
            work_hours=29,
            speeds={"h100": 1.0},
            value=value,
            cold_s=120.0,
        )

    async def tale(live: Live) -> None:
        maps = [Power(name=row, nodes=(row,), signal=row, weight=2.0) for row in power]
        bases = [Base(node="h100", price=Price(2_000_000), floor_max=Price(20_000_000))]
        operator = Operator(
            Composition(bases=bases, maps=maps, limits=SlewLimits(settle_s=0.0)),
            {row: PythonCallable(call=reading(row)) for row in power},
        )
        url = f"http://127.0.0.1:{live.port}"
        async with (
            AsyncClient(url, live.world.secrets["operator"]) as client,
            tenant(live, "ann", job(live, 200.0)) as flexible,
            tenant(live, "bob", job(live, 2000.0)) as urgent,
        ):
            runner = OperatorRunner(
                operator, client, lambda what, **facts: None, clock=live.world.gateway.clock.now
            )

            async def minutes(count: int) -> tuple[list[int], int]:
                """The tenants' leaves in rows 1 and 2, and the price of row 1."""
                for _ in range(count):
                    await runner.turn()
                    held = [*await flexible.turn(), *await urgent.turn()]
                    live.world.passing.pass_us(MINUTE)
                rates = [
                    lease.charged
                    for who in (flexible, urgent)
                    for lease in (await who.trader.look()).leases
                    if lease.leaf.startswith("h100/row1")
                ]
                return [sum(leaf.startswith(row) for leaf in held) for row in power], max(
                    rates, default=0
                )

            before, rate_before = await minutes(5)
            assert [4, 2] == before and 2_000_000 == rate_before
            power["h100/row1"] = 0.79
            after, rate_after = await minutes(15)
            assert [2, 4] == after  # everything that had room over there has gone
            assert rate_after > 1.5 * rate_before  # and the others stay and pay

    with_live(tmp_path, tale, topology=Topology.of(leaves))
