"""The first key: readable by its owner only, and on the disk before it is in force. The state of a
new sample market."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from laissez.exchange.commands import SERVICE, Caps, CreateTenant
from laissez.journal import disk
from laissez.server import first_start
from support.service_world import World, with_service

pytestmark = pytest.mark.once


def eve_has_key(world: World) -> bool:
    return any(key.holder == "eve" for key in world.gateway.exchange.keys.values())


def test_a_first_keys_file_is_synced_before_the_key_is_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"

    async def story(world: World) -> None:
        world.gateway.enter("operator", SERVICE, "", CreateTenant("eve", Caps()))
        kept: list[tuple[Path, bool]] = []
        monkeypatch.setattr(
            disk.System,
            "fsync",
            lambda system, path: kept.append((path, eve_has_key(world))),
        )
        path = await asyncio.wait_for(first_start.issue_first_key(world.gateway, folder, "eve"), 10)
        assert path is not None and path.read_text().startswith("lz_")
        assert [(folder / "keys", False), (folder, False)] == kept[-2:]

    with_service(folder, story)


def test_a_sample_gives_its_traders_budgets_once(tmp_path: Path) -> None:
    folder = tmp_path / "data"

    async def story(world: World) -> None:
        await first_start.set_up_sample(world.gateway, folder)
        accounts = world.gateway.exchange.accounts
        assert first_start.BUDGETS == {
            name: account.budget.amount
            for name, account in accounts.items()
            if account.budget is not None
        }
        position = world.gateway.position
        await first_start.set_up_sample(world.gateway, folder)
        assert position == world.gateway.position

    with_service(folder, story, topology=first_start.SAMPLE_TOPOLOGY)
