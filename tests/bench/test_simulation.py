"""`laissez bench sim`: a small cluster, and where its time goes."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from laissez.sim.clouds.cloud import Cloud
from laissez_bench import cli, simulation
from laissez_bench.simulation import CountedCloud, Row, Stopwatch, measure

pytestmark = pytest.mark.once


def test_time_is_split_among_the_market_the_adapters_the_worlds_and_the_simulator() -> None:
    steps: list[str] = []
    (row,) = measure([(20, 3)], minutes=2, step=steps.append)
    assert ["20 nodes, 3 tenants"] == steps
    assert (20, 3) == (row.nodes, row.tenants)
    assert row.speed > 0
    assert row.requests_per_second > 0
    assert (3, 0) == (row.holding, row.waiting)
    assert 3 <= row.leased <= 20
    shares = (row.market_share, row.adapter_share, row.world_share, row.simulator_share)
    assert all(0 < share < 1 for share in shares), shares
    assert 1 == pytest.approx(sum(shares))


def test_the_tenants_need_about_what_there_is() -> None:
    (row,) = measure([(40, 6)], minutes=0.1)
    assert 0.7 < row.demand < 1.4, "six tenants are few"


def test_only_the_kinds_that_are_asked_for_come() -> None:
    (row,) = measure([(20, 4)], minutes=0.1, kinds=("inference", "training"))
    assert {"inference": 2, "training": 2} == {kind: of.tenants for kind, of in row.kinds.items()}


def test_requests_are_counted_by_kind_and_none_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[CountedCloud, int]] = []

    class Noted(CountedCloud):
        def __init__(self, cloud: Cloud) -> None:
            super().__init__(cloud)
            seen.append((self, cloud.requests))

    monkeypatch.setattr(simulation, "CountedCloud", Noted)
    (row,) = measure([(20, 3)], minutes=2)
    ((counted, before),) = seen
    assert counted.requests - before == counted.asked.total() == round(row.asked_per_second * 120)
    assert {"inference": 1, "training": 1, "batch": 1} == {
        kind: of.tenants for kind, of in row.kinds.items()
    }
    assert row.asked_per_second == pytest.approx(row.requests_per_second / row.speed)


def test_what_one_part_asks_of_another_is_the_others_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(100))
    monkeypatch.setattr(simulation, "perf_counter", lambda: float(next(ticks)))
    watch = Stopwatch()
    inner = watch.timed("worlds", lambda: None)
    watch.start()
    watch.timed("adapters", inner)()
    assert {"simulator": 2.0, "market": 0.0, "adapters": 2.0, "worlds": 1.0} == watch.stop()


def test_the_command_prints_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = {"market_share": 0.1, "adapter_share": 0.5, "world_share": 0.25}
    row = Row(
        nodes=100,
        tenants=10,
        demand=1.0,
        leased=95,
        holding=9,
        waiting=1,
        kinds={},
        speed=250.0,
        requests_per_second=1234.0,
        **shares,
    )
    monkeypatch.setattr(simulation, "measure", lambda minutes, step: [row])
    found = CliRunner().invoke(cli.app, ["sim", "-o", "json"])
    assert 0 == found.exit_code, found.output
    assert [{**json.loads(found.output)[0], "speed": 250.0, "world_share": 0.25}] == json.loads(
        found.output
    )
    table = CliRunner().invoke(cli.app, ["sim"])
    assert "250" in table.output
    assert "1,234" in table.output
    assert "15 %" in table.output, "the simulator's own share"
