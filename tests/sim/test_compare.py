"""Many runs: the same whatever the number of workers, told as they come, and written down so that
all adds up."""

from __future__ import annotations

import csv
import hashlib
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Generator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from laissez.sim import RunResult, Scenario, ScenarioError, comparison
from laissez.sim.boxplot import PlotError, retentions, write_boxplot
from laissez.sim.comparison import ComparisonError, RunFailed, as_they_finish, compare
from laissez.sim.csv_files import write_csv_files
from laissez.sim.results import ACCOUNTS
from laissez.sim.scenario import BatchTable, InferenceTable, TenantsTable, TrainingTable
from laissez.sim.summary import summarise

pytestmark = pytest.mark.once

SCENARIO = Scenario(
    name="tiny",
    hours=0.5,
    demand=1.5,
    tenants=TenantsTable(count=3, arrivals_hours=0.05),
    inference=InferenceTable(
        hours=(0.12, 0.16), engines=(1.0, 3.0), plan_seconds=20.0, cold_seconds=20.0
    ),
    training=TrainingTable(
        hours=(0.12, 0.16),
        gpus=(1.0, 3.0),
        cold_seconds=(30.0, 60.0),
        checkpoint_seconds=(60.0, 120.0),
        models=("OPT-350",),
    ),
    batch=BatchTable(
        hours=(0.12, 0.16),
        gpus=(1.0, 3.0),
        cold_seconds=(30.0, 60.0),
        checkpoint_seconds=(60.0, 120.0),
    ),
)
NAMES = ("market", "fcfs", "fcfs-p")
SEEDS = (3, 4)
FILES = ("runs.csv", "tenants.csv", "prices.csv", "leases.csv")


@pytest.fixture(scope="module")
def runs() -> list[RunResult]:
    return compare(SCENARIO, NAMES, SEEDS, workers=1, keep_history=True)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_runs_are_in_order_by_seed_and_then_by_cloud(runs: list[RunResult]) -> None:
    assert [(seed, cloud) for seed in (3, 4) for cloud in NAMES] == [
        (run.seed, run.cloud) for run in runs
    ]


def test_two_workers_give_the_same_as_one_and_another_hash_seed_the_same_bytes(
    runs: list[RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers are processes of their own, each with the hash seed that it finds when it begins."""
    monkeypatch.setenv("PYTHONHASHSEED", "77" if os.environ.get("PYTHONHASHSEED") != "77" else "78")
    again = compare(SCENARIO, NAMES, SEEDS, workers=2, keep_history=True)
    assert runs == again
    for name, both in (("one", runs), ("two", again)):
        write_csv_files(both, tmp_path / name)
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), (
            name
        )


@pytest.fixture
def made(runs: list[RunResult], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs take no time, but those of two clouds fail, each for its own reason; here is which were
    made."""
    clouds: list[str] = []

    class Quick:
        def __init__(self, scenario: Scenario, seed: int) -> None:
            self.seed = seed

        def run(self, cloud: str) -> RunResult:
            clouds.append(cloud)
            if cloud == "fcfs-p":
                raise ZeroDivisionError("by nothing")
            if cloud == "ideal":
                raise ScenarioError("tenants.count: expected fewer")
            return msgspec.structs.replace(runs[0], cloud=cloud, seed=self.seed)

    monkeypatch.setattr(comparison, "Setting", Quick)
    return clouds


def test_histories_are_left_out_by_default(runs: list[RunResult], made: list[str]) -> None:
    (light,), (heavy,) = (
        compare(SCENARIO, ("market",), (3,), 1, keep_history) for keep_history in (False, True)
    )
    assert runs[0] == heavy and heavy.prices and heavy.leases
    assert msgspec.structs.replace(heavy, prices=(), leases=()) == light


def test_results_are_reported_as_soon_as_they_are_done(made: list[str]) -> None:
    (first,) = islice(as_they_finish(SCENARIO, ("fcfs", "fcfs-p"), (3,), workers=1), 1)
    assert ("fcfs", ["fcfs"]) == (first.cloud, made)


def test_an_error_names_the_seed_and_the_cloud(made: list[str]) -> None:
    with pytest.raises(
        RunFailed,
        match=(
            r"seed 3, cloud fcfs-p: ZeroDivisionError: by nothing \(test_compare.py, line \d+\)"
        ),
    ):
        compare(SCENARIO, ("fcfs", "fcfs-p"), (3,), workers=1)
    assert ["fcfs", "fcfs-p"] == made


def test_a_mistake_in_the_scenario_is_reported_unchanged(made: list[str]) -> None:
    with pytest.raises(ScenarioError, match=r"^tenants.count: expected fewer$"):
        compare(SCENARIO, ("ideal",), (3,), workers=1)


@pytest.mark.parametrize(
    ("clouds", "seeds", "why"),
    [
        (("market", "fcsf"), (0,), "expected one of market, .*, found 'fcsf'"),
        ((), (0,), "expected one or more clouds, found none"),
        (("market",), (), "expected one or more seeds, found none"),
        (("market", "market"), (0,), "expected clouds that differ, found 'market' twice"),
        (("market",), (1, 1), "expected seeds that differ, found 1 twice"),
    ],
)
def test_invalid_comparisons_are_refused(
    clouds: tuple[str, ...], seeds: tuple[int, ...], why: str
) -> None:
    with pytest.raises((ComparisonError, ScenarioError), match=why):
        compare(SCENARIO, clouds, seeds)


# -- workers that fail


def _fails(
    scenario: Scenario, seed: int, clouds: tuple[str, ...], keep_history: bool
) -> list[RunResult]:
    if seed == 3:
        raise RunFailed(f"seed {seed}, cloud {clouds[0]}: no")
    time.sleep(600)
    return []


def _dies(
    scenario: Scenario, seed: int, clouds: tuple[str, ...], keep_history: bool
) -> list[RunResult]:
    os._exit(1)


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (_fails, "^seed 3, cloud fcfs: no$"),
        (_dies, r"a worker process died with seeds 3, 4 not done"),
    ],
)
def test_an_error_in_one_worker_ends_all_workers(
    monkeypatch: pytest.MonkeyPatch, job: Callable[..., object], why: str
) -> None:
    monkeypatch.setattr(comparison, "_job", job)
    before = multiprocessing.active_children()
    with pytest.raises(RunFailed, match=why):
        compare(SCENARIO, ("fcfs",), (3, 4), workers=2)
    assert before == multiprocessing.active_children()


def _first_only(
    scenario: Scenario, seed: int, clouds: tuple[str, ...], keep_history: bool
) -> list[int]:
    if seed != 3:
        time.sleep(600)
    return [seed]


def test_leaving_early_ends_the_workers_in_the_middle_of_their_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comparison, "_job", _first_only)
    before = multiprocessing.active_children()
    runs = as_they_finish(SCENARIO, ("fcfs",), (3, 4, 5), workers=2)
    first: Any = next(runs)
    workers = [process for process in multiprocessing.active_children() if process not in before]
    assert (3, 2) == (first, len(workers))
    assert isinstance(runs, Generator)
    runs.close()
    assert not any(process.is_alive() for process in workers)


# -- CSV files


@pytest.fixture(scope="module")
def folder(runs: list[RunResult], tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("csv")
    assert [found / name for name in FILES] == write_csv_files(runs, found)
    return found


def test_gpu_hours_add_up(folder: Path) -> None:
    tenants = rows(folder / "tenants.csv")
    for run in rows(folder / "runs.csv"):
        held = sum(float(one[account]) for one in tenants if _of(one, run) for account in ACCOUNTS)
        assert pytest.approx(float(run["gpus"]) * float(run["hours"]), rel=1e-9) == held + float(
            run["idle_hours"]
        )
        assert pytest.approx(float(run["gpu_hours"]), rel=1e-9) == sum(
            float(run[account]) for account in (*ACCOUNTS, "idle_hours")
        )


def test_money_adds_up(folder: Path) -> None:
    tenants, leases = rows(folder / "tenants.csv"), rows(folder / "leases.csv")
    for run in rows(folder / "runs.csv"):
        revenue = pytest.approx(float(run["revenue"]), rel=1e-9)
        assert 0 < float(run["revenue"])
        assert revenue == sum(float(one["cost"]) for one in tenants if _of(one, run))
        assert revenue == sum(float(one["cost"]) for one in leases if _of(one, run))


def _of(row: dict[str, str], run: dict[str, str]) -> bool:
    return all(row[column] == run[column] for column in ("scenario", "cloud", "seed"))


def test_every_field_reads_back_exactly(folder: Path, runs: list[RunResult]) -> None:
    tenant, row = runs[0].tenants[0], rows(folder / "tenants.csv")[0]
    expected = {"scenario": "tiny", "cloud": "market", "seed": 3} | msgspec.structs.asdict(tenant)
    assert {name: "" if value is None else str(value) for name, value in expected.items()} == row
    assert sum(len(run.prices) for run in runs) == len(rows(folder / "prices.csv"))


def test_a_folder_never_mixes_two_comparisons(tmp_path: Path, runs: list[RunResult]) -> None:
    write_csv_files(runs, tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    write_csv_files([msgspec.structs.replace(runs[0], prices=(), leases=())], tmp_path)
    assert {"runs.csv", "tenants.csv", "notes.txt"} == {path.name for path in tmp_path.iterdir()}


# -- the summary and the plot


def test_a_summary_agrees_with_the_runs(runs: list[RunResult]) -> None:
    found = summarise(runs)
    market = [run for run in runs if run.cloud == "market"]
    fcfs = [run for run in runs if run.cloud == "fcfs"]
    assert ("market", "fcfs", "fcfs-p") == tuple(one.cloud for one in found.clouds)
    assert (3, 4) == found.seeds
    assert found.clouds[0].retention is not None
    assert (
        pytest.approx((market[0].retention + market[1].retention) / 2)
        == found.clouds[0].retention.value
    )
    assert {"inference", "training", "batch"} == found.clouds[0].retention_by_kind.keys()
    assert found.clouds[0].tenants is not None
    assert 6 == found.clouds[0].tenants.count
    assert pytest.approx(sum(run.revenue for run in market) / 2) == found.clouds[0].cost
    assert ["fcfs", "fcfs-p"] == [one.cloud for one in found.market_against]
    expected = (
        market[0].retention + market[1].retention - fcfs[0].retention - fcfs[1].retention
    ) / 2
    assert pytest.approx(expected) == found.market_against[0].difference.value


def test_tenants_of_unknown_performance_are_skipped(runs: list[RunResult]) -> None:
    """Incumbents are the tenants of the market that a run starts from."""
    incumbent = msgspec.structs.replace(runs[0].tenants[0], kind="incumbent", retention=1.0)
    run = msgspec.structs.replace(runs[0], tenants=(*runs[0].tenants, incumbent))
    found = summarise([run]).clouds[0]
    assert found.tenants is not None
    assert 3 == found.tenants.count == len(retentions([run])["market"])
    assert {"inference", "training", "batch"} == found.retention_by_kind.keys()
    assert summarise([msgspec.structs.replace(run, tenants=(incumbent,))]).clouds[0].tenants is None


def test_without_the_market_there_is_no_comparison_with_it(runs: list[RunResult]) -> None:
    assert () == summarise([run for run in runs if run.cloud != "market"]).market_against


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_same_plot_has_the_same_bytes(
    tmp_path: Path, runs: list[RunResult], suffix: str
) -> None:
    digests = set()
    for name in ("one", "two"):
        path = tmp_path / f"{name}.{suffix}"
        write_boxplot(retentions(runs), path, "tiny, at $1 and $2^", "a note")
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert 1 == len(digests)
    assert path.stat().st_size > 5_000


def test_a_plot_shows_its_input(tmp_path: Path, runs: list[RunResult]) -> None:
    for name, title in (("one", "tiny"), ("two", "small")):
        write_boxplot(retentions(runs), tmp_path / f"{name}.svg", title)
    assert (tmp_path / "one.svg").read_bytes() != (tmp_path / "two.svg").read_bytes()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("plot.pdf", r"ends in .svg or .png, found .pdf"),
        ("plot", "found no ending"),
        ("nowhere/a.svg", "folder"),
    ],
)
def test_a_plot_that_cannot_be_written_is_refused(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(PlotError, match=why):
        write_boxplot({"market": [1.0]}, tmp_path / name)


def test_without_matplotlib_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PlotError, match=r"pip install 'laissezcloud\[sim\]'"):
        write_boxplot({"market": [1.0]}, tmp_path / "plot.svg")
