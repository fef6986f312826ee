"""Tenants and keys: shown once, stored as hashes, indistinguishable when invalid, replaceable
without downtime, revoked at once."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from laissez.exchange import keys, names
from laissez.exchange.commands import (
    OPERATOR,
    SERVICE,
    Caps,
    Command,
    CreateTenant,
    IssueKey,
    Request,
    RevokeKey,
    SetCaps,
)
from laissez.exchange.exchange import Exchange
from laissez.exchange.keys import KEY_NAMES_MAX, KEYS_LIVE_MAX, KeyRecord
from laissez.journal import Journal
from laissez.market import Market, Topology
from laissez.server.auth import authenticate, new_key
from laissez.wire.ids import tag_of
from laissez.wire.limits import OPEN_ORDERS_MAX
from laissez.wire.texts import code_of
from support.service_world import World, with_service


class SmallExchange:
    """An exchange with a tenant, `ann`."""

    def __init__(self) -> None:
        self.exchange = Exchange(Market(Topology.of(("a/1",))))
        self.at = 0
        self.say(CreateTenant("ann", Caps()))

    def say(self, command: Command) -> str | None:
        """None, or the code of the refusal."""
        self.at += 1
        before = self.exchange.snapshot()
        refused = self.exchange.apply(self.at, Request(OPERATOR, SERVICE, "", b"", command)).refusal
        assert refused is None or before == self.exchange.snapshot()
        return None if refused is None else code_of(refused.reason)

    def issue(
        self, name: str = "default", holder: str = "ann", scopes: tuple[str, ...] = ("read",)
    ) -> str | None:
        made = new_key()
        return self.say(IssueKey(holder, made.id, made.digest, scopes, name))

    def live(self, name: str) -> list[str]:
        return [
            key.id
            for key in self.exchange.keys.values()
            if key.name == name and key.revoked_at is None
        ]


# -- keys


def test_a_key_is_32_random_bytes_and_only_its_hash_is_kept() -> None:
    one, two = new_key(), new_key()
    prefix, id, secret = one.secret.split("_", 2)
    assert ("lz", f"key_{id}") == (prefix, one.id)
    assert 32 == len(base64.urlsafe_b64decode(secret + "=")) and 43 == len(secret)
    assert one.secret != two.secret and one.id != two.id
    assert hashlib.sha256(one.secret.encode()).digest() == one.digest


def test_malformed_unknown_wrong_and_revoked_keys_are_indistinguishable() -> None:
    good, revoked = new_key(), new_key()
    keys = {
        good.id: KeyRecord(good.id, "ann", "default", ("read",), good.digest, 1),
        revoked.id: KeyRecord(
            revoked.id, "ann", "default", ("read",), revoked.digest, 1, revoked_at=2
        ),
    }
    principal = authenticate(keys, good.secret)
    assert principal is not None
    assert ("ann", good.id, frozenset({"read"}), False) == (
        principal.holder,
        principal.key,
        principal.scopes,
        principal.is_operator,
    )
    other = new_key().secret
    swapped = "_".join([*good.secret.split("_")[:2], other.split("_", 2)[2]])
    for wrong in (
        "",
        "lz_",
        "lz",
        good.secret[3:],
        good.secret[:-1],
        good.secret + "x",
        " " + good.secret,
        good.id,
        other,
        swapped,
        revoked.secret,
        "\u2713",
    ):
        assert authenticate(keys, wrong) is None, wrong


def test_invalid_keys_get_the_same_answer_over_http(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        revoked = world.new_secret("ann", "read")
        me = (await world.ask(revoked, "GET", "/v1/me")).json()
        await world.ask("operator", "DELETE", f"/v1/keys/{me['key']}")
        answers = [
            await world.ask(who, "GET", "/v1/me")
            for who in (
                None,
                "x",
                "lz_1_x",
                revoked,
                world.secrets["ann"][:-1],
                world.secrets["ann"] + "x",
            )
        ]
        answers.append(await world.http.get("/v1/me", headers={"Authorization": "Basic YTpi"}))
        assert {(401, answers[0].content, "Bearer")} == {
            (one.status_code, one.content, one.headers["www-authenticate"]) for one in answers
        }

    with_service(tmp_path / "data", story)


def test_a_secret_is_shown_once_and_never_on_the_disk(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    shown: list[str] = []

    async def story(world: World) -> None:
        made = (await world.ask("operator", "POST", "/v1/tenants/ann/keys", {"name": "ci"})).json()
        shown.append(made["secret"])
        listed = (await world.ask("operator", "GET", "/v1/tenants/ann/keys")).json()["data"]
        assert [None] * len(listed) == [key["secret"] for key in listed] and made["id"] in [
            key["id"] for key in listed
        ]
        events = await world.ask("operator", "GET", "/v1/events")
        assert made["id"] in events.text and made["secret"] not in events.text
        assert made["secret"].encode() not in world.gateway.exchange.snapshot()

    with_service(tmp_path / "data", story, secrets=secrets)
    stored = b"".join(
        path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()
    )
    assert b"key_" in stored
    for secret in [*secrets.values(), *shown]:
        assert secret.encode() not in stored and secret.split("_", 2)[2].encode() not in stored


# -- bounds


def test_two_keys_of_a_name_may_be_live_and_a_third_only_after_a_revocation() -> None:
    small = SmallExchange()
    assert [None] * KEYS_LIVE_MAX == [small.issue() for _ in range(KEYS_LIVE_MAX)]
    assert "too_many_keys" == small.issue()
    assert small.issue("other") is None
    assert small.say(RevokeKey(small.live("default")[0])) is None
    assert small.issue() is None
    assert "too_many_keys" == small.issue()


def test_key_names_per_holder_are_limited() -> None:
    small = SmallExchange()
    assert [None] * KEY_NAMES_MAX == [small.issue(f"n{index}") for index in range(KEY_NAMES_MAX)]
    assert "too_many_keys" == small.issue("one more")
    assert small.issue("n0") is None  # the second of an existing name
    assert small.say(CreateTenant("bob", Caps())) is None and small.issue(holder="bob") is None
    assert small.say(RevokeKey(small.live("n1")[0])) is None
    assert small.issue("one more") is None


@pytest.mark.parametrize(
    ("holder", "scopes", "name", "code"),
    [
        ("ann", ("read", "trade"), "default", None),
        ("ann", ("read", "operate"), "default", "bad_request"),
        ("ann", (), "default", "bad_request"),
        ("ann", ("write",), "default", "bad_request"),
        (OPERATOR, ("read", "operate"), "default", None),
        (OPERATOR, ("trade",), "default", "bad_request"),
        ("bob", ("read",), "default", "not_found"),
        ("ann", ("read",), "x" * 64, None),
        ("ann", ("read",), "x" * 65, "bad_request"),
        ("ann", ("read",), "", "bad_request"),
        ("ann", ("read",), "a\nb", "bad_request"),
    ],
)
def test_a_key_gets_only_scopes_of_its_holder(
    holder: str, scopes: tuple[str, ...], name: str, code: str | None
) -> None:
    assert code == SmallExchange().issue(name, holder, scopes)


def test_a_key_is_revoked_once() -> None:
    small = SmallExchange()
    small.issue()
    (key,) = small.live("default")
    assert [None, "not_found", "not_found"] == [
        small.say(RevokeKey(key)),
        small.say(RevokeKey(key)),
        small.say(RevokeKey("key_x")),
    ]


# -- scopes over http


@pytest.mark.parametrize(
    ("scopes", "statuses"),
    [
        (
            ("read",),
            {
                "GET /v1/orders": 200,
                "POST /v1/orders": 403,
                "GET /v1/market": 403,
                "GET /v1/me": 200,
            },
        ),
        (
            ("trade",),
            {
                "GET /v1/orders": 403,
                "POST /v1/orders": 201,
                "GET /v1/market": 403,
                "GET /v1/me": 200,
            },
        ),
    ],
)
def test_a_key_can_do_what_its_scopes_allow(
    tmp_path: Path, scopes: tuple[str, ...], statuses: dict[str, int]
) -> None:
    order = {"alternatives": [{"scope": "h100", "limit": "1"}]}

    async def story(world: World) -> None:
        secret = world.new_secret("ann", *scopes)
        for request, status in statuses.items():
            method, path = request.split()
            answer = await world.ask(secret, method, path, order if method == "POST" else None)
            assert status == answer.status_code, (request, answer.text)
            assert status != 403 or "forbidden" == answer.json()["code"]

    with_service(tmp_path / "data", story)


def test_the_operator_cannot_trade_for_a_tenant(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        order: Any = {"alternatives": [{"scope": "h100", "limit": "1"}]}
        assert 403 == (await world.ask("operator", "POST", "/v1/orders", order)).status_code
        assert 200 == (await world.ask("operator", "GET", "/v1/orders")).status_code

    with_service(tmp_path / "data", story)


# -- tenants


@pytest.mark.parametrize(
    "name", ["", "x" * 201, "operator", "a/b", " ann", "ann ", "a\nb", "\u200b"]
)
def test_an_invalid_name_is_refused(name: str) -> None:
    assert "tenant_invalid" == SmallExchange().say(CreateTenant(name, Caps()))


def test_a_name_with_the_tag_of_another_is_refused_even_after_a_restart() -> None:
    """A holder with another's ids would have its webhooks."""
    one, other = "team-24617", "team-463665"
    assert tag_of(one) == tag_of(other)
    small = SmallExchange()
    assert [None, "tenant_invalid"] == [
        small.say(CreateTenant(one, Caps())),
        small.say(CreateTenant(other, Caps())),
    ]
    small.exchange = Exchange.restore(small.exchange.snapshot())
    assert "tenant_invalid" == small.say(CreateTenant(other, Caps()))


@pytest.mark.sources
def test_the_cache_of_tags_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "_TAGS_MAX", 3)
    monkeypatch.setattr(names, "_tags", {})
    assert [tag_of(f"team{n}") for n in range(9)] == [tag_of(f"team{n}") for n in range(9)]
    assert len(names._tags) <= 3


def test_a_name_with_the_operators_tag_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "tag_of", lambda name: tag_of(OPERATOR))
    assert "tenant_invalid" == SmallExchange().say(CreateTenant("bob", Caps()))


def test_names_are_unique() -> None:
    small = SmallExchange()
    assert [None, "conflict"] == [
        small.say(CreateTenant("x" * 200, Caps())),
        small.say(CreateTenant("ann", Caps())),
    ]


@pytest.mark.parametrize(
    ("caps", "code"),
    [
        (
            Caps(
                open_orders=OPEN_ORDERS_MAX,
                commands_per_second=1_000_000,
                commands_burst=1_000_000,
                sessions=1_000_000,
            ),
            None,
        ),
        (Caps(open_orders=0, commands_per_second=0, commands_burst=0, sessions=0), None),
        (Caps(open_orders=OPEN_ORDERS_MAX + 1), "bad_request"),
        (Caps(commands_per_second=1_000_001), "bad_request"),
        (Caps(commands_burst=-1), "bad_request"),
        (Caps(sessions=1_000_001), "bad_request"),
    ],
)
def test_caps_are_bounded(caps: Caps, code: str | None) -> None:
    small = SmallExchange()
    assert [code, code] == [small.say(SetCaps("ann", caps)), small.say(CreateTenant("bob", caps))]
    assert "not_found" == small.say(SetCaps("cid", Caps()))


def test_tenants_and_keys_survive_a_restart(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}

    async def before(world: World) -> None:
        await world.ask("operator", "PATCH", "/v1/tenants/ann", {"caps": {"sessions": 3}})
        secrets["gone"] = world.new_secret("ann", "read")
        id = (await world.ask("gone", "GET", "/v1/me")).json()["key"]
        assert 200 == (await world.ask("operator", "DELETE", f"/v1/keys/{id}")).status_code

    async def after(world: World) -> None:
        me = (await world.ask("ann", "GET", "/v1/me")).json()
        assert ("ann", 3) == (me["holder"], me["caps"]["sessions"])
        assert 401 == (await world.ask("gone", "GET", "/v1/me")).status_code

    with_service(tmp_path / "data", before, secrets=secrets)
    with_service(tmp_path / "data", after, secrets=secrets)
    Journal.open(tmp_path / "data").close()  # the lock is free
