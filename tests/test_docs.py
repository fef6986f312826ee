"""What the README and the specification show is what happens, and what they name is there."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from laissez.cli import app
from laissez_bench.market import OPERATIONS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
SPECIFICATION = (ROOT / "docs" / "market.md").read_text()
TEST_FILES = sorted(path for path in (ROOT / "tests").glob("test_*.py"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_first_order_prints_what_the_readme_says() -> None:
    (code,), (shown,) = blocks("python"), blocks("text")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert shown == printed.getvalue()


def test_every_file_the_readme_names_is_there() -> None:
    named = re.findall(r"`((?:src|docs|tests)/?[\w./-]*)`|\]\(([\w./-]+)\)", README)
    assert [] == [path for pair in named for path in pair if path and not (ROOT / path).exists()]


def test_the_readme_gives_a_figure_for_every_operation() -> None:
    assert [] == [
        operation
        for operation in OPERATIONS
        if not re.search(rf"^\| {operation} \|.*\d", README, re.MULTILINE)
    ]


def test_every_command_the_readme_and_the_makefile_name_is_there() -> None:
    lines = README + (ROOT / "Makefile").read_text()
    commands = {
        tuple(found.split())
        for found in re.findall(
            r"bin/laissez ((?:[a-z][a-z-]* ?)+)|BIN\)/laissez ((?:[a-z][a-z-]* ?)+)", lines
        )
        for found in found
        if found
    }
    assert ("bench", "market") in commands
    for command in sorted(commands):
        assert 0 == CliRunner().invoke(app, [*command, "--help"]).exit_code, command


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
