"""Audits of some leaves of a market: they agree with an audit of all leaves, and find errors."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest

from laissez.exchange.commands import OPERATOR
from laissez.market import Market
from laissez.wire.rendering import rendered
from laissez_check.event_audit import Auditor, PartAudit
from support.exchange_histories import Drawn, draw, requests_of

pytestmark = pytest.mark.once

SEEDS = range(12)
Event = dict[str, Any]


def events(drawn: Drawn) -> Iterator[Event]:
    for _, _, applied in requests_of(drawn):
        for one in rendered(applied, OPERATOR):
            yield msgspec.to_builtins(one)


def leaves_of(drawn: Drawn) -> tuple[str, ...]:
    return Market.restore(drawn.genesis).topology.leaves


def part_of(drawn: Drawn, seed: int) -> PartAudit:
    leaves = leaves_of(drawn)
    return PartAudit(Random(seed).sample(leaves, max(1, len(leaves) // 3)))


def shown(auditor: Auditor, leaf: str) -> Event:
    """As the service would show it if all that the auditor makes of the events were true."""
    lease = auditor.leases.get(leaf)
    limit = None if lease is None or lease.limit is None else f"{lease.limit / 1e6:.6f}"
    owner, rate, floor = (
        lease and lease.tenant,
        f"{auditor.rate(leaf) / 1e6:.6f}",
        f"{auditor.floor(leaf) / 1e6:.6f}",
    )
    return {
        "leaf": leaf,
        "online": leaf in auditor.online,
        "owner": owner,
        "rate": rate,
        "floor": floor,
        "limit": limit,
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_a_part_is_as_an_auditor_of_everything_finds_it(seed: int) -> None:
    drawn = draw(seed)
    whole, part = Auditor(leaves_of(drawn)), part_of(drawn, seed)
    concerned = 0
    for one in events(drawn):
        whole.take(one)
        concerned += part.take(one)
    for leaf in part.leaves:
        part.compare(shown(whole, leaf))
    assert [] == part.doubts and concerned


@pytest.mark.parametrize("field", ["online", "owner", "rate", "floor", "limit"])
def test_a_leaf_that_is_shown_otherwise_is_found(field: str) -> None:
    drawn = draw(0)
    whole, part = Auditor(leaves_of(drawn)), PartAudit(leaves_of(drawn))
    for one in events(drawn):
        whole.take(one)
        part.take(one)
    leaf = next(leaf for leaf in part.leaves if leaf in whole.leases)
    part.compare(
        {**shown(whole, leaf), field: {"online": False, "owner": "nobody"}.get(field, "0.000007")}
    )
    assert 1 == len(part.doubts) and part.doubts[0].startswith(leaf)


def found_with(seed: int, kind: str, change: dict[str, str] | None) -> list[str]:
    """The doubt of a part about the first event of a kind, if that is changed or left out."""
    drawn = draw(seed)
    part = part_of(drawn, seed)
    changed = False
    for one in copy.deepcopy(list(events(drawn))):
        if (
            not changed
            and one["event"]["type"] == kind
            and one["event"].get("leaf", one["event"].get("order")) in (*part.leaves, *part.orders)
        ):
            changed = True
            if change is None:
                continue
            one["event"].update(change)
        part.take(one)
    return part.doubts if changed else ["nothing was changed"]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("lease.started", {"rate": "7.777777"}),
        ("lease.started", {"order": "ord_nobody"}),
        ("lease.started", None),
        ("lease.ended", {"rate": "7.777777"}),
        ("lease.ended", {"lease": "lse_nobody"}),
        ("lease.ended", None),
        ("order.cancelled", None),
    ],
)
def test_what_is_told_wrongly_or_not_at_all_is_found(
    kind: str, change: dict[str, str] | None
) -> None:
    """Where it makes a difference: that an order is gone may never do."""
    assert any(
        found_with(seed, kind, change) not in ([], ["nothing was changed"]) for seed in SEEDS
    )


def test_an_order_that_wins_elsewhere_is_gone_and_one_that_is_amended_away_too() -> None:
    part = PartAudit(["a/1"])
    either = [
        {"scope": "a/2", "bid": "2", "limit": "2"},
        {"scope": "a/1", "bid": "2", "limit": "2"},
    ]
    told: list[Event] = [
        {"type": "floor.set", "node": "a", "price": "3"},
        {"type": "order.placed", "order": "o1", "alternatives": either},
        {"type": "order.placed", "order": "o2", "alternatives": either},
        {"type": "order.amended", "order": "o2", "alternatives": either[:1]},
        {
            "type": "lease.started",
            "lease": "l1",
            "leaf": "a/2",
            "order": "o1",
            "rate": "3",
            "limit": "3",
            "hold_until": None,
        },
        {"type": "floor.set", "node": "a", "price": "0"},
        {"type": "floor.set", "node": "a/2", "price": "1"},
    ]
    took = [
        part.take({"n": n, "tenant": "ann", "event": {"at": f"2027-01-15T08:00:0{n}Z", **event}})
        for n, event in enumerate(told, 1)
    ]
    assert [True, True, True, True, True, True, False] == took
    part.compare(
        {"leaf": "a/1", "online": True, "owner": None, "rate": "0", "floor": "0", "limit": None}
    )
    assert not part.doubts and not part.orders
