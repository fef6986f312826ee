"""Totals of the market over time: bounded samples with counts since the previous one, and the same
metrics."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from laissez.market.reasons import EndReason
from laissez.server import samples as server_samples
from laissez.server.background import every
from laissez.server.samples import SAMPLE_EVERY_S
from support.service_world import HOUR_US, LEAVES, World, with_service

pytestmark = pytest.mark.once

LEAF = LEAVES[-1]


async def samples(world: World) -> list[dict[str, Any]]:
    answer = await world.ask("operator", "GET", "/v1/market/history")
    assert 200 == answer.status_code and 10.0 == answer.json()["every_s"]
    return list(answer.json()["samples"])


async def figures(world: World) -> dict[str, float]:
    """The metrics by name and labels."""
    text = (await world.ask("operator", "GET", "/metrics")).text
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {" ".join([sample.name, *sample.labels.values()]): sample.value for sample in found}


async def a_leaf_changes_hands(world: World) -> None:
    """Bob takes the A100 from Ann and relinquishes it. Ann leases it, relinquishes it and wins it
    again at once, until it goes offline."""
    await world.place("ann", LEAF, "2")
    bobs = (await world.place("bob", LEAF, "5"))["lease"]
    await world.ask("bob", "DELETE", f"/v1/leases/{bobs}")
    anns = (await world.place("ann", LEAF, "2"))["lease"]
    assert "open" == (await world.place("ann", LEAF, "1"))["state"]
    await world.ask("ann", "DELETE", f"/v1/leases/{anns}")
    await world.ask("operator", "PATCH", f"/v1/resources/{LEAF}", {"online": False})


def test_a_sample_shows_the_market_and_counts_since_the_previous_one(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        take = world.app.site.samples.take
        assert [] == await samples(world)
        await take()
        await a_leaf_changes_hands(world)
        await world.place("ann", LEAVES[0], "9")
        await world.place("bob", LEAVES[0], "3.6")
        world.passing.pass_us(HOUR_US)
        await take()
        await take()
        first, second, third = await samples(world)
        assert (0, 0, 0, 0, "0", "0.000000") == tuple(
            first[name]
            for name in ("transfers", "started", "ended", "leased", "rate_now", "revenue")
        )
        assert (1, 5, 4, 1) == tuple(
            second[name] for name in ("transfers", "started", "ended", "leased")
        )
        assert (9, 8, 1, "3.6") == tuple(
            second[name] for name in ("leaves", "online", "open_orders", "rate_now")
        )
        assert second["revenue"].startswith("3.60") and first["at"] < second["at"] < third["at"]
        assert (0, 0, 0) == tuple(third[name] for name in ("transfers", "started", "ended"))
        now = (await world.ask("operator", "GET", "/v1/market")).json()
        assert {
            name: now[name] for name in ("leaves", "online", "leased", "open_orders", "rate_now")
        }.items() <= third.items()
        assert 403 == (await world.ask("ann", "GET", "/v1/market/history")).status_code

    with_service(tmp_path / "data", story)


def test_the_oldest_sample_is_dropped_above_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_samples, "SAMPLES_MAX", 3)

    async def story(world: World) -> None:
        for _ in range(5):
            await world.app.site.samples.take()
        kept = await samples(world)
        await world.app.site.samples.take()
        assert (3, kept[1:]) == (len(kept), (await samples(world))[:2])

    with_service(tmp_path / "data", story)


def test_samples_are_taken_at_the_start_and_then_at_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is taken after the journal has failed, because it could not be shown."""
    slept: list[float] = []
    turns = asyncio.Semaphore(0)

    async def sleep(seconds: float) -> None:
        if seconds:
            slept.append(seconds)
            await turns.acquire()

    async def story(world: World) -> None:
        monkeypatch.setattr(asyncio, "sleep", sleep)
        running = asyncio.create_task(
            every(SAMPLE_EVERY_S, world.gateway, world.app.site.samples.take)
        )
        counts = []
        for number in range(1, 4):
            while len(slept) < number:
                await asyncio.wait([running], timeout=0.001)
            counts.append(len(world.app.site.samples.history().samples))
            if number == 2:
                world.gateway.failure = "it failed"
            turns.release()
        running.cancel()
        assert ([1, 2, 2], [10.0] * 3) == (counts, slept[:3])

    with_service(tmp_path / "data", story)


def test_metrics_count_starts_ends_and_transfers_of_leases(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        before = await figures(world)
        # there from the start
        assert {0.0} == {before[f"laissez_leases_ended_total {reason}"] for reason in EndReason}
        await a_leaf_changes_hands(world)
        await world.place("ann", LEAVES[0], "9")
        await world.place("bob", LEAVES[0], "3.6")
        found = await figures(world)
        expected = {
            "laissez_transfers_total": 1.0,
            "laissez_leases_started_total": 5.0,
            "laissez_leases_ended_total outbid": 1.0,
            "laissez_leases_ended_total relinquished": 2.0,
            "laissez_leases_ended_total taken_offline": 1.0,
            "laissez_rate_microdollars_per_hour": 3_600_000.0,
        }
        assert expected == {name: found[name] for name in expected}

    with_service(tmp_path / "data", story)
