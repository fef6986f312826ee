"""Invalid input is refused with the expected form: queries, bodies, headers, methods, paths,
keys."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from laissez.server.http.endpoint import Call
from laissez.server.http.operations import OPERATIONS
from laissez.wire.decoding import NAME_MAX
from laissez.wire.problems import Code
from laissez_check.in_process import Exchange, head_of
from support.service_world import GENEROUS, World, with_service

pytestmark = pytest.mark.once

AS_THE_CONSOLE = {"X-Laissez-Console": "1"}  # required to sign in or out
FIXED = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def is_problem(answer: httpx.Response, status: int, code: str) -> bool:
    body = answer.json()
    assert (status, code, "application/problem+json") == (
        answer.status_code,
        body["code"],
        answer.headers["content-type"],
    ), answer.text
    assert (
        body["status"] == status
        and body["detail"]
        and FIXED.items() <= dict(answer.headers).items()
    )
    return True


@pytest.mark.parametrize(
    "query",
    [
        "colour=red",
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=ten",
        "limit=1&limit=1",
        "limit=%C2%B2",
        "limit=",
        "limit=99999999999999999999",
        "cursor=",
        "cursor=x",
        "cursor=%F0",
        "cursor=AAAA",
        "cursor=" + "A" * 3000,
        "limit",
        "a=1&" * 30,
    ],
)
def test_an_unreadable_query_is_refused(tmp_path: Path, query: str) -> None:
    async def story(world: World) -> None:
        assert is_problem(await world.ask("ann", "GET", f"/v1/orders?{query}"), 400, "bad_request")

    with_service(tmp_path / "data", story)


def test_a_cursor_of_another_list_is_refused(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        cursor = (await world.ask("ann", "GET", "/v1/prices?limit=1")).json()["cursor"]
        assert 200 == (await world.ask("ann", "GET", f"/v1/prices?cursor={cursor}")).status_code
        assert is_problem(
            await world.ask("ann", "GET", f"/v1/orders?cursor={cursor}"), 400, "bad_request"
        )
        orders = [(await world.place("ann", "a100", limit))["id"] for limit in ("2", "1")]
        mine, other = [f"/v1/orders/{order}/history?limit=1" for order in orders]
        cursor = (await world.ask("ann", "GET", mine)).json()["cursor"]
        assert 200 == (await world.ask("ann", "GET", f"{mine}&cursor={cursor}")).status_code
        refused = await world.ask("ann", "GET", f"{other}&cursor={cursor}")
        assert is_problem(refused, 400, "bad_request")

    with_service(tmp_path / "data", story)


LONG = "x" * (NAME_MAX + 1)
GOOD = b'{"alternatives": [{"scope": "h100", "limit": "1"}]}'


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (b'{"alternatives": []} x', 400),
        (b'{"alternatives": [], "colour": "red"}', 400),
        (b'{"alternatives": [{"scope": "h100", "limit": 1}]}', 400),
        (b'{"alternatives": [{"scope": "h100", "limit": NaN}]}', 400),
        (b'{"alternatives": [{"scope": "\xff", "limit": "1"}]}', 400),
        (b'{"alternatives": [{"scope": "\\ud800", "limit": "1"}]}', 400),
        (b'{"alternatives": [{"scope": "' + b"x" * 20_000 + b'", "limit": "1"}]}', 413),
        (b"[" * 10_000, 400),
        (GOOD, 201),
    ],
)
def test_an_unreadable_body_is_refused(tmp_path: Path, body: bytes, status: int) -> None:
    async def story(world: World) -> None:
        answer = await world.ask(
            "ann", "POST", "/v1/orders", content=body, headers={"Content-Type": "application/json"}
        )
        assert status == answer.status_code, answer.text
        assert status == 201 or is_problem(
            answer, status, {400: "bad_request", 413: "body_too_large"}[status]
        )

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize("parts", [[GOOD], [GOOD[:20], GOOD[20:]], []])
def test_a_truncated_body_is_not_carried_out_even_if_its_part_is_valid(
    tmp_path: Path, parts: list[bytes]
) -> None:
    async def story(world: World) -> None:
        sent = {
            "host": "test",
            "authorization": f"Bearer {world.secrets['ann']}",
            "content-type": "application/json",
            "content-length": "500",
        }
        position, refused = world.gateway.position, world.gateway.refusals.noted
        head = head_of(
            "POST", "/v1/orders", [(name.encode(), sent[name].encode()) for name in sent]
        )
        asked = Exchange(world.app, head)
        for part in parts:
            asked.connection.data_received(part)
            await asyncio.sleep(0)
        asked.pipe.close()
        await asyncio.gather(*world.app.tasks)
        assert (refused + 1, position) == (world.gateway.refusals.noted, world.gateway.position)

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/orders", {"alternatives": [{"scope": LONG, "limit": "1"}]}),
        ("PUT", f"/v1/orders/{LONG}", {"alternatives": [{"scope": "h100", "limit": "1"}]}),
        ("DELETE", f"/v1/orders/{LONG}", None),
        ("PATCH", f"/v1/leases/{LONG}", {"limit": "1"}),
        ("DELETE", f"/v1/leases/{LONG}", None),
        ("POST", "/v1/instances", {"scope": LONG, "max_price": "1"}),
    ],
)
def test_a_name_longer_than_any_path_is_refused_and_not_stored(
    tmp_path: Path, method: str, path: str, body: object
) -> None:
    async def story(world: World) -> None:
        position = world.gateway.position
        assert is_problem(await world.ask("ann", method, path, body), 400, "bad_request")
        assert position == world.gateway.position
        assert 404 == (await world.ask("ann", "DELETE", f"/v1/orders/{LONG[1:]}")).status_code

    with_service(tmp_path / "data", story)


def test_a_body_that_grows_too_large_is_refused(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        async def pieces() -> object:
            for _ in range(100):
                yield b" " * 1_000

        answer = await world.ask(
            "ann",
            "POST",
            "/v1/orders",
            content=pieces(),
            headers={"Content-Type": "application/json"},
        )
        assert is_problem(answer, 413, "body_too_large")
        large = {"commands": [{"type": "cancel_order", "order": "x" * 100}] * 400}
        assert 200 == (await world.ask("ann", "POST", "/v1/batch", large)).status_code

    with_service(tmp_path / "data", story, GENEROUS)


@pytest.mark.parametrize(
    "media",
    [
        None,
        "text/plain",
        "application/json; charset=latin-1",
        "application/x-www-form-urlencoded",
        "application/jsonx",
    ],
)
def test_a_body_of_another_media_type_is_refused(tmp_path: Path, media: str | None) -> None:
    async def story(world: World) -> None:
        headers = {} if media is None else {"Content-Type": media}
        assert is_problem(
            await world.ask("ann", "POST", "/v1/orders", content=GOOD, headers=headers),
            415,
            "unsupported_media_type",
        )
        zipped = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        assert is_problem(
            await world.ask("ann", "POST", "/v1/orders", content=GOOD, headers=zipped),
            415,
            "unsupported_media_type",
        )

    with_service(tmp_path / "data", story)


def test_json_may_declare_its_charset(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        headers = {"Content-Type": "Application/JSON; charset=UTF-8"}
        assert (
            201
            == (
                await world.ask("ann", "POST", "/v1/orders", content=GOOD, headers=headers)
            ).status_code
        )

    with_service(tmp_path / "data", story)


def test_a_body_where_none_is_expected_is_refused(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        async def pieces() -> object:
            yield b""
            yield b"x"

        for method, path in (
            ("GET", "/v1/orders"),
            ("DELETE", "/v1/orders/ord_x"),
            ("GET", "/healthz"),
        ):
            assert is_problem(
                await world.ask("ann", method, path, content=b"x"), 400, "bad_request"
            )
            assert is_problem(
                await world.ask("ann", method, path, content=pieces()), 400, "bad_request"
            )

    with_service(tmp_path / "data", story)


def test_duplicate_headers_are_refused(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        bearer = (b"authorization", f"Bearer {world.secrets['ann']}".encode())
        for twice in (
            b"authorization",
            b"idempotency-key",
            b"content-type",
            b"x-laissez-console",
            b"sec-fetch-site",
        ):
            answer = await world.http.get(
                "/v1/orders", headers=[bearer, (twice, b"x"), (twice, b"x")]
            )
            assert is_problem(answer, 400, "bad_request")

    with_service(tmp_path / "data", story)


def test_refusals_do_not_reveal_why_a_key_is_invalid(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        revoked = world.new_secret("ann", "read")
        id = (await world.ask(revoked, "GET", "/v1/me")).json()["key"]
        assert 200 == (await world.ask("operator", "DELETE", f"/v1/keys/{id}")).status_code
        good = world.secrets["ann"]
        answers = [
            await world.ask(who, "GET", "/v1/orders")
            for who in (
                None,
                "",
                "x",
                "lz_",
                "lz_0_x",
                good[:-1],
                good + "x",
                good.upper(),
                revoked,
            )
        ]
        for scheme in (f"Basic {good}".encode(), good.encode(), b"Bearer", b"Bearer \xe9\xff"):
            answers.append(await world.http.get("/v1/orders", headers=[(b"authorization", scheme)]))
        assert 1 == len(
            {
                (answer.status_code, answer.content, tuple(answer.headers.items()))
                for answer in answers
            }
        )
        assert (
            is_problem(answers[0], 401, "unauthenticated")
            and "Bearer" == answers[0].headers["www-authenticate"]
        )
        assert (
            200
            == (
                await world.http.get("/v1/orders", headers={"Authorization": f"bearer  {good}"})
            ).status_code
        )

    with_service(tmp_path / "data", story)


def _asked(path: str) -> str:
    return (
        path.replace(":path", "")
        .replace("{id}", "x")
        .replace("{order}", "x")
        .replace("{lease}", "x")
        .replace("{name}", "x")
        .replace("{node}", "h100/x")
        .replace("{leaf}", "h100/x")
    )


def _who(world: World) -> Iterator[tuple[str, str, frozenset[str]]]:
    for holder, *scopes in (
        ("ann", "read"),
        ("ann", "trade"),
        ("ann", "read", "trade"),
        ("operator", "read"),
        ("operator", "operate"),
    ):
        yield world.new_secret(holder, *scopes), holder, frozenset(scopes)


def test_each_operation_requires_exactly_its_scope(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for secret, holder, scopes in list(_who(world)):
            for operation in OPERATIONS:
                answer = await world.ask(
                    secret,
                    operation.method,
                    _asked(operation.path),
                    {} if operation.body else None,
                    headers=AS_THE_CONSOLE,
                )
                may = not operation.scopes or (
                    bool(scopes & set(operation.scopes))
                    and (holder == "operator" or not operation.of_operator)
                )
                refused = answer.status_code == 403 and answer.json()["code"] == "forbidden"
                assert may is not refused, (operation.name, scopes, answer.text)
        for operation in OPERATIONS:
            answer = await world.ask(
                None,
                operation.method,
                _asked(operation.path),
                {} if operation.body else None,
                headers=AS_THE_CONSOLE,
            )
            assert (operation.scopes is None) is (answer.status_code != 401)

    with_service(tmp_path / "data", story)


def test_unknown_paths_and_methods_are_problems(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for path in (
            "/v1",
            "/v1/order",
            "/v1/orders/",
            "/v1/orders/a/b",
            "/v2/orders",
            "/v1/session",
        ):
            assert is_problem(await world.ask("ann", "GET", path), 404, "not_found")
        answer = await world.ask("ann", "PATCH", "/v1/orders")
        assert (
            is_problem(answer, 405, "method_not_allowed")
            and "GET, HEAD, OPTIONS, POST" == answer.headers["allow"]
        )
        answer = await world.ask("ann", "GET", "/v1/floors/h100/west")
        assert (
            is_problem(answer, 405, "method_not_allowed")
            and "DELETE, OPTIONS, PUT" == answer.headers["allow"]
        )
        options = await world.ask(None, "OPTIONS", "/v1/orders/x")
        assert (200, "DELETE, GET, HEAD, OPTIONS, PUT") == (
            options.status_code,
            options.headers["allow"],
        )

    with_service(tmp_path / "data", story)


def test_a_head_answer_has_no_body(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for path in ("/v1/orders", "/v1/nothing", "/v1/orders/x", "/healthz"):
            whole, head = await world.ask("ann", "GET", path), await world.ask("ann", "HEAD", path)
            assert (whole.status_code, dict(whole.headers), b"") == (
                head.status_code,
                dict(head.headers),
                head.content,
            )
        stream = await world.ask(
            "ann", "HEAD", "/v1/events", headers={"Accept": "text/event-stream"}
        )
        assert 200 == stream.status_code

    with_service(tmp_path / "data", story)


def test_a_media_type_that_is_not_offered_is_refused(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for accept in ("text/html", "application/xml, text/plain"):
            assert is_problem(
                await world.ask("ann", "GET", "/v1/orders", headers={"Accept": accept}),
                406,
                "not_acceptable",
            )
        for accept in (
            "application/json",
            "application/*",
            "text/html, */*;q=0.1",
            "text/html, application/json;q=0.5",
        ):
            assert (
                200
                == (
                    await world.ask("ann", "GET", "/v1/orders", headers={"Accept": accept})
                ).status_code
            )

    with_service(tmp_path / "data", story)


@pytest.mark.sources
def test_a_bug_is_reported_without_details(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(world: World) -> None:
        def broken(at: int | None = None) -> int:
            raise ZeroDivisionError("secret detail")

        world.gateway.end_holds = broken  # type: ignore[method-assign]
        answer = await world.ask("ann", "GET", "/v1/prices")
        assert is_problem(answer, 500, Code.INTERNAL)
        assert "secret" not in answer.text

    with_service(tmp_path / "data", story)
    assert "secret detail" in caplog.text


def test_every_answer_carries_the_headers_that_keep_it_private(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for operation in OPERATIONS:
            answer = await world.ask(
                "operator", operation.method, _asked(operation.path), {} if operation.body else None
            )
            assert (
                FIXED.items() <= dict(answer.headers).items() and answer.headers["content-type"]
            ), operation.name
            if answer.headers["content-type"].endswith("json"):
                json.loads(answer.content)

    with_service(tmp_path / "data", story)


def test_refused_requests_leave_nothing_in_memory(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for _ in range(20):
            assert 401 == (await world.ask("lz_wrong", "GET", "/v1/orders")).status_code
            assert 403 == (await world.ask("ann", "GET", "/v1/tenants")).status_code
        gc.collect()
        calls = [one for one in gc.get_objects() if type(one) is Call]
        assert [] == [one for one in calls if one.gateway is world.gateway]

    with_service(tmp_path / "data", story)
