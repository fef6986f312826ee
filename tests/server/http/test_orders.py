"""Orders, leases, prices and instances over REST."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from laissez.server.http.operations import OPERATIONS
from laissez.server.settings import Limits
from support.service_world import GENEROUS, LEAVES, World, unknown_order, with_service

pytestmark = pytest.mark.once


def test_an_order_that_can_be_filled_is_filled_at_once_and_names_its_lease(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        done = await world.place("ann", "h100/west", "2.5")
        assert ("filled", "h100/west/rack1/gpu1", "0", False) == (
            done["state"],
            done["leaf"],
            done["rate"],
            done["clipped"],
        )
        assert [1, 2] == [one["n"] for one in done["events"]]
        assert ["order.placed", "lease.started"] == [one["event"]["type"] for one in done["events"]]
        leases = (await world.ask("ann", "GET", "/v1/leases")).json()["data"]
        assert [(done["lease"], done["id"], "2.5")] == [
            (lease["id"], lease["order"], lease["limit"]) for lease in leases
        ]
        one = await world.ask("ann", "GET", f"/v1/leases/{done['lease']}")
        assert leases[0] | {"cost": ""} == one.json() | {"cost": ""}

    with_service(tmp_path / "data", story)


def test_an_order_waits_is_amended_and_cancelled(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("bob", "a100", "5")
        placed = await world.place("ann", "a100", "2", bid="1")
        assert ("open", None) == (placed["state"], placed["lease"])
        path = f"/v1/orders/{placed['id']}"
        shown = (await world.ask("ann", "GET", path)).json()
        assert [{"scope": "a100", "bid": "1", "limit": "2"}] == shown["alternatives"]
        assert {"data": [shown], "has_more": False, "cursor": None} == (
            await world.ask("ann", "GET", "/v1/orders")
        ).json()
        amended = (
            await world.ask("ann", "PUT", path, {"alternatives": [{"scope": "a100", "limit": "3"}]})
        ).json()
        assert ("open", "3", placed["id"]) == (
            amended["state"],
            amended["alternatives"][0]["bid"],
            amended["id"],
        )
        cancelled = await world.ask("ann", "DELETE", path)
        assert (200, "cancelled") == (cancelled.status_code, cancelled.json()["state"])
        again = await world.ask("ann", "DELETE", path)
        assert (404, "not_your_order") == (again.status_code, again.json()["code"])

    with_service(tmp_path / "data", story)


def test_an_amendment_that_outbids_wins_the_leaf(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        lost = await world.place("bob", "a100", "5")
        placed = await world.place("ann", "a100", "2")
        answer = await world.ask(
            "ann",
            "PUT",
            f"/v1/orders/{placed['id']}",
            {"alternatives": [{"scope": "a100", "limit": "6", "bid": "6"}]},
        )
        assert ("filled", "a100/east/rack1/gpu1") == (answer.json()["state"], answer.json()["leaf"])
        gone = await world.ask("bob", "GET", f"/v1/leases/{lost['lease']}")
        assert 404 == gone.status_code
        history = (await world.ask("bob", "GET", f"/v1/leases/{lost['lease']}/prices")).json()
        assert "a100/east/rack1/gpu1" == history["leaf"] and history["segments"]
        late = await world.ask(
            "ann",
            "PUT",
            f"/v1/orders/{placed['id']}",
            {"alternatives": [{"scope": "a100", "limit": "7"}]},
        )
        assert (409, "already_filled") == (late.status_code, late.json()["code"])

    with_service(tmp_path / "data", story)


def test_a_lease_keeps_or_loses_its_leaf_by_its_limit(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        lease = (await world.place("ann", "a100", "5"))["lease"]
        await world.place("bob", "a100", "2")
        held = (await world.ask("ann", "PATCH", f"/v1/leases/{lease}", {"limit": None})).json()
        assert ("held", None) == (held["state"], held["limit"])
        lowered = (await world.ask("ann", "PATCH", f"/v1/leases/{lease}", {"limit": "1"})).json()
        assert "ended" == lowered["state"]
        assert "lease.ended" in [one["event"]["type"] for one in lowered["events"]]
        other = (await world.place("ann", "h100", "1"))["lease"]
        ended = (await world.ask("ann", "DELETE", f"/v1/leases/{other}")).json()
        assert ("ended", other) == (ended["state"], ended["id"])

    with_service(tmp_path / "data", story)


def test_costs_grow_between_commands(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        lease = (await world.place("ann", "a100", "5"))["lease"]
        await world.place("bob", "a100", "3.6")
        world.passing.pass_us(3_600_000_000)
        shown = (await world.ask("ann", "GET", f"/v1/leases/{lease}")).json()
        assert "3.6000" == shown["cost"][:6]
        segments = (await world.ask("ann", "GET", f"/v1/leases/{lease}/prices")).json()["segments"]
        assert ["0", "3.6"] == [piece["rate"] for piece in segments]
        assert "3.6000" == segments[-1]["cost"][:6]
        listed = (
            await world.ask("operator", "GET", "/v1/leases", params={"tenant": "ann"})
        ).json()["data"][0]
        assert ("ann", "3.6000") == (listed["tenant"], listed["cost"][:6])

    with_service(tmp_path / "data", story)


def test_a_scope_outside_the_pricing_domain_looks_like_an_unknown_one(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100/west", "1")
        inside = await world.ask("ann", "GET", "/v1/prices", params={"scope": "h100/west/rack1"})
        assert (200, "0") == (inside.status_code, inside.json()["price"])
        foreign = await world.ask("bob", "GET", "/v1/prices", params={"scope": "h100/west/rack1"})
        unknown = await world.ask("bob", "GET", "/v1/prices", params={"scope": "h100/moon/rack1"})
        assert (404, "scope_unknown") == (foreign.status_code, foreign.json()["code"])
        assert foreign.content.replace(b"west", b"moon") == unknown.content
        assert ["a100", "h100"] == [
            quote["scope"] for quote in (await world.ask("bob", "GET", "/v1/prices")).json()["data"]
        ]
        every = (await world.ask("operator", "GET", "/v1/prices")).json()["data"]
        assert world.gateway.exchange.market.topology.nodes == tuple(
            quote["scope"] for quote in every
        )

    with_service(tmp_path / "data", story)


# paths with the id of an order, a lease or an instance; tests/server/webhooks has those of webhooks
WITH_ID = {
    one.path
    for one in OPERATIONS
    if "{" in one.path and {"read", "trade"} & set(one.scopes or ()) and not one.of_operator
    if not one.path.startswith("/v1/webhooks/")
}


@pytest.mark.parametrize("path", sorted(re.sub(r"{\w+}", "{}", path) for path in WITH_ID))
@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_objects_of_others_answer_like_unknown_ones(tmp_path: Path, path: str, method: str) -> None:
    async def story(world: World) -> None:
        held = await world.place("bob", "a100", "5")
        waits = await world.place("bob", "a100", "2")
        kind = path.split("/")[2]
        theirs = {
            "orders": waits["id"],
            "leases": held["lease"],
            "instances": "ins_" + held["id"][4:],
        }[kind]
        never = theirs[:4] + "aaaaaaaa77"
        body = {
            "PUT": {"alternatives": [{"scope": "a100", "limit": "1"}]},
            "PATCH": {"limit": "1"},
        }.get(method)
        foreign = await world.ask("ann", method, path.format(theirs), body)
        unknown = await world.ask("ann", method, path.format(never), body)
        assert foreign.status_code in (404, 405)
        assert foreign.content.replace(theirs.encode(), never.encode()) == unknown.content

    with_service(tmp_path / "data", story)


# -- instances


def test_instances_run_or_wait_and_are_stopped(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("bob", LEAVES[0], "9")
        answer = await world.ask(
            "ann", "POST", "/v1/instances", {"type": "h100", "count": 8, "max_price": "1.5"}
        )
        assert 201 == answer.status_code
        made = answer.json()["instances"]
        assert ["running"] * 7 + ["pending"] == [one["state"] for one in made]
        assert made == (await world.ask("ann", "GET", "/v1/instances")).json()["data"]
        running, pending = made[0], made[-1]
        assert running == (await world.ask("ann", "GET", f"/v1/instances/{running['id']}")).json()
        assert ("stopped", None) == _state(
            await world.ask("ann", "DELETE", f"/v1/instances/{pending['id']}")
        )
        assert ("stopped", running["leaf"]) == _state(
            await world.ask("ann", "DELETE", f"/v1/instances/{running['id']}")
        )
        assert ("stopped", running["leaf"]) == _state(
            await world.ask("ann", "GET", f"/v1/instances/{running['id']}")
        )
        assert (
            409 == (await world.ask("ann", "DELETE", f"/v1/instances/{running['id']}")).status_code
        )
        assert 404 == (await world.ask("ann", "GET", f"/v1/instances/{pending['id']}")).status_code
        world.close_books()
        assert 404 == (await world.ask("ann", "GET", f"/v1/instances/{running['id']}")).status_code
        everybodys = (await world.ask("operator", "GET", "/v1/instances")).json()["data"]
        assert ["ann"] * 6 + ["bob"] == [one["tenant"] for one in everybodys]

    def _state(answer: object) -> tuple[str, str | None]:
        body = answer.json()  # type: ignore[attr-defined]
        return body["state"], body["leaf"]

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize(
    ("level", "found"),
    [
        ("rack", "h100/west/rack2"),
        ("zone", "h100/west"),
        (1, "h100/west/rack2"),
        (3, "h100"),
        (0, LEAVES[6]),
    ],
)
def test_instances_near_a_lease_are_ordered_below_its_ancestor(
    tmp_path: Path, level: str | int, found: str
) -> None:
    async def story(world: World) -> None:
        lease = (await world.place("ann", LEAVES[6], "1"))["lease"]
        for leaf in LEAVES[:8]:
            await world.place("bob", leaf, "5", bid="5")
        again = (
            await world.ask(
                "ann", "POST", "/v1/instances", {"near": lease, "level": level, "max_price": "0.5"}
            )
        ).json()
        assert [("pending", found)] == [(one["state"], one["scope"]) for one in again["instances"]]

    with_service(tmp_path / "data", story)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"max_price": "1"}, 400),
        ({"max_price": "1", "type": "h100", "scope": "h100"}, 400),
        ({"max_price": "1", "type": "h100/west"}, 400),
        ({"max_price": "1", "type": "h100", "level": "rack"}, 400),
        ({"max_price": "1", "near": "lse_x"}, 400),
        ({"max_price": "1", "near": "lse_x", "level": "rack"}, 404),
        ({"max_price": "1", "type": "h200"}, 404),
        ({"max_price": "1", "type": "h100", "count": 0}, 400),
        ({"max_price": "1", "type": "h100", "count": 101}, 400),
        ({"max_price": 1, "type": "h100"}, 400),
        ({"max_price": "x", "type": "h100"}, 400),
    ],
)
def test_an_ambiguous_request_for_instances_is_refused(
    tmp_path: Path, body: dict[str, object], status: int
) -> None:
    async def story(world: World) -> None:
        answer = await world.ask("ann", "POST", "/v1/instances", body)
        assert status == answer.status_code, answer.text
        assert [] == (await world.ask("ann", "GET", "/v1/instances")).json()["data"]

    with_service(tmp_path / "data", story)


def test_instances_beyond_the_cap_on_orders_are_refused_one_by_one(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.ask("operator", "PATCH", "/v1/tenants/ann", {"caps": {"open_orders": 2}})
        await world.place("bob", "a100", "5")
        answer = await world.ask(
            "ann", "POST", "/v1/instances", {"type": "a100", "count": 3, "max_price": "1"}
        )
        assert (201, 2, 1) == (
            answer.status_code,
            len(answer.json()["instances"]),
            len(answer.json()["refused"]),
        )
        none = await world.ask(
            "ann", "POST", "/v1/instances", {"type": "a100", "count": 3, "max_price": "1"}
        )
        assert (409, "too_many_orders") == (none.status_code, none.json()["code"])

    with_service(tmp_path / "data", story)


# -- refusals of the market, and rate limits


@pytest.mark.parametrize(
    ("alternatives", "status", "code"),
    [
        ([], 422, "alternatives_count"),
        ([{"scope": f"h{i}", "limit": "1"} for i in range(17)], 422, "alternatives_count"),
        ([{"scope": "moon", "limit": "1"}], 404, "scope_unknown"),
        ([{"scope": "h100", "limit": "1"}, {"scope": "h100", "limit": "2"}], 422, "scope_repeated"),
        ([{"scope": "h100", "limit": "1", "bid": "2"}], 422, "limit_below_bid"),
        ([{"scope": "h100", "limit": "10001"}], 400, "bad_request"),
        ([{"scope": "h100", "limit": "-1"}], 400, "bad_request"),
        ([{"scope": "h100", "limit": "NaN"}], 400, "bad_request"),
    ],
)
def test_a_refused_order_says_why(
    tmp_path: Path, alternatives: list[dict[str, str]], status: int, code: str
) -> None:
    async def story(world: World) -> None:
        answer = await world.ask("ann", "POST", "/v1/orders", {"alternatives": alternatives})
        assert (status, code) == (answer.status_code, answer.json()["code"])
        assert "application/problem+json" == answer.headers["content-type"]
        assert status == answer.json()["status"]

    with_service(tmp_path / "data", story)


def test_too_many_commands_are_refused_with_retry_after(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for left in (1, 0):
            answer = await world.ask("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}")
            assert ("2", str(left)) == (
                answer.headers["ratelimit-limit"],
                answer.headers["ratelimit-remaining"],
            )
        turned = await world.ask("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}")
        assert (429, "rate_limited", "1") == (
            turned.status_code,
            turned.json()["code"],
            turned.headers["retry-after"],
        )
        assert 0 < turned.json()["retry_after"] <= 1
        world.passing.pass_us(1_000_000)
        assert (
            404
            == (await world.ask("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}")).status_code
        )
        world.passing.pass_us(1_000_000)
        batch = await world.ask(
            "ann",
            "POST",
            "/v1/batch",
            {"commands": [{"type": "cancel_order", "order": unknown_order("ann")}] * 3},
        )
        assert (400, "bad_request") == (batch.status_code, batch.json()["code"])

    with_service(tmp_path / "data", story, Limits(commands_per_second=1, commands_burst=2))


def test_reads_are_counted_separately_from_commands(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for _ in range(2):
            assert 200 == (await world.ask("ann", "GET", "/v1/orders")).status_code
        turned = await world.ask("ann", "GET", "/v1/orders")
        assert (429, "rate_limited") == (turned.status_code, turned.json()["code"])
        assert "reads per second" in turned.json()["detail"]
        assert (
            404
            == (await world.ask("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}")).status_code
        )
        for _ in range(5):
            assert 200 == (await world.ask("operator", "GET", "/v1/orders")).status_code
        world.passing.pass_us(1_000_000)
        assert 200 == (await world.ask("ann", "GET", "/v1/orders")).status_code

    with_service(tmp_path / "data", story, Limits(commands_per_second=1, commands_burst=2))


def test_a_longer_list_costs_more(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for _ in range(100):
            await world.place("ann", "h100", "0")
        for path, left in (
            ("/v1/prices?scope=h100", 199),
            ("/v1/orders", 197),
            ("/v1/me", 196),
            ("/v1/leases", 194),
            ("/v1/budget", 192),
            ("/v1/spending", 190),
            ("/v1/bills", 189),
        ):
            assert 500 > (await world.ask("ann", "GET", path)).status_code
            assert left == world.gateway.admission.read_limit("ann").remaining

    with_service(tmp_path / "data", story, Limits(commands_per_second=1, commands_burst=200))


def test_commands_are_refused_while_too_many_are_pending(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        answer = await world.ask(
            "ann",
            "POST",
            "/v1/batch",
            {"commands": [{"type": "cancel_order", "order": unknown_order("ann")}] * 9},
        )
        assert (503, "overloaded", "1") == (
            answer.status_code,
            answer.json()["code"],
            answer.headers["retry-after"],
        )

    with_service(
        tmp_path / "data",
        story,
        Limits(commands_per_second=100, commands_burst=100, pending_commands_max=8),
    )


def test_a_stopping_or_failed_service_says_so(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.gateway.stopping = True
        answer = await world.ask("ann", "DELETE", f"/v1/orders/{unknown_order('ann')}")
        assert (503, "stopping") == (answer.status_code, answer.json()["code"])
        assert 503 == (await world.ask(None, "GET", "/readyz")).status_code
        assert 200 == (await world.ask("ann", "GET", "/v1/orders")).status_code
        world.gateway.stopping = False
        assert 200 == (await world.ask(None, "GET", "/readyz")).status_code
        world.gateway.fail("the disk is full")
        for method, path in (
            ("DELETE", "/v1/orders/ord_x"),
            ("GET", "/v1/orders"),
            ("GET", "/v1/events"),
        ):
            answer = await world.ask("ann", method, path)
            assert (503, "journal_failed") == (answer.status_code, answer.json()["code"])
        ready = await world.ask(None, "GET", "/readyz")
        # the reason is for the log, not for callers
        assert "failed" == ready.json()["status"] and "the disk is full" not in ready.text
        assert 200 == (await world.ask(None, "GET", "/healthz")).status_code

    with_service(tmp_path / "data", story, GENEROUS)
