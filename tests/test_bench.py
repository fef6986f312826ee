"""The benchmark measures what it says; how fast is not asserted."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import laissez
from laissez.bench import cli, console, market, recovery, service, soak
from laissez.bench.crowd import Crowd, tree
from laissez.bench.market import LOADS, OPERATIONS, Timer

KEYS = {"operation", "leaves", "resting", "per_second", "p50_us", "p99_us", "compiled", "places", "bytes_per_leaf", "crowding", "times_oracle"}


def test_a_tree_has_exactly_as_many_leaves_as_asked() -> None:
    for leaves in (100, 1_000, 1_001):
        assert leaves == len(tree(leaves).leaves)
    assert "h100/zone000/row000/rack0000/host00000" == tree(100).ancestor(tree(100).leaves[0], "host")


def test_every_load_leaves_the_crowd_as_it_found_it() -> None:
    crowd = Crowd(100, 600)
    for operation in OPERATIONS:
        timer = Timer()
        LOADS[operation](crowd, timer)
        assert timer.nanoseconds
        assert 600 == len(crowd.market.orders()) == len(crowd.resting)
        assert 100 == len(crowd.market.leases())


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer orders and a smaller tree for the oracle than what is measured in earnest: it is the same code that runs."""
    monkeypatch.setattr(cli, "RESTING", 600)
    monkeypatch.setattr(market, "ORACLE_LEAVES", 100)


@pytest.mark.usefixtures("small")
def test_json_is_one_array_of_rows() -> None:
    ran = CliRunner().invoke(cli.app, ["market", "--leaves", "100,200", "--calls", "100", "-o", "json"])
    assert 0 == ran.exit_code, ran.output
    rows = json.loads(ran.stdout)
    assert all(row.keys() == KEYS for row in rows)
    assert {(operation, leaves) for operation in OPERATIONS for leaves in (100, 200)} == {(row["operation"], row["leaves"]) for row in rows}
    assert {laissez.market_form() == "compiled"} == {row["compiled"] for row in rows}
    assert all(row["per_second"] > 0 and 0 < row["p50_us"] <= row["p99_us"] for row in rows)


@pytest.mark.usefixtures("small")
def test_the_table_shows_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "times_oracle", lambda: 1_000.0)  # measured for real by the test above
    ran = CliRunner().invoke(cli.app, ["market", "--leaves", "100,200", "--calls", "100"])
    assert 0 == ran.exit_code, ran.output
    assert "place + cancel anywhere" in ran.stdout
    assert "times the naive oracle" in " ".join(ran.stdout.split())


def test_nonsense_sizes_are_refused() -> None:
    for sizes in ("", "ten", "10", "1000,,", "-5", "2000000"):
        ran = CliRunner().invoke(cli.app, ["market", "--leaves", sizes])
        assert 2 == ran.exit_code
        assert "expected numbers of leaves" in " ".join(ran.output.split())


@pytest.mark.slow
@pytest.mark.once
def test_every_load_of_the_service_is_answered_and_durable() -> None:
    begun: list[str] = []
    rows = service.measure(list(service.LOADS), 0.4, begun.append, leaves=200, tenants=20)
    assert ["making the market", *service.LOADS] == begun
    assert list(service.LOADS) == [row.load for row in rows]
    for row in rows:
        assert row.per_second > 0 and row.p50_ms <= row.p99_ms and row.durable, row
        assert row.problems.keys() <= {"already_filled", "not_your_lease", "not_your_order", "too_many_orders"}, row
    assert any(row.p50_ms > 0 for row in rows)  # not each of them: on a busy machine no batch may begin and end within so short a time


@pytest.mark.slow
@pytest.mark.once
def test_a_server_that_is_looked_at_tells_every_follower_and_previews_what_would_end() -> None:
    found = console.measure(0.4, lambda _: None, leaves=200, tenants=20)
    assert list(console.FOLLOWERS) == [row.followers for row in found.rows]
    assert [False, True, True] == [row.messages_per_second > 0 and row.megabytes_per_second > 0 for row in found.rows]
    assert all(row.cpu_share >= 0 and row.longest_ms > 0 for row in found.rows)
    assert 0 < found.preview_ends <= 200 and found.preview_ms > 0


@pytest.mark.slow
@pytest.mark.once
def test_recovery_replays_what_came_after_the_snapshot() -> None:
    found = recovery.measure(600, lambda _: None, leaves=200, tenants=20)
    assert found.commands > 600 and found.replayed < found.commands and found.seconds > 0


@pytest.mark.slow
@pytest.mark.once
def test_the_soak_reads_the_servers_memory_along_the_way() -> None:
    found = soak.measure(0.02, 500, lambda _: None, leaves=200, tenants=20)
    assert len(found.megabytes) >= soak.READINGS - 1 and min(found.megabytes) > 10 and found.per_second > 0 and found.growth > 0


def test_an_unknown_load_is_refused() -> None:
    ran = CliRunner().invoke(cli.app, ["service", "--load", "carrier-pigeon"])
    assert 2 == ran.exit_code
    assert "expected loads from session, connections, rest, batch" in " ".join(ran.output.replace("│", " ").split())
