"""Cases in which the simulator could do harm or waste hours: files of others, lost runs, folders
that cannot be written to, mistakes that show only at the end."""

from __future__ import annotations

import multiprocessing
import os
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from laissez.cli import sim
from laissez.cli.errors import is_ours as is_our_error
from laissez.cli.sim_journal import WhatIfError, find_market
from laissez.cli.sim_tables import show_run, show_summary
from laissez.journal import Reader
from laissez.sim import setting
from laissez.sim.boxplot import PlotError
from laissez.sim.clouds.planning import NoSolver
from laissez.sim.cluster import read_start
from laissez.sim.comparison import RunFailed, compare
from laissez.sim.csv_files import OutputError, run_row, write_csv_files
from laissez.sim.operator import check_operator
from laissez.sim.results import PricePoint, RunResult, TenantResult
from laissez.sim.scenario import (
    ActionTable,
    BatchTable,
    FailuresTable,
    FloorTable,
    InferenceTable,
    Scenario,
    ScenarioError,
    TenantsTable,
    TrainingTable,
)
from laissez.sim.scenario_file import read_scenario
from laissez.sim.setting import Setting
from laissez.sim.statistics import Bootstrap, Estimate
from laissez.sim.summary import summarise
from laissez.sim.timeline.page import timeline
from laissez.units import format_time
from laissez.workers import worker_pool
from sim.test_journal import story
from support.service_world import with_service
from support.sim_world import PRICES, tiny

pytestmark = pytest.mark.once

THEIRS = "time,price\n0,3.5\n"
SCENARIO = tiny(2, None, {"h100": 4}, mix={"batch": 1.0})


def tenant(kind: str = "batch") -> TenantResult:
    fields: dict[str, Any] = {"tenant": "ann", "kind": kind, "performance_per_cost": None}
    return TenantResult(**dict.fromkeys(TenantResult.__struct_fields__, 0) | fields)


def a_run(cloud: str = "market", seed: int = 0, kind: str = "batch") -> RunResult:
    point = PricePoint(at_s=0.0, tree="h100", price=None, charged=None, leased=0)
    return RunResult(
        scenario="tiny",
        cloud=cloud,
        seed=seed,
        gpus=1,
        hours=1.0,
        demand=1.0,
        tenants=(tenant(kind),),
        prices=(point,),
        leases=(),
        requests=0,
        revenue=0.0,
        idle_hours=1.0,
    )


def light(run: RunResult) -> RunResult:
    return msgspec.structs.replace(run, prices=())


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "scenario.toml"
    path.write_text("demand = 1.0\n")
    return str(path)


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sim, "Setting")
    monkeypatch.delattr(sim, "compare_clouds")
    monkeypatch.setenv("COLUMNS", "300")  # so that no message is broken into lines


def laissez(*arguments: object) -> Any:
    return CliRunner().invoke(sim.app, list(map(str, arguments)))


# -- other people's files


def test_files_of_others_are_neither_deleted_nor_overwritten(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(THEIRS)
    write_csv_files([light(a_run())], tmp_path)
    assert {"runs.csv", "tenants.csv", "prices.csv"} == {path.name for path in tmp_path.iterdir()}
    before = (tmp_path / "runs.csv").read_text()
    with pytest.raises(
        OutputError,
        match=r"prices.csv: expected no such file, or one of our results, found another",
    ):
        write_csv_files([a_run(seed=7)], tmp_path)
    assert (THEIRS, before) == (
        (tmp_path / "prices.csv").read_text(),
        (tmp_path / "runs.csv").read_text(),
    )


def test_our_own_files_are_replaced_and_deleted(tmp_path: Path) -> None:
    write_csv_files([a_run()], tmp_path)
    write_csv_files([light(a_run(seed=7))], tmp_path)
    assert {"runs.csv", "tenants.csv"} == {path.name for path in tmp_path.iterdir()}
    assert "tiny,market,7," in (tmp_path / "runs.csv").read_text()


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.parametrize("arguments", [("run",), ("compare", "--keep-history")])
def test_other_peoples_files_are_found_before_anything_runs(
    file: str, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "leases.csv").write_text(THEIRS)
    refused = laissez(*arguments, file, "--out", tmp_path).exception
    assert isinstance(refused, OutputError) and is_our_error(refused)
    assert THEIRS == (tmp_path / "leases.csv").read_text()


# -- runs that are done


@pytest.mark.parametrize(
    ("stop", "code"),
    [(KeyboardInterrupt(), 130), (RunFailed("seed 5: no"), 1), (ScenarioError("batch: no"), 1)],
)
def test_finished_runs_are_kept_when_a_comparison_is_stopped(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: BaseException, code: int
) -> None:
    def stopped(*arguments: Any) -> None:
        for cloud, seed in (("fcfs", 4), ("fcfs", 3), ("market", 3)):
            arguments[-1](light(a_run(cloud, seed)))
        raise stop

    monkeypatch.setattr(sim, "compare_clouds", stopped)
    ran = laissez(
        "compare", file, "--clouds", "market,fcfs", "--seeds", "5", "--out", tmp_path / "out"
    )
    assert code == ran.exit_code
    assert f"stopped after 3 of 10 runs\nwritten: {tmp_path / 'out'}, with these 3\n" == ran.stderr
    rows = (tmp_path / "out" / "runs.csv").read_text().splitlines()[1:]
    assert ["tiny,market,3", "tiny,fcfs,3", "tiny,fcfs,4"] == [
        ",".join(row.split(",")[:3]) for row in rows
    ]


# -- places that cannot be written to


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("run", "--out", "{}/scenario.toml"), "expected a folder that can be written to"),
        (("run", "--out", "/sys/kernel"), "expected a folder that can be written to"),
        (("run", "--timeline", "{}"), "it is a folder"),
        (("run", "--timeline", "{}/none/run.html"), "there is no folder"),
        (
            ("run", "--timeline", "/sys/kernel/run.html"),
            "expected a file in a folder that can be written to",
        ),
        (("run", "--timeline", "{}/" + 300 * "x"), "File name too long"),
        (("compare", "--plot", "{}/folder.svg"), "it is a folder"),
        (("compare", "--plot", "{}/box.pdf"), "expected a name that ends in .svg or .png"),
    ],
)
def test_an_unwritable_folder_is_refused_before_anything_runs(
    file: str, tmp_path: Path, arguments: tuple[str, ...], why: str
) -> None:
    (tmp_path / "folder.svg").mkdir()
    ran = laissez(*(word.replace("{}", str(tmp_path)) for word in arguments), file)
    assert 2 == ran.exit_code, ran.output
    assert why in ran.output


@pytest.mark.usefixtures("nothing_runs")
def test_an_impossible_plot_is_refused_before_anything_runs(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "start").write_text("any")
    Path(file).write_text("start = 'start'\n[tenants]\ncount = 0\n")
    # takes long to load, and does nothing here
    monkeypatch.setitem(sys.modules, "matplotlib", ModuleType("matplotlib"))
    assert isinstance(laissez("compare", file, "--plot", tmp_path / "box.svg").exception, PlotError)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = laissez("compare", file, "--plot", tmp_path / "box.svg")
    assert (2, True) == (ran.exit_code, "pip install 'laissezcloud[sim]'" in ran.output)


def test_from_journal_checks_its_output_first(tmp_path: Path) -> None:
    refused = laissez("from-journal", tmp_path, "--out", tmp_path / "none" / "x.toml").exception
    assert isinstance(refused, WhatIfError) and "there is no folder" in str(refused)


# -- workers


def _works_on(end: int) -> None:
    """As long as it does, this end of a pipe is open, and the test waits at the other one."""
    os.write(end, b".")
    time.sleep(30)


def _parent(end: int) -> None:
    with worker_pool(1) as pool:
        pool.submit(_works_on, end).result()


def test_workers_end_with_a_parent_that_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    context = multiprocessing.get_context("fork")
    monkeypatch.setattr(multiprocessing, "get_context", lambda method: context)
    reads, writes = os.pipe()
    parent = context.Process(target=_parent, args=(writes,))
    parent.start()
    os.close(writes)
    assert b"." == os.read(reads, 1)
    parent.kill()
    parent.join()
    assert select.select([reads], [], [], 20)[0], "still working"
    assert b"" == os.read(reads, 1)
    os.close(reads)


# -- missing packages and files


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.parametrize(
    "arguments", [("run", "--cloud", "ideal"), ("compare", "--clouds", "fcfs,ideal"), ("compare",)]
)
def test_without_scipy_the_ideal_cloud_is_refused_before_anything_runs(
    file: str, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    refused = laissez(*arguments, file).exception
    assert isinstance(refused, NoSolver) and is_our_error(refused)
    assert "pip install 'laissezcloud[sim]'" in str(refused) and "\n" not in str(refused)


# -- scenarios


def acting(**more: object) -> Scenario:
    return msgspec.structs.replace(SCENARIO, **more)


@pytest.fixture
def nobody_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(setting, "alone")


@pytest.mark.usefixtures("nobody_runs_alone")
def test_an_unknown_node_is_refused_before_any_run() -> None:
    floor = ActionTable(at_minutes=1, floor=FloorTable(node="h100/zone9", price=1.0))
    with pytest.raises(
        ScenarioError,
        match=(
            r"actions\[1\].floor.node: expected a node of the cluster, such as .*, found"
            r" 'h100/zone9'"
        ),
    ):
        Setting(acting(actions=(ActionTable(at_minutes=1, online="h100"), floor)), 0)


@pytest.mark.usefixtures("nobody_runs_alone")
def test_broken_maps_are_refused_before_any_run_on_every_cloud(
    tmp_path: Path,
) -> None:
    (tmp_path / "maps.toml").write_text("[base.h100]\nprice = 'much'\n[more]\n")
    with pytest.raises(ScenarioError) as refused:
        Setting(acting(maps=str(tmp_path / "maps.toml")), 0)
    places = [line.partition(": expected")[0] for line in str(refused.value).splitlines()]
    assert f"maps: {tmp_path / 'maps.toml'}: more" in places and len(places) >= 2


def test_feasible_scenarios_are_not_refused() -> None:
    topology = Setting(acting(), 0).population.cluster.topology
    check_operator(
        acting(
            actions=(
                ActionTable(at_minutes=1, online="h100"),
                ActionTable(at_minutes=2, offline=topology.leaves[0]),
            )
        ),
        topology,
    )


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (
            lambda: BatchTable(checkpoint_seconds=(0.5, 60.0)),
            "checkpoint_seconds: .* from 1 up to",
        ),
        (
            lambda: TrainingTable(checkpoint_seconds=(0.001, 0.001)),
            "checkpoint_seconds: .* from 1 up to",
        ),
        (lambda: FailuresTable(mtbf_hours=0.09), "mtbf_hours: .* from 0.1 up to"),
        (lambda: InferenceTable(headroom=10.5), "headroom: .* up to 10, found 10.5"),
        (lambda: InferenceTable(plan_seconds=0.9), "plan_seconds: .* from 1 up to"),
        (lambda: TenantsTable(decide_seconds=0.9), "decide_seconds: .* from 1 up to"),
        (lambda: InferenceTable(trace=300 * "x"), "trace: expected a file that is there"),
        (lambda: acting(maps=300 * "x"), "maps: expected a file that is there"),
        (lambda: acting(start=300 * "x"), "start: expected a file that is there"),
    ],
)
def test_endless_or_impossible_scenarios_are_refused(make: Callable[[], object], why: str) -> None:
    with pytest.raises(ScenarioError, match=why):
        make()


def test_an_action_after_the_end_of_every_run_is_refused(tmp_path: Path) -> None:
    """A run ends with the last deadline that can be drawn; with a start, not before its hours."""
    (tmp_path / "start").touch()
    hours = SCENARIO.tenants.arrivals_hours + SCENARIO.batch.hours[1]
    late, soon = (
        ActionTable(at_minutes=hours * 60 + minutes, online="h100") for minutes in (0.1, -0.1)
    )
    acting(actions=(soon,))
    with pytest.raises(
        ScenarioError,
        match=(
            rf"actions\[1\].at_minutes: expected less than {hours * 60:g}, .*, found"
            rf" {late.at_minutes:g}"
        ),
    ):
        acting(actions=(soon, late))
    acting(actions=(late,), start=str(tmp_path / "start"), hours=hours + 1)
    with pytest.raises(ScenarioError, match=r"actions\[0\].at_minutes: expected less than 60,"):
        Scenario(
            actions=(ActionTable(at_minutes=60, online="h100"),),
            start=str(tmp_path / "start"),
            hours=1.0,
            tenants=TenantsTable(count=0),
        )


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "marked.toml").write_bytes(b"\xef\xbb\xbfdemand = 2.0\n")
    assert 2.0 == read_scenario(tmp_path / "marked.toml").demand


@pytest.mark.usefixtures("nobody_runs_alone")
@pytest.mark.parametrize("seed", [-1, 1.0, True, "1", None])
def test_a_seed_is_a_whole_number_from_0_on(seed: Any) -> None:
    for refused in (
        lambda: Setting(SCENARIO, seed),
        lambda: setting.run(SCENARIO, "fcfs", seed),
        lambda: compare(SCENARIO, ["fcfs"], [seed]),
    ):
        with pytest.raises(
            ScenarioError, match=r"^seed: expected a whole number from 0 on, found "
        ):
            refused()


# -- a server's market


def test_the_snapshot_of_a_server_is_distinguished_from_that_of_a_market(tmp_path: Path) -> None:
    (tmp_path / "0000000000000042.snapshot").write_bytes(b"LZSNAP\r\n" + 80 * b"x")
    with pytest.raises(ScenarioError, match=r"start: .*snapshot.*`laissez sim from-journal`"):
        read_start(str(tmp_path / "0000000000000042.snapshot"), PRICES)


def test_a_time_before_the_first_entry_is_refused(tmp_path: Path) -> None:
    with_service(tmp_path / "data", story)
    with Reader.of(tmp_path / "data") as reader:
        entry = reader.entry(1)
    assert entry is not None
    find_market(tmp_path / "data", format_time(entry.at), lambda done, of: None)
    with pytest.raises(WhatIfError, match=f"--at: expected a time from {format_time(entry.at)} on"):
        find_market(tmp_path / "data", format_time(entry.at - 1), lambda done, of: None)


# -- figures that there are not


@pytest.mark.parametrize(("seeds", "has_interval"), [(1, False), (4, False), (5, True)])
def test_few_seeds_have_no_interval(
    seeds: int, has_interval: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [float(value) for value in range(seeds)]
    assert has_interval == (Bootstrap(seeds, 100).mean(values) != Estimate(sum(values) / seeds))
    show_summary(
        summarise([a_run(cloud, seed) for seed in range(seeds) for cloud in ("market", "fcfs")])
    )
    shown = capsys.readouterr().out
    assert (
        has_interval
        == ("too few seeds for an interval" not in shown)
        == ("[" in shown)
        == ("no clear difference" in shown)
    )


def test_retention_is_a_dash_without_measured_tenants(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [a_run(cloud, kind="incumbent") for cloud in ("market", "fcfs")]
    show_run(runs[0])
    show_summary(summarise(runs))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["all", "1", "-", "0.00"] in [words[:4] for words in lines]
    assert ["market", "-", "-"] in lines
    assert (None, None) == (run_row(runs[0])["retention"], run_row(runs[0])["degradation"])
    assert () == summarise(runs).market_against
    shown = timeline(runs[0])
    assert (None, None) == (shown["retention"], shown["tenants"][0]["retention"])
