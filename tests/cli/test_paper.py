"""`laissez paper`: what it refuses, how it ends, and a small version of everything through the real
command line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from rich.console import Console
from typer.testing import CliRunner

from laissez.cli import app, progress
from laissez.cli.errors import is_ours
from laissez.cli.progress import WeightedProgress
from laissez_experiments import cli
from laissez_experiments.catalogue import EXPERIMENTS
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import Claim, Findings
from laissez_experiments.lab.plan import Plan

pytestmark = pytest.mark.once

KEYS = {"figure", "claim", "paper", "measured", "interval", "holds"}
POWER = "time,measured_power_util\n0,0.5\n300000000,0.6\n"
AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16"
    " 18:16:46.6805900,396,109\n"
)
MOONCAKE = '{"timestamp": 0, "input_length": 5, "output_length": 3}\n'


class Half(Cell, frozen=True, kw_only=True):
    """The half of a number. `fault` names an error to raise instead."""

    result: ClassVar[Any] = float

    number: int
    fault: str = ""

    def run(self) -> float:
        if self.fault == "interrupt":
            raise KeyboardInterrupt
        return 1 / len(self.fault[4:]) if self.fault else self.number / 2

    def __str__(self) -> str:
        return f"half of {self.number}"


class Halves(Experiment):
    name = "halves"
    title = "Halves of numbers"
    plan: ClassVar[Plan]
    fault: ClassVar[str] = ""

    def cells(self, plan: Plan) -> Sequence[Cell]:
        Halves.plan = plan
        return [Half(number=seed) for seed in plan.all_seeds] + (
            [Half(number=9, fault=self.fault)] if self.fault else []
        )

    def findings(self, plan: Plan, results: Results) -> Findings:
        total = sum(results[cell] for cell in self.cells(plan))
        claims = [
            Claim(
                figure=self.name,
                claim="halves are small",
                paper=17.0,
                measured=total,
                interval=(0.0, 1.5),
                holds=False,
                unit="%",
            ),
            Claim(
                figure=self.name, claim="halves add up", paper=None, measured="they do", holds=True
            ),
        ]
        return Findings(claims=claims, text="Halves.", rows=[{"total": total}], draw=None)


class Real(Halves):
    name = "with-a-trace"
    title = "Halves of real numbers"
    is_beyond = True

    def missing(self, plan: Plan) -> str | None:
        return None if plan.traces else "a trace: --trace FILE"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two experiments that take no time, in a folder of their own."""
    monkeypatch.setattr(cli, "EXPERIMENTS", {one.name: one for one in (Halves(), Real())})
    monkeypatch.setattr(Halves, "fault", "")
    monkeypatch.setenv("COLUMNS", "250")  # so that no message is broken into lines
    monkeypatch.chdir(tmp_path)


def laissez(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["paper", "--workers", "1", *arguments])


def test_it_succeeds_even_if_claims_fail_and_names_the_report() -> None:
    ran = laissez("--seeds", "3")
    assert 0 == ran.exit_code, ran.output
    lines = [
        "with-a-trace      not run, needs a trace: --trace FILE",
        "halves            1 holds and 1 does not: halves.csv",
    ]
    assert lines == ran.stderr.splitlines(), "no bar where nobody looks"
    for told in (
        "checks of the paper's claims: 1 does not hold",
        "beyond the paper: 1 holds",
        "0.00 to 1.50",
        "✗  halves are small",
        "17 %",
    ):
        assert told in ran.stdout
    assert ran.stdout.endswith("report: laissez-paper/report.html\n")
    assert {"cells", "claims.json", "halves.csv", "report.html", "run.json"} == {
        path.name for path in Path("laissez-paper").iterdir()
    }


def test_for_programs_it_prints_the_claims() -> None:
    ran = laissez("--seeds", "3", "-o", "json", "--out", "here")
    assert 0 == ran.exit_code, ran.output
    assert json.loads(Path("here/claims.json").read_text()) == json.loads(ran.stdout)
    assert [1.5, "they do"] == [claim["measured"] for claim in json.loads(ran.stdout)]


def test_finished_work_is_not_repeated() -> None:
    assert 0 == laissez("halves", "--seeds", "3").exit_code
    again = laissez("halves", "--seeds", "4")
    assert "3 of 4 cells are there from an earlier run" == again.stderr.splitlines()[0]
    assert {"cells": 4, "kept_cells": 3, "seeds": 4}.items() <= json.loads(
        Path("laissez-paper/run.json").read_text()
    ).items()


@pytest.mark.parametrize(
    ("arguments", "seeds", "quick"),
    [((), 20, False), (("--quick",), 2, True), (("--quick", "--seeds", "7"), 7, True)],
)
def test_quick_means_few_seeds_unless_they_are_given(
    arguments: tuple[str, ...], seeds: int, quick: bool
) -> None:
    assert 0 == laissez(*arguments).exit_code
    assert (seeds, quick) == (Halves.plan.seeds, Halves.plan.quick)


def test_files_are_used_and_named() -> None:
    for name, content in {"a.csv": AZURE, "m.jsonl": MOONCAKE, "p.csv": POWER}.items():
        Path(name).write_text(content)
    ran = laissez("--seeds", "1", "--trace", "a.csv", "--trace", "m.jsonl", "--power", "p.csv")
    assert 0 == ran.exit_code, ran.output
    assert ("a.csv", "m.jsonl", "p.csv") == tuple(
        path.name for path in (*Halves.plan.traces, *Halves.plan.power)
    )
    run = json.loads(Path("laissez-paper/run.json").read_text())
    assert (["halves", "with-a-trace"], {}, ["a.csv", "m.jsonl"]) == (
        run["experiments"],
        run["not_run"],
        [one["name"] for one in run["traces"]],
    )


def test_a_list_does_nothing() -> None:
    ran = laissez("--list")
    assert (0, ["halves", "with-a-trace"]) == (
        ran.exit_code,
        [line.split()[0] for line in ran.stdout.splitlines()[1:]],
    )
    assert [False, True] == [
        one["beyond_the_paper"] for one in json.loads(laissez("--list", "-o", "json").stdout)
    ]
    assert not Path("laissez-paper").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("halve",), "expected one of halves, with-a-trace, found 'halve' (perhaps halves)"),
        (("zzz",), "expected one of halves, with-a-trace, found 'zzz'"),
        (("--seeds", "0"), "--seeds"),
        (("--workers", "-1"), "--workers"),
        (("--trace", "nowhere.csv"), "nowhere.csv: expected a readable trace"),
        (("--trace", "power.csv"), "power.csv, line 1: expected the header"),
        (("--trace", "broken.jsonl"), "broken.jsonl, line 1: expected JSON"),
        (("--power", "broken.jsonl"), "expected a column 'measured_power_util'"),
        (("--power", "nowhere.csv"), "nowhere.csv: expected a table that can be read"),
        (
            ("--out", "others"),
            "expected a new folder, an empty one, or one of an earlier run, found 'others'",
        ),
        (("--out", "power.csv"), "expected a folder that can be written to"),
        (("--out", "/proc/nowhere"), "expected a folder that can be written to"),
    ],
)
def test_wrong_usage_is_refused_before_anything_runs(
    arguments: tuple[str, ...], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(cli, "Reproduction")
    Path("power.csv").write_text(POWER)
    Path("broken.jsonl").write_text("not JSON\n")
    Path("others").mkdir()
    Path("others/thesis.tex").touch()
    ran = laissez(*arguments)
    assert 2 == ran.exit_code, ran.output
    assert why in ran.output


@pytest.mark.parametrize("tool", ["matplotlib", "scipy"])
def test_missing_packages_are_reported_before_anything_runs(
    tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(cli, "Reproduction")
    monkeypatch.setitem(sys.modules, tool, None)
    ran = laissez()
    assert ran.exception is not None and is_ours(ran.exception), "one line, and no traceback"
    assert "pip install 'laissezcloud[sim]'" in str(ran.exception)
    assert not Path("laissez-paper").exists()


def test_ctrl_c_keeps_finished_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Halves, "fault", "interrupt")
    ran = laissez("halves", "--seeds", "3")
    assert 130 == ran.exit_code
    assert (
        "stopped: 3 of 4 cells are done and kept in laissez-paper/cells; the same command goes on"
        " from there\n" == ran.stderr
    )
    monkeypatch.setattr(Halves, "fault", "")
    assert "3 of 3 cells are there from an earlier run" in laissez("halves", "--seeds", "3").stderr


def test_a_cell_that_fails_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that `laissez` ends with its one line, which names the cell, and no traceback."""
    monkeypatch.setattr(Halves, "fault", "zero")
    ran = laissez("halves", "--seeds", "3")
    assert 1 == ran.exit_code
    assert "failed: half of 9: ZeroDivisionError" in ran.stderr
    assert Path("laissez-paper", "report.html").exists()


# -- how far it is


def test_a_bar_moves_by_weight_and_counts_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(
        progress, "Console", lambda stderr: Console(file=seen, force_terminal=True, width=120)
    )
    shown = WeightedProgress("cells", 3, 100.0)
    now_s = shown.bar.get_time()
    monkeypatch.setattr(shown.bar, "get_time", lambda: now_s)
    with shown.bar:
        shown.begin("figure of halves")
        now_s += 90.0
        shown.end(90.0)
        shown.say("halves: done")
        shown.bar.refresh()
    (task,) = shown.bar.tasks
    assert (90.0, 100.0, 1, 3) == (
        task.completed,
        task.total,
        task.fields["ended"],
        task.fields["pieces"],
    )
    assert pytest.approx(10, abs=1) == task.time_remaining, "as fast as so far"
    for text in ("figure of halves", "1/3", "halves: done", "0:00:1"):
        assert text in seen.getvalue()


# -- all of it


@pytest.mark.slow
def test_a_small_version_of_every_experiment_runs(tmp_path: Path) -> None:
    """Through the real command line, with workers: every experiment has claims, rows and a report
    that shows them."""
    command = [
        sys.executable,
        "-m",
        "laissez.cli",
        "paper",
        "--quick",
        "--out",
        str(tmp_path / "out"),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert 0 == ran.returncode, ran.stderr
    claims = json.loads((tmp_path / "out" / "claims.json").read_text())
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    report = (tmp_path / "out" / "report.html").read_text()
    assert list(EXPERIMENTS) == sorted(
        [*run["experiments"], *run["not_run"]], key=list(EXPERIMENTS).index
    )
    needs = {name: one.missing(Plan(quick=True)) for name, one in EXPERIMENTS.items()}
    assert {name: f"not run, needs {missing}" for name, missing in needs.items() if missing} == run[
        "not_run"
    ]
    assert run["experiments"] == list(dict.fromkeys(claim["figure"] for claim in claims)), (
        "each has claims, in the order of the catalogue"
    )
    for claim in claims:
        assert claim.keys() >= KEYS
        assert claim["claim"] and (
            claim["paper"] is None or claim["holds"] is not None or claim["note"]
        ), claim
        assert claim["interval"] is None or claim["interval"][0] <= claim["interval"][1], claim
    for name in run["experiments"]:
        rows = (tmp_path / "out" / f"{name}.csv").read_text().splitlines()
        assert 2 <= len(rows) and rows[0], name
        assert f'<section class="experiment" id="{name}">' in report
        assert (f'<figure data-figure="{name}">' in report) == (
            tmp_path / "out" / f"{name}.svg"
        ).exists(), name
        assert (tmp_path / "out" / f"{name}.svg").exists() == (
            tmp_path / "out" / f"{name}.png"
        ).exists(), name
    assert sorted(EXPERIMENTS) == sorted(line.split()[0] for line in ran.stderr.splitlines()), (
        "a line for each"
    )
