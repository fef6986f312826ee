"""Webhooks deliver a holder's events in order, retry until they are accepted, and report events
that are given up."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from pathlib import Path

import msgspec
import pytest

from laissez.exchange.commands import SERVICE, RotateWebhookSecret
from laissez.exchange.webhooks import WebhookRecord
from laissez.server.logs import fields_of
from laissez.server.webhooks.cursors import Cursor
from laissez.server.webhooks.delivery import WARN_AFTER
from laissez.server.webhooks.endpoints import Endpoint
from laissez.wire.limits import WEBHOOK_EVENTS_MAX
from support.service_world import GENEROUS
from support.webhook_world import DAY_S, OPEN, Hooks, receiving, with_hooks

pytestmark = pytest.mark.once

GARBAGE = b"SSH-2.0-OpenSSH_9.6\r\n\r\n"


def test_a_delivery_is_signed_and_the_first_event_is_the_webhooks_own(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        made = await hooks.create()
        await hooks.world.place("ann", "h100", "1")
        await hooks.until(made["id"], delivered=3)
        got = hooks.receiver.got
        assert "POST /hook?token=1 HTTP/1.1" == got[0].head
        told = [told for one in got for told in hooks.verified(made["secret"], one)]
        assert [(1, "webhook.created"), (2, "order.placed"), (3, "lease.started")] == [
            (one.n, one.event.__struct_config__.tag) for one in told
        ]
        headers = got[0].headers  # again, from the text of the specification alone
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + got[0].body
        key = base64.b64decode(made["secret"].removeprefix("whsec_"))
        assert 32 == len(key)
        assert (
            "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
            == headers["webhook-signature"]
        )
        assert {"webhook", "events"} == msgspec.json.decode(got[0].body).keys() and made[
            "id"
        ] == msgspec.json.decode(got[0].body)["webhook"]

    with_hooks(tmp_path / "data", tale)


def test_a_failed_delivery_is_retried_unchanged_under_its_id_and_in_order(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        receiver = hooks.receiver
        receiver.answers = [
            500,
            302,
            GARBAGE,
            b"",
            b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 400 Bad\r\n\r\n",
        ]
        made = await hooks.create()
        words = [
            "status 500",
            "status 302",
            "the answer was not HTTP/1.1",
            "the answer was not HTTP/1.1",
            "status 400",
        ]
        for failures, error in enumerate(words, 1):
            shown = await hooks.until(made["id"], failures=failures)
            assert ("retrying", error, 0) == (
                shown["state"],
                shown["last_error"],
                shown["delivered"],
            ) and shown["next_attempt_at"]
            await hooks.world.place("ann", "h100", "1")
            assert failures == len(receiver.got)  # it waits, although there are more events
            hooks.pass_s(2 ** (failures - 1))
        await hooks.until(made["id"], state="active", delivered=11)
        first, *again = receiver.got[:6]
        assert all(
            (first.body, first.headers["webhook-id"]) == (one.body, one.headers["webhook-id"])
            for one in again
        )
        assert f"{made['id']}-1-1" == first.headers["webhook-id"]
        assert list(range(2, 12)) == [n for one in receiver.got[6:] for n in one.numbers]
        # redirects are not followed
        assert all("/elsewhere" not in one.head for one in receiver.got)

    with_hooks(tmp_path / "data", tale)


def test_a_silent_receiver_times_out_and_delays_no_others(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        async with receiving() as deaf:
            deaf.answers = [None] * 9
            slow = await hooks.create(url=deaf.url)
            await deaf.count(1)
            made = await hooks.create()
            await hooks.world.place("ann", "h100", "1")
            await hooks.until(made["id"], delivered=4)  # while the other still awaits its answer
            assert 1 == len(deaf.got) and 0 == deaf.closed
            assert "timed out" == (await hooks.until(slow["id"], failures=1))["last_error"]

    with_hooks(tmp_path / "data", tale, msgspec.structs.replace(OPEN, timeout_s=0.3))


def test_only_durable_events_are_sent(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        made = await hooks.create()
        await hooks.until(made["id"], delivered=1)
        gateway = hooks.world.gateway
        gateway.enter("ann", SERVICE, "", RotateWebhookSecret(1))
        gateway.fail("the disk is full")
        hooks.pass_s(1)
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert (2, [1]) == (
            gateway.latest("ann"),
            [n for one in hooks.receiver.got for n in one.numbers],
        )

    with_hooks(tmp_path / "data", tale)


def test_a_missing_receiver_is_reported_as_no_connection(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        async with receiving() as gone:
            url = gone.url
        made = await hooks.create(url=url)
        assert "no connection" == (await hooks.until(made["id"], failures=1))["last_error"]

    with_hooks(tmp_path / "data", tale)


def test_backoff_doubles_up_to_a_quarter_of_an_hour_with_jitter() -> None:
    record = WebhookRecord("ann", 1, "https://hooks.example.com", None, 0, 0, 0, 1, 0)
    endpoint = Endpoint(record, Cursor(1, 0, 0), None, 0)
    pauses = []
    for _ in range(13):
        endpoint.failed("x", 0, 1.0)
        pauses.append(endpoint.next_at / 1e6)
    assert [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900] == pauses
    endpoint.failed("x", 0, 0.0)
    assert 450 == endpoint.next_at / 1e6


def test_the_operator_is_warned_once_of_a_failing_webhook_without_its_url(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [503] * (WARN_AFTER + 1)
        made = await hooks.create()
        for failures in range(1, WARN_AFTER + 2):
            await hooks.until(made["id"], failures=failures)
            lines = [
                one
                for one in caplog.records
                if one.getMessage() == "a webhook cannot be delivered to"
            ]
            assert (failures >= WARN_AFTER) == len(lines)
            hooks.pass_s(900)
        assert {"webhook": made["id"], "holder": "ann", "reason": "status 503"} == fields_of(
            lines[0]
        )

    with_hooks(tmp_path / "data", tale)
    assert "token=1" not in caplog.text


def test_events_undelivered_for_a_day_become_dead_letters(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        receiver = hooks.receiver
        receiver.answers = [503] * 4
        made = await hooks.create()
        await hooks.until(made["id"], failures=1)
        hooks.pass_s(DAY_S / 2)
        await hooks.until(made["id"], failures=2)
        await hooks.world.place("ann", "h100", "1")
        hooks.pass_s(DAY_S / 2 - 1_200)  # a day is not over yet
        await hooks.until(made["id"], failures=3)
        assert [] == await hooks.letters(made["id"])
        hooks.pass_s(900)  # the history could drop the event before the next attempt
        shown = await hooks.until(made["id"], dead_letters=1)
        assert ("retrying", 1) == (shown["state"], shown["delivered"])
        (letter,) = await hooks.letters(made["id"])
        assert (1, 1, "webhook.created") == (
            letter["n"],
            letter["last"],
            letter["told"]["event"]["type"],
        )
        assert "not delivered in time; at last: status 503" == letter["why"]
        hooks.pass_s(900)
        await hooks.until(made["id"], state="active", delivered=3)
        assert [[2, 3]] == [one.numbers for one in receiver.got[4:]]
        gone = await hooks.world.ask(
            "ann", "POST", f"/v1/webhooks/{made['id']}/redeliver", {"after": 0}
        )
        assert (410, "history_gone") == (gone.status_code, gone.json()["code"])

    with_hooks(tmp_path / "data", tale)


def test_an_expired_event_is_given_up_and_can_be_redelivered_while_it_is_kept(
    tmp_path: Path,
) -> None:
    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [503] * 3
        made = await hooks.create()
        await hooks.until(made["id"], failures=1)
        hooks.pass_s(1)
        await hooks.until(made["id"], failures=2, dead_letters=0)
        hooks.pass_s(2)
        await hooks.until(made["id"], dead_letters=1, delivered=1)
        assert 3 == len(hooks.receiver.got)
        assert (
            200
            == (
                await hooks.world.ask(
                    "ann", "POST", f"/v1/webhooks/{made['id']}/redeliver", {"after": 0}
                )
            ).status_code
        )
        # redelivered events are not dead letters
        await hooks.until(made["id"], delivered=2, dead_letters=0)
        assert [] == await hooks.letters(made["id"])
        assert [1, 2] == [n for one in hooks.receiver.got[3:] for n in one.numbers]

    with_hooks(tmp_path / "data", tale, msgspec.structs.replace(OPEN, dead_after_hours=1.5 / 3_600))


def test_all_expired_events_are_given_up_not_only_those_tried(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [503] * 2
        made = await hooks.create()
        await hooks.until(made["id"], failures=1)
        orders = [{"type": "place_order", "alternatives": [{"scope": "a100", "limit": "1"}]}] * 250
        assert (
            200
            == (await hooks.world.ask("ann", "POST", "/v1/batch", {"commands": orders})).status_code
        )
        hooks.pass_s(3_600)
        shown = await hooks.until(made["id"], delivered=252)
        assert (252, 2) == (shown["dead_letters"], len(hooks.receiver.got))
        assert list(range(1, 253)) == [letter["n"] for letter in await hooks.letters(made["id"])]

    with_hooks(tmp_path / "data", tale, msgspec.structs.replace(OPEN, dead_after_hours=1.0))


def test_events_that_expire_between_two_attempts_are_given_up_together(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [503] * 2
        made = await hooks.create()
        await hooks.until(made["id"], failures=1)
        now = hooks.world.gateway.clock.now()
        # as after many failures
        hooks.running._endpoints.all[made["id"]].next_at = now + 3_620_000_000
        for _ in range(5):
            hooks.world.passing.pass_us(4_000_000)
            await hooks.world.place("ann", "a100", "1")
        hooks.pass_s(3_599)
        await asyncio.sleep(0.02)
        assert 0 == (await hooks.show(made["id"]))["dead_letters"]  # although most have expired
        hooks.pass_s(1)
        latest = hooks.world.gateway.latest("ann")
        await hooks.until(made["id"], dead_letters=latest, state="active")
        assert 2 == len(hooks.receiver.got)

    with_hooks(tmp_path / "data", tale, msgspec.structs.replace(OPEN, dead_after_hours=1.0))


def test_events_that_left_the_history_are_reported(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [503]
        made = await hooks.create()
        await hooks.until(made["id"], failures=1)
        for _ in range(6):
            await hooks.world.place("bob", "a100", "1")
            await hooks.world.place("ann", "a100", "1")
        hooks.pass_s(1)
        await hooks.until(made["id"], delivered=7)
        (letter,) = await hooks.letters(made["id"])
        assert (1, 4, None) == (
            letter["n"],
            letter["last"],
            letter["told"],
        ) and "left the history" in letter["why"]
        assert [5, 6, 7] == [n for one in hooks.receiver.got[1:] for n in one.numbers]

    with_hooks(
        tmp_path / "data", tale, limits=msgspec.structs.replace(GENEROUS, history_events_max=6)
    )


def test_a_webhook_whose_failed_events_left_the_history_no_longer_fails(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [500] * 5
        made = await hooks.create(types=["order.placed"])
        await hooks.world.place("ann", "h100/east", "0")
        await hooks.until(made["id"], failures=1)
        for _ in range(8):
            await hooks.world.place("bob", "a100", "0.1")
        await hooks.world.ask("ann", "PUT", "/v1/budget", {"amount": "5"})  # of an unwanted type
        hooks.pass_s(5)
        shown = await hooks.until(made["id"], delivered=hooks.world.gateway.latest("ann"))
        assert ("active", 0, None) == (shown["state"], shown["failures"], shown["next_attempt_at"])

    with_hooks(
        tmp_path / "data", tale, limits=msgspec.structs.replace(GENEROUS, history_events_max=6)
    )


def test_events_per_delivery_are_limited(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        orders = [{"type": "place_order", "alternatives": [{"scope": "a100", "limit": "1"}]}] * 150
        await hooks.world.ask("ann", "POST", "/v1/batch", {"commands": orders})
        made = await hooks.create(after=0)
        shown = await hooks.until(made["id"], delivered=152)
        assert [WEBHOOK_EVENTS_MAX, 52] == [
            len(one.numbers) for one in hooks.receiver.got
        ] and 0 == shown["failures"]

    with_hooks(tmp_path / "data", tale)


def test_the_size_of_a_delivery_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def tale(hooks: Hooks) -> None:
        made = await hooks.create()
        await hooks.until(made["id"], delivered=1)
        one_more = len(hooks.receiver.got[0].body)
        for _ in range(2):
            await hooks.world.ask("ann", "POST", f"/v1/webhooks/{made['id']}/secret")
        await hooks.until(made["id"], delivered=3)
        await hooks.world.ask("ann", "POST", f"/v1/webhooks/{made['id']}/redeliver", {"after": 1})
        await hooks.until(made["id"], delivered=4)
        whole = next(len(one.body) for one in hooks.receiver.got if [2, 3, 4] == one.numbers)
        for most, first in ((whole, [2, 3, 4]), (whole - 1, [2, 3]), (one_more // 4, [2])):
            monkeypatch.setattr("laissez.server.webhooks.delivery.WEBHOOK_BYTES_MAX", most)
            seen = len(hooks.receiver.got)
            await hooks.world.ask(
                "ann", "POST", f"/v1/webhooks/{made['id']}/redeliver", {"after": 1}
            )
            assert first == (await hooks.receiver.count(seen + 1))[seen].numbers[:3]
            await hooks.until(made["id"], delivered=hooks.world.gateway.latest("ann"))

    with_hooks(tmp_path / "data", tale)


def test_only_wanted_types_are_sent(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        made = await hooks.create(types=["lease.started"])
        for _ in range(2):
            await hooks.world.place("ann", "h100", "1")
        await hooks.world.ask("ann", "POST", f"/v1/webhooks/{made['id']}/secret")
        await hooks.until(made["id"], delivered=6)
        types = [
            told.event.__struct_config__.tag
            for one in hooks.receiver.got
            for told in hooks.verified(made["secret"], one)
        ]
        assert ["lease.started", "lease.started"] == types

    with_hooks(tmp_path / "data", tale)


def test_the_operators_webhooks_get_all_events(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        made = await hooks.create("operator", types=["lease.started", "floor.set"])
        await hooks.world.place("ann", "h100", "1")
        await hooks.world.ask("operator", "PUT", "/v1/floors/h100/west", {"price": "0.5"})
        await hooks.until(made["id"], "operator", delivered=hooks.world.gateway.latest("operator"))
        told = [told for one in hooks.receiver.got for told in hooks.verified(made["secret"], one)]
        assert [("lease.started", "ann"), ("floor.set", None)] == [
            (one.event.__struct_config__.tag, one.tenant) for one in told
        ]

    with_hooks(tmp_path / "data", tale)


def test_a_deleted_webhook_gets_nothing_more_and_its_delivery_ends(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [None]
        made = await hooks.create()
        await hooks.receiver.count(1)
        assert (
            200
            == (await hooks.world.ask("ann", "DELETE", f"/v1/webhooks/{made['id']}")).status_code
        )
        await hooks.receiver.left(1)
        other = await hooks.create(after=hooks.world.gateway.latest("ann"))
        await hooks.until(other["id"], delivered=3)
        assert [other["id"]] == [
            msgspec.json.decode(one.body)["webhook"] for one in hooks.receiver.got[1:]
        ]
        assert other["id"] != made["id"]
        assert (
            404 == (await hooks.world.ask("ann", "GET", f"/v1/webhooks/{made['id']}")).status_code
        )

    with_hooks(tmp_path / "data", tale)


def test_revoking_the_key_that_made_a_webhook_does_not_stop_it(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        secret = hooks.world.new_secret("ann", "trade")
        made = await hooks.create(secret)
        assert (
            200
            == (
                await hooks.world.ask("operator", "DELETE", f"/v1/keys/key_{secret.split('_')[1]}")
            ).status_code
        )
        await hooks.world.place("ann", "h100", "1")
        await hooks.until(made["id"], delivered=3)

    with_hooks(tmp_path / "data", tale)
