"""Cursors and dead letters: a restart resumes, a lost file repeats deliveries but skips none, and
dead letters stay."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from laissez.server.beside import FILE, Beside, BesideFailed
from laissez.server.settings import Limits, Webhooks
from laissez.server.webhooks.cursors import Cursor, Cursors
from laissez.server.webhooks.delivery import GONE
from laissez.server.webhooks.signing import SigningKey
from laissez.wire.events import Numbered, WebhookDeleted
from laissez.wire.limits import DEAD_LETTERS_MAX
from laissez.wire.problems import ProblemError
from laissez.wire.webhooks import DeadLetter
from laissez_check.disk.faulty import FaultyDisk
from support.webhook_world import (
    DAY_S,
    ORIGIN,
    Hooks,
    beside_of,
    keep_cursors,
    kept_cursors,
    with_hooks,
)

pytestmark = pytest.mark.once


def test_a_restart_resumes_with_the_failed_delivery(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    kept: dict[str, Any] = {}

    async def before(hooks: Hooks) -> None:
        made = kept["made"] = await hooks.create()
        await hooks.until(made["id"], delivered=1)
        hooks.receiver.answers = [500]
        await hooks.world.place("ann", "h100", "1")
        await hooks.until(made["id"], failures=1)
        kept["failed"] = hooks.receiver.got[-1]
        await hooks.world.place("ann", "h100", "1")
        kept["port"] = hooks.receiver.port

    async def after(hooks: Hooks) -> None:
        async def serve_there() -> None:
            server = await asyncio.start_server(hooks.receiver.serve, "127.0.0.1", kept["port"])
            async with server:
                await hooks.until(kept["made"]["id"])
                hooks.pass_s(1)  # if the first attempt preceded the server
                await hooks.until(kept["made"]["id"], delivered=5)

        await serve_there()
        first, *rest = hooks.receiver.got
        assert (kept["failed"].headers["webhook-id"], kept["failed"].body) == (
            first.headers["webhook-id"],
            first.body,
        )
        assert [4, 5] == [n for one in rest for n in one.numbers]
        assert {2, 3} == {told.n for told in hooks.verified(kept["made"]["secret"], first)}

    with_hooks(tmp_path / "data", before, secrets=secrets)
    with_hooks(tmp_path / "data", after, secrets=secrets)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("DELETE FROM cursors", "webhook cursors are lost"),
        ("UPDATE cursors SET body = x'00'", "a row of beside.db is damaged and ignored"),
        ("UPDATE cursors SET body = 7", "a row of beside.db is damaged and ignored"),
        ("DROP TABLE cursors", "webhook cursors could not be read"),
    ],
)
def test_a_lost_or_damaged_cursor_repeats_deliveries_and_skips_none(
    tmp_path: Path, damage: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    secrets: dict[str, str] = {}
    ids: list[str] = []

    async def before(hooks: Hooks) -> None:
        ids.append((await hooks.create())["id"])
        await hooks.world.place("ann", "h100", "1")
        await hooks.until(ids[0], delivered=3)

    async def after(hooks: Hooks) -> None:
        shown = await hooks.show(ids[0])
        assert 0 == shown["delivered"]  # from its creation on

    with_hooks(tmp_path / "data", before, secrets=secrets)
    with beside_of(tmp_path / "data") as beside:
        beside.transact(lambda connection: connection.execute(damage))
    with caplog.at_level(logging.WARNING, "laissez"):
        with_hooks(tmp_path / "data", after, secrets=secrets)
    assert told in caplog.text and "start again from each webhook's creation" in caplog.text


def test_a_damaged_database_repeats_deliveries_and_skips_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secrets: dict[str, str] = {}
    ids: list[str] = []

    async def before(hooks: Hooks) -> None:
        ids.append((await hooks.create())["id"])
        await hooks.until(ids[0], delivered=1)

    async def after(hooks: Hooks) -> None:
        assert 0 == (await hooks.show(ids[0]))["delivered"]

    with_hooks(tmp_path / "data", before, secrets=secrets)
    (tmp_path / "data" / FILE).write_bytes(bytes(10_000))
    with_hooks(tmp_path / "data", after, secrets=secrets, runs=False)
    assert "is damaged and was set aside" in caplog.text


def test_a_cursor_of_nonexistent_events_is_ignored(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    ids: list[str] = []

    async def before(hooks: Hooks) -> None:
        ids.append((await hooks.create())["id"])
        await hooks.until(ids[0], delivered=1)

    async def after(hooks: Hooks) -> None:
        assert 0 == (await hooks.show(ids[0]))["delivered"]

    with_hooks(tmp_path / "data", before, secrets=secrets)
    (kept,) = kept_cursors(tmp_path / "data", *ids).values()
    # as after restoring an older journal
    ahead = msgspec.structs.replace(kept, delivered=10**6)
    # as after restoring another journal
    elsewhere = msgspec.structs.replace(kept, started_at=kept.started_at - 1)
    for wrong in (ahead, elsewhere):
        keep_cursors(tmp_path / "data", {ids[0]: wrong})
        with_hooks(tmp_path / "data", after, secrets=secrets, runs=False)


def with_dead_letter(folder: Path, secrets: dict[str, str]) -> str:
    """The id of a webhook whose first event was given up."""
    ids: list[str] = []

    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [503] * 9
        ids.append((await hooks.create())["id"])
        await hooks.until(ids[0], failures=1)
        hooks.pass_s(DAY_S)
        await hooks.until(ids[0], dead_letters=1)

    with_hooks(folder, tale, secrets=secrets)
    return ids[0]


def test_missing_dead_letters_are_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The cursor has their number. A bug once showed an empty list."""
    secrets: dict[str, str] = {}
    id = with_dead_letter(tmp_path / "data", secrets)

    async def after(hooks: Hooks) -> None:
        assert 0 == (await hooks.show(id))["dead_letters"]

    with beside_of(tmp_path / "data") as beside:
        beside.transact(lambda connection: connection.execute("DELETE FROM dead_letters"))
    with caplog.at_level(logging.WARNING, "laissez"):
        with_hooks(tmp_path / "data", after, secrets=secrets, runs=False)
    assert "dead letters of a webhook are lost" in caplog.text


def test_a_damaged_dead_letter_is_logged_and_not_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secrets: dict[str, str] = {}
    id = with_dead_letter(tmp_path / "data", secrets)

    async def after(hooks: Hooks) -> None:
        assert [] == await hooks.letters(id)

    with beside_of(tmp_path / "data") as beside:
        beside.transact(lambda connection: connection.execute("UPDATE dead_letters SET n = 2"))
    with_hooks(tmp_path / "data", after, secrets=secrets, runs=False)
    assert "a row of beside.db is damaged and ignored" in caplog.text


def test_rows_of_a_deleted_webhook_are_removed_at_the_next_start(tmp_path: Path) -> None:
    beside = Beside(tmp_path / FILE, ORIGIN)
    asyncio.run(Cursors(beside).add_letters("whk_x", Cursor(1, 1, 1), [letter(1)]))
    asyncio.run(Cursors(beside).save({"whk_y": Cursor(1, 1, 1)}))
    assert {"whk_y"} == Cursors(beside).load(["whk_y"]).keys()
    assert {"whk_y"} == Cursors(beside).load(["whk_x", "whk_y"]).keys()
    assert [] == asyncio.run(Cursors(beside).letters("whk_x"))


def test_a_stop_completes_interrupted_writes_of_cursors(tmp_path: Path) -> None:
    may_write = threading.Event()
    ids: list[str] = []

    async def tale(hooks: Hooks) -> None:
        endpoints, beside = hooks.running._endpoints, hooks.world.beside
        ids.append((await hooks.create())["id"])
        await endpoints.update()
        other = asyncio.create_task(beside.run(lambda connection: may_write.wait(10)))
        writing = asyncio.create_task(endpoints.save())
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.wait([writing])
        assert endpoints.has_unsaved
        may_write.set()
        await other
        await hooks.running._stop()
        assert not endpoints.has_unsaved

    with_hooks(tmp_path / "data", tale, runs=False)
    assert {*ids} == kept_cursors(tmp_path / "data", *ids).keys()


def test_with_webhooks_switched_off_nothing_is_sent_and_they_can_be_deleted(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    ids: list[str] = []

    async def before(hooks: Hooks) -> None:
        hooks.receiver.answers = [500] * 9
        ids.append((await hooks.create())["id"])

    async def after(hooks: Hooks) -> None:
        refused = await hooks.world.ask("ann", "POST", "/v1/webhooks", {"url": hooks.receiver.url})
        assert (422, "url_not_allowed") == (
            refused.status_code,
            refused.json()["code"],
        ) and "switched off" in refused.json()["detail"]
        assert 200 == (await hooks.world.ask("ann", "DELETE", f"/v1/webhooks/{ids[0]}")).status_code
        assert [] == hooks.receiver.got

    with_hooks(tmp_path / "data", before, secrets=secrets)
    with_hooks(tmp_path / "data", after, Webhooks(enabled=False), secrets=secrets)


# -- dead letters


AT = "2026-11-15T08:30:00.000000Z"


def letter(n: int) -> DeadLetter:
    return DeadLetter(n, n, None, "x", AT)


def whole(n: int) -> DeadLetter:
    return DeadLetter(n, n, Numbered(n, WebhookDeleted(AT, "whk_x")), "x", AT)


def test_dead_letters_are_limited_and_the_oldest_are_dropped_and_counted(tmp_path: Path) -> None:
    async def story() -> None:
        cursors, most = Cursors(Beside(tmp_path / FILE, ORIGIN)), DEAD_LETTERS_MAX
        cursor = Cursor(1, 1, 0)
        cursor = await cursors.add_letters("whk_x", cursor, [whole(n) for n in range(1, most + 1)])
        assert (most, 0) == (cursor.letters, cursor.dropped)
        cursor = await cursors.add_letters("whk_x", cursor, [whole(most + 1)])
        assert (most, 1) == (cursor.letters, cursor.dropped)
        assert 2 == (await cursors.letters("whk_x"))[0].n
        # again, after a crash
        cursor = await cursors.add_letters("whk_x", cursor, [whole(most + 1), whole(most + 2)])
        kept = await cursors.letters("whk_x")
        assert [*range(3, most + 3)] == [one.n for one in kept]
        assert {"whk_x": cursor} == cursors.load(["whk_x"])

    asyncio.run(story())


def test_a_page_of_dead_letters_costs_as_much_as_the_whole_list(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        made = await hooks.create()
        endpoint = hooks.running._endpoints.of(hooks.world.gateway.exchange.webhooks.live["ann", 1])
        hooks.running._endpoints.all[made["id"]] = endpoint
        endpoint.cursor = await hooks.running._cursors.add_letters(
            made["id"], endpoint.cursor, [whole(n) for n in range(1, 201)]
        )
        before = hooks.world.gateway.admission.read_limit("ann").remaining
        found = await hooks.world.ask(
            "ann", "GET", f"/v1/webhooks/{made['id']}/dead-letters?limit=1"
        )
        assert (1, 3) == (
            len(found.json()["data"]),
            before - hooks.world.gateway.admission.read_limit("ann").remaining,
        )

    with_hooks(tmp_path / "data", tale, limits=Limits(commands_per_second=1), runs=False)


def test_a_range_of_lost_events_does_not_replace_whole_letters(tmp_path: Path) -> None:
    async def story() -> None:
        cursors, cursor = Cursors(Beside(tmp_path / FILE, ORIGIN)), Cursor(1, 1, 0)
        await cursors.add_letters("whk_x", cursor, [whole(3), whole(5)])
        # again, after a crash
        await cursors.add_letters("whk_x", cursor, [DeadLetter(2, 5, None, GONE, AT)])
        assert [whole(3), whole(5)] == await cursors.letters("whk_x")
        await cursors.add_letters("whk_x", cursor, [DeadLetter(2, 9, None, GONE, AT)])
        kept = await cursors.letters("whk_x")
        assert [(3, 3), (5, 5), (6, 9)] == [(one.n, one.last) for one in kept]

    asyncio.run(story())


def test_a_new_webhook_reports_events_lost_while_the_service_was_down(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    ids: list[str] = []

    async def before(hooks: Hooks) -> None:
        hooks.receiver.answers = [503] * 9
        ids.extend([(await hooks.create())["id"], (await hooks.create())["id"]])
        await hooks.until(ids[1], failures=1)

    async def after(hooks: Hooks) -> None:
        hooks.pass_s(DAY_S + 1)
        hooks.world.gateway.end_holds()
        shown = await hooks.until(ids[1], dead_letters=1)
        assert (2, 2) == (shown["delivered"], (await hooks.letters(ids[1]))[0]["last"])

    with_hooks(tmp_path / "data", before, secrets=secrets)
    kept_cursors(tmp_path / "data", ids[0])  # as after a crash before the other write
    with_hooks(tmp_path / "data", after, secrets=secrets)


def test_a_deleted_webhook_leaves_nothing_even_while_its_letters_are_written(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        cursors = Cursors(Beside(tmp_path / FILE, ORIGIN))
        writing = asyncio.create_task(cursors.add_letters("whk_x", Cursor(1, 1, 1), [letter(1)]))
        await asyncio.sleep(0)
        writing.cancel()
        await cursors.forget(["whk_x"])
        assert writing.done() and {} == cursors.load(["whk_x"])
        assert [] == await cursors.letters("whk_x")

    asyncio.run(story())


def test_unwritable_dead_letters_are_not_skipped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(work: object) -> None:
        raise BesideFailed("database or disk is full")

    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [503] * 2
        made = await hooks.create()
        await hooks.until(made["id"], failures=1)
        monkeypatch.setattr(hooks.world.beside, "transact", full)
        hooks.pass_s(DAY_S - 60)
        shown = await hooks.until(made["id"], failures=3)  # the attempt and the letter
        assert (0, 0) == (shown["delivered"], shown["dead_letters"])
        monkeypatch.undo()
        hooks.pass_s(30)
        await hooks.until(made["id"], delivered=1)

    with_hooks(tmp_path / "data", tale)
    assert "dead letters could not be written" in caplog.text


def test_the_defaults_are_as_promised() -> None:
    settings = Webhooks()
    assert (True, False, (), 10.0, 24.0, 16) == (
        settings.enabled,
        settings.allow_http,
        settings.allow_addresses,
        settings.timeout_s,
        settings.dead_after_hours,
        settings.deliveries_max,
    )
    assert settings.dead_after_hours <= Limits().history_hours


@pytest.mark.parametrize("seed", range(6))
def test_a_key_whose_sync_failed_is_synced_before_it_signs(tmp_path: Path, seed: int) -> None:
    """The disk failed to sync the file's name. The next process finds the key, which a power
    failure must not take after it has signed."""
    with FaultyDisk(tmp_path, Random(seed)) as disk:
        for fails in range(1, 10):
            path = tmp_path / f"data{fails}" / "keys" / "webhooks.key"
            path.parent.parent.mkdir()
            disk.fail_at = disk.operations + fails
            with suppress(ProblemError):
                SigningKey(path, ORIGIN).load()
            disk.kill()
            disk.fail_at = None
            signed = SigningKey(path, ORIGIN).secret("whk_1", AT)
            disk.power_off()
            assert signed == SigningKey(path, ORIGIN).secret("whk_1", AT)
