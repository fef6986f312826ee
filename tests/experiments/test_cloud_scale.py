"""The experiment about a whole cloud: its claims follow from the measurements."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from laissez_bench.simulation import Kind, Row
from laissez_experiments.cloud_scale import (
    CloudScale,
    paper_asks,
    share_at_the_papers_rates,
    size_cells,
)
from laissez_experiments.lab.findings import Claim
from laissez_experiments.lab.plan import Plan
from laissez_experiments.scalability.cells import SimulationSpeed, this_machine

pytestmark = pytest.mark.once

FULL = Plan()
QUICK = Plan(quick=True)
# 1,000 requests per real second in a tenth of the time: the market could serve 10,000
ROW = Row(
    nodes=10_000,
    tenants=1_010,
    demand=1.0,
    leased=9_900,
    holding=909,
    waiting=101,
    kinds={"inference": Kind(505, 5_050.0), "training": Kind(505, 505.0)},
    speed=5.0,
    requests_per_second=1_000.0,
    market_share=0.1,
    adapter_share=0.6,
    world_share=0.2,
)


def claims(row: Row = ROW, plan: Plan = FULL) -> tuple[Claim, ...]:
    return tuple(
        CloudScale().findings(plan, dict.fromkeys(size_cells(plan, this_machine()), row)).claims
    )


def test_the_largest_has_over_a_thousand_tenants_and_the_machine_for_itself() -> None:
    cells = size_cells(FULL, this_machine())
    assert (10_000, 1_010) == (cells[-1].nodes, cells[-1].tenants)
    assert all(cell.is_alone for cell in cells)
    assert {("inference", "training")} == {cell.kinds for cell in cells}, (
        "no other kind, at any size"
    )
    assert [cells[0]] == size_cells(QUICK, this_machine())


def test_tenants_at_the_papers_rates_ask_three_times_a_second_and_inference_ten() -> None:
    assert 505 * 10 + 505 * 3 == paper_asks(ROW)


def test_at_the_papers_rates_the_market_has_more_to_do_and_nothing_else_has() -> None:
    """Twice as much is asked: two tenths of the time, beside the nine of everything else."""
    row = msgspec.structs.replace(
        ROW, kinds={kind: Kind(of.tenants, paper_asks(ROW) / 4) for kind, of in ROW.kinds.items()}
    )
    assert pytest.approx(2 / 11) == share_at_the_papers_rates(row)


def test_what_holds_follows_from_what_was_measured() -> None:
    runs, share, reckoned, serves, inference, training = claims()
    assert (90.0, True) == (runs.measured, runs.holds)
    assert "5 virtual minutes" in runs.claim
    assert (10.0, True) == (share.measured, share.holds)
    assert (share_at_the_papers_rates(ROW) * 100, True) == (reckoned.measured, reckoned.holds)
    assert pytest.approx(10_000 / 6_565) == serves.measured
    assert serves.holds is True
    assert (1.0, False) == (training.measured, training.holds), "a third of the paper's"
    assert (10.0, True) == (inference.measured, inference.holds)


@pytest.mark.parametrize(
    ("which", "changed"),
    [
        (0, {"holding": 908}),  # less than nine in ten
        (0, {"tenants": 1_000}),  # not more than a thousand
        (1, {"market_share": 0.6}),
        # the paper's ask 65 times as much
        (2, {"kinds": {"inference": Kind(505, 50.5), "training": Kind(505, 50.5)}}),
        (3, {"requests_per_second": 500.0}),  # it could serve 5,000
    ],
)
def test_a_market_that_is_the_limit_is_reported(which: int, changed: dict[str, Any]) -> None:
    assert claims()[which].holds is True
    assert claims(msgspec.structs.replace(ROW, **changed))[which].holds is False


def test_a_small_cloud_decides_nothing() -> None:
    small = claims(msgspec.structs.replace(ROW, nodes=100), QUICK)
    assert {None} == {claim.holds for claim in small}
    assert all("10,000 nodes" in claim.note for claim in small)


def test_a_tiny_cloud_is_measured_and_shown() -> None:
    cell = SimulationSpeed(
        machine=this_machine(), nodes=20, tenants=3, kinds=("inference", "training"), minutes=0.5
    )
    row = cell.run()
    assert (20, 3) == (row.nodes, row.tenants)
    assert {"inference", "training"} == set(row.kinds)
    findings = CloudScale().findings(QUICK, {size_cells(QUICK, this_machine())[0]: row})
    assert 1 == len(findings.rows)
    assert findings.draw is not None
    shares, rates = findings.draw().axes
    assert ["20 nodes\n3 tenants"] == [label.get_text() for label in shares.get_yticklabels()]
    assert "could be served" in rates.texts[-1].get_text()
