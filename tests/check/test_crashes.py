"""Killing the real server, and what it kept; faults put into it on purpose, and that they are
found."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from laissez_check import cli, crashes
from laissez_check.faulty_server import CRASH_FAULTS, entry_with, snapshot_after_commands
from laissez_check.finding import Outcome
from laissez_check.patches import Patch
from laissez_check.started_server import Entry

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def data_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed runs keep their folders, here below that of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.slow
def test_twenty_kills_lose_nothing_that_anyone_was_told() -> None:
    outcome = crashes.run(20, seed=7)
    assert outcome.failure is None
    assert outcome.counted["kills"] >= 20
    assert outcome.counted["answers"] > 500
    assert outcome.counted["bills"] > 20
    assert outcome.counted["quotes"] > 500


@pytest.mark.slow
@pytest.mark.parametrize("fault", CRASH_FAULTS)
def test_a_fault_put_in_on_purpose_is_found(fault: Callable[[], list[Patch]]) -> None:
    outcome = crashes.run(20, seed=1, entry=entry_with(snapshot_after_commands, fault))
    assert outcome.failure is not None
    assert "again: laissez check crashes --kills 20 --seed 1" in outcome.failure


@pytest.mark.slow
def test_a_server_that_does_not_start_is_a_finding() -> None:
    outcome = crashes.run(1, seed=0, entry=Entry(variables={"LAISSEZ_SERVER__PORT": "none"}))
    assert outcome.failure is not None
    assert "the server did not start" in outcome.failure


def test_a_failure_is_shown_and_leaves_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        crashes,
        "run",
        lambda kills, seed, tell: Outcome(
            {"kills": 3}, f"lost\nagain: --kills {kills} --seed {seed}"
        ),
    )
    result = CliRunner().invoke(cli.app, ["crashes", "--kills", "5", "--seed", "9", "-o", "json"])
    assert (1, 3) == (result.exit_code, json.loads(result.stdout)["kills"])
    assert "again: --kills 5 --seed 9" in json.loads(result.stdout)["failure"]
