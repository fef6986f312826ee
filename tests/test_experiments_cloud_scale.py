"""The experiment about a whole cloud: what it claims follows from what was measured."""

from __future__ import annotations

import msgspec
import pytest

from laissez.bench.simulation import Kind, Row
from laissez.experiments.cloud_scale.cells import SimulationSpeed
from laissez.experiments.cloud_scale.experiment import CloudScale, paper_asks, size_cells
from laissez.experiments.lab.findings import Claim
from laissez.experiments.lab.plan import Plan
from laissez.experiments.scalability.cells import this_machine

pytestmark = pytest.mark.once

FULL = Plan()
QUICK = Plan(quick=True)
# 1,000 requests per real second in a tenth of the time: the market could serve 10,000
ROW = Row(
    nodes=10_000,
    tenants=1_010,
    demand=1.0,
    served=1_000,
    waiting=10,
    kinds={"inference": Kind(300, 3_000.0), "training": Kind(300, 300.0), "batch": Kind(410, 410.0)},
    speed=5.0,
    requests_per_second=1_000.0,
    market_share=0.1,
    adapter_share=0.6,
    world_share=0.2,
)


def claims(row: Row = ROW, plan: Plan = FULL) -> tuple[Claim, Claim, Claim, Claim, Claim]:
    runs, share, serves, training, inference = CloudScale().findings(plan, dict.fromkeys(size_cells(plan, this_machine()), row)).claims
    return runs, share, serves, training, inference


def test_the_largest_has_over_a_thousand_tenants_and_the_machine_for_itself() -> None:
    cells = size_cells(FULL, this_machine())
    assert (10_000, 1_010) == (cells[-1].nodes, cells[-1].tenants)
    assert all(cell.is_alone for cell in cells)
    assert [cells[0]] == size_cells(QUICK, this_machine())


def test_tenants_at_the_papers_rates_ask_three_times_a_second_and_inference_ten() -> None:
    assert 300 * 10 + 300 * 3 + 410 * 3 == paper_asks(ROW)


def test_what_holds_follows_from_what_was_measured() -> None:
    runs, share, serves, training, inference = claims()
    assert (1_010, True) == (runs.measured, runs.holds)
    assert (10.0, True) == (share.measured, share.holds)
    assert pytest.approx(10_000 / 5_130) == serves.measured
    assert serves.holds is True
    assert (1.0, False) == (training.measured, training.holds), "a third of the paper's"
    assert (10.0, True) == (inference.measured, inference.holds)


@pytest.mark.parametrize(
    ("which", "changed"),
    [
        (0, {"waiting": 9}),  # one tenant has neither GPUs nor orders
        (0, {"tenants": 1_000, "served": 990}),  # not more than a thousand
        (1, {"market_share": 0.3}),
        (2, {"requests_per_second": 500.0}),  # it could serve 5,000
    ],
)
def test_a_market_that_is_the_limit_is_reported(which: int, changed: dict[str, float]) -> None:
    assert claims()[which].holds is True
    assert claims(msgspec.structs.replace(ROW, **changed))[which].holds is False


def test_a_small_cloud_decides_nothing() -> None:
    small = claims(msgspec.structs.replace(ROW, nodes=100), QUICK)
    assert {None} == {claim.holds for claim in small}
    assert all("10,000 nodes" in claim.note for claim in small)


def test_a_tiny_cloud_is_measured_and_shown() -> None:
    cell = SimulationSpeed(machine=this_machine(), nodes=20, tenants=3, minutes=0.5)
    row = cell.run()
    assert (20, 3) == (row.nodes, row.tenants)
    findings = CloudScale().findings(QUICK, {size_cells(QUICK, this_machine())[0]: row})
    assert 1 == len(findings.rows)
    assert findings.draw is not None
    shares, rates = findings.draw().axes
    assert ["20 nodes\n3 tenants"] == [label.get_text() for label in shares.get_yticklabels()]
    assert "could be served" in rates.texts[-1].get_text()
