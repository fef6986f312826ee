"""A task run live: it gets its nodes, tells the user's hooks, and goes on after it was away."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from laissez.live.attending import Where
from laissez.live.memory import MemoryFault, MemoryFile, TaskMemory
from laissez.live.scripts import Scripts
from laissez.live.task_runner import NoSuchPlace, NotAlone, TaskRunner
from laissez.server.rates import notify_rates
from laissez.tenants.templates.task import read_task
from support.live_world import Live, eventually, with_live

pytestmark = pytest.mark.once

HOOKS = """
hooks:
  on_lease_start: echo start $LAISSEZ_LEAF $LAISSEZ_LIMIT >> told
  on_limit_near: echo near $LAISSEZ_LEAF $LAISSEZ_RATE >> told
  on_lease_end: echo end $LAISSEZ_LEAF $LAISSEZ_REASON $LAISSEZ_RATE $LAISSEZ_LIMIT >> told
"""
TWO_NODES = (
    "resources: {accelerators: H100, zone: east}\nnum_nodes: 2\nmarket: {template: on_demand,"
    " max_price: '4'}\n" + HOOKS
)
ONE_NODE = (
    "resources: {accelerators: A100}\nmarket: {template: on_demand, max_price: '4'}\n" + HOOKS
)
GPU = "a100/east/rack1/gpu1"


class Run:
    """A runner of one task, and what it has said."""

    def __init__(self, folder: Path, live: Live, text: str, tenant: str = "ann") -> None:
        (folder / "task.yaml").write_text(text)
        self.folder = folder
        self.said: list[tuple[str, dict[str, str]]] = []
        self.file = MemoryFile(folder / "state.json", TaskMemory)
        task = read_task(folder / "task.yaml")
        where = Where(f"http://127.0.0.1:{live.port}", live.world.secrets["ann"])
        scripts = Scripts(folder, task.hooks.timeout_s)
        clock = live.world.gateway.clock.now
        self.runner = TaskRunner(
            task,
            tenant,
            where,
            self.file,
            scripts,
            lambda what, **facts: self.said.append((what, facts)),
            0.05,
            clock,
        )

    def told(self) -> list[str]:
        """The calls of the hooks, with the tail of each leaf."""
        path = self.folder / "told"
        return path.read_text().splitlines() if path.exists() else []

    def count(self, what: str) -> int:
        return sum(said == what for said, _ in self.said)

    async def until(self, is_so: Callable[[], bool]) -> None:
        await eventually(is_so)


@contextlib.asynccontextmanager
async def running(folder: Path, live: Live, text: str, **more: Any) -> AsyncIterator[Run]:
    """A task that runs in the background; stopped at the end, with its leases left as they are."""
    run = Run(folder, live, text)
    work = asyncio.create_task(run.runner.run(**more))
    try:
        await asyncio.wait(
            [work, asyncio.create_task(run.until(lambda: run.count("connected") > 0))],
            return_when=asyncio.FIRST_COMPLETED,
        )
        if work.done():
            await work
        yield run
        run.runner.stop()
        await work
    finally:
        work.cancel()
        await asyncio.wait([work])
        run.file.close()


async def set_floor(live: Live, node: str, price: str) -> None:
    answer = await live.world.ask("operator", "PUT", f"/v1/floors/{node}", {"price": price})
    assert answer.status_code == 200, answer.text


async def leases(live: Live) -> list[str]:
    return [
        lease["leaf"] for lease in (await live.world.ask("ann", "GET", "/v1/leases")).json()["data"]
    ]


def test_a_task_gets_its_nodes_and_runs_its_hooks(
    tmp_path: Path,
) -> None:
    async def tale(live: Live) -> None:
        async with running(tmp_path, live, ONE_NODE) as run:
            await run.until(lambda: run.told() == [f"start {GPU} 4"])
            await set_floor(live, "a100", "3.8")
            notify_rates(live.world.gateway, "ann")
            await run.until(lambda: f"near {GPU} 3.8" in run.told())
            await set_floor(live, "a100", "4.5")
            await run.until(lambda: run.told()[-1] == f"end {GPU} floor_raised 4.5 4")

    with_live(tmp_path / "market", tale)


def test_a_restarted_runner_runs_hooks_only_for_new_events(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with running(tmp_path, live, ONE_NODE) as run:
            await run.until(lambda: len(run.told()) == 1)
        await set_floor(live, "a100", "4.5")  # while nobody runs the task
        async with running(tmp_path, live, ONE_NODE) as again:
            await again.until(lambda: again.told()[1:] == [f"end {GPU} floor_raised 4.5 4"])
            await set_floor(live, "a100", "1")
            await again.until(lambda: again.told()[2:] == [f"start {GPU} 4"])

    with_live(tmp_path / "market", tale)


def test_a_runner_killed_during_a_hook_runs_it_again(
    tmp_path: Path,
) -> None:
    async def tale(live: Live) -> None:
        run = Run(tmp_path, live, ONE_NODE.replace("echo start", "sleep 60; echo start"))
        work = asyncio.create_task(run.runner.run())
        await run.until(lambda: run.count("lease_start") == 1)
        work.cancel()
        await asyncio.wait([work])
        run.file.close()
        async with running(tmp_path, live, ONE_NODE) as again:
            await again.until(lambda: again.told() == [f"start {GPU} 4"])

    with_live(tmp_path / "market", tale)


@pytest.mark.parametrize("turns", range(4))
def test_a_runner_cancelled_together_with_an_event_ends(tmp_path: Path, turns: int) -> None:
    async def tale(live: Live) -> None:
        run = Run(tmp_path, live, ONE_NODE)
        work = asyncio.create_task(run.runner.run())
        await run.until(lambda: len(run.told()) == 1)
        run.runner._news.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        work.cancel()
        done, _ = await asyncio.wait([work], timeout=5)
        run.file.close()
        assert done

    with_live(tmp_path / "market", tale)


def test_a_failed_hook_is_reported_and_the_task_continues(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with running(tmp_path, live, ONE_NODE.replace("echo start", "exit 7; echo")) as run:
            await run.until(lambda: run.count("hook_failed") == 1)
            assert [GPU] == await leases(live)

    with_live(tmp_path / "market", tale)


def test_a_task_leaves_other_leases_alone_unless_it_adopts_them(
    tmp_path: Path,
) -> None:
    async def tale(live: Live) -> None:
        await live.world.place("ann", "h100/west", "2")
        run = Run(tmp_path, live, TWO_NODES)
        with pytest.raises(NotAlone, match=r"1 leases and 0 open orders.*--adopt"):
            await run.runner.run()
        run.file.close()
        assert 1 == len(await leases(live))
        async with running(tmp_path, live, TWO_NODES, adopt=True) as adopting:
            await adopting.until(
                lambda: any(line.startswith("end h100/west") for line in adopting.told())
            )
            await adopting.until(
                lambda: sum(line.startswith("start h100/east") for line in adopting.told()) == 2
            )

    with_live(tmp_path / "market", tale)


def test_stopping_a_task_gives_up_everything_and_forgets_it(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with running(tmp_path, live, TWO_NODES) as run:
            await run.until(lambda: len(run.told()) == 2)
        again = Run(tmp_path, live, TWO_NODES)
        await again.runner.release()
        again.file.close()
        assert [] == await leases(live)
        assert ["end", "end"] == [line.split()[0] for line in again.told()[2:]]
        assert not (tmp_path / "state.json").exists()

    with_live(tmp_path / "market", tale)


def test_a_finished_task_gives_up_its_nodes_and_ends(tmp_path: Path) -> None:
    text = (
        "resources: {accelerators: H100}\nnum_nodes: 2\nprobes: {progress: cat progress}\n"
        "market: {template: deadline, work_hours: 2, deadline: 2h, value: '20', cold_start: 1s}\n"
    )
    (tmp_path / "progress").write_text("0.1")

    async def tale(live: Live) -> None:
        run = Run(tmp_path, live, text)
        work = asyncio.create_task(run.runner.run())
        await run.until(lambda: run.count("lease_start") > 0)
        (tmp_path / "progress").write_text("1")
        await asyncio.wait_for(work, 10)
        run.file.close()
        assert [] == await leases(live)
        assert "done" == run.said[-1][0]

    with_live(tmp_path / "market", tale)


def test_a_failed_probe_is_reported_and_the_last_number_holds(tmp_path: Path) -> None:
    text = (
        "resources: {accelerators: H100}\nnum_nodes: 2\nprobes: {needed: cat needed}\n"
        "market: {template: slo, penalty_per_hour: '9', replicas_max: 4, cold_start: 1s}\n"
    )
    (tmp_path / "needed").write_text("3")

    async def tale(live: Live) -> None:
        async with running(tmp_path, live, text) as run:
            await run.until(lambda: run.count("lease_start") == 3)
            (tmp_path / "needed").write_text("many")
            await run.until(lambda: run.count("probe_failed") == 1)
            assert 3 == len(await leases(live))
            (tmp_path / "needed").write_text("1")
            await run.until(lambda: run.count("lease_end") == 2)

    with_live(tmp_path / "market", tale)


def test_a_spent_budget_ends_the_leases(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        await set_floor(live, "a100", "3.6")
        async with running(
            tmp_path, live, ONE_NODE.replace("max_price", "budget: '0.09', max_price")
        ) as run:
            await run.until(lambda: run.count("lease_start") == 1)
            live.world.passing.pass_us(60_000_000)  # six cents
            await run.until(lambda: run.count("lease_end") == 1)
            assert "budget_spent" == next(
                facts["reason"] for what, facts in run.said if what == "lease_end"
            )

    with_live(tmp_path / "market", tale)


def test_a_hook_that_saves_the_work_lets_the_limit_fall(tmp_path: Path) -> None:
    text = (
        "resources: {accelerators: A100}\nhooks: {on_limit_near: 'true'}\nmarket: {template:"
        " deadline, work_hours: 2, deadline: 3h, value: '20', cold_start: 1s, checkpoint_interval:"
        " 20m}\n"
    )

    async def limit(live: Live) -> float:
        (lease,) = (await live.world.ask("ann", "GET", "/v1/leases")).json()["data"]
        return float(lease["limit"])

    async def tale(live: Live) -> None:
        async with running(tmp_path, live, text) as run:
            await run.until(lambda: run.count("set_limit") > 0)  # it has seen its node
            before = await limit(live)
            live.world.passing.pass_us(15 * 60_000_000)
            await run.until(lambda: run.count("set_limit") > 1)
            assert await limit(live) > 2 * before
            await set_floor(live, "a100", f"{await limit(live) * 0.95:.2f}")
            notify_rates(live.world.gateway, "ann")
            # saved, it is no longer worth that much
            await run.until(lambda: run.count("lease_end") == 1)
            assert ["limit_near", "lease_end"] == [
                what for what, _ in run.said if what in ("limit_near", "lease_end")
            ]

    with_live(tmp_path / "market", tale)


def test_a_memory_of_another_task_is_refused(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with running(tmp_path, live, "name: one\n" + TWO_NODES):
            pass
        with pytest.raises(MemoryFault, match="belongs to the task one, this is two"):
            Run(tmp_path, live, "name: two\n" + TWO_NODES)

    with_live(tmp_path / "market", tale)


def test_a_memory_of_another_tenant_is_refused(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with running(tmp_path, live, TWO_NODES):
            pass
        live.world.secrets["ann"] = live.world.secrets["bob"]
        with pytest.raises(MemoryFault, match="belongs to the tenant ann, this is bob"):
            Run(tmp_path, live, TWO_NODES, tenant="bob")

    with_live(tmp_path / "market", tale)


def test_an_unknown_scope_is_refused_at_once(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        run = Run(tmp_path, live, TWO_NODES.replace("H100", "B200"))
        with pytest.raises(NoSuchPlace, match=r"names b200/east, .* there are a100, h100"):
            await run.runner.run()
        run.file.close()

    with_live(tmp_path / "market", tale)


def test_stopping_a_runner_reports_the_leases_that_go_on_costing(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        await set_floor(live, "h100", "1.5")
        async with running(tmp_path, live, TWO_NODES) as run:
            await run.until(lambda: run.count("lease_start") == 2)
        (left,) = [facts for what, facts in run.said if what == "left"]
        assert ("2", "0", "3", "8") == (
            left["leases"],
            left["orders"],
            left["per_hour"],
            left["at_most"],
        )

    with_live(tmp_path / "market", tale)


def test_a_task_can_be_released_after_its_template_was_changed(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        async with running(tmp_path, live, TWO_NODES) as run:
            await run.until(lambda: len(run.told()) == 2)
        again = Run(tmp_path, live, TWO_NODES.replace("on_demand, max_price", "spot, limit"))
        await again.runner.release()
        again.file.close()
        assert [] == await leases(live)

    with_live(tmp_path / "market", tale)


def test_a_dry_run_shows_the_commands_without_sending_them(tmp_path: Path) -> None:
    async def tale(live: Live) -> None:
        run = Run(tmp_path, live, TWO_NODES)
        assert ["PlaceOrder", "PlaceOrder"] == [
            type(command).__name__ for command in await run.runner.dry_run()
        ]
        run.file.close()
        assert [] == await leases(live)

    with_live(tmp_path / "market", tale)
