"""The operator's REST API: totals of the market, resources, floors, controls, tenants and keys;
metrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.service_world import LEAVES, World, unknown_order, with_service

pytestmark = pytest.mark.once


def test_a_number_too_large_for_the_journal_is_refused_and_the_service_continues(
    tmp_path: Path,
) -> None:
    async def story(world: World) -> None:
        position = world.gateway.position
        for method, path, body in (
            ("PATCH", "/v1/tenants/ann", {}),
            ("POST", "/v1/tenants", {"name": "eve"}),
        ):
            answer = await world.ask(
                "operator", method, path, {**body, "caps": {"open_orders": 10**30}}
            )
            assert (400, "bad_request") == (answer.status_code, answer.json()["code"]), answer.text
        assert world.gateway.failure is None and position == world.gateway.position
        await world.place("ann", "a100", "5")

    with_service(tmp_path / "data", story)


def test_a_leaf_goes_offline_with_its_lease_and_comes_back(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        leaf = "a100/east/rack1/gpu1"
        await world.place("ann", "a100", "5")
        away = await world.ask("operator", "PATCH", f"/v1/resources/{leaf}", {"online": False})
        told = [(one["event"]["type"], one.get("tenant")) for one in away.json()["events"]]
        assert {("resource.offline", None), ("lease.ended", "ann")} == set(told)
        shown = (
            await world.ask("operator", "GET", "/v1/resources", params={"under": "a100"})
        ).json()["data"]
        assert [
            {"leaf": leaf, "online": False, "owner": None, "rate": "0", "floor": "0", "limit": None}
        ] == shown
        assert (9, 8, 0) == await figures(world)
        again = await world.ask("operator", "PATCH", f"/v1/resources/{leaf}", {"online": False})
        assert (409, "already_offline") == (again.status_code, again.json()["code"])
        await world.ask("operator", "PATCH", f"/v1/resources/{leaf}", {"online": True})
        assert (9, 9, 0) == await figures(world)
        for path, code in (("h100/west", "not_a_leaf"), ("moon", "scope_unknown")):
            refused = await world.ask(
                "operator", "PATCH", f"/v1/resources/{path}", {"online": True}
            )
            assert code == refused.json()["code"]

    async def figures(world: World) -> tuple[int, int, int]:
        market = (await world.ask("operator", "GET", "/v1/market")).json()
        return market["leaves"], market["online"], market["leased"]

    with_service(tmp_path / "data", story)


def test_floors_are_set_listed_and_removed(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.ask("operator", "PUT", "/v1/floors/h100", {"price": "2"})
        done = await world.ask("operator", "PUT", "/v1/floors/h100/west", {"price": "1.5"})
        assert ["floor.set"] == [one["event"]["type"] for one in done.json()["events"]]
        listed = (await world.ask("operator", "GET", "/v1/floors")).json()["data"]
        assert [("h100", "2", "2"), ("h100/west", "1.5", "2")] == [
            (one["node"], one["own"], one["in_force"]) for one in listed
        ]
        encoded = await world.ask("operator", "DELETE", "/v1/floors/h100%2Fwest")
        assert 200 == encoded.status_code
        assert ["h100"] == [
            one["node"] for one in (await world.ask("operator", "GET", "/v1/floors")).json()["data"]
        ]
        for node, body, code in (
            ("moon", {"price": "1"}, "scope_unknown"),
            ("h100", {"price": "x"}, "bad_request"),
            ("h100", {}, "bad_request"),
        ):
            assert (
                code
                == (await world.ask("operator", "PUT", f"/v1/floors/{node}", body)).json()["code"]
            )

    with_service(tmp_path / "data", story)


def test_controls_are_set_listed_and_removed(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        asked = {
            "rise": {"fraction": "0.1", "seconds": 60.0},
            "fall": None,
            "hold_s": 300.0,
            "flash_s": 1.5,
        }
        done = await world.ask("operator", "PUT", "/v1/controls/h100/west", asked)
        assert asked.items() <= done.json()["events"][0]["event"].items()
        assert [{"node": "h100/west", **asked}] == (
            await world.ask("operator", "GET", "/v1/controls")
        ).json()["data"]
        assert 200 == (await world.ask("operator", "DELETE", "/v1/controls/h100/west")).status_code
        assert [] == (await world.ask("operator", "GET", "/v1/controls")).json()["data"]
        for body in (
            {"hold_s": 0},
            {"hold_s": -1},
            {"hold_s": 1e300},
            {"rise": {"fraction": "-1", "seconds": 1}},
            {"rise": {"fraction": "0.1"}},
        ):
            assert (
                400 == (await world.ask("operator", "PUT", "/v1/controls/h100", body)).status_code
            )
        out_of_range = await world.ask(
            "operator", "PUT", "/v1/controls/h100", {"rise": {"fraction": "9999", "seconds": 1}}
        )
        assert (422, "controls_invalid") == (out_of_range.status_code, out_of_range.json()["code"])
        assert 404 == (await world.ask("operator", "DELETE", "/v1/controls/moon")).status_code

    with_service(tmp_path / "data", story)


def test_tenants_are_created_and_capped(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        made = await world.ask(
            "operator", "POST", "/v1/tenants", {"name": "acme & söhne", "caps": {"open_orders": 1}}
        )
        assert (201, {"open_orders": 1}) == (made.status_code, made.json()["caps"])
        path = "/v1/tenants/acme%20%26%20s%C3%B6hne"
        assert made.json() == (await world.ask("operator", "GET", path)).json()
        changed = (await world.ask("operator", "PATCH", path, {"caps": {"sessions": 2}})).json()
        assert {"sessions": 2} == changed["caps"]
        for body, status in (
            ({"name": "ann"}, 409),
            ({"name": "operator"}, 422),
            ({"name": ""}, 422),
            ({"name": "x", "caps": {"sessions": -1}}, 400),
        ):
            assert status == (await world.ask("operator", "POST", "/v1/tenants", body)).status_code
        for method, body_ in (("GET", None), ("PATCH", {"caps": {}})):
            assert (
                404 == (await world.ask("operator", method, "/v1/tenants/moon", body_)).status_code
            )

    with_service(tmp_path / "data", story)


def test_repeated_caps_are_answered_with_the_present_tenant(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        first = await world.ask("operator", "PATCH", "/v1/tenants/ann", {"caps": {}}, key="caps")
        await world.place("ann", "h100", "1")
        again = await world.ask("operator", "PATCH", "/v1/tenants/ann", {"caps": {}}, key="caps")
        assert (0, 1, "true") == (
            first.json()["leases"],
            again.json()["leases"],
            again.headers["idempotency-replayed"],
        )

    with_service(tmp_path / "data", story)


def test_keys_are_issued_replaced_and_revoked(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        made = [
            await world.ask("operator", "POST", "/v1/tenants/ann/keys", {"name": "ci"})
            for _ in range(3)
        ]
        assert [201, 201, 409] == [answer.status_code for answer in made]
        old, new = made[0].json(), made[1].json()
        revoked = (await world.ask("operator", "DELETE", f"/v1/keys/{old['id']}")).json()
        assert revoked["revoked_at"] and revoked["secret"] is None
        assert [401, 200] == [
            (await world.ask(key["secret"], "GET", "/v1/me")).status_code for key in (old, new)
        ]
        listed = (await world.ask("operator", "GET", "/v1/tenants/ann/keys")).json()["data"]
        assert revoked in listed and all(key["secret"] is None for key in listed)
        assert 404 == (await world.ask("operator", "DELETE", f"/v1/keys/{old['id']}")).status_code
        assert 404 == (await world.ask("operator", "POST", "/v1/tenants/moon/keys", {})).status_code
        for name in ("moon", "operator"):
            assert (
                404 == (await world.ask("operator", "GET", f"/v1/tenants/{name}/keys")).status_code
            )
        assert (
            400
            == (
                await world.ask("operator", "POST", "/v1/tenants/ann/keys", {"scopes": ["operate"]})
            ).status_code
        )
        own = await world.ask(
            "operator", "POST", "/v1/keys", {"scopes": ["read", "operate"], "name": "second"}
        )
        assert (
            "operator" == (await world.ask(own.json()["secret"], "GET", "/v1/me")).json()["holder"]
        )

    with_service(tmp_path / "data", story)


def test_no_tenant_key_can_be_issued_under_the_operators_name(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        answer = await world.ask(
            "operator",
            "POST",
            "/v1/tenants/operator/keys",
            {"scopes": ["read", "operate"], "name": "sly"},
        )
        assert (404, "not_found") == (answer.status_code, answer.json()["code"])

    with_service(tmp_path / "data", story)


def test_every_key_can_ask_for_its_holder(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        ann = (await world.ask("ann", "GET", "/v1/me")).json()
        assert ("ann", ["read", "trade"]) == (ann["holder"], ann["scopes"])
        assert {} == (await world.ask("operator", "GET", "/v1/me")).json()["caps"]

    with_service(tmp_path / "data", story)


def test_the_topology_is_the_same_for_every_key(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for who in ("ann", "operator"):
            nodes = (
                await world.ask(who, "GET", "/v1/topology", params={"node": "h100/west"})
            ).json()["data"]
            assert [
                ("h100/west", "zone", 4),
                ("h100/west/rack1", "rack", 2),
                ("h100/west/rack2", "rack", 2),
            ] == [(node["path"], node["level"], node["leaves"]) for node in nodes]
            assert (
                404
                == (
                    await world.ask(who, "GET", "/v1/topology", params={"node": "moon"})
                ).status_code
            )
        assert (
            404
            == (
                await world.ask("operator", "GET", "/v1/resources", params={"under": "moon"})
            ).status_code
        )

    with_service(tmp_path / "data", story)


def test_metrics_name_no_tenants(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for leaf in LEAVES[:2]:
            await world.place("ann", leaf, "5")
        await world.place("bob", LEAVES[0], "1")
        await world.ask("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}")
        text = (await world.ask("operator", "GET", "/metrics")).text
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        expected = {
            'laissez_commands_total{kind="PlaceOrder",outcome="done"}': "3.0",
            'laissez_commands_total{kind="CancelOrder",outcome="not_your_order"}': "1.0",
            'laissez_http_answers_total{operation="placeOrder",status="201"}': "3.0",
            "laissez_leases": "2.0",
            "laissez_open_orders": "1.0",
            "laissez_leaves": "9.0",
            "laissez_leaves_online": "9.0",
            "laissez_tenants": "2.0",
            "laissez_pending_commands": "0.0",
            "laissez_sessions": "0.0",
            "laissez_durable_seq": f"{world.gateway.durable}.0",
            "laissez_commit_group_commands_sum": f"{world.gateway.commands}.0",
        }
        assert expected == {name: lines[name] for name in expected}
        assert (
            "process_resident_memory_bytes" in lines
            and "laissez_revenue_microdollars_total" in lines
        )
        assert "ann" not in text and "bob" not in text
        for who, status in (("ann", 403), (None, 401)):
            assert status == (await world.ask(who, "GET", "/metrics")).status_code

    async def opened(world: World) -> None:
        assert 200 == (await world.ask(None, "GET", "/metrics")).status_code

    with_service(tmp_path / "data", story)
    with_service(tmp_path / "open", opened, metrics_open=True)
