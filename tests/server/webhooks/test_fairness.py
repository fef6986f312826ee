"""Fairness: slow and dead receivers, however many, never delay live ones."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from laissez.exchange.commands import SERVICE
from laissez.market import Alternative
from laissez.market.commands import CancelOrder, PlaceOrder
from laissez.market.events import OrderPlaced
from laissez.server.webhooks.dispatcher import PER_HOLDER_MAX
from laissez.wire.limits import (
    WEBHOOK_DELIVERIES_BURST,
    WEBHOOK_DELIVERIES_PER_SECOND,
    WEBHOOK_EVENTS_MAX,
)
from support.webhook_world import OPEN, Hooks, receiving, with_hooks

pytestmark = pytest.mark.once


def test_deliveries_per_holder_are_limited_and_a_slot_is_kept_for_swift_receivers(
    tmp_path: Path,
) -> None:
    async def tale(hooks: Hooks) -> None:
        async with receiving() as deaf:
            deaf.answers = [None] * 9
            own = await hooks.create()
            await hooks.until(own["id"], delivered=1)
            for _ in range(PER_HOLDER_MAX):
                await hooks.create(url=deaf.url)
            await deaf.count(PER_HOLDER_MAX - 1)
            made = await hooks.create("bob")
            await hooks.until(made["id"], "bob", delivered=1)
            await hooks.until(own["id"], delivered=1 + PER_HOLDER_MAX)
            assert (PER_HOLDER_MAX - 1, 0) == (len(deaf.got), deaf.closed)

    with_hooks(
        tmp_path / "data", tale, msgspec.structs.replace(OPEN, deliveries_max=2 * PER_HOLDER_MAX)
    )


def test_some_slots_are_reserved_for_swift_receivers(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        made = await hooks.create("bob")
        await hooks.until(made["id"], "bob", delivered=1)
        async with receiving() as deaf:
            deaf.answers = [None] * 9
            for who in ("ann", "operator"):
                for _ in range(2):
                    await hooks.create(who, url=deaf.url)
            await deaf.count(3)
            await hooks.world.place("bob", "h100", "1")
            await hooks.until(made["id"], "bob", delivered=3)
            assert (3, 0) == (len(deaf.got), deaf.closed)

    with_hooks(tmp_path / "data", tale, msgspec.structs.replace(OPEN, deliveries_max=4))


def test_a_restarted_webhook_queues_behind_waiting_ones(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [500]
        waits = await hooks.create("bob")
        await hooks.until(waits["id"], "bob", failures=1)
        async with receiving() as deaf:
            deaf.answers = [None] * 9
            made = await hooks.create(url=deaf.url)
            await deaf.count(1)
            hooks.pass_s(1)  # the other one is due, and the only slot is taken
            await hooks.world.ask(
                "ann", "POST", f"/v1/webhooks/{made['id']}/redeliver", {"after": 0}
            )
            await hooks.until(waits["id"], "bob", delivered=1)

    with_hooks(
        tmp_path / "data", tale, msgspec.structs.replace(OPEN, deliveries_max=1, timeout_s=60.0)
    )


def test_a_tenant_above_its_delivery_rate_pauses_without_delaying_others(tmp_path: Path) -> None:
    """A webhook is restarted again and again. It wants none of the events, so no receiver slows it
    down."""
    pages = WEBHOOK_DELIVERIES_BURST + 1  # the last page is debt

    async def tale(hooks: Hooks) -> None:
        gateway = hooks.world.gateway
        await hooks.world.ask("operator", "PUT", "/v1/floors/h100", {"price": "1"})
        for _ in range(pages * WEBHOOK_EVENTS_MAX // 2 + WEBHOOK_EVENTS_MAX):
            order = PlaceOrder("ann", (Alternative("h100", 0, 0),))
            (placed,) = gateway.enter("ann", SERVICE, "", order).events
            assert isinstance(placed, OrderPlaced)
            gateway.enter("ann", SERVICE, "", CancelOrder("ann", placed.order))
        made = await hooks.create(types=["fee.charged"], after=0)
        await hooks.until(made["id"], delivered=pages * WEBHOOK_EVENTS_MAX)
        await hooks.world.ask("ann", "POST", f"/v1/webhooks/{made['id']}/redeliver", {"after": 0})
        others = await hooks.create("bob")
        await hooks.until(others["id"], "bob", delivered=1)
        assert 0 == (await hooks.show(made["id"]))["delivered"]
        hooks.pass_s(1 / WEBHOOK_DELIVERIES_PER_SECOND)  # then the debt is paid
        await hooks.until(made["id"], delivered=WEBHOOK_EVENTS_MAX)

    with_hooks(tmp_path / "data", tale)
