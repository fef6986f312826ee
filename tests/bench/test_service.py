"""The benchmark measures what it says; how fast is not asserted."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from typer.testing import CliRunner

import laissez
from laissez_bench import cli, console, market, noisy, overload, service, tables
from laissez_bench.crowd import Crowd, tree
from laissez_bench.generator import Phase
from laissez_bench.market import LOADS, OPERATIONS, Timer
from laissez_bench.mix import Held
from laissez_bench.statistics import Counted, Ratio, ratio_of
from laissez_bench.verdict import Verdict
from laissez_bench.world import World

KEYS = {
    "operation",
    "leaves",
    "resting",
    "per_second",
    "p50_us",
    "p99_us",
    "compiled",
    "places",
    "bytes_per_leaf",
    "crowding",
    "times_oracle",
}


def test_a_tree_has_exactly_as_many_leaves_as_asked() -> None:
    for leaves in (100, 1_000, 1_001):
        assert leaves == len(tree(leaves).leaves)
    assert "h100/zone000/row000/rack0000/host00000" == tree(100).ancestor(
        tree(100).leaves[0], "host"
    )


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
    """Fewer orders and a smaller tree for the oracle than in a real measurement, with the same
    code."""
    monkeypatch.setattr(cli, "RESTING", 600)
    monkeypatch.setattr(market, "ORACLE_LEAVES", 100)


@pytest.mark.usefixtures("small")
def test_json_is_one_array_of_rows() -> None:
    ran = CliRunner().invoke(
        cli.app, ["market", "--leaves", "100,200", "--calls", "100", "-o", "json"]
    )
    assert 0 == ran.exit_code, ran.output
    rows = json.loads(ran.stdout)
    assert all(row.keys() == KEYS for row in rows)
    assert {(operation, leaves) for operation in OPERATIONS for leaves in (100, 200)} == {
        (row["operation"], row["leaves"]) for row in rows
    }
    assert {laissez.market_form() == "compiled"} == {row["compiled"] for row in rows}
    assert all(row["per_second"] > 0 and 0 < row["p50_us"] <= row["p99_us"] for row in rows)


@pytest.mark.usefixtures("small")
def test_the_table_shows_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        market, "times_oracle", lambda: 1_000.0
    )  # measured for real by the test above
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
def test_every_load_of_the_service_is_measured_beside_its_ceiling() -> None:
    begun: list[str] = []
    rows = service.measure(
        list(service.LOADS), 0.4, begun.append, leaves=200, tenants=20, ceiling=True
    )
    assert ["making the market", *service.LOADS] == begun
    assert {*service.LOADS, "ceiling-session", "ceiling-rest", "ceiling-batch"} == {
        row.load for row in rows
    }
    for row in rows:
        assert row.p50_ms <= row.p99_ms and row.durable, row
        assert row.problems.keys() <= {
            "already_filled",
            "not_your_lease",
            "not_your_order",
            "too_many_orders",
        }, row
        assert (row.share_of_ceiling is not None) == (row.load in service.WITH_CEILING), row
        # a loaded machine may not keep p99 at any rate
        if row.load != service.OPEN:
            assert row.per_second > 0 and row.in_flight > 0 and row.pause_ms_max > 0, row
            assert row.us_per_command >= row.us_per_command_main > 0, row
            assert row.generator_us_per_command > 0 and row.bytes_per_command > 0, row


class FakeServer:
    """Answers a phase as a server of this capacity would, without one."""

    def __init__(self, capacity: float) -> None:
        self.capacity = capacity
        self.phases: list[Phase] = []

    def __call__(self, phase: Phase) -> Counted:
        self.phases.append(phase)
        counted = Counted(phase.seconds)
        if phase.per_second is None:
            in_flight = phase.connections * phase.in_flight
            counted.answered = round(phase.seconds * min(self.capacity, in_flight * 100))
        else:
            counted.answered = round(phase.seconds * phase.per_second)
            counted.admitted.add(0.005 if phase.per_second < self.capacity else 0.05, 100)
        return counted


@pytest.fixture
def side(tmp_path: Path) -> service.Side:
    held = [Held("key", [], []) for _ in range(100)]
    return service.Side("session", World(tmp_path, held, [], 100), False)


def test_a_closed_row_takes_the_smallest_number_in_flight_that_gives_the_most(
    side: service.Side,
) -> None:
    side.run = FakeServer(25_000)
    assert 25_000 == side.search(1.0)
    assert (64, 4) == (side.connections, side.in_flight)


def test_an_open_row_finds_the_highest_rate_that_keeps_p99(side: service.Side) -> None:
    side.run = server = FakeServer(10_000)
    side.bisect(1.0, 16_000)
    assert service.OPEN_STEPS <= len(server.phases) <= 2 * service.OPEN_STEPS
    assert 9_800 < side.row().per_second <= 10_000
    assert 5 == pytest.approx(side.row().p99_ms, rel=0.02)


def test_one_hiccup_does_not_lower_an_open_row(side: service.Side) -> None:
    server = FakeServer(10_000)

    def stalls_once(phase: Phase) -> Counted:
        counted = server(phase)
        if len(server.phases) == 1:
            counted.admitted.add(1.0, 100)
        return counted

    side.run = stalls_once
    side.bisect(1.0, 16_000)
    assert 9_800 < side.row().per_second <= 10_000


def test_an_open_row_where_no_rate_keeps_p99_is_zero(side: service.Side) -> None:
    side.run = FakeServer(0)
    side.bisect(1.0, 16_000)
    assert 0 == side.row().per_second


def test_a_share_of_the_ceiling_is_of_the_rate(side: service.Side) -> None:
    ceiling = service.Side("session", side._world, True)
    side.counted, ceiling.counted = Counted(2, 500, pause_s=0.02), Counted(1, 1_000)
    row = side.row(ceiling)
    assert (0.25, 20.0) == (row.share_of_ceiling, row.pause_ms_max)
    assert "25 %" in shown([row]) and "ceiling-session" == ceiling.name


def shown(rows: list[service.Row | service.Recovery]) -> str:
    with StringIO() as said, redirect_stdout(said):
        tables.show_service(rows)
        return " ".join(said.getvalue().split())


def test_recovery_is_shown_with_what_is_extrapolated() -> None:
    found = service.Recovery(
        commands=900,
        replayed=500,
        seconds=0.5,
        us_per_command=900,
        megabytes=1,
        seconds_per_million_extrapolated=1_000,
    )
    assert "500 replayed, in 0.5 s; a million replayed would take 1,000 s (extrapolated)" in shown(
        [found]
    )


@pytest.mark.slow
@pytest.mark.once
def test_a_server_that_is_looked_at_tells_every_follower_and_previews_what_would_end() -> None:
    found = console.measure(0.4, lambda _: None, leaves=200, tenants=20)
    assert list(console.FOLLOWERS) == [row.followers for row in found.rows]
    assert [False, True, True] == [
        row.messages_per_second > 0 and row.megabytes_per_second > 0 for row in found.rows
    ]
    assert all(row.cpu_share >= 0 and row.longest_ms > 0 for row in found.rows)
    assert 0 < found.preview_ends <= 200 and found.preview_ms > 0


@pytest.mark.slow
@pytest.mark.once
def test_recovery_replays_what_came_after_the_snapshot() -> None:
    found = service.measure_recovery(600, lambda _: None, leaves=200, tenants=20)
    assert 600 <= found.replayed < found.commands and found.seconds > 0


@pytest.mark.slow
@pytest.mark.once
def test_below_at_and_above_its_capacity_every_request_of_an_open_loop_is_accounted_for() -> None:
    rows = overload.measure(
        ["rest"], 0.2, lambda _: None, leaves=200, tenants=20, connections_max=8
    )
    assert [("rest", level) for level in overload.LEVELS] == [(row.load, row.level) for row in rows]
    for row in rows:
        assert (
            row.capacity > 0
            and row.offered > 0
            and row.p50_ms <= row.p99_ms <= row.p999_ms
            and row.refused_p50_ms <= row.refused_p99_ms
        ), row
        assert row.offered == pytest.approx(
            row.admitted + row.shed + row.unanswered / 0.2, abs=0.5
        ), row
        assert row.problems.keys() <= {
            "already_filled",
            "not_your_lease",
            "not_your_order",
            "too_many_orders",
            "overloaded",
        }, row


@pytest.mark.slow
@pytest.mark.once
def test_the_others_are_measured_with_and_without_each_noise() -> None:
    kinds = ["commands", "webhooks", "GET /v1/leases?limit=1000"]
    rows = noisy.measure(kinds, 0.2, lambda _: None, leaves=200, tenants=20)
    assert [noisy.NOBODY, *kinds] == [row.kind for row in rows]
    for row in rows:
        assert (
            row.offered > 0
            and 0 < row.p50_ms <= row.p99_ms
            and 0 < row.p50_ms_without <= row.p99_ms_without
        ), row
        assert 0 < row.done <= 1 and 0 < row.done_without <= 1, row


@pytest.mark.once
def test_a_slowdown_is_told_with_how_sure_it_is() -> None:
    assert Ratio(2.0, 2.0, 2.0) == ratio_of([(1.0, 3.0, 2.0)])
    five = [(1.0, float(loud), 1.0) for loud in range(1, 6)]
    assert Ratio(3.0, 1.0, 5.0) == ratio_of(five)
    twenty = [(1.0, float(loud), 1.0) for loud in range(20, 0, -1)]
    # the sixth and the fifteenth, as in any table of the sign test
    assert Ratio(10.5, 6.0, 15.0) == ratio_of(twenty)


@pytest.mark.once
def test_the_tables_of_the_benchmarks_under_load_can_be_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = {
        name: 1.5 for name in overload.Level.__struct_fields__ if name.endswith(("_ms", "_cpu"))
    }
    level = overload.Level(
        load="rest",
        level=1.5,
        phase_s=2.5,
        capacity=1000,
        offered=1500,
        admitted=900,
        shed=600,
        unanswered=0,
        problems={},
        **times,
    )
    tables.show_overload(Verdict([level]))
    ratio = Ratio(1.04, 0.9, 1.15)
    tables.show_noisy(
        Verdict(
            [
                noisy.Noisy(
                    "keys", 10, ratio, ratio, 0.999, 1.0, 1.04, 1.0, 2.16, 2.0, 500.0, 0.3, 0.29, {}
                )
            ]
        )
    )
    said = " ".join(capsys.readouterr().out.split())
    assert "rest 150 % 1,500 900 600" in said and "capacity 1,000/s" in said
    assert "keys x1.04 0.90-1.15 x1.04 0.90-1.15 99.9 %" in said


@pytest.mark.parametrize(
    ("command", "option", "expected"),
    [
        (
            "service",
            "--load",
            "loads from session, connections, rest, batch, open-session, recovery",
        ),
        ("overload", "--load", "loads from session, rest"),
        (
            "noisy",
            "--kind",
            (
                "kinds of noise from commands, unreadable, keys, questions, events, bills, batches,"
                " webhooks"
            ),
        ),
    ],
)
def test_an_unknown_load_is_refused(command: str, option: str, expected: str) -> None:
    ran = CliRunner().invoke(cli.app, [command, option, "carrier-pigeon"])
    assert 2 == ran.exit_code
    assert f"expected {expected}" in " ".join(ran.output.replace("│", " ").split())
