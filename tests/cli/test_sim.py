"""`laissez sim run` and `laissez sim compare`: what they print, what they write, what they
refuse."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress
from typer.testing import CliRunner

from laissez.cli import sim
from laissez.sim.boxplot import PlotError
from laissez.sim.comparison import RunFailed

pytestmark = pytest.mark.once

TINY = """
name = "tiny"
hours = 0.5
demand = 1.5
[tenants]
count = 2
mix = { inference = 1, batch = 1 }
arrivals_hours = 0.05
[inference]
hours = [0.12, 0.16]
engines = [1.0, 3.0]
plan_seconds = 20
cold_seconds = 20
[batch]
hours = [0.12, 0.16]
gpus = [1.0, 3.0]
cold_seconds = [30.0, 60.0]
checkpoint_seconds = [60.0, 120.0]
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("scenarios") / "tiny.toml"
    path.write_text(TINY)
    return str(path)


def laissez(*arguments: str) -> Any:
    return CliRunner().invoke(sim.app, list(arguments))


def test_a_run_is_shown_by_kind_and_as_a_whole(tiny: str, tmp_path: Path) -> None:
    ran = laissez(
        "run",
        tiny,
        "--seed",
        "3",
        "--out",
        str(tmp_path / "out"),
        "--timeline",
        str(tmp_path / "run.html"),
    )
    assert 0 == ran.exit_code, ran.output
    lines = ran.stdout.split("\n")
    assert lines[1].startswith("tiny on market, seed 3: ")
    assert ["tenants", "inference", "batch", "all"] == [line.split()[0] for line in lines[2:6]]
    assert {"runs.csv", "tenants.csv", "prices.csv", "leases.csv"} == {
        path.name for path in (tmp_path / "out").iterdir()
    }
    assert "tiny" in (tmp_path / "run.html").read_text()
    assert "" == ran.stderr, "no progress where nobody looks"


def test_a_run_shows_its_progress(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bar = Progress(console=Console(file=io.StringIO(), force_terminal=True))
    monkeypatch.setattr(sim, "progress", lambda: bar)
    assert 0 == laissez("run", tiny, "--seed", "3", "--cloud", "fcfs").exit_code
    alone, minutes = bar.tasks
    assert ("tenants alone", 2, 2) == (alone.description, alone.completed, alone.total)
    assert ("virtual minutes", True) == (minutes.description, minutes.finished)
    assert minutes.total is not None and minutes.total > 5


def test_a_run_for_programs_is_one_object_that_adds_up(tiny: str) -> None:
    ran = laissez("run", tiny, "--seed", "3", "--cloud", "fcfs", "-o", "json")
    assert 0 == ran.exit_code, ran.output
    found = json.loads(ran.stdout)
    assert ("tiny", "fcfs", 3, 2) == (
        found["scenario"],
        found["cloud"],
        found["seed"],
        found["tenants"],
    )
    assert (
        pytest.approx(found["retention"]) == sum(one["retention"] for one in found["by_tenant"]) / 2
    )
    assert pytest.approx(found["revenue"]) == sum(
        kind["cost"] for kind in found["by_kind"].values()
    )
    assert 2 == sum(kind["tenants"] for kind in found["by_kind"].values())


def test_a_comparison_is_shown_with_intervals(tiny: str, tmp_path: Path) -> None:
    out, plot = tmp_path / "out", tmp_path / "box.svg"
    ran = laissez(
        "compare",
        tiny,
        "--clouds",
        "market, fcfs",
        "--seeds",
        "2",
        "--first-seed",
        "3",
        "--workers",
        "1",
        "--out",
        str(out),
        "--plot",
        str(plot),
    )
    assert 0 == ran.exit_code, ran.output
    for heading in (
        "tiny: 2 seeds from 3",
        "GPU-hours per run",
        "per run",
        "tenants' retention",
        "market against",
        "degradation less by",
    ):
        assert heading in ran.stdout
    assert 1 == sum(line.startswith("fcfs ") and "%" in line for line in ran.stdout.split("\n"))
    assert all(
        "┃" in line or "◆" in line
        for line in ran.stdout.split("tenants' retention\n")[1].split("\n")[1:3]
    )
    assert {"runs.csv", "tenants.csv"} == {path.name for path in out.iterdir()}
    assert plot.read_text().startswith("<?xml")


def test_a_comparison_for_programs_is_one_object(tiny: str) -> None:
    ran = laissez("compare", tiny, "--clouds", "fcfs,market", "--seeds", "1", "-o", "json")
    assert 0 == ran.exit_code, ran.output
    found = json.loads(ran.stdout)
    assert ["fcfs", "market"] == [one["cloud"] for one in found["clouds"]]
    assert [0] == found["seeds"]
    (against,) = found["market_against"]
    difference = found["clouds"][1]["retention"]["value"] - found["clouds"][0]["retention"]["value"]
    assert ("fcfs", None) == (against["cloud"], against["difference"]["low"])
    assert pytest.approx(difference) == against["difference"]["value"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("run", "--cloud", "spot"), "expected one of market, fcfs"),
        (("run", "--seed", "-1"), "--seed"),
        (("run", "--timeline", "/nowhere/at/all.html"), "expected a file in a folder"),
        (("run", "--out", "/dev/null/x"), "expected a folder"),
        (("compare", "--clouds", "market,spot"), "found 'spot'"),
        (("compare", "--clouds", ""), "found ''"),
        (("compare", "--clouds", "fcfs,fcfs"), "found 'fcfs' twice"),
        (("compare", "--seeds", "0"), "--seeds"),
        (("compare", "--seeds", "many"), "--seeds"),
        (("compare", "--first-seed", "-3"), "--first-seed"),
        (("compare", "--workers", "-1"), "--workers"),
        (("compare", "--plot", "box.pdf"), ".svg or .png"),
    ],
)
def test_wrong_usage_is_refused_before_anything_runs(
    tiny: str, arguments: tuple[str, ...], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(sim, "read_scenario")
    monkeypatch.setenv("COLUMNS", "200")  # so that no message is broken into lines
    ran = laissez(*arguments, tiny)
    assert 2 == ran.exit_code, ran.output
    assert why in ran.output


def test_ctrl_c_reports_the_progress(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: Any) -> None:
        arguments[-1](None)
        raise KeyboardInterrupt

    monkeypatch.setattr(sim, "compare_clouds", stopped)
    ran = laissez("compare", tiny, "--clouds", "market,fcfs", "--seeds", "5")
    assert 130 == ran.exit_code
    assert "stopped after 1 of 10 runs\n" == ran.stderr


def test_a_failed_run_is_an_error_of_ours(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that `laissez` ends with its one line, which names the seed and the cloud, and no
    traceback."""

    def failed(*arguments: Any) -> None:
        raise RunFailed("seed 1, cloud fcfs: no")

    monkeypatch.setattr(sim, "compare_clouds", failed)
    assert isinstance(laissez("compare", tiny).exception, RunFailed)
    assert all(type_.__module__.startswith("laissez.") for type_ in (RunFailed, PlotError))
