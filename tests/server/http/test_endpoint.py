"""Every operation is admitted before it is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from laissez.server.http.endpoint import Call
from laissez.server.http.events import STREAM
from laissez.server.http.operations import OPERATIONS
from support.service_world import World, with_service

pytestmark = pytest.mark.once

# "{}" is the id of a lease, an order or a webhook
PAY_BY_ITEM = {
    "getOrderHistory": "/v1/orders/{}/history",
    "getLeasePrices": "/v1/leases/{}/prices",
    "getBill": "/v1/bills",
    "getEvents": "/v1/events",
    "listDeadLetters": "/v1/webhooks/{}/dead-letters",
    "getTopology": "/v1/topology",
}


async def paths(world: World) -> dict[str, str]:
    """A path that can be read for each operation that pays by item."""
    won = await world.place("ann", "h100", "1")
    hook = await world.ask("ann", "POST", "/v1/webhooks", {"url": "https://93.184.216.34/"})
    ids = {"orders": won["id"], "leases": won["lease"], "webhooks": hook.json()["id"]}
    return {name: path.format(ids.get(path.split("/")[2])) for name, path in PAY_BY_ITEM.items()}


@pytest.mark.parametrize("accept", ["application/json", STREAM])
def test_a_read_that_forgets_to_be_admitted_is_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accept: str
) -> None:
    """It would have no rate limit."""
    assert PAY_BY_ITEM.keys() == {one.name for one in OPERATIONS if one.pays_by_item}

    async def story(world: World) -> None:
        readable = await paths(world)
        if accept == STREAM:
            readable = {"getEvents": readable["getEvents"]}
        else:
            for name, path in readable.items():
                assert 200 == (await world.ask("ann", "GET", path)).status_code, name
        monkeypatch.setattr(Call, "admit_items", lambda call, items: None)
        for name, path in readable.items():
            answer = await world.ask("ann", "GET", path, headers={"Accept": accept})
            assert (500, "internal") == (answer.status_code, answer.json()["code"]), name

    with_service(tmp_path / "data", story)
