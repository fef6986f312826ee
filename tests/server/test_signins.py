"""Signing in from a browser: the cookie stands for the key, for a while, only from our own page;
and neither leaks."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import sqlite3
import stat
import threading
from collections.abc import Callable
from functools import partial
from http.cookies import Morsel, SimpleCookie
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from laissez.server import signins
from laissez.server.beside import FILE, Beside, BesideFailed
from laissez.server.http import events
from laissez.server.signins import LASTS_S, PER_KEY_MAX, SignIns
from laissez.wire.requests import SignIn
from laissez.wire.session import JSON
from support.live_world import Live, Peer, with_live
from support.service_world import World, with_service

pytestmark = pytest.mark.once

OURS = {"X-Laissez-Console": "1"}
COOKIE = "laissez_signin"
ORDER = {"alternatives": [{"scope": "h100", "limit": "1"}]}


async def sign_in(world: World, who: str, **headers: str) -> httpx.Response:
    body = {"key": world.secrets.get(who, who)}
    answer = await world.ask(None, "POST", "/v1/signin", body, headers={**OURS, **headers})
    world.http.cookies.clear()  # each request sets its own cookie
    return answer


def cookie_of(answer: httpx.Response) -> Morsel[str]:
    (written,) = answer.headers.get_list("set-cookie")
    (morsel,) = SimpleCookie(written).values()
    return morsel


async def token_of(world: World, who: str) -> str:
    answer = await sign_in(world, who)
    assert 200 == answer.status_code, answer.text
    return cookie_of(answer).value


def kept(beside: Beside) -> int:
    """The number of sign-ins on the disk."""
    (rows,) = beside.transact(lambda c: c.execute("SELECT count(*) FROM signins").fetchone())
    return int(rows)


async def by_cookie(
    world: World,
    token: str,
    method: str = "GET",
    path: str = "/v1/me",
    body: object = None,
    **headers: str,
) -> httpx.Response:
    answer = await world.ask(
        None, method, path, body, headers={"Cookie": f"{COOKIE}={token}", **headers}
    )
    world.http.cookies.clear()
    return answer


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def answered_alike(answer: httpx.Response) -> tuple[int, bytes, tuple[tuple[str, str], ...]]:
    return answer.status_code, answer.content, tuple(answer.headers.items())


# -- signing in


def test_signing_in_names_the_holder_and_sets_a_protected_cookie(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        answer = await sign_in(world, "ann")
        assert (await world.ask("ann", "GET", "/v1/me")).json() == answer.json()
        cookie = cookie_of(answer)
        assert (COOKIE, "Strict", "/", str(LASTS_S), 43) == (
            cookie.key,
            cookie["samesite"],
            cookie["path"],
            cookie["max-age"],
            len(cookie.value),
        )
        assert cookie["httponly"] is True and not cookie["secure"] and not cookie["domain"]
        assert "ann" == (await by_cookie(world, cookie.value)).json()["holder"]
        assert "no-store" == answer.headers["cache-control"] and cookie.value not in answer.text

    with_service(tmp_path / "data", story)


def test_behind_tls_the_cookie_is_secure_and_bound_to_this_host(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for forwarded in ("https", "https, http", "HTTPS"):
            behind = {"X-Forwarded-Proto": forwarded}
            cookie = cookie_of(await sign_in(world, "ann", **behind))
            assert (f"__Host-{COOKIE}", True, "/", "") == (
                cookie.key,
                cookie["secure"],
                cookie["path"],
                cookie["domain"],
            )
            assert (
                200
                == (
                    await world.ask(
                        None,
                        "GET",
                        "/v1/me",
                        headers={**behind, "Cookie": f"__Host-{COOKIE}={cookie.value}"},
                    )
                ).status_code
            )
            assert (
                401
                == (
                    await world.ask(
                        None,
                        "GET",
                        "/v1/me",
                        headers={**behind, "Cookie": f"{COOKIE}={cookie.value}"},
                    )
                ).status_code
            )
        for forwarded in ("http", "http, https", "x"):
            assert not cookie_of(await sign_in(world, "ann", **{"X-Forwarded-Proto": forwarded}))[
                "secure"
            ]

    with_service(tmp_path / "data", story)


def test_markets_on_different_ports_of_one_machine_do_not_share_a_cookie(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for host, port in (
            ("127.0.0.1:8340", "_8340"),
            ("[::1]:8341", "_8341"),
            ("market.example", ""),
            ("8340", ""),
            ("[::1]", ""),
            ("x:y;z", ""),
        ):
            cookie = cookie_of(await sign_in(world, "ann", Host=host))
            assert f"{COOKIE}{port}" == cookie.key
            header = f"{cookie.key}={cookie.value}"
            assert (
                200
                == (
                    await world.ask(None, "GET", "/v1/me", headers={"Host": host, "Cookie": header})
                ).status_code
            )
            assert (
                401
                == (
                    await world.ask(
                        None, "GET", "/v1/me", headers={"Host": "x:1", "Cookie": header}
                    )
                ).status_code
            )

    with_service(tmp_path / "data", story)


def test_a_wrong_key_is_refused_as_everywhere(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        revoked = world.new_secret("ann", "read")
        id = (await world.ask(revoked, "GET", "/v1/me")).json()["key"]
        await world.ask("operator", "DELETE", f"/v1/keys/{id}")
        wrong = await world.ask("x", "GET", "/v1/me")
        for key in ("", "x", "lz_", "lz_0_x", world.secrets["ann"] + "x", revoked, "ключ"):
            answer = await sign_in(world, key)
            assert (
                answered_alike(wrong) == answered_alike(answer)
                and "set-cookie" not in answer.headers
            )

    with_service(tmp_path / "data", story)


def test_a_key_is_taken_only_from_the_body(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        key = world.secrets["ann"]
        for path in (f"/v1/signin?key={key}", f"/v1/me?key={key}", f"/v1/me?access_token={key}"):
            answer = await world.ask(
                None,
                "POST" if "signin" in path else "GET",
                path,
                {"key": key} if "signin" in path else None,
                headers=OURS,
            )
            assert (
                answer.status_code in (400, 401)
                and key not in answer.text
                and "set-cookie" not in answer.headers
            )
        for body in ({}, {"key": None}, {"key": 1}, {"key": key, "more": 1}, [key]):
            assert (400, "bad_request") == code_of(
                await world.ask(None, "POST", "/v1/signin", body, headers=OURS)
            )
        form = {"Content-Type": "application/x-www-form-urlencoded", **OURS}
        assert (
            415
            == (
                await world.ask(None, "POST", "/v1/signin", content=f"key={key}", headers=form)
            ).status_code
        )
        assert 200 == (await sign_in(world, f" {key}\n")).status_code  # as in its file

    with_service(tmp_path / "data", story)


def test_each_sign_in_has_a_new_token_and_ends_the_browsers_previous_one(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        planted = "A" * 43
        first = cookie_of(await sign_in(world, "ann", Cookie=f"{COOKIE}={planted}")).value
        second = cookie_of(await sign_in(world, "bob", Cookie=f"{COOKIE}={first}")).value
        assert 3 == len({planted, first, second})
        assert [401, 401, 200] == [
            (await by_cookie(world, token)).status_code for token in (planted, first, second)
        ]

    with_service(tmp_path / "data", story)


def test_sign_in_ignores_idempotency_keys(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        answers = [
            await sign_in(world, who, **{"Idempotency-Key": "same"})
            for who in ("ann", "ann", "bob")
        ]
        assert [200, 200, 200] == [answer.status_code for answer in answers]
        assert 3 == len({cookie_of(answer).value for answer in answers})
        assert "idempotency-replayed" not in answers[1].headers

    with_service(tmp_path / "data", story)


def test_signing_in_does_not_change_the_market_and_counts_like_a_command(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        assert (
            200
            == (
                await world.ask(
                    "operator",
                    "PATCH",
                    "/v1/tenants/ann",
                    {"caps": {"commands_burst": 2, "commands_per_second": 1}},
                )
            ).status_code
        )
        position = world.gateway.position
        assert [200, 200, 429] == [(await sign_in(world, "ann")).status_code for _ in range(3)]
        assert position == world.gateway.position
        world.gateway.stopping = True
        assert (503, "stopping") == code_of(await sign_in(world, "bob"))

    with_service(tmp_path / "data", story)


# -- by cookie


def test_a_cookie_allows_what_its_key_allows(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        trades, reads = (
            await token_of(world, "ann"),
            await token_of(world, world.new_secret("ann", "read")),
        )
        assert (
            201 == (await by_cookie(world, trades, "POST", "/v1/orders", ORDER, **OURS)).status_code
        )
        assert (403, "forbidden") == code_of(
            await by_cookie(world, reads, "POST", "/v1/orders", ORDER, **OURS)
        )
        assert 1 == len((await by_cookie(world, reads, path="/v1/leases")).json()["data"])
        assert 403 == (await by_cookie(world, trades, path="/v1/tenants")).status_code
        assert (
            200
            == (
                await by_cookie(world, await token_of(world, "operator"), path="/v1/tenants")
            ).status_code
        )
        head = await by_cookie(world, reads, "HEAD", "/v1/me")
        assert (200, b"") == (head.status_code, head.content)
        assert 401 == (await by_cookie(world, "x", "HEAD", "/v1/me")).status_code

    with_service(tmp_path / "data", story)


def test_an_invalid_cookie_is_answered_like_a_wrong_key(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        wrong = await world.ask("x", "GET", "/v1/me")
        revoked, over = (
            await token_of(world, world.new_secret("ann", "read", "trade")),
            await token_of(world, "bob"),
        )
        id = (await by_cookie(world, revoked)).json()["key"]
        assert 200 == (await world.ask("operator", "DELETE", f"/v1/keys/{id}")).status_code
        world.passing.pass_us(LASTS_S * 1_000_000)
        good = await token_of(world, "ann")
        for token in (
            revoked,
            over,
            "",
            "x",
            good[:-1],
            good + "x",
            good.swapcase(),
            f'"{good}"',
            "é",
            "%00",
            "=" + good,
        ):
            for method in ("GET", "POST"):
                body = ORDER if method == "POST" else None
                answer = await world.http.request(
                    method,
                    "/v1/me" if method == "GET" else "/v1/orders",
                    json=body,
                    headers=[(b"cookie", f"{COOKIE}={token}".encode())],
                )
                assert answered_alike(wrong) == answered_alike(answer), token
        assert 200 == (await by_cookie(world, good)).status_code

    with_service(tmp_path / "data", story)


def test_a_sign_in_ends_after_twelve_hours_and_not_before(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        token = await token_of(world, "ann")
        world.passing.pass_us(LASTS_S * 1_000_000 - 1_000)
        assert 200 == (await by_cookie(world, token)).status_code
        world.passing.pass_us(1_000)
        assert 401 == (await by_cookie(world, token)).status_code

    with_service(tmp_path / "data", story)


def test_foreign_cookies_and_garbage_are_ignored_and_duplicates_of_ours_refused(
    tmp_path: Path,
) -> None:
    sent: list[tuple[list[str], int]] = [  # % stands for the token
        ([f"{COOKIE}=%"], 200),
        ([f"theme=dark; {COOKIE}=%; a=b=c"], 200),
        (["theme=dark", f"{COOKIE}=%"], 200),
        ([f";;=;\xffx; a;{COOKIE}=%;"], 200),
        ([f"{COOKIE}x=%; x{COOKIE}=%; {COOKIE.upper()}=%"], 401),
        (["%"], 401),
        ([COOKIE], 401),
        ([";" * 5000], 401),
        ([f"{COOKIE}=%; {COOKIE}=%"], 400),
        ([f"{COOKIE}=x", f"{COOKIE}=%"], 400),
    ]

    async def story(world: World) -> None:
        token = await token_of(world, "ann")
        for written, status in sent:
            headers = [(b"cookie", one.replace("%", token).encode("latin-1")) for one in written]
            assert status == (await world.http.get("/v1/me", headers=headers)).status_code, written

    with_service(tmp_path / "data", story)


def test_a_key_in_the_header_overrides_the_cookie_even_if_it_is_wrong(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        token = await token_of(world, "ann")
        assert (
            "bob"
            == (
                await by_cookie(world, token, Authorization=f"Bearer {world.secrets['bob']}")
            ).json()["holder"]
        )
        for wrong in ("Bearer x", "Basic x", ""):
            assert 401 == (await by_cookie(world, token, Authorization=wrong)).status_code
        bearer = {"Authorization": f"Bearer {world.secrets['bob']}", "Sec-Fetch-Site": "cross-site"}
        assert (
            201
            == (await by_cookie(world, token, "POST", "/v1/orders", ORDER, **bearer)).status_code
        )

    with_service(tmp_path / "data", story)


# -- from other sites


FROM: tuple[tuple[dict[str, str], bool], ...] = (
    ({**OURS}, True),
    ({**OURS, "Sec-Fetch-Site": "same-origin"}, True),
    ({}, False),
    ({"Sec-Fetch-Site": "same-origin"}, False),
    ({"X-Laissez-Console": "0"}, False),
    ({**OURS, "Sec-Fetch-Site": "same-site"}, False),
    ({**OURS, "Sec-Fetch-Site": "cross-site"}, False),
    ({**OURS, "Sec-Fetch-Site": "none"}, False),
    ({**OURS, "Sec-Fetch-Site": ""}, False),
)


def test_only_our_own_page_can_change_anything_by_cookie_or_sign_in_or_out(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for headers, may in FROM:
            token = await token_of(world, "ann")
            position = world.gateway.position
            answer = await by_cookie(world, token, "POST", "/v1/orders", ORDER, **headers)
            assert (201 if may else 403) == answer.status_code and may is (
                position < world.gateway.position
            ), headers
            assert may or "forbidden" == answer.json()["code"]
            other = await world.ask(
                None, "POST", "/v1/signin", {"key": world.secrets["bob"]}, headers=headers
            )
            world.http.cookies.clear()
            assert (200 if may else 403) == other.status_code and may is (
                "set-cookie" in other.headers
            )
            assert (200 if may else 403) == (
                await by_cookie(world, token, "DELETE", "/v1/signin", **headers)
            ).status_code
            assert (401 if may else 200) == (await by_cookie(world, token)).status_code

    with_service(tmp_path / "data", story)


def test_only_our_own_page_and_typed_addresses_can_read_by_cookie(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        token = await token_of(world, "ann")
        for site, status in (
            ("same-origin", 200),
            ("none", 200),
            ("same-site", 403),
            ("cross-site", 403),
            ("x", 403),
        ):
            for path in ("/v1/me", "/v1/events"):
                assert (
                    status
                    == (
                        await by_cookie(world, token, path=path, **{"Sec-Fetch-Site": site})
                    ).status_code
                )
            stream = {"Sec-Fetch-Site": site, "Accept": "text/event-stream"}
            assert (
                status
                == (await by_cookie(world, token, "HEAD", "/v1/events", **stream)).status_code
            )
            assert 401 == (await by_cookie(world, "x", **{"Sec-Fetch-Site": site})).status_code

    with_service(tmp_path / "data", story)


def test_no_other_site_gets_cors_permission(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        asks = {
            "Origin": "https://evil.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-laissez-console",
        }
        options = await world.ask(None, "OPTIONS", "/v1/signin", headers=asks)
        assert (200, "DELETE, GET, HEAD, OPTIONS, POST") == (
            options.status_code,
            options.headers["allow"],
        )
        for answer in (
            options,
            await sign_in(world, "ann", **asks),
            await world.ask("ann", "GET", "/v1/me", headers=asks),
        ):
            assert [] == [name for name in answer.headers if name.startswith("access-control-")]
        assert (405, "method_not_allowed") == code_of(
            await world.ask(None, "PUT", "/v1/signin", {})
        )

    with_service(tmp_path / "data", story)


def test_a_page_can_ask_who_is_signed_in_without_a_sign_in(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        token = await token_of(world, "ann")
        asked = [await by_cookie(world, one, "GET", "/v1/signin") for one in (token, "garbage")] + [
            await world.ask("ann", "GET", "/v1/signin")
        ]
        assert [200, 200, 200] == [answer.status_code for answer in asked]
        assert ["ann", None, None] == [
            answer.json()["me"] and answer.json()["me"]["holder"] for answer in asked
        ]
        elsewhere = await by_cookie(
            world, token, "GET", "/v1/signin", **{"Sec-Fetch-Site": "cross-site"}
        )
        assert (403, "forbidden") == code_of(elsewhere)

    with_service(tmp_path / "data", story)


# -- signing out


def test_signing_out_ends_only_this_sign_in_and_deletes_the_cookie(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        here, there = await token_of(world, "ann"), await token_of(world, "ann")
        answer = await by_cookie(world, here, "DELETE", "/v1/signin", **OURS)
        cookie = cookie_of(answer)
        assert ({"ended": True}, COOKIE, "", "0", "/") == (
            answer.json(),
            cookie.key,
            cookie.value,
            cookie["max-age"],
            cookie["path"],
        )
        assert [401, 200] == [
            (await by_cookie(world, token)).status_code for token in (here, there)
        ]
        for token in (here, "garbage"):
            again = await by_cookie(world, token, "DELETE", "/v1/signin", **OURS)
            assert (200, {"ended": False}) == (again.status_code, again.json())
        without = await world.ask("ann", "DELETE", "/v1/signin", headers=OURS)
        assert (200, {"ended": False}) == (without.status_code, without.json())
        assert 200 == (await world.ask("ann", "GET", "/v1/me")).status_code

    with_service(tmp_path / "data", story)


# -- kept


def test_sign_ins_survive_a_restart_in_a_file_without_tokens(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    tokens: dict[str, str] = {}
    folder = tmp_path / "data"

    async def before(world: World) -> None:
        for who in ("ann", "bob", "operator"):
            tokens[who] = await token_of(world, who)
        await by_cookie(world, tokens["bob"], "DELETE", "/v1/signin", **OURS)

    async def after(world: World) -> None:
        assert "ann" == (await by_cookie(world, tokens["ann"])).json()["holder"]
        assert "operator" == (await by_cookie(world, tokens["operator"])).json()["holder"]
        assert 401 == (await by_cookie(world, tokens["bob"])).status_code

    with_service(folder, before, secrets=secrets)
    written = (folder / FILE).read_bytes()
    assert 0o600 == stat.S_IMODE((folder / FILE).stat().st_mode)
    assert b"signins" in written
    assert not any(secret.encode() in written for secret in (*tokens.values(), *secrets.values()))
    with_service(folder, after, secrets=secrets)


def test_a_revoked_key_is_not_signed_in_after_a_restart(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    tokens: list[str] = []

    async def before(world: World) -> None:
        extra = world.new_secret("ann", "read")
        tokens.append(await token_of(world, extra))
        id = (await world.ask(extra, "GET", "/v1/me")).json()["key"]
        await world.ask("operator", "DELETE", f"/v1/keys/{id}")

    async def after(world: World) -> None:
        assert 401 == (await by_cookie(world, tokens[0])).status_code
        await token_of(world, "ann")
        # expired sign-ins are deleted at the next sign-in
        assert 1 == kept(world.beside)

    with_service(tmp_path, before, secrets=secrets)
    with_service(tmp_path, after, secrets=secrets)


def set_body(digest: bytes, body: object, connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE signins SET body = ? WHERE digest = ?", (body, digest))


def test_a_damaged_row_is_logged_and_only_its_browser_signs_in_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(world: World) -> None:
        tokens = [await token_of(world, who) for who in ("ann", "bob")]
        digest = hashlib.sha256(tokens[0].encode()).digest()
        for body in (b"", b"{", bytes(100), "text", 7):
            world.beside.transact(partial(set_body, digest, body))
            caplog.clear()
            world.app.site.signins = SignIns(world.gateway, world.beside)
            assert "a row of beside.db is damaged and ignored" in caplog.text, body
            assert [401, 200] == [(await by_cookie(world, one)).status_code for one in tokens]

    with_service(tmp_path / "data", story)


def full(work: Callable[[sqlite3.Connection], object]) -> None:
    """Replaces `Beside.transact`."""
    raise BesideFailed("database or disk is full")


def test_unwritable_sign_ins_are_valid_until_the_next_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(world: World) -> None:
        monkeypatch.setattr(world.beside, "transact", full)
        assert 200 == (await by_cookie(world, await token_of(world, "ann"))).status_code

    with_service(tmp_path / "data", story)
    assert "the sign-ins could not be written" in caplog.text


def test_a_sign_out_is_written_later_if_the_disk_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets: dict[str, str] = {}
    tokens: list[str] = []

    async def before(world: World) -> None:
        tokens.append(await token_of(world, "ann"))
        with monkeypatch.context() as patched:
            patched.setattr(world.beside, "transact", full)
            assert {"ended": True} == (
                await by_cookie(world, tokens[0], "DELETE", "/v1/signin", **OURS)
            ).json()
        assert 1 == kept(world.beside)
        await world.app.site.signins.flush()  # as every second, and before the server ends
        assert 0 == kept(world.beside)

    async def after(world: World) -> None:
        assert 401 == (await by_cookie(world, tokens[0])).status_code

    with_service(tmp_path, before, secrets=secrets)
    with_service(tmp_path, after, secrets=secrets)


def test_unreadable_sign_ins_do_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        await token_of(world, "ann")
        with monkeypatch.context() as patched:
            patched.setattr(world.beside, "transact", full)
            world.app.site.signins = SignIns(world.gateway, world.beside)
        await token_of(world, "bob")
        assert 1 == kept(world.beside)

    with_service(tmp_path, story)


def test_a_sign_in_that_lasts_too_long_is_invalid(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    token = "A" * 43

    async def before(world: World) -> None:
        id = (await world.ask("ann", "GET", "/v1/me")).json()["key"]
        until = world.gateway.clock.now() + 2 * LASTS_S * 1_000_000
        made = signins.SignIn(hashlib.sha256(token.encode()).digest(), id, until)
        kept = SignIns(world.gateway, world.beside)
        kept._by_digest[made.digest] = made
        await kept._write(made.digest)

    async def after(world: World) -> None:
        assert 401 == (await by_cookie(world, token)).status_code
        world.passing.pass_us((LASTS_S + 1) * 1_000_000)
        assert 200 == (await by_cookie(world, token)).status_code

    with_service(tmp_path, before, secrets=secrets)
    with_service(tmp_path, after, secrets=secrets)


def test_a_sign_in_above_the_bound_ends_the_oldest_of_its_key(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        other = await token_of(world, "bob")
        tokens = [await token_of(world, "ann") for _ in range(PER_KEY_MAX + 2)]
        assert [401] * 2 + [200] * PER_KEY_MAX == [
            (await by_cookie(world, token)).status_code for token in tokens
        ]
        assert 200 == (await by_cookie(world, other)).status_code
        assert PER_KEY_MAX + 1 == kept(world.beside)

    with_service(tmp_path, story)


def test_simultaneous_sign_ins_are_all_kept_and_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets: dict[str, str] = {}
    tokens: list[str] = []
    writes: list[object] = []
    may_write = threading.Event()
    transact = Beside.transact

    def slowly(self: Beside, work: Callable[[sqlite3.Connection], object]) -> object:
        assert may_write.wait(10)
        writes.append(work)
        return transact(self, work)

    async def before(world: World) -> None:
        monkeypatch.setattr(Beside, "transact", slowly)
        asyncio.get_running_loop().call_later(0.1, may_write.set)
        answers = await asyncio.gather(
            *(
                world.ask(None, "POST", "/v1/signin", {"key": secrets["ann"]}, headers=OURS)
                for _ in range(12)
            )
        )
        tokens.extend(cookie_of(answer).value for answer in answers)
        assert len(writes) <= 2  # perhaps the first, then all that came during its write

        monkeypatch.undo()

    async def after(world: World) -> None:
        assert [200] * 12 == [(await by_cookie(world, token)).status_code for token in tokens]

    with_service(tmp_path, before, secrets=secrets)
    with_service(tmp_path, after, secrets=secrets)


# -- streams, sessions, logs


def test_a_stream_accepts_the_cookie_and_ends_with_the_key_and_a_session_refuses_it(
    tmp_path: Path,
) -> None:
    async def tale(live: Live) -> None:
        world = live.world
        key = world.new_secret("ann", "read", "trade")
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}") as browser:
            me = (await browser.post("/v1/signin", json={"key": key}, headers=OURS)).json()
            (cookie,) = browser.cookies.jar
            assert f"{COOKIE}_{live.port}" == cookie.name
            async with browser.stream(
                "GET",
                "/v1/events",
                headers={"Accept": "text/event-stream", "Sec-Fetch-Site": "same-origin"},
            ) as stream:
                assert 200 == stream.status_code
                lines = stream.aiter_lines()
                await browser.post("/v1/orders", json=ORDER, headers=OURS)
                async with asyncio.timeout(10):
                    assert "event: order.placed" in [
                        line async for line in _until(lines, "event: ")
                    ]
                    await world.ask("operator", "DELETE", f"/v1/keys/{me['key']}")
                    assert [line async for line in lines][-2].startswith(": closing")
            fresh = await browser.post(
                "/v1/signin", json={"key": world.secrets["ann"]}, headers=OURS
            )
            header = {"Cookie": f"{cookie_of(fresh).key}={cookie_of(fresh).value}"}
            assert 200 == (await browser.get("/v1/me")).status_code
        async with connect(
            f"ws://127.0.0.1:{live.port}/v1/session",
            additional_headers=header,
            subprotocols=[Subprotocol(JSON)],
        ) as opened:
            refused = await Peer(opened).ask(type="hello")
            assert ("refused", "unauthenticated") == (refused["type"], refused["code"])

    with_live(tmp_path, tale)


@pytest.mark.parametrize("path", ["/v1/events", "/v1/levels"])
def test_a_stream_ends_only_with_its_own_sign_in(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "SIGNED_OUT_LOOK_S", 0.05)

    async def tale(live: Live) -> None:
        wanted = {"Accept": "text/event-stream"}
        address = f"http://127.0.0.1:{live.port}"
        key = {"key": live.world.secrets["operator"]}
        async with (
            httpx.AsyncClient(base_url=address) as here,
            httpx.AsyncClient(base_url=address) as there,
            asyncio.timeout(20),
        ):
            for browser in (here, there):
                await browser.post("/v1/signin", json=key, headers=OURS)
            async with (
                here.stream("GET", path, headers=wanted) as ended,
                there.stream("GET", path, headers=wanted) as lasting,
            ):
                assert [200, 200] == [ended.status_code, lasting.status_code]
                await here.delete("/v1/signin", headers=OURS)
                assert (
                    ": closing signed_out"
                    == [line async for line in ended.aiter_lines() if line][-1]
                )
                await live.world.ask("operator", "PUT", "/v1/floors/h100", {"price": "1.23"})
                assert [
                    1
                    async for line in lasting.aiter_lines()
                    if "1.23" in line and await there.delete("/v1/signin", headers=OURS)
                ]

    with_live(tmp_path, tale)


async def _until(lines: Any, beginning: str) -> Any:
    async for line in lines:
        yield line
        if line.startswith(beginning):
            return


@pytest.mark.sources
def test_no_key_cookie_or_token_is_ever_logged_or_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    said: list[str] = []

    async def story(world: World) -> None:
        token = await token_of(world, "ann")
        said.extend([token, world.secrets["ann"]])
        await sign_in(world, world.secrets["ann"] + "x")
        await by_cookie(world, token, "POST", "/v1/orders", ORDER)
        monkeypatch.setattr(world.gateway, "end_holds", lambda: 1 // 0)
        monkeypatch.setattr(world.app.site.signins, "begin", lambda *_: 1 // 0)
        assert 500 == (await by_cookie(world, token)).status_code
        assert 500 == (await sign_in(world, "ann", Cookie=f"{COOKIE}={token}")).status_code

    with_service(tmp_path / "data", story)
    assert "bug in signIn" in caplog.text and "bug in getMe" in caplog.text
    assert not any(secret in caplog.text for secret in said) and not re.search(
        r"lz_[0-9a-f]", caplog.text
    )
    assert "lz_1" not in repr(SignIn("lz_1"))
