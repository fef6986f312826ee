"""Quotes that were told, judged by the events: each by those of its own run of the service, whose
clock may be set back."""

from __future__ import annotations

from typing import Any, cast

import pytest

from laissez_check.bills.amounts import instant
from laissez_check.clients.inspector import Inspector
from laissez_check.clients.journal import Truth
from laissez_check.clients.ledger import Ledger, Quoted
from laissez_check.finding import Finding

pytestmark = pytest.mark.once

LEAF = "gpu/g1"


class Entered:
    """As much of the journal as the inspector asks for here: when each event was entered."""

    def __init__(self, *seconds: int) -> None:
        self.entered_at = [instant(second(one)) for one in seconds]


def second(of: int) -> str:
    return f"2026-01-01T00:00:{of:02d}.000000Z"


def floor(n: int, at: int) -> dict[str, Any]:
    """A floor of `n` dollars, told by event `n`."""
    return {
        "n": n,
        "event": {
            "at": second(at),
            "type": "floor.set",
            "node": "gpu",
            "price": str(n),
            "clipped": False,
        },
    }


def judge(*quoted: tuple[int, int, str]) -> int:
    """Quotes by run, second and price. The first run sets a floor in second 1; the second, which
    begins with its clock set back, in 3, 3 and 5."""
    entered = (1, 3, 3, 5)
    ledger = Ledger(("operator",))
    ledger.quoted = [Quoted("operator", "gpu", price, second(at), run) for run, at, price in quoted]
    inspector = Inspector(ledger, cast(Truth, Entered(*entered)), {}, [LEAF], began=(0, 1))
    inspector._unaudited = [floor(n, at) for n, at in enumerate(entered, 1)]
    inspector._audit_quotes()
    return inspector.quotes


def test_a_quote_is_what_the_events_before_it_make_it() -> None:
    assert 5 == judge((0, 0, "0"), (0, 2, "1"), (1, 2, "1"), (1, 4, "3"), (1, 9, "4"))
    for wrong in ((0, 0, "1"), (0, 2, "0"), (1, 2, "2"), (1, 4, "1"), (1, 9, "3")):
        with pytest.raises(Finding, match="operator was quoted"):
            judge(wrong)


def test_entries_of_one_instant_may_come_before_or_after_any_quote_of_that_instant() -> None:
    assert 6 == judge((1, 3, "3"), (1, 3, "1"), (1, 3, "2"), (0, 1, "1"), (0, 1, "0"), (1, 3, "1"))
    with pytest.raises(Finding):
        judge((1, 3, "4"))


def test_a_run_knows_nothing_of_the_one_after_it_though_that_ones_clock_is_behind() -> None:
    assert 1 == judge((0, 8, "1"))
    with pytest.raises(Finding):
        judge((0, 8, "4"))
