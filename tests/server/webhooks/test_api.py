"""The API of webhooks: ownership, secrets that are shown once and never stored, and the SDK that
verifies deliveries."""

from __future__ import annotations

import asyncio
import base64
import hmac
import logging
from pathlib import Path

import httpx
import msgspec
import pytest

from laissez.client.errors import UsageError
from laissez.client.webhooks import WebhookVerificationError, verify
from laissez.exchange.commands import OPERATOR, SERVICE, Caps, CreateTenant, CreateWebhook, Request
from laissez.exchange.exchange import Exchange
from laissez.exchange.webhooks import WEBHOOKS_MAX, WebhookRecord
from laissez.market import Market
from laissez.server.metrics import Metrics
from laissez.server.webhooks import signing
from laissez.server.webhooks.signing import SigningKey
from laissez.units import format_time
from laissez.wire.events import LeaseEnded, Numbered
from laissez.wire.ids import webhook_name
from laissez.wire.webhooks import Delivery
from support.service_world import TOPOLOGY, World
from support.webhook_world import ORIGIN, Hooks, with_hooks

pytestmark = pytest.mark.once

NOW_S = 1_800_000_000
AT = format_time(NOW_S * 1_000_000)
URL = "https://hooks.example/x"


def is_problem(answer: httpx.Response, status: int, code: str) -> bool:
    assert (status, code) == (answer.status_code, answer.json()["code"]), answer.text
    return True


# -- ownership


def test_webhooks_per_tenant_are_limited(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        made = [await hooks.create() for _ in range(WEBHOOKS_MAX)]
        assert is_problem(
            await hooks.world.ask("ann", "POST", "/v1/webhooks", {"url": hooks.receiver.url}),
            409,
            "too_many_webhooks",
        )
        await hooks.create("bob")
        await hooks.create("operator")
        first = (await hooks.world.ask("ann", "GET", "/v1/webhooks?limit=5")).json()
        rest = (
            await hooks.world.ask("ann", "GET", f"/v1/webhooks?cursor={first['cursor']}")
        ).json()
        assert [one["id"] for one in made] == [
            one["id"] for one in first["data"] + rest["data"]
        ] and not rest["has_more"]
        assert all(one["secret"] is None for one in first["data"])
        assert (
            200
            == (await hooks.world.ask("ann", "DELETE", f"/v1/webhooks/{made[0]['id']}")).status_code
        )
        assert (await hooks.create())["id"] not in [one["id"] for one in made]

    with_hooks(tmp_path / "data", tale, runs=False)


def test_another_holders_webhook_answers_like_an_unknown_one(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        made = await hooks.create()
        for method, path, body in (
            ("GET", "", None),
            ("DELETE", "", None),
            ("POST", "/secret", None),
            ("POST", "/redeliver", {"after": 0}),
            ("GET", "/dead-letters", None),
        ):
            foreign = await hooks.world.ask("bob", method, f"/v1/webhooks/{made['id']}{path}", body)
            unknown = await hooks.world.ask(
                "bob", method, f"/v1/webhooks/whk_h5gv4yoo9{path}", body
            )
            assert is_problem(foreign, 404, "not_found")
            assert foreign.text.replace(made["id"], "X") == unknown.text.replace(
                "whk_h5gv4yoo9", "X"
            )
        # the operator's own webhooks are separate
        operators = await hooks.world.ask("operator", "GET", f"/v1/webhooks/{made['id']}")
        assert (
            404 == operators.status_code
            and [] == (await hooks.world.ask("bob", "GET", "/v1/webhooks")).json()["data"]
        )

    with_hooks(tmp_path / "data", tale, runs=False)


@pytest.mark.parametrize(("holder", "scope"), [("ann", "trade"), ("operator", "operate")])
def test_a_key_without_read_can_only_have_new_events_sent(
    tmp_path: Path, holder: str, scope: str
) -> None:
    """As in a session: otherwise the key could read old events by having them sent."""

    async def tale(hooks: Hooks) -> None:
        world = hooks.world
        secret = world.new_secret(holder, scope)
        await world.place("ann", "h100", "1")
        position = world.gateway.position
        refused = await world.ask(
            secret, "POST", "/v1/webhooks", {"url": hooks.receiver.url, "after": 0}
        )
        assert is_problem(refused, 403, "forbidden")
        assert (
            f"after: past events need a key with the scope read; yours has {scope}"
            == refused.json()["detail"]
        )
        assert position == world.gateway.position
        made = await hooks.create(secret)
        for id in (made["id"], "whk_h5gv4yoo9"):  # the same answer, whether it exists or not
            again = await world.ask(secret, "POST", f"/v1/webhooks/{id}/redeliver", {"after": 0})
            assert (403, refused.json()) == (again.status_code, again.json())
        assert (
            200
            == (
                await world.ask(
                    holder, "POST", f"/v1/webhooks/{made['id']}/redeliver", {"after": 0}
                )
            ).status_code
        )

    with_hooks(tmp_path / "data", tale, runs=False)


def test_an_invalid_webhook_is_refused_and_not_stored(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        hooks.resolve_to(hooks_example=["127.0.0.1"])
        position = hooks.world.gateway.position
        for wrong, told in (
            ({}, "missing required field `url`"),
            ({"url": 7}, "Expected `str`"),
            ({"url": ""}, "url: expected 1 to 2048 characters, found 0"),
            ({"url": URL, "types": []}, "types: expected one or more"),
            ({"url": URL, "types": ["lease.lost"]}, "types: expected some of books.closed, "),
            ({"url": URL, "types": ["lease.ended", "lease.ended"]}, "each once"),
            ({"url": URL, "after": -1}, "Expected `int` >= 0"),
            ({"url": URL, "after": 1}, "expected the number of an event from 0 to 0"),
            ({"url": URL, "after": 10**19}, "Expected `int` <= "),
            ({"url": URL, "secret": "mine"}, "unknown field `secret`"),
        ):
            refused = await hooks.world.ask("ann", "POST", "/v1/webhooks", wrong)
            assert is_problem(refused, 400, "bad_request") and told in refused.json()["detail"], (
                refused.text
            )
        assert position == hooks.world.gateway.position

    with_hooks(tmp_path / "data", tale, runs=False)


def test_lookups_run_one_at_a_time_and_a_key_revoked_meanwhile_does_nothing(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        secret, answers = hooks.world.new_secret("ann", "trade"), asyncio.Event()

        async def look_up(host: str) -> list[str]:
            await answers.wait()
            return ["127.0.0.1"]

        hooks.running.guard.look_up = look_up  # type: ignore[method-assign]
        position = hooks.world.gateway.position
        first = asyncio.create_task(hooks.world.ask(secret, "POST", "/v1/webhooks", {"url": URL}))
        while not hooks.running._looking:
            await asyncio.sleep(0)
        assert is_problem(
            await hooks.world.ask("ann", "POST", "/v1/webhooks", {"url": URL}), 429, "rate_limited"
        )
        await hooks.world.ask("operator", "DELETE", f"/v1/keys/key_{secret.split('_')[1]}")
        answers.set()
        assert is_problem(await first, 401, "unauthenticated")
        # the key was revoked, without other commands
        assert position + 1 == hooks.world.gateway.position
        assert (
            201 == (await hooks.world.ask("ann", "POST", "/v1/webhooks", {"url": URL})).status_code
        )

    with_hooks(tmp_path / "data", tale, runs=False)


# -- secrets


def test_repeated_changes_get_the_same_bytes_and_secret_even_after_a_restart(
    tmp_path: Path,
) -> None:
    secrets: dict[str, str] = {}
    first: list[httpx.Response] = []

    async def ask(world: World) -> list[httpx.Response]:
        made = await world.ask("ann", "POST", "/v1/webhooks", {"url": URL}, key="a")
        path = f"/v1/webhooks/{made.json()['id']}"
        rotated = await world.ask("ann", "POST", f"{path}/secret", key="b")
        again = await world.ask("ann", "POST", f"{path}/redeliver", {"after": 0}, key="c")
        return [made, rotated, again, await world.ask("ann", "DELETE", path, key="d")]

    async def before(hooks: Hooks) -> None:
        hooks.resolve_to(hooks_example=["127.0.0.1"])
        first.extend(await ask(hooks.world))
        assert [201, 200, 200, 200] == [answer.status_code for answer in first]
        assert first[0].json()["secret"] != first[1].json()["secret"]
        conflict = await hooks.world.ask(
            "ann", "POST", "/v1/webhooks", {"url": URL, "types": ["lease.ended"]}, key="a"
        )
        assert is_problem(conflict, 409, "idempotency_conflict")
        await again(hooks)

    async def again(hooks: Hooks) -> None:
        hooks.resolve_to()  # the name no longer resolves: repeats still succeed
        answers = await ask(hooks.world)
        assert [answer.content for answer in first] == [answer.content for answer in answers]
        assert all("true" == answer.headers["idempotency-replayed"] for answer in answers)

    with_hooks(tmp_path / "data", before, secrets=secrets, runs=False)
    with_hooks(tmp_path / "data", again, secrets=secrets, runs=False)


def test_a_secret_is_in_no_file_or_log_and_only_the_owner_can_read_the_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shown: list[str] = []

    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [500]
        made = await hooks.create()
        shown.append(made["secret"])
        await hooks.until(made["id"], failures=1)
        shown.append(
            (await hooks.world.ask("ann", "POST", f"/v1/webhooks/{made['id']}/secret")).json()[
                "secret"
            ]
        )
        assert "whsec_" not in (await hooks.world.ask("ann", "GET", "/v1/events")).text
        hooks.pass_s(1)
        await hooks.until(made["id"], delivered=2)

    with caplog.at_level(logging.DEBUG):
        with_hooks(tmp_path / "data", tale)
    files = {path: path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()}
    assert len(files) >= 4 and tmp_path / "data" / "beside.db" in files
    for secret in shown:
        assert not any(
            secret.removeprefix("whsec_").encode() in content for content in files.values()
        )
        assert secret.removeprefix("whsec_") not in caplog.text
    key = tmp_path / "data" / "keys" / "webhooks.key"
    assert 0o600 == key.stat().st_mode & 0o777
    bare = files[key][-signing.KEY_BYTES :]
    for form in (bare, bare.hex().encode()):
        assert not any(form in content for path, content in files.items() if path != key)


def test_after_a_rotation_both_secrets_sign_for_a_day_unless_rotated_again(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        made = await hooks.create()
        path = f"/v1/webhooks/{made['id']}/secret"
        await hooks.until(made["id"], delivered=1)
        second = (await hooks.world.ask("ann", "POST", path)).json()
        await hooks.until(made["id"], delivered=2)
        got = hooks.receiver.got[-1]
        assert hooks.verified(made["secret"], got) == hooks.verified(second["secret"], got)
        hooks.pass_s(86_400)
        await hooks.world.place("ann", "a100", "1")
        await hooks.until(made["id"], delivered=4)
        assert hooks.verified(second["secret"], hooks.receiver.got[-1])
        with pytest.raises(WebhookVerificationError):
            hooks.verified(made["secret"], hooks.receiver.got[-1])
        for _ in range(2):
            third = (await hooks.world.ask("ann", "POST", path)).json()
        await hooks.until(made["id"], delivered=6)
        assert hooks.verified(third["secret"], hooks.receiver.got[-1])
        with pytest.raises(WebhookVerificationError):
            hooks.verified(second["secret"], hooks.receiver.got[-1])

    with_hooks(tmp_path / "data", tale)


def test_a_damaged_key_is_set_aside_and_a_lost_one_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "keys" / "webhooks.key"
    first = SigningKey(path, ORIGIN).secret("whk_x1", AT)
    assert (
        first
        == SigningKey(path, ORIGIN).secret("whk_x1", AT)
        != SigningKey(path, ORIGIN).secret("whk_x1", "2026-11-15T08:30:00.000001Z")
    )
    path.write_bytes(b"short")
    second = SigningKey(path, ORIGIN).secret("whk_x1", AT)
    assert first != second and b"short" == path.with_name("webhooks.key.damaged").read_bytes()
    assert "receivers turn deliveries away until each secret is rotated" in caplog.text
    path.unlink()
    assert SigningKey(path, ORIGIN).secret("whk_x1", AT) not in (first, second)


@pytest.mark.parametrize("at", [0, 15, 16, -3])
def test_a_key_with_a_flipped_bit_is_not_used_silently(
    tmp_path: Path, at: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A bug once used it as another key: receivers refused everything without an explanation."""
    path = tmp_path / "keys" / "webhooks.key"
    SigningKey(path, ORIGIN).load()
    damaged = bytearray(path.read_bytes())
    damaged[at] ^= 1
    path.write_bytes(damaged)
    SigningKey(path, ORIGIN).load()
    assert (
        "is damaged and was set aside" in caplog.text
        and damaged == path.with_name("webhooks.key.damaged").read_bytes()
    )


def test_a_key_of_another_journal_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "keys" / "webhooks.key"
    theirs = SigningKey(path, b"another journal").secret("whk_x1", AT)
    assert (
        theirs != SigningKey(path, ORIGIN).secret("whk_x1", AT) and "was set aside" in caplog.text
    )


def test_a_secret_is_derived_from_the_key_the_id_and_the_time(tmp_path: Path) -> None:
    path, key = tmp_path / "keys" / "webhooks.key", bytes(range(100, 132))
    signing.write(path, key, ORIGIN)
    digest = hmac.digest(key, f"whk_x1 {AT}".encode(), "sha256")
    assert "whsec_" + base64.b64encode(digest).decode() == SigningKey(path, ORIGIN).secret(
        "whk_x1", AT
    )


def test_an_unavailable_key_is_reported_and_nothing_is_done(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        (tmp_path / "data" / "keys" / "webhooks.key").mkdir(parents=True)
        position = hooks.world.gateway.position
        assert is_problem(
            await hooks.world.ask("ann", "POST", "/v1/webhooks", {"url": hooks.receiver.url}),
            503,
            "overloaded",
        )
        assert position == hooks.world.gateway.position

    with_hooks(tmp_path / "data", tale, runs=False)


# -- the journaled part


def test_webhooks_are_in_snapshots() -> None:
    exchange = Exchange(Market(TOPOLOGY, 10))
    exchange.apply(1, Request(OPERATOR, SERVICE, "", b"", CreateTenant("ann", Caps())))
    for at, who in ((2, "ann"), (3, OPERATOR)):
        assert (
            exchange.apply(
                at, Request(who, SERVICE, "", b"", CreateWebhook(URL, None, None))
            ).refusal
            is None
        )
    restored = Exchange.restore(exchange.snapshot())
    assert (
        exchange.snapshot() == restored.snapshot()
        and exchange.webhooks.live == restored.webhooks.live
    )
    assert (1, 3) == (restored.accounts["ann"].events, restored.events)


def test_the_metrics_count_deliveries_and_dead_letters(tmp_path: Path) -> None:
    async def tale(hooks: Hooks) -> None:
        hooks.receiver.answers = [204, 500]
        made = await hooks.create()
        await hooks.until(made["id"], delivered=1)
        await hooks.world.place("ann", "a100", "1")
        await hooks.until(made["id"], failures=1)
        while not hooks.running.tally.retrying:
            await asyncio.sleep(0.001)
        metrics = Metrics(hooks.world.gateway, hooks.world.quota)
        metrics.webhooks = hooks.running.tally
        text = metrics.render(0, 0).decode()
        for line in (
            "laissez_webhooks 1.0",
            "laissez_webhooks_retrying 1.0",
            'laissez_webhook_deliveries_total{outcome="delivered"} 1.0',
        ):
            assert line in text
        assert (
            'laissez_webhook_deliveries_total{outcome="failed"} 1.0' in text
            and "laissez_webhook_dead_letters_total 0.0" in text
        )

    with_hooks(tmp_path / "data", tale)


# -- the SDK


KEY = SigningKey(None, ORIGIN)
RECORD = WebhookRecord("ann", 1, URL, None, 1, 0, 1, 1, NOW_S * 1_000_000)
ID = webhook_name(RECORD)
SECRET = KEY.secret(ID, AT)
EVENT = Numbered(7, LeaseEnded(AT, "lse_a1", "h100/r1/g1", "outbid", "3", "2"))
BODY = msgspec.json.encode(Delivery(ID, (EVENT,)))
SIGNED = KEY.headers(RECORD, f"{ID}-7-7", BODY, NOW_S * 1_000_000)


def test_the_sdk_verifies_under_any_spelling_of_headers_and_any_of_several_secrets() -> None:
    assert (EVENT,) == verify(SECRET, SIGNED, BODY, now=NOW_S + 300).events
    assert (EVENT,) == verify(
        ["whsec_" + "A" * 44, SECRET],
        {name.title(): value for name, value in SIGNED.items()},
        BODY,
        now=NOW_S - 300,
    ).events
    assert ID == verify(SECRET, SIGNED, BODY, now=NOW_S).webhook


def test_the_sdk_agrees_with_the_example_of_the_specification() -> None:
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    # the example's content is not a delivery of ours
    with pytest.raises(WebhookVerificationError, match="signed but cannot be read"):
        verify(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            headers,
            b'{"test": 2432232314}',
            now=1614265330,
        )


@pytest.mark.parametrize(
    ("headers", "body", "now", "why"),
    [
        (SIGNED, BODY + b" ", NOW_S, "webhook-signature: expected one made with this secret"),
        ({**SIGNED, "webhook-id": f"{ID}-7-8"}, BODY, NOW_S, "webhook-signature"),
        ({**SIGNED, "webhook-id": f"{ID}-7-\udcff"}, BODY, NOW_S, "webhook-signature"),
        ({**SIGNED, "webhook-timestamp": str(NOW_S + 1)}, BODY, NOW_S, "webhook-signature"),
        (
            {**SIGNED, "webhook-signature": SIGNED["webhook-signature"].replace("v1", "v2")},
            BODY,
            NOW_S,
            "webhook-signature",
        ),
        ({**SIGNED, "webhook-signature": "v1,"}, BODY, NOW_S, "webhook-signature"),
        ({**SIGNED, "webhook-signature": ""}, BODY, NOW_S, "webhook-signature"),
        (SIGNED, BODY, NOW_S + 301, "webhook-timestamp: expected a time within 300 seconds of now"),
        (SIGNED, BODY, NOW_S - 301, "webhook-timestamp: expected a time within 300 seconds of now"),
        (
            {**SIGNED, "webhook-timestamp": "soon"},
            BODY,
            NOW_S,
            "webhook-timestamp: expected whole seconds",
        ),
        ({"webhook-id": "x"}, BODY, NOW_S, "found no webhook-timestamp"),
    ],
)
def test_the_sdk_refuses_forged_deliveries(
    headers: dict[str, str], body: bytes, now: float, why: str
) -> None:
    with pytest.raises(WebhookVerificationError, match=why):
        verify(SECRET, headers, body, now=now)


@pytest.mark.parametrize("secret", ["", "whsec_", "lz_4f2a", "whsec_%%%"])
def test_an_invalid_secret_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(UsageError) as refused:
        verify(secret, SIGNED, BODY, now=NOW_S)
    assert not secret or secret not in str(refused.value).replace("whsec_ and base64", "")
