"""Every seeded bug is put into a copy of the market, and the comparison with the oracle must notice it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import laissez
from seeded_bugs import SEEDED_BUGS, SeededBug

SOURCES = Path(laissez.__file__).parent
HISTORIES = 600  # five times what the most elusive of them needed
CHECK = "from laissez.cli import main; main()"


def text_of(bug: SeededBug) -> str:
    return (SOURCES / "market" / f"{bug.module}.py").read_text()


@pytest.mark.once
def test_there_are_at_least_25_seeded_bugs_and_all_fit_the_sources() -> None:
    assert len(SEEDED_BUGS) >= 25
    assert [] == [bug.name for bug in SEEDED_BUGS if text_of(bug).count(bug.right) != 1]


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("bug", SEEDED_BUGS, ids=lambda bug: bug.name)
def test_a_seeded_bug_is_noticed(bug: SeededBug, tmp_path: Path) -> None:
    shutil.copytree(SOURCES, tmp_path / "laissez", ignore=shutil.ignore_patterns("*.so"))  # what Python has cached stays good
    (tmp_path / "laissez" / "market" / f"{bug.module}.py").write_text(text_of(bug).replace(bug.right, bug.wrong))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "LAISSEZ_MARKET": "interpreted"}
    arguments = ["check", "market", "--histories", str(HISTORIES), "--seed", str(bug.seed), "--jobs", "1", "--no-shrink"]
    checked = subprocess.run([sys.executable, "-c", CHECK, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert 1 == checked.returncode, checked.stdout + checked.stderr
    assert "laissez check market --histories 1 --seed" in checked.stdout, checked.stderr
