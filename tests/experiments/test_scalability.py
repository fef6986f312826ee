"""The experiment about scalability: its claims follow from the measurements, which are of one
machine and one form of the market."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from laissez_bench import market, service
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.findings import Claim
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.store import Store
from laissez_experiments.lab.style import styled
from laissez_experiments.scalability.cells import MarketSpeed, ServiceSpeed, this_machine
from laissez_experiments.scalability.experiment import (
    OPERATIONS,
    Scalability,
    described,
    market_cell,
    service_cells,
)

pytestmark = pytest.mark.once

FULL = Plan()
QUICK = Plan(quick=True)
FAST = (100_000.0, 15.0)  # requests/s, and the 99th percentile in microseconds
# requests/s and ms, load by load
ANSWERED = ((5_000.0, 8.0), (10_000.0, 19.0), (14_000.0, 30.0), (15_000.0, 40.0), (26_000.0, 40.0))


def market_row(operation: str, leaves: int, speed: tuple[float, float]) -> market.Row:
    per_second, p99_us = speed
    return market.Row(operation, leaves, 10_000, per_second, 5.0, p99_us, True, 256, 862.0)


def results(
    plan: Plan = FULL,
    at_10_000: tuple[float, float] = FAST,
    answered: Sequence[tuple[float, float]] = ANSWERED,
) -> dict[Cell, Any]:
    """All as fast as `FAST`, but at 10,000 leaves."""
    cell = market_cell(plan, this_machine())
    rows = [
        market_row(operation, leaves, at_10_000 if leaves == 10_000 else FAST)
        for operation in market.OPERATIONS
        for leaves in cell.leaves
    ]
    found: dict[Cell, Any] = {cell: rows}
    for load, (per_second, p99_ms) in zip(
        service_cells(plan, this_machine()), answered, strict=False
    ):
        found[load] = service.Row(
            load.load, per_second, p99_ms / 2, p99_ms, True, 64, 5, 10_000, 1_000, {}
        )
    return found


def claims(**given: Any) -> Sequence[Claim]:
    return Scalability().findings(FULL, results(**given)).claims


def test_each_operation_is_claimed_once_at_10_000_leaves() -> None:
    in_process = claims()[:-3]
    assert len(OPERATIONS) == len(in_process)
    assert {(100_000.0, True)} == {(claim.measured, claim.holds) for claim in in_process}
    assert ["transfer"] == [
        claim.claim.partition(",")[0] for claim in in_process if "at the root" in claim.note
    ], "not quite the paper's"


def test_a_slow_market_is_reported() -> None:
    in_process = claims(at_10_000=(24_999.0, 15.0))[:-3]
    assert {False} == {claim.holds for claim in in_process}


def test_sessions_are_judged_by_what_is_answered_in_time() -> None:
    in_time, _, at_all = claims()[-3:]
    assert (10_000.0, False) == (in_time.measured, in_time.holds)
    assert (15_000.0, None, None, "") == (
        at_all.measured,
        at_all.paper,
        at_all.holds,
        at_all.note,
    ), "no batches among them"
    assert claims(answered=[(25_000.0, 19.9)] * 5)[-3].holds is True


@pytest.mark.parametrize(
    ("batches", "holds"),
    [((26_000.0, 19.9), True), ((26_000.0, 20.0), False), ((24_999.0, 8.0), False)],
)
def test_batches_are_judged_by_rate_and_latency_together(
    batches: tuple[float, float], holds: bool
) -> None:
    _, found, _ = claims(answered=[*ANSWERED[:4], batches])[-3:]
    assert (batches[0], holds) == (found.measured, found.holds)
    assert holds or f"{batches[1]:.1f} ms" in found.note


def test_the_market_is_blamed_where_it_is_what_is_slow() -> None:
    assert "the rest is the server's" in claims()[-3].note
    assert "the rest is the server's" not in claims(at_10_000=(24_999.0, 15.0))[-3].note


def test_nothing_answered_in_time_is_zero() -> None:
    found = Scalability().findings(FULL, results(answered=[(30_000.0, 21.0)] * 5))
    assert 0.0 == found.claims[-3].measured
    assert "under no load of sessions" in found.text


def test_the_quick_version_decides_nothing() -> None:
    found = Scalability().findings(QUICK, results(QUICK))
    assert len(claims()) == len(found.claims)
    assert {None} == {claim.holds for claim in found.claims}
    assert all(claim.note for claim in found.claims)


def test_speeds_are_of_the_code_that_was_measured() -> None:
    market_speed, *services = Scalability().cells(FULL)
    assert "laissez_bench" in market_speed.packages
    assert all(
        {"laissez_bench", "laissez.journal", "laissez.server", "laissez.wire"} <= set(cell.packages)
        for cell in services
    )


def test_speeds_of_another_form_of_the_market_are_not_taken_for_this_ones(tmp_path: Path) -> None:
    ours, other = this_machine(), msgspec.structs.replace(this_machine(), market_form="imagined")
    for one, another in zip(
        [market_cell(FULL, ours), *service_cells(FULL, ours)],
        [market_cell(FULL, other), *service_cells(FULL, other)],
        strict=True,
    ):
        assert one.is_alone
        assert Store(tmp_path).path(one) != Store(tmp_path).path(another)


@pytest.mark.parametrize("plan", [FULL, QUICK], ids=["full", "quick"])
def test_the_figure_has_a_panel_for_each_operation_and_the_service_below(plan: Plan) -> None:
    findings = Scalability().findings(plan, results(plan))
    assert findings.draw is not None
    with styled(Scalability.name):
        figure = findings.draw()
    titles = [axes.get_title("left") for axes in figure.axes if axes.get_title("left")]
    assert [
        f"{letter}  {words}" for letter, words in zip("abc", OPERATIONS.values(), strict=True)
    ] == titles
    loads = [described(cell) for cell in service_cells(plan, this_machine())]
    shown = [
        label.get_text()
        for axes in figure.axes[2 * len(OPERATIONS) :]
        for label in axes.get_yticklabels()
        if label.get_text()
    ]
    assert set(loads) == set(shown)


def test_a_small_tree_is_measured() -> None:
    rows = MarketSpeed(machine=this_machine(), leaves=(100,), resting=300, calls=1).run()
    assert set(market.OPERATIONS) == {row.operation for row in rows}
    assert all(row.per_second > 0 for row in rows)


@pytest.mark.slow
def test_sessions_ask_no_more_than_they_are_told_to() -> None:
    row = ServiceSpeed(
        machine=this_machine(),
        load="session",
        asked_per_second=2_000.0,
        measured_s=1.0,
        leaves=200,
        tenants=20,
    ).run()
    assert 0 < row.per_second <= 3_000
