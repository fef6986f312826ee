"""One batch follows live prices: its states come from its leases, and the claims from its states."""

from __future__ import annotations

import pytest

from laissez.experiments.lab.cell import Cell
from laissez.experiments.lab.plan import Plan
from laissez.experiments.trade_down.experiment import TradeDown
from laissez.experiments.trade_down.run import Course, Sample, TradeDownRun, spans, spent
from laissez.sim.clouds.cloud import Lease
from laissez.tenants.units import HOUR_US, MICRO

pytestmark = pytest.mark.once

PLAN = Plan(seeds=1, quick=True)


def lease(tree: str, start: float, end: float, *prices: tuple[float, float]) -> Lease:
    """From hour to hour; $1 an hour unless other prices are given, each from its hour on."""
    pieces = tuple((round(at * HOUR_US), round(rate * MICRO)) for at, rate in prices or ((start, 1.0),))
    ends = [at for at, _ in pieces[1:]] + [round(end * HOUR_US)]
    charge = sum(rate * (until - at) for (at, rate), until in zip(pieces, ends, strict=True))
    return Lease(f"{tree}/gpu0", "batch", round(start * HOUR_US), round(end * HOUR_US), "relinquished", charge, pieces)


def course(*leases: Lease, done_at_h: float | None = 3.0) -> Course:
    samples = tuple(Sample(hour * HOUR_US, {"h100": 2.0, "a100": 1.0}, min(1.0, hour / 3)) for hour in range(5))
    return Course(leases=leases, samples=samples, done_at=None if done_at_h is None else round(done_at_h * HOUR_US))


def claims(trades: Course, stays: Course) -> list[bool | None]:
    results: dict[Cell, Course] = {cell: stays if cell == TradeDownRun(stays=True) else trades for cell in TradeDown().cells(PLAN)}
    return [claim.holds for claim in TradeDown().findings(PLAN, results).claims]


def test_between_two_leases_the_batch_is_paused_and_in_a_move_it_is_on_the_newer_one() -> None:
    states = spans([lease("a100", 2.0, 3.0), lease("h100", 0.0, 1.1), lease("a100", 1.0, 1.5)])
    assert [("h100", 0.0, 1.0), ("a100", 1.0, 1.5), ("paused", 1.5, 2.0), ("a100", 2.0, 3.0)] == [
        (one.state, one.start / HOUR_US, one.end / HOUR_US) for one in states
    ]


def test_what_was_spent_counts_every_price_for_as_long_as_it_was_charged() -> None:
    leases = [lease("h100", 0.0, 2.0, (0.0, 3.0), (1.0, 5.0)), lease("a100", 3.0, 4.0)]
    assert [0.0, 3.0, 5.5, 8.0, 8.5, 9.0] == [pytest.approx(spent(leases, round(hour * HOUR_US))) for hour in (0, 1, 1.5, 3, 3.5, 5)]


def test_claims_hold_only_for_the_papers_sequence_in_time_and_for_less() -> None:
    down = (lease("h100", 0.0, 1.0), lease("a100", 1.0, 1.5))
    back = lease("h100", 2.0, 3.0)
    stays = course(lease("h100", 0.0, 3.0))
    assert [True, True, True] == claims(course(*down, back), stays)
    assert [False, True, True] == claims(course(*down, lease("a100", 2.0, 3.0)), stays)
    assert [False, True, False] == claims(course(lease("h100", 0.0, 3.0)), stays)
    assert [True, False, True] == claims(course(*down, back, done_at_h=None), stays)


def test_the_batch_trades_down_pauses_and_resumes_by_its_own_prices() -> None:
    results = {cell: cell.run() for cell in TradeDown().cells(PLAN)}
    found = TradeDown().findings(PLAN, results)
    assert [True, True, True] == [claim.holds for claim in found.claims]
    assert [claim.measured for claim in found.claims[:1]] == ["h100, a100, paused, h100"]
    assert len({frozenset(row) for row in found.rows}) == 1
    assert found.rows[-1]["done"] == 1.0
    assert found.draw is not None
    found.draw()
