"""Killing the real server, and what it kept; faults put into it on purpose, and that they are found; the auditor of bills by itself."""

from __future__ import annotations

import ast
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from laissez.check import cli, event_audit, event_rules
from laissez.check.crashes import run as crashes
from laissez.check.crashes.faulty_server import entry_of
from laissez.check.event_audit import Auditor
from laissez.check.event_rules import dollars, instant
from laissez.check.started_server import Entry

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def data_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of failed runs are kept; here they go with the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.slow
def test_twenty_kills_lose_nothing_that_anyone_was_told() -> None:
    outcome = crashes.run(20, seed=7)
    assert outcome.failure is None
    assert outcome.counted["kills"] >= 20
    assert outcome.counted["answers"] > 500
    assert outcome.counted["bills"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["early", "forgetful", "behind"])
def test_a_fault_put_in_on_purpose_is_found(fault: str) -> None:
    """`early`: acknowledged before it is stored; `forgetful`: a restart forgets ids; `behind`: a restart forgets the latest commands."""
    outcome = crashes.run(20, seed=1, entry=entry_of(fault))
    assert outcome.failure is not None
    assert "again: laissez check crashes --kills 20 --seed 1" in outcome.failure


@pytest.mark.slow
def test_a_server_that_does_not_start_is_a_finding() -> None:
    outcome = crashes.run(1, seed=0, entry=Entry(variables={"LAISSEZ_SERVER__PORT": "none"}))
    assert outcome.failure is not None
    assert "the server did not start" in outcome.failure


def test_a_failure_is_shown_and_leaves_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crashes, "run", lambda kills, seed, tell: crashes.Outcome({"kills": 3}, f"lost\nagain: --kills {kills} --seed {seed}"))
    result = CliRunner().invoke(cli.app, ["crashes", "--kills", "5", "--seed", "9", "-o", "json"])
    assert (1, 3) == (result.exit_code, json.loads(result.stdout)["kills"])
    assert "again: --kills 5 --seed 9" in json.loads(result.stdout)["failure"]


# -- the auditor


def test_the_auditor_shares_no_code_with_what_it_audits() -> None:
    trees = [ast.parse(Path(str(module.__file__)).read_text()) for module in (event_audit, event_rules)]
    imported = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [getattr(node, "module", None) or node.names[0].name for node in imported]
    assert ["laissez.check.event_rules"] == [name for name in names if name.startswith("laissez")]


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
    return {"type": "order.placed", "order": order, "alternatives": [{"scope": scope, "bid": bid, "limit": limit}], "clipped": False}


def started(lease: str, order: str, rate: str, limit: str, hold: float | None = None) -> dict[str, Any]:
    until = None if hold is None else hour(hold)
    return {"type": "lease.started", "lease": lease, "leaf": "gpu/r1/g1", "order": order, "rate": rate, "limit": limit, "hold_until": until}


def ended(lease: str, rate: str, limit: str | None) -> dict[str, Any]:
    return {"type": "lease.ended", "lease": lease, "leaf": "gpu/r1/g1", "reason": "relinquished", "rate": rate, "limit": limit}


def limit_set(lease: str, limit: str | None) -> dict[str, Any]:
    return {"type": "lease.limit_set", "lease": lease, "leaf": "gpu/r1/g1", "limit": limit}


def floor(node: str, price: str) -> dict[str, Any]:
    return {"type": "floor.set", "node": node, "price": price, "clipped": False}


LEASED: list[Told] = [
    (None, 0, floor("gpu", "1")),
    ("ann", 0, placed("ord_a1", "9", "9")),
    ("ann", 0, started("lse_a1", "ord_a1", "1", "9")),
]
HELD: list[Told] = [*LEASED[:2], ("ann", 0, started("lse_a1", "ord_a1", "1", "9", hold=3))]


def test_a_lease_is_charged_the_highest_of_floors_and_of_what_others_bid() -> None:
    told: list[Told] = [
        *LEASED,
        ("ann", 1, placed("ord_a2", "8", "8", "gpu/r1/g1")),  # her own bid does not press
        (None, 2, floor("gpu/r1/g2", "5")),
        ("bob", 2, placed("ord_b1", "4", "4", "gpu/r1")),
        (None, 3, floor("gpu/r1/g1", "5")),
        ("ann", 4, ended("lse_a1", "5", "9")),
    ]
    assert ["1.000000", "2.000000", "6.000000", "11.000000", "11.000000"] == owed(told, "ann", 1, 2, 3, 4, 5)
    assert [] == audited(told).doubts


def test_a_held_lease_is_charged_at_most_the_larger_of_its_limits() -> None:
    told: list[Told] = [*HELD, ("bob", 1, placed("ord_b1", "20", "20")), ("ann", 2, limit_set("lse_a1", "2")), ("ann", 3, ended("lse_a1", "20", "2"))]
    assert ["1.000000", "10.000000", "19.000000"] == owed(told, "ann", 1, 2, 3)


def test_without_a_limit_there_is_no_cap_and_after_the_hold_neither() -> None:
    free: list[Told] = [*HELD, ("ann", 0, limit_set("lse_a1", None)), ("bob", 1, placed("ord_b1", "20", "20"))]
    assert ["21.000000"] == owed(free, "ann", 2)
    over: list[Told] = [*HELD, ("bob", 1, placed("ord_b1", "20", "20")), ("ann", 2, limit_set("lse_a1", None))]
    assert ["30.000000", "50.000000"] == owed(over, "ann", 3, 4)


def test_a_fee_is_charged_until_its_end() -> None:
    fee = {"type": "fee.charged", "order": "ord_b1", "scope": "gpu", "rate": "6", "until": hour(2)}
    told: list[Told] = [("bob", 0, placed("ord_b1", "6", "6")), ("bob", 1, {"type": "order.cancelled", "order": "ord_b1"}), ("bob", 1, fee)]
    assert ["3.000000", "6.000000", "6.000000"] == owed(told, "bob", 1.5, 2, 3)


def test_an_event_that_contradicts_those_before_it_is_doubted() -> None:
    assert "tells the rate 2" in audited([*LEASED[:2], ("ann", 0, started("lse_a1", "ord_a1", "2", "9"))]).doubts[0]
    assert "time runs backwards" in audited([("ann", 2, placed("ord_a1", "1", "1")), ("ann", 1, placed("ord_a2", "1", "1"))]).doubts[0]
    assert "while it is leased" in audited([*LEASED, ("bob", 1, started("lse_b1", "ord_b1", "1", "9"))]).doubts[0]


def test_an_owner_that_the_rules_do_not_make_one_is_doubted() -> None:
    later: Told = (None, 3, floor("gpu", "1"))
    assert "gpu/r1/g1 is idle and ord_a1 could take it" in audited([*LEASED[:2], later]).doubts[0]
    assert "its limit is 9" in audited([*LEASED, (None, 0, floor("gpu/r1/g2", "50")), ("bob", 1, placed("ord_b1", "20", "20")), later]).doubts[0]
    better: Told = ("bob", 0, placed("ord_b1", "1", "9", "gpu/r1"))
    assert "should have been ord_b1" in audited([*LEASED[:2], better, LEASED[2]]).doubts[0]
    again: Told = ("ann", 1, {**started("lse_a2", "ord_a1", "1", "9"), "leaf": "gpu/r1/g2"})
    assert "is no open order" in audited([*LEASED, again]).doubts[1]


def test_a_quote_is_the_least_that_opens_a_leaf() -> None:
    auditor = audited([*HELD, (None, 0, {"type": "resource.offline", "leaf": "gpu/r1/g2"})])
    held, over = instant(hour(1)), instant(hour(3))
    assert [None, 9_000_001, None] == [auditor.quote("bob", "gpu", held), auditor.quote("bob", "gpu", over), auditor.quote("ann", "gpu", over)]
