"""The paper's example, as the demo plays it."""

from __future__ import annotations

from typer.testing import CliRunner

from laissez.cli import app
from laissez.cli.demo import HOST, MINUTE_US, STORY, TOPOLOGY
from laissez.market import Market, Refused
from laissez.units import dollars


def test_the_gpu_moves_at_the_checkpoint_and_not_before() -> None:
    market = Market(TOPOLOGY)
    owners = []
    for minute, _, command in STORY:
        events = market.apply(command, minute * MINUTE_US)
        assert not any(isinstance(event, Refused) for event in events)
        owners.append(market.owner(f"{HOST}/gpu0"))
    assert [None, "A", "A", "A", "B", "B", "B"] == owners
    # 20 min at 4.82, 30 min at 6.50, 30 min at 4.82
    assert "7.266666" == dollars(market.bill("A").total)
    assert "8.836666" == dollars(market.bill("B").total)  # 80 min and 30 min at 4.82


def test_the_demo_ends_well_and_shows_the_bills() -> None:
    shown = CliRunner().invoke(app, ["demo", "--plain"])
    assert 0 == shown.exit_code
    assert "told A: h100/rack1/host1/gpu0 ended, outbid (rate 6.5, limit 5)" in shown.stdout
    assert "A's bill: 7.266666 $" in shown.stdout
