"""Lists in pages: complete, in order, and consistent while the list changes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from laissez.server.http.operations import OPERATIONS
from laissez.wire.ids import order_id, tag_of
from support.service_world import LEAVES, Story, World, with_service

pytestmark = pytest.mark.once


async def whole(
    world: World, who: str, path: str, limit: int, **query: str
) -> list[dict[str, Any]]:
    """All pages of a list together."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await world.ask(who, "GET", path, params={**query, "limit": str(limit), **cursor})
        assert 200 == answer.status_code, answer.text
        page = answer.json()
        found += page["data"]
        assert page["has_more"] is (page["cursor"] is not None)
        if not page["has_more"]:
            return found
        assert limit == len(page["data"])
        cursor = {"cursor": page["cursor"]}


async def fill(world: World) -> None:
    for leaf in LEAVES[:6]:
        await world.place("ann" if leaf.startswith("h100/east") else "bob", leaf, "5")
    for limit in ("1", "2", "3"):
        for who in ("bob", "ann"):
            await world.place(who, LEAVES[0] if who == "bob" else LEAVES[5], limit)
    await world.ask("operator", "PUT", "/v1/floors/h100", {"price": "0.1"})
    await world.ask("operator", "PUT", "/v1/floors/h100/east/rack1", {"price": "0.2"})
    await world.ask("operator", "PUT", "/v1/floors/a100", {"price": "0.3"})
    for node in ("h100", "a100/east", "h100/west"):
        await world.ask(
            "operator",
            "PUT",
            f"/v1/controls/{node}",
            {"rise": {"fraction": "0.1", "seconds": 60}, "flash_s": 1.5},
        )
    for name in ("zoe", "acme"):
        await world.ask("operator", "POST", "/v1/tenants", {"name": name})


LISTS: list[tuple[str, str, dict[str, str], str, int]] = [
    ("ann", "/v1/orders", {}, "id", 3),
    ("operator", "/v1/orders", {}, "id", 6),
    ("operator", "/v1/orders", {"tenant": "bob"}, "id", 3),
    ("ann", "/v1/leases", {}, "id", 4),
    ("operator", "/v1/leases", {}, "id", 6),
    ("ann", "/v1/instances", {}, "id", 7),
    ("operator", "/v1/instances", {}, "id", 12),
    ("ann", "/v1/prices", {}, "scope", 9),
    ("operator", "/v1/prices", {}, "scope", 19),
    ("ann", "/v1/topology", {}, "path", 2),
    ("ann", "/v1/topology", {"node": "h100"}, "path", 3),
    ("ann", "/v1/topology", {"node": LEAVES[0]}, "path", 1),
    ("operator", "/v1/resources", {}, "leaf", 9),
    ("operator", "/v1/resources", {"under": "h100/west"}, "leaf", 4),
    ("operator", "/v1/floors", {}, "node", 3),
    ("operator", "/v1/controls", {}, "node", 3),
    ("operator", "/v1/tenants", {}, "name", 4),
    ("operator", "/v1/keys", {}, "id", 1),
    ("operator", "/v1/tenants/ann/keys", {}, "id", 1),
    ("operator", "/v1/bills", {}, "tenant", 4),
    ("operator", "/v1/spending", {}, "tenant", 4),
    ("ann", "/v1/events", {}, "n", 11),
    ("ann", f"/v1/orders/{order_id(tag_of('ann'), 1)}/history", {}, "n", 2),
    ("operator", "/v1/events", {}, "n", 31),
]
ELSEWHERE = {"listWebhooks", "listDeadLetters"}  # in tests/server/webhooks


def test_every_operation_with_pages_is_among_the_lists() -> None:
    paged = {one.name: one.path for one in OPERATIONS if one.paged and one.name not in ELSEWHERE}
    paths = [path for _, path, *_ in LISTS]
    assert [] == [
        name
        for name, path in paged.items()
        if not any(re.fullmatch(re.sub(r"{\w+}", "[^/]+", path), one) for one in paths)
    ]


@pytest.mark.parametrize(("who", "path", "query", "key", "count"), LISTS)
def test_a_list_is_the_same_in_pages_of_any_size(
    tmp_path: Path, who: str, path: str, query: dict[str, str], key: str, count: int
) -> None:
    async def story(world: World) -> None:
        await fill(world)
        at_once = [one[key] for one in await whole(world, who, path, 1000, **query)]
        assert count == len(at_once) == len(set(at_once))
        for limit in (1, 2, 5):
            assert at_once == [one[key] for one in await whole(world, who, path, limit, **query)]

    with_service(tmp_path / "data", story)


def test_a_cursor_stays_valid_while_the_list_changes(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("bob", "a100", "9")
        made = [(await world.place("ann", "a100", "1"))["id"] for _ in range(6)]
        page = (await world.ask("ann", "GET", "/v1/orders?limit=2")).json()
        assert made[:2] == [one["id"] for one in page["data"]]
        for id in (made[0], made[1], made[3]):
            await world.ask("ann", "DELETE", f"/v1/orders/{id}")
        newest = (await world.place("ann", "a100", "1"))["id"]
        rest = (
            await world.ask("ann", "GET", "/v1/orders", params={"cursor": page["cursor"]})
        ).json()
        assert [made[2], made[4], made[5], newest] == [one["id"] for one in rest["data"]]

    with_service(tmp_path / "data", story)


def test_a_cursor_reveals_nothing_about_other_tenants(tmp_path: Path) -> None:
    cursors: list[str] = []

    def story(others: int) -> Story:
        async def played(world: World) -> None:
            for _ in range(others):
                await world.place("bob", "a100", "1")
            for leaf in LEAVES[:2]:
                await world.place("ann", leaf, "1")
            cursors.append((await world.ask("ann", "GET", "/v1/leases?limit=1")).json()["cursor"])

        return played

    with_service(tmp_path / "quiet", story(0))
    with_service(tmp_path / "busy", story(20))
    assert cursors[0] == cursors[1] is not None


def test_a_tenant_may_not_name_a_tenant_and_the_operator_only_one_that_exists(
    tmp_path: Path,
) -> None:
    async def story(world: World) -> None:
        for path in ("/v1/orders", "/v1/leases", "/v1/instances", "/v1/bills"):
            assert (
                403 == (await world.ask("ann", "GET", path, params={"tenant": "ann"})).status_code
            )
            assert (
                404
                == (await world.ask("operator", "GET", path, params={"tenant": "moon"})).status_code
            )

    with_service(tmp_path / "data", story)


def test_reads_never_show_an_ended_hold(tmp_path: Path) -> None:
    """Only the read advances time: the first read after the end of a hold shows it as ended."""

    async def story(world: World) -> None:
        await world.ask("operator", "PUT", f"/v1/controls/{LEAVES[0]}", {"hold_s": 5})
        won = await world.place("ann", LEAVES[0], "2")
        waiting = await world.place("bob", LEAVES[0], "3")
        assert ("filled", "open") == (won["state"], waiting["state"])
        world.passing.pass_us(5_000_000)
        assert [] == (await world.ask("ann", "GET", "/v1/leases")).json()["data"]
        assert [LEAVES[0]] == [
            lease["leaf"] for lease in (await world.ask("bob", "GET", "/v1/leases")).json()["data"]
        ]

    with_service(tmp_path, story)
