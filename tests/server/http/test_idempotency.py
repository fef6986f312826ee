"""Idempotency: a repeated key gets the same bytes, even after a restart, and is never carried out
twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from laissez.wire.ids import lease_id, tag_of
from support.service_world import World, unknown_order, with_service

pytestmark = pytest.mark.once

ORDER = {"alternatives": [{"scope": "a100", "limit": "2"}]}
Case = tuple[str, str, str, object]


async def held(world: World) -> dict[str, Any]:
    return await world.place("ann", "a100", "5")


async def changes(world: World) -> list[Case]:
    """Every kind of change, each of which can be made once."""
    mine = await held(world)
    other = await world.place("ann", "h100", "5")
    third = await world.place("ann", "h100", "5")
    waits = [(await world.place("ann", "a100", "1"))["id"] for _ in range(3)]
    secret = (
        await world.ask("operator", "POST", "/v1/tenants/ann/keys", {"name": "spare"})
    ).json()["id"]
    return [
        ("ann", "POST", "/v1/orders", ORDER),
        ("ann", "PUT", f"/v1/orders/{waits[0]}", ORDER),
        ("ann", "DELETE", f"/v1/orders/{waits[1]}", None),
        ("ann", "PATCH", f"/v1/leases/{mine['lease']}", {"limit": "7"}),
        ("ann", "DELETE", f"/v1/leases/{other['lease']}", None),
        ("ann", "POST", "/v1/instances", {"type": "h100", "count": 3, "max_price": "1"}),
        ("ann", "DELETE", f"/v1/instances/ins_{waits[2][4:]}", None),
        ("ann", "DELETE", f"/v1/instances/ins_{third['id'][4:]}", None),
        (
            "ann",
            "POST",
            "/v1/batch",
            {
                "commands": [
                    {"type": "place_order", **ORDER},
                    {"type": "cancel_order", "order": unknown_order("ann")},
                    {"type": "place_order", **ORDER},
                ]
            },
        ),
        ("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}", None),
        ("operator", "PUT", "/v1/floors/h100/west", {"price": "0.5"}),
        ("operator", "DELETE", "/v1/floors/h100/west", None),
        ("operator", "PUT", "/v1/controls/h100", {"hold_s": 60}),
        ("operator", "DELETE", "/v1/controls/h100", None),
        ("operator", "PATCH", "/v1/resources/h100/west/rack2/gpu2", {"online": False}),
        ("operator", "POST", "/v1/tenants", {"name": "acme"}),
        ("operator", "PATCH", "/v1/tenants/bob", {"caps": {"sessions": 3}}),
        ("operator", "DELETE", f"/v1/keys/{secret}", None),
        (
            "operator",
            "POST",
            "/v1/batch",
            {"commands": [{"type": "set_floor", "node": "a100", "price": "0.1"}]},
        ),
    ]


def test_every_repeated_change_gets_the_same_bytes_even_after_a_restart(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    cases: list[Case] = []
    first: list[tuple[int, bytes]] = []

    async def before(world: World) -> None:
        cases.extend(await changes(world))
        for index, (who, method, path, body) in enumerate(cases):
            answer = await world.ask(who, method, path, body, key=f"change-{index}")
            assert "idempotency-replayed" not in answer.headers
            assert 200 <= answer.status_code < 300 or path.endswith(unknown_order("ann")), (
                answer.text
            )
            first.append((answer.status_code, answer.content))
        await again(world)

    async def again(world: World) -> None:
        position = world.gateway.position
        for index, (who, method, path, body) in enumerate(cases):
            answer = await world.ask(who, method, path, body, key=f"change-{index}")
            assert first[index] == (answer.status_code, answer.content), path
            assert "true" == answer.headers["idempotency-replayed"]
        assert position == world.gateway.position

    with_service(tmp_path / "data", before, secrets=secrets)
    with_service(tmp_path / "data", again, secrets=secrets)


def test_a_key_used_for_another_request_is_a_conflict_without_effect(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        place = {"type": "place_order", **ORDER}
        unreadable = {"type": "place_order", "alternatives": [{"scope": "h100", "limit": "x"}]}
        await world.ask("ann", "POST", "/v1/orders", ORDER, key="one")
        await world.ask("ann", "POST", "/v1/batch", {"commands": [place, place]}, key="two")
        await world.ask(
            "ann", "POST", "/v1/instances", {"type": "h100", "max_price": "1"}, key="three"
        )
        position = world.gateway.position
        for key in ("one", "two", "three"):
            for method, path, body in (
                ("POST", "/v1/orders", {"alternatives": [{"scope": "a100", "limit": "3"}]}),
                ("POST", "/v1/batch", {"commands": [place, place, place]}),
                ("POST", "/v1/batch", {"commands": [place, unreadable, place]}),
                ("POST", "/v1/instances", {"near": "lse_x", "level": 15, "max_price": "1"}),
                ("POST", "/v1/instances", {"type": "h100", "max_price": "2"}),
                ("DELETE", f"/v1/orders/{unknown_order('ann')}", None),
                ("DELETE", f"/v1/leases/{lease_id(tag_of('ann'), 999)}", None),
            ):
                answer = await world.ask("ann", method, path, body, key=key)
                assert (409, "idempotency_conflict") == (answer.status_code, answer.json()["code"])
            beyond = await world.ask(
                "ann",
                "POST",
                "/v1/instances",
                {"near": "lse_x", "level": 10**30, "max_price": "1"},
                key=key,
            )
            assert (400, "bad_request") == (beyond.status_code, beyond.json()["code"])
            theirs = await world.ask("ann", "DELETE", f"/v1/orders/{unknown_order('bob')}", key=key)
            assert (404, "not_your_order") == (theirs.status_code, theirs.json()["code"])
        assert position == world.gateway.position
        theirs = await world.ask("bob", "POST", "/v1/orders", ORDER, key="one")
        assert 201 == theirs.status_code and "idempotency-replayed" not in theirs.headers

    with_service(tmp_path / "data", story)


def test_the_secret_of_a_key_is_shown_once(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        made = await world.ask("operator", "POST", "/v1/tenants/ann/keys", {"name": "ci"}, key="k")
        again = await world.ask("operator", "POST", "/v1/tenants/ann/keys", {"name": "ci"}, key="k")
        assert made.json()["secret"].startswith("lz_") and again.json()["secret"] is None
        assert made.json() | {"secret": None} == again.json()
        assert 200 == (await world.ask(made.json()["secret"], "GET", "/v1/me")).status_code
        other = await world.ask("operator", "POST", "/v1/tenants/ann/keys", {"name": "cd"}, key="k")
        assert 409 == other.status_code

    with_service(tmp_path / "data", story)


def test_a_batch_carries_out_each_command_by_itself(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        place = {"type": "place_order", **ORDER}
        bad = {"type": "place_order", "alternatives": [{"scope": "a100", "limit": "x"}]}
        commands = [
            place,
            bad,
            {"type": "cancel_order", "order": "ord_x"},
            place | {"id": "ignored"},
        ]
        answer = await world.ask("ann", "POST", "/v1/batch", {"commands": commands}, key="b")
        results = answer.json()["results"]
        assert [(200, None), (400, "bad_request"), (404, "not_your_order"), (200, None)] == [
            (one["status"], one.get("code")) for one in results
        ]
        assert ["lease.started"] == [one["event"]["type"] for one in results[0]["events"][1:]]
        assert (
            answer.content
            == (
                await world.ask("ann", "POST", "/v1/batch", {"commands": commands}, key="b")
            ).content
        )
        forbidden = await world.ask(
            "ann", "POST", "/v1/batch", {"commands": [place, {"type": "take_offline", "leaf": "x"}]}
        )
        assert 403 == forbidden.status_code
        trading = await world.ask("operator", "POST", "/v1/batch", {"commands": [place]})
        assert 403 == trading.status_code
        for wrong in ([], [place] * 501):
            assert (
                400
                == (await world.ask("ann", "POST", "/v1/batch", {"commands": wrong})).status_code
            )

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize("key", ["", "x" * 65, "two words", "tab\t", "é"])
def test_an_invalid_key_is_refused(tmp_path: Path, key: str) -> None:
    async def story(world: World) -> None:
        headers = [
            (b"authorization", f"Bearer {world.secrets['ann']}".encode()),
            (b"idempotency-key", key.encode("latin-1")),
        ]
        answer = await world.http.delete("/v1/orders/ord_x", headers=headers)
        assert (400, "bad_request") == (answer.status_code, answer.json()["code"])

    with_service(tmp_path / "data", story)
