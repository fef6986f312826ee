"""What is kept of webhooks beside the journal: a restart goes on where it was, a lost file repeats
and skips nothing, dead letters stay."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from laissez.server.settings import Limits, Webhooks
from laissez.server.webhooks.delivery import GONE
from laissez.server.webhooks.keeping import Cursor, Keeping
from laissez.server.webhooks.sealed import seal, unseal
from laissez.server.webhooks.signing import SigningKey
from laissez.wire.events import Numbered, WebhookDeleted
from laissez.wire.limits import DEAD_LETTERS_MAX
from laissez.wire.webhooks import DeadLetter
from laissez_check.disk.faulty import FaultyDisk
from webhook_world import DAY_S, ORIGIN, Hooks, keep_cursors, kept_cursors, with_hooks

pytestmark = pytest.mark.once


def test_a_restart_goes_on_where_it_was_with_the_delivery_that_had_failed(tmp_path: Path) -> None:
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
                hooks.pass_s(1)  # if the first attempt came before the server did
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


@pytest.mark.parametrize("content", [None, b"{", b'{"whk_x": {"starts": "many"}}'])
def test_a_lost_or_damaged_cursor_repeats_deliveries_and_skips_none(
    tmp_path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    secrets: dict[str, str] = {}
    ids: list[str] = []
    file = tmp_path / "data" / "webhooks" / "cursors.json"

    async def before(hooks: Hooks) -> None:
        ids.append((await hooks.create())["id"])
        await hooks.world.place("ann", "h100", "1")
        await hooks.until(ids[0], delivered=3)

    async def after(hooks: Hooks) -> None:
        shown = await hooks.show(ids[0])
        assert 0 == shown["delivered"]  # from its creation on

    with_hooks(tmp_path / "data", before, secrets=secrets)
    assert file.exists()
    file.unlink() if content is None else file.write_bytes(content)
    with caplog.at_level(logging.WARNING, "laissez.webhooks"):
        with_hooks(tmp_path / "data", after, secrets=secrets)
    assert "they start again from their creation" in caplog.text


def test_a_cursor_of_events_that_never_were_is_not_believed(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    ids: list[str] = []

    async def before(hooks: Hooks) -> None:
        ids.append((await hooks.create())["id"])
        await hooks.until(ids[0], delivered=1)

    async def after(hooks: Hooks) -> None:
        assert 0 == (await hooks.show(ids[0]))["delivered"]

    with_hooks(tmp_path / "data", before, secrets=secrets)
    (kept,) = kept_cursors(tmp_path / "data").values()
    # as when an older journal was put back beside it
    ahead = msgspec.structs.replace(kept, delivered=10**6)
    # as when another one was
    elsewhere = msgspec.structs.replace(kept, started_at=kept.started_at - 1)
    for wrong in (ahead, elsewhere):
        keep_cursors(tmp_path / "data", {ids[0]: wrong})
        with_hooks(tmp_path / "data", after, secrets=secrets, runs=False)


def left_with_a_dead_letter(folder: Path, secrets: dict[str, str]) -> str:
    """A webhook, by its id, whose first event was given up."""
    ids: list[str] = []

    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [503] * 9
        ids.append((await hooks.create())["id"])
        await hooks.until(ids[0], failures=1)
        hooks.pass_s(DAY_S)
        await hooks.until(ids[0], dead_letters=1)

    with_hooks(folder, tale, secrets=secrets)
    return ids[0]


def test_dead_letters_that_are_gone_are_missed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The cursor tells how many there were; the list was simply empty."""
    secrets: dict[str, str] = {}
    id = left_with_a_dead_letter(tmp_path / "data", secrets)

    async def after(hooks: Hooks) -> None:
        assert 0 == (await hooks.show(id))["dead_letters"]

    (tmp_path / "data" / "webhooks" / f"{id}.json").unlink()
    with caplog.at_level(logging.WARNING, "laissez.webhooks"):
        with_hooks(tmp_path / "data", after, secrets=secrets, runs=False)
    assert "dead letters of a webhook are lost" in caplog.text


def test_a_file_that_is_damaged_renamed_or_of_another_journal_is_not_believed() -> None:
    """One digit of a cursor made a webhook pass over events; letters under another's name were
    shown to it."""
    stored = seal(ORIGIN, "cursors.json", b'{"delivered": 12}')
    assert b'{"delivered": 12}' == unseal(ORIGIN, "cursors.json", stored)
    for origin, name, found in (
        (ORIGIN, "cursors.json", stored.replace(b"12", b"17")),
        (ORIGIN, "cursors.json", stored[:-1]),
        (ORIGIN, "whk_1.json", stored),
        (b"another journal", "cursors.json", stored),
    ):
        with pytest.raises(msgspec.MsgspecError):
            unseal(origin, name, found)


def test_what_was_kept_before_there_was_a_seal_is_gone_on_from(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The first start of a new version delivered everything again, and dead letters were lost."""
    secrets: dict[str, str] = {}
    id = left_with_a_dead_letter(tmp_path / "data", secrets)

    async def after(hooks: Hooks) -> None:
        shown = await hooks.show(id)
        assert (1, 1, 1) == (
            shown["delivered"],
            shown["dead_letters"],
            len(await hooks.letters(id)),
        )

    caplog.clear()
    for name in ("cursors.json", f"{id}.json"):
        file = tmp_path / "data" / "webhooks" / name
        file.write_bytes(msgspec.json.encode(msgspec.json.decode(file.read_bytes())["content"]))
    with caplog.at_level(logging.WARNING, "laissez.webhooks"):
        with_hooks(tmp_path / "data", after, secrets=secrets, runs=False)
    assert "" == caplog.text


@pytest.mark.parametrize("at", range(len('{"content":{')))
def test_a_file_whose_seal_is_damaged_is_not_taken_for_one_from_before_there_was_one(
    tmp_path: Path, at: int
) -> None:
    keeping, cursor = Keeping(tmp_path, ORIGIN), Cursor(1, 1, 12)
    asyncio.run(keeping.keep_cursors({"whk_x": cursor}))
    asyncio.run(keeping.add_letters("whk_x", [letter(7)]))
    assert ({"whk_x": cursor}, 1) == (keeping.cursors(), len(keeping.letters("whk_x").kept))
    for file in (tmp_path / "cursors.json", tmp_path / "whk_x.json"):
        damaged = bytearray(file.read_bytes())
        damaged[at] ^= 1
        file.write_bytes(damaged)
    assert ({}, ()) == (keeping.cursors(), keeping.letters("whk_x").kept)


def test_a_stop_writes_the_cursors_whose_writing_it_cut_short(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        courses, keeping = hooks.running._courses, hooks.running._keeping
        await hooks.create()
        await courses.keep_up(0, lambda id: None)
        courses.unkept = True
        async with keeping._turn:  # as while dead letters are being written
            writing = asyncio.create_task(courses.keep())
            await asyncio.sleep(0)
            writing.cancel()
            await asyncio.wait([writing])
            assert {} == keeping.cursors() and courses.unkept
        await hooks.running._stop()
        assert 1 == len(keeping.cursors()) and not courses.unkept

    with_hooks(tmp_path / "data", tale, runs=False)


def test_a_webhook_that_is_switched_off_by_the_settings_is_sent_nothing_and_can_be_deleted(
    tmp_path: Path,
) -> None:
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


def test_so_many_dead_letters_are_kept_and_the_oldest_are_dropped_and_counted(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        keeping = Keeping(tmp_path / "webhooks", ORIGIN)
        kept = await keeping.add_letters(
            "whk_x", [letter(n) for n in range(1, DEAD_LETTERS_MAX + 1)]
        )
        assert (DEAD_LETTERS_MAX, 0) == (len(kept.kept), kept.dropped)
        kept = await keeping.add_letters("whk_x", [letter(DEAD_LETTERS_MAX + 1)])
        assert (DEAD_LETTERS_MAX, 1, 2) == (len(kept.kept), kept.dropped, kept.kept[0].n)
        # once more, after a crash
        kept = await keeping.add_letters(
            "whk_x", [letter(DEAD_LETTERS_MAX + 1), letter(DEAD_LETTERS_MAX + 2)]
        )
        assert [DEAD_LETTERS_MAX, DEAD_LETTERS_MAX + 1, DEAD_LETTERS_MAX + 2] == [
            one.n for one in kept.kept[-3:]
        ]
        assert Keeping(tmp_path / "webhooks", ORIGIN).letters("whk_x") == kept

    asyncio.run(story())


def test_a_page_of_dead_letters_costs_as_much_as_all_of_them(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        made = await hooks.create()
        await hooks.running._keeping.add_letters(made["id"], [letter(n) for n in range(1, 201)])
        before = hooks.world.desk.admission.questions("ann").remaining
        found = await hooks.world.ask(
            "ann", "GET", f"/v1/webhooks/{made['id']}/dead-letters?limit=1"
        )
        assert (1, 3) == (
            len(found.json()["data"]),
            before - hooks.world.desk.admission.questions("ann").remaining,
        )

    with_hooks(tmp_path / "data", tale, limits=Limits(commands_per_second=1), runs=False)


def test_a_range_that_left_the_history_does_not_take_the_place_of_whole_letters(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        keeping = Keeping(tmp_path / "webhooks", ORIGIN)
        whole = [
            DeadLetter(n, n, Numbered(n, WebhookDeleted(AT, "whk_x")), "x", AT) for n in (3, 5)
        ]
        await keeping.add_letters("whk_x", whole)
        # after a crash, once more
        assert (
            tuple(whole)
            == (await keeping.add_letters("whk_x", [DeadLetter(2, 5, None, GONE, AT)])).kept
        )
        kept = (await keeping.add_letters("whk_x", [DeadLetter(2, 9, None, GONE, AT)])).kept
        assert [(3, 3), (5, 5), (6, 9)] == [(one.n, one.last) for one in kept]

    asyncio.run(story())


def test_a_new_webhook_is_told_what_left_the_history_while_the_service_was_down(
    tmp_path: Path,
) -> None:
    secrets: dict[str, str] = {}
    ids: list[str] = []

    async def before(hooks: Hooks) -> None:
        hooks.receiver.answers = [503] * 9
        ids.extend([(await hooks.create())["id"], (await hooks.create())["id"]])
        await hooks.until(ids[1], failures=1)

    async def after(hooks: Hooks) -> None:
        hooks.pass_s(DAY_S + 1)
        hooks.world.desk.end_holds()
        shown = await hooks.until(ids[1], dead_letters=1)
        assert (2, 2) == (shown["delivered"], (await hooks.letters(ids[1]))[0]["last"])

    with_hooks(tmp_path / "data", before, secrets=secrets)
    known = kept_cursors(tmp_path / "data")
    del known[ids[1]]  # the service crashed before it was written
    keep_cursors(tmp_path / "data", known)
    with_hooks(tmp_path / "data", after, secrets=secrets)


def test_a_deleted_webhook_leaves_no_file_though_its_letters_are_being_written(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        keeping = Keeping(tmp_path / "webhooks", ORIGIN)
        writing = asyncio.create_task(keeping.add_letters("whk_x", [letter(1)]))
        await asyncio.sleep(0)
        writing.cancel()
        await keeping.forget("whk_x")
        assert writing.done() and [] == list((tmp_path / "webhooks").iterdir())

    asyncio.run(story())


def test_dead_letters_that_cannot_be_written_are_not_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [503] * 2
        made = await hooks.create()
        await hooks.until(made["id"], failures=1)
        file = tmp_path / "data" / "webhooks" / f"{made['id']}.json.new"
        file.mkdir(parents=True)  # nothing can be written under that name
        hooks.pass_s(DAY_S - 60)
        shown = await hooks.until(made["id"], failures=3)  # the attempt, and the letter
        assert (0, 0) == (shown["delivered"], shown["dead_letters"])
        file.rmdir()
        hooks.pass_s(30)
        await hooks.until(made["id"], delivered=1)

    with_hooks(tmp_path / "data", tale)
    assert "dead letters could not be written" in caplog.text


def test_the_defaults_are_those_that_are_promised() -> None:
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
def test_a_key_whose_making_failed_is_kept_before_it_signs(tmp_path: Path, seed: int) -> None:
    """The disk failed when its name was to be kept; the next process finds it, and the power must
    not take what it has signed."""
    with FaultyDisk(tmp_path, Random(seed)) as disk:
        for fails in range(1, 10):
            path = tmp_path / f"data{fails}" / "keys" / "webhooks.key"
            path.parent.parent.mkdir()
            disk.fail_at = disk.operations + fails
            with suppress(OSError):
                SigningKey(path, ORIGIN).load()
            disk.kill()
            disk.fail_at = None
            signed = SigningKey(path, ORIGIN).secret("whk_1", AT)
            disk.power_off()
            assert signed == SigningKey(path, ORIGIN).secret("whk_1", AT)
