"""The topology over REST: children count towards the size and the cost of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from laissez.market import Topology
from laissez.server.settings import Limits
from support.service_world import World, with_service

pytestmark = pytest.mark.once

WIDE = Topology.of(
    [
        *(f"a/{rack:02}/{leaf:03}" for rack in range(40) for leaf in range(300)),
        *(f"b/{leaf:05}" for leaf in range(12_000)),
        "c/1",
    ]
)
SLOW = Limits(commands_per_second=1, commands_burst=500)


async def told(world: World, **query: str) -> tuple[dict[str, Any], int]:
    """A page and its cost."""
    before = world.gateway.admission.read_limit("ann").remaining
    answer = await world.ask("ann", "GET", "/v1/topology", params=query)
    assert 200 == answer.status_code
    return answer.json(), before - world.gateway.admission.read_limit("ann").remaining


async def pages(world: World, **query: str) -> list[list[dict[str, Any]]]:
    found, _ = await told(world, **query)
    all_of_them = [found["data"]]
    while found["has_more"]:
        world.passing.pass_us(500_000_000)
        found, _ = await told(world, **query, cursor=found["cursor"])
        all_of_them.append(found["data"])
    return all_of_them


def test_a_page_holds_fewer_nodes_the_more_children_they_have_and_always_one(
    tmp_path: Path,
) -> None:
    async def story(world: World) -> None:
        # the root counts 5, each other node 31
        assert [33, 8] == [len(page) for page in await pages(world, node="a", limit="1000")]
        assert [20, 20, 1] == [len(page) for page in await pages(world, node="a", limit="20")]
        roots = await pages(world, limit="1000")
        assert [["a"], ["b"], ["c"]] == [[node["path"] for node in page] for page in roots]
        assert [40, 12_000, 1] == [len(node["children"]) for page in roots for node in page]

    with_service(tmp_path / "data", story, SLOW, topology=WIDE)


@pytest.mark.parametrize(
    ("query", "cost"),
    [
        ({"node": "c"}, 1),
        ({"node": "a", "limit": "3"}, 1),
        ({"node": "a", "limit": "1000"}, 1 + (5 + 32 * 31) // 100),
        ({"node": "b", "limit": "1"}, 1 + 1_201 // 100),
    ],
)
def test_a_page_costs_one_more_per_hundred_nodes_and_thousand_children(
    tmp_path: Path, query: dict[str, str], cost: int
) -> None:
    async def story(world: World) -> None:
        assert cost == (await told(world, **query))[1]

    with_service(tmp_path / "data", story, SLOW, topology=WIDE)


def test_the_pages_together_are_complete(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        found = [node for page in await pages(world, node="b", limit="1000") for node in page]
        assert ["b", *WIDE.children("b")] == [node["path"] for node in found]
        assert list(WIDE.children("b")) == found[0]["children"]

    with_service(tmp_path / "data", story, SLOW, topology=WIDE)
