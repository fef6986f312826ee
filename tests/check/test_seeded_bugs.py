"""Every seeded bug is put into a copy of the market, and the comparison with the oracle must notice
it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import laissez
from support.seeded_bugs import SEEDED_BUGS, SeededBug

SOURCES = Path(laissez.__file__).parent
NEEDED = ("__init__.py", "_form.py", "workers.py", "market")  # of the product, to check the market
HISTORIES = 600  # five times what the most elusive of them needed
# As `laissez check market --no-shrink` does, without the time that a command line takes to start.
CHECK = """
import sys
from laissez_check.campaign import run
from laissez_check.compare import Options
from laissez_check.compare import real_market

first, histories = map(int, sys.argv[1:])
options = Options(snapshot_every=9, invariants=True)
outcome = run(range(first, first + histories), 100, 1, options, real_market, shrinks=False)
print(outcome.failure or "no difference")
"""


def text_of(bug: SeededBug) -> str:
    return (SOURCES / "market" / f"{bug.module}.py").read_text()


def copy_needed(folder: Path) -> None:
    """Copy with times, so that cached bytecode stays valid."""
    folder.mkdir()
    for name in NEEDED:
        if (SOURCES / name).is_dir():
            shutil.copytree(SOURCES / name, folder / name, ignore=shutil.ignore_patterns("*.so"))
        else:
            shutil.copy2(SOURCES / name, folder)


@pytest.mark.once
def test_there_are_at_least_25_seeded_bugs_and_all_fit_the_sources() -> None:
    assert len(SEEDED_BUGS) >= 25
    assert [] == [bug.name for bug in SEEDED_BUGS if text_of(bug).count(bug.right) != 1]


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("bug", SEEDED_BUGS, ids=lambda bug: bug.name)
def test_a_seeded_bug_is_noticed(bug: SeededBug, tmp_path: Path) -> None:
    copy_needed(tmp_path / "laissez")
    (tmp_path / "laissez" / "market" / f"{bug.module}.py").write_text(
        text_of(bug).replace(bug.right, bug.wrong)
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "LAISSEZ_MARKET": "interpreted"}
    command = [sys.executable, "-c", CHECK, str(bug.seed), str(HISTORIES)]
    checked = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert 0 == checked.returncode, checked.stderr
    assert "laissez check market --histories 1 --seed" in checked.stdout, checked.stderr
