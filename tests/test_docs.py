"""What the specification and the promises name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from laissez.cli import app

ROOT = Path(__file__).parent.parent
SPECIFICATION = (ROOT / "docs" / "market.md").read_text()
TEST_FILES = sorted(path for path in (ROOT / "tests").glob("test_*.py"))


@pytest.mark.parametrize("rule", range(1, 19))
def test_the_specification_names_the_tests_of_each_rule(rule: int) -> None:
    files = [
        f"`tests/{path.name}`" for path in TEST_FILES if f"def test_m{rule}_" in path.read_text()
    ]
    assert files
    assert f"*Tests: {', '.join(files)} (`pytest -k m{rule}_`).*" in SPECIFICATION


def test_every_command_and_page_that_the_promises_name_is_there() -> None:
    promises = (ROOT / "SECURITY.md").read_text()
    commands = {
        tuple(found.split()) for found in re.findall(r"`laissez ((?:[a-z][a-z-]* ?)+)", promises)
    }
    assert {("check", "crashes"), ("check", "access"), ("audit", "verify")} <= commands
    assert [] == [
        command
        for command in sorted(commands)
        if CliRunner().invoke(app, [*command, "--help"]).exit_code
    ]
    assert [] == [
        path
        for path in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", promises)
        if not (ROOT / path).exists()
    ]
