"""A batch lets other work run between its commands. Each command is still carried out once, in
order, and only while the key is valid."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import httpx
import pytest
from msgspec.structs import replace

from laissez.exchange.commands import OPERATOR, RevokeKey
from laissez.market.commands import SetFloor
from laissez.server import background
from laissez.server.settings import Limits
from support.service_world import GENEROUS, World, with_service

pytestmark = pytest.mark.once

Story: TypeAlias = Callable[[World], Awaitable[None]]

COUNT = 20
BATCH = {
    "commands": [
        {"type": "place_order", "alternatives": [{"scope": "h100", "limit": f"0.{100 + n}"}]}
        for n in range(COUNT)
    ]
}


@pytest.fixture(autouse=True)
def _a_turn_after_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "WORK_US", 0)


def with_expensive_leaves(folder: Path, story: Story, limits: Limits = GENEROUS) -> None:
    """Every order waits, so that the market shows the placed ones."""

    async def begin(world: World) -> None:
        world.gateway.enter(OPERATOR, "", "", SetFloor("h100", 9_000_000))
        await story(world)

    with_service(folder, begin, limits)


def send(world: World, who: str, key: str) -> Awaitable[httpx.Response]:
    return world.ask(who, "POST", "/v1/batch", BATCH, key=key)


async def once_begun(world: World, then: Callable[[], object]) -> None:
    while not limits_of(world, "ann"):
        await asyncio.sleep(0)
    then()


def limits_of(world: World, tenant: str) -> list[int]:
    return [order.alternatives[0].limit for order in world.gateway.exchange.market.orders(tenant)]


IN_ORDER = [100_000 + 1_000 * n for n in range(COUNT)]


def test_batches_of_two_tenants_are_interleaved(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        anns, bobs = await asyncio.gather(send(world, "ann", "a"), send(world, "bob", "b"))
        assert (
            [200] * COUNT
            == [item["status"] for item in anns.json()["results"]]
            == [item["status"] for item in bobs.json()["results"]]
        )
        assert IN_ORDER == limits_of(world, "ann") == limits_of(world, "bob")
        owners = [
            order.tenant
            for order in sorted(
                world.gateway.exchange.market.orders(), key=lambda order: order.order
            )
        ]
        # neither batch waited for the whole other one
        assert 2 * COUNT == len(owners) and sorted(owners) != owners

    with_expensive_leaves(tmp_path, story)


def test_two_simultaneous_copies_of_a_batch_are_carried_out_once(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        first, second = await asyncio.gather(send(world, "ann", "k"), send(world, "ann", "k"))
        assert IN_ORDER == limits_of(world, "ann")
        assert first.json() == second.json() == (await send(world, "ann", "k")).json()

    with_expensive_leaves(tmp_path, story)


def test_revoking_the_key_interrupts_a_batch_and_another_key_completes_it(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        secret = world.new_secret("ann", "read", "trade")
        key = (await world.ask(secret, "GET", "/v1/me")).json()["key"]
        revoke = partial(world.gateway.enter, OPERATOR, "", "", RevokeKey(key))
        ended, _ = await asyncio.gather(send(world, secret, "k"), once_begun(world, revoke))
        done = limits_of(world, "ann")
        assert 401 == ended.status_code
        assert 0 < len(done) < COUNT and IN_ORDER[: len(done)] == done
        rest = await send(world, "ann", "k")
        assert 200 == rest.status_code and IN_ORDER == limits_of(world, "ann")

    with_expensive_leaves(tmp_path, story)


def test_a_failing_journal_ends_a_batch(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        ended, _ = await asyncio.gather(
            send(world, "ann", "k"),
            once_begun(world, partial(world.gateway.fail, "the disk is gone")),
        )
        assert (503, "journal_failed") == (ended.status_code, ended.json()["code"])
        assert 0 < len(limits_of(world, "ann")) < COUNT

    with_expensive_leaves(tmp_path, story)


def test_the_rest_of_a_batch_counts_as_pending_commands(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        answers = await asyncio.gather(send(world, "ann", "a"), send(world, "bob", "b"))
        assert [200, 503] == [answer.status_code for answer in answers]
        assert IN_ORDER == limits_of(world, "ann") and [] == limits_of(world, "bob")
        assert 0 == world.gateway.admission.promised
        assert 200 == (await send(world, "bob", "b")).status_code

    with_expensive_leaves(
        tmp_path,
        story,
        replace(GENEROUS, pending_commands_max=COUNT + COUNT // 2, batch_commands_max=COUNT),
    )
