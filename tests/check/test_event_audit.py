"""The auditor of events by itself: what it makes of an honest stream, and that it doubts every
event that the rules do not allow."""

from __future__ import annotations

from typing import Any

import pytest

from laissez_check import event_audit, event_rules
from laissez_check.bills.amounts import dollars, instant
from laissez_check.event_audit import Auditor
from support.check_imports import BILLS, imports_of

pytestmark = pytest.mark.once


def test_the_auditor_shares_no_code_with_what_it_audits() -> None:
    for module in (event_audit, event_rules):
        assert imports_of(module) <= {"laissez_check.event_rules", *BILLS}


Told = tuple[str | None, float, dict[str, Any]]  # whose, at which hour, what


def hour(of: float) -> str:
    minutes = round(of * 60)
    return f"2026-01-01T{minutes // 60:02d}:{minutes % 60:02d}:00.000000Z"


def audited(told: list[Told], until: float = 24) -> Auditor:
    auditor = Auditor(["gpu/r1/g1", "gpu/r1/g2"])
    for n, (tenant, at, event) in enumerate(told, 1):
        if at <= until:
            auditor.take({"n": n, "tenant": tenant, "event": {"at": hour(at), **event}})
    return auditor


def owed(told: list[Told], tenant: str, *hours: float) -> list[str]:
    return [dollars(audited(told, at).owed(tenant, instant(hour(at)))) for at in hours]


def placed(order: str, bid: str, limit: str, scope: str = "gpu") -> dict[str, Any]:
    return {
        "type": "order.placed",
        "order": order,
        "alternatives": [{"scope": scope, "bid": bid, "limit": limit}],
        "clipped": False,
    }


def started(
    lease: str, order: str, rate: str, limit: str, hold: float | None = None
) -> dict[str, Any]:
    until = None if hold is None else hour(hold)
    return {
        "type": "lease.started",
        "lease": lease,
        "leaf": "gpu/r1/g1",
        "order": order,
        "rate": rate,
        "limit": limit,
        "hold_until": until,
    }


def ended(lease: str, rate: str, limit: str | None, reason: str = "relinquished") -> dict[str, Any]:
    return {
        "type": "lease.ended",
        "lease": lease,
        "leaf": "gpu/r1/g1",
        "reason": reason,
        "rate": rate,
        "limit": limit,
    }


def limit_set(lease: str, limit: str | None) -> dict[str, Any]:
    return {"type": "lease.limit_set", "lease": lease, "leaf": "gpu/r1/g1", "limit": limit}


def floor(node: str, price: str) -> dict[str, Any]:
    return {"type": "floor.set", "node": node, "price": price, "clipped": False}


def held_for(node: str, hours: float | None) -> dict[str, Any]:
    hold_s = None if hours is None else hours * 3600
    return {
        "type": "controls.set",
        "node": node,
        "rise": None,
        "fall": None,
        "hold_s": hold_s,
        "flash_s": None,
    }


LEASED: list[Told] = [
    (None, 0, floor("gpu", "1")),
    ("ann", 0, placed("ord_a1", "9", "9")),
    ("ann", 0, started("lse_a1", "ord_a1", "1", "9")),
]
HELD: list[Told] = [
    (None, 0, held_for("gpu", 3)),
    *LEASED[:2],
    ("ann", 0, started("lse_a1", "ord_a1", "1", "9", hold=3)),
]


def test_a_lease_is_charged_the_highest_of_floors_and_of_what_others_bid() -> None:
    told: list[Told] = [
        *LEASED,
        ("ann", 1, placed("ord_a2", "8", "8", "gpu/r1/g1")),  # her own bid does not press
        (None, 2, floor("gpu/r1/g2", "5")),
        ("bob", 2, placed("ord_b1", "4", "4", "gpu/r1")),
        (None, 3, floor("gpu/r1/g1", "5")),
        ("ann", 4, ended("lse_a1", "5", "9")),
    ]
    assert ["1.000000", "2.000000", "6.000000", "11.000000", "11.000000"] == owed(
        told, "ann", 1, 2, 3, 4, 5
    )
    assert [] == audited(told).doubts


def test_a_held_lease_is_charged_at_most_the_larger_of_its_limits() -> None:
    told: list[Told] = [
        *HELD,
        ("bob", 1, placed("ord_b1", "20", "20")),
        ("ann", 2, limit_set("lse_a1", "2")),
        ("ann", 3, ended("lse_a1", "20", "2")),
    ]
    assert ["1.000000", "10.000000", "19.000000"] == owed(told, "ann", 1, 2, 3)


def test_without_a_limit_there_is_no_cap_and_after_the_hold_neither() -> None:
    free: list[Told] = [
        *HELD,
        ("ann", 0, limit_set("lse_a1", None)),
        ("bob", 1, placed("ord_b1", "20", "20")),
    ]
    assert ["21.000000"] == owed(free, "ann", 2)
    over: list[Told] = [
        *HELD,
        ("bob", 1, placed("ord_b1", "20", "20")),
        ("ann", 2, limit_set("lse_a1", None)),
    ]
    assert ["30.000000", "50.000000"] == owed(over, "ann", 3, 4)


def test_a_fee_is_charged_until_its_end() -> None:
    fee = {"type": "fee.charged", "order": "ord_b1", "scope": "gpu", "rate": "6", "until": hour(2)}
    told: list[Told] = [
        ("bob", 0, placed("ord_b1", "6", "6")),
        ("bob", 1, {"type": "order.cancelled", "order": "ord_b1"}),
        ("bob", 1, fee),
    ]
    assert ["3.000000", "6.000000", "6.000000"] == owed(told, "bob", 1.5, 2, 3)


def test_an_event_that_contradicts_those_before_it_is_doubted() -> None:
    assert (
        "tells the rate 2"
        in audited([*LEASED[:2], ("ann", 0, started("lse_a1", "ord_a1", "2", "9"))]).doubts[0]
    )
    assert (
        "time runs backwards"
        in audited(
            [("ann", 2, placed("ord_a1", "1", "1")), ("ann", 1, placed("ord_a2", "1", "1"))]
        ).doubts[0]
    )
    assert (
        "while it is leased"
        in audited([*LEASED, ("bob", 1, started("lse_b1", "ord_b1", "1", "9"))]).doubts[0]
    )


def test_an_owner_that_the_rules_do_not_make_one_is_doubted() -> None:
    later: Told = (None, 3, floor("gpu", "1"))
    assert "gpu/r1/g1 is idle and ord_a1 could take it" in audited([*LEASED[:2], later]).doubts[0]
    assert (
        "its limit is 9"
        in audited(
            [
                *LEASED,
                (None, 0, floor("gpu/r1/g2", "50")),
                ("bob", 1, placed("ord_b1", "20", "20")),
                later,
            ]
        ).doubts[0]
    )
    better: Told = ("bob", 0, placed("ord_b1", "1", "9", "gpu/r1"))
    assert "should have been ord_b1" in audited([*LEASED[:2], better, LEASED[2]]).doubts[0]
    again: Told = ("ann", 1, {**started("lse_a2", "ord_a1", "1", "9"), "leaf": "gpu/r1/g2"})
    assert "is no open order" in audited([*LEASED, again]).doubts[1]


def test_a_quote_is_the_least_that_opens_a_leaf() -> None:
    auditor = audited([*HELD, (None, 0, {"type": "resource.offline", "leaf": "gpu/r1/g2"})])
    held, over = instant(hour(1)), instant(hour(3))
    assert [None, 9_000_001, None] == [
        auditor.quote("bob", "gpu", held),
        auditor.quote("bob", "gpu", over),
        auditor.quote("ann", "gpu", over),
    ]


# -- why a lease ends

PRESSED: Told = ("bob", 1, placed("ord_b1", "10", "10", "gpu/r1/g1"))
AT_THE_LIMIT: Told = ("bob", 1, placed("ord_b1", "9", "9", "gpu/r1/g1"))
FLOORED: Told = (None, 1, floor("gpu/r1/g1", "10"))
OFFLINE: Told = (None, 1, {"type": "resource.offline", "leaf": "gpu/r1/g1"})
UNLIMITED: Told = ("ann", 1, limit_set("lse_a1", None))


@pytest.mark.parametrize(
    ("before", "at", "rate", "limit", "reason", "doubt"),
    [
        ([*LEASED, PRESSED], 1, "10", "9", "outbid", None),
        (
            [*LEASED, PRESSED],
            1,
            "10",
            "9",
            "floor_raised",
            "its floor is 1.000000, its rate 10.000000",
        ),
        ([*LEASED, FLOORED], 1, "10", "9", "floor_raised", None),
        ([*LEASED, FLOORED], 1, "10", "9", "outbid", "its floor is 10.000000, its rate 10.000000"),
        (
            [*LEASED, AT_THE_LIMIT],
            1,
            "9",
            "9",
            "outbid",
            "its rate is 9.000000, which is not above its limit",
        ),
        (
            [*LEASED],
            1,
            "1",
            "9",
            "floor_raised",
            "its rate is 1.000000, which is not above its limit",
        ),
        ([*LEASED, UNLIMITED, PRESSED], 1, "10", None, "outbid", "which is not above its limit"),
        ([*HELD, PRESSED], 2, "10", "9", "outbid", "it is held until"),
        ([*HELD, FLOORED], 2, "10", "9", "floor_raised", "it is held until"),
        ([*HELD, PRESSED], 3, "10", "9", "outbid", None),
        ([*LEASED, OFFLINE], 1, "1", "9", "taken_offline", None),
        ([*HELD, OFFLINE], 1, "1", "9", "taken_offline", None),
        ([*LEASED], 1, "1", "9", "taken_offline", "the leaf is online"),
        ([*LEASED, OFFLINE], 1, "1", "9", "relinquished", "the leaf is offline"),
        ([*LEASED, PRESSED, OFFLINE], 1, "10", "9", "outbid", "the leaf is offline"),
        ([*HELD], 1, "1", "9", "relinquished", None),
        ([*HELD], 1, "1", "9", "budget_spent", None),
        ([*LEASED, UNLIMITED], 1, "1", None, "relinquished", None),
        ([*LEASED], 1, "1", "8", "relinquished", "ends with the limit 8, which is not its own"),
        ([*LEASED, UNLIMITED], 1, "1", "9", "relinquished", "which is not its own"),
        ([*LEASED], 1, "1", "9", "tired of it", "there is no such reason"),
    ],
)
def test_a_lease_ends_for_the_reason_that_is_told_or_it_is_doubted(
    before: list[Told], at: float, rate: str, limit: str | None, reason: str, doubt: str | None
) -> None:
    doubts = audited([*before, ("ann", at, ended("lse_a1", rate, limit, reason))]).doubts
    assert (0 if doubt is None else 1) == len(doubts), doubts
    assert doubt is None or doubt in doubts[0]


def test_a_leaf_that_is_offline_is_nobodys() -> None:
    assert (
        "gpu/r1/g1 is offline and leased"
        in audited([*LEASED, OFFLINE, (None, 2, floor("gpu", "1"))]).doubts[0]
    )


def test_a_lease_starts_with_the_limit_that_its_order_offered_there() -> None:
    both = {
        **placed("ord_a1", "9", "9"),
        "alternatives": [
            {"scope": "gpu", "bid": "0", "limit": "9"},
            {"scope": "gpu/r1/g2", "bid": "0", "limit": "12"},
        ],
    }
    told: list[Told] = [LEASED[0], ("ann", 0, both)]
    assert [] == audited([*told, LEASED[2]]).doubts
    assert (
        "which ord_a1 did not offer for gpu/r1/g1"
        in audited([*told, ("ann", 0, started("lse_a1", "ord_a1", "1", "12"))]).doubts[0]
    )


def test_a_lease_is_held_for_as_long_as_the_nearest_control_says() -> None:
    def doubts(hold: float | None, *controls: dict[str, Any]) -> list[str]:
        set_before: list[Told] = [(None, 0, control) for control in controls]
        return audited(
            [*set_before, *LEASED[:2], ("ann", 0, started("lse_a1", "ord_a1", "1", "9", hold))]
        ).doubts

    wide, near = held_for("gpu", 3), held_for("gpu/r1/g1", 1)
    assert (
        []
        == doubts(3, wide)
        == doubts(1, wide, near)
        == doubts(1, near, wide)
        == doubts(3, wide, near, held_for("gpu/r1/g1", None))
    )
    assert [] == doubts(None, held_for("gpu/r1/g2", 3))
    for hold, control in ((None, wide), (1, wide), (3, near), (3, held_for("gpu/r1/g2", 3))):
        assert "is held until" in doubts(hold, control)[0]
