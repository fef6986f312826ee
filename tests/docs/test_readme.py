"""Every snippet of the README and of the pages that continue it runs, and prints the shown output.

Commands that take minutes are only parsed, with all their options: the checks and benchmarks behind
them have their own tests.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from laissez.cli import app
from laissez_bench.market import OPERATIONS
from support.doc_shell import USUAL, Example, Shell, examples
from support.paths import GUIDES, INTERNALS, REFERENCE, ROOT, TUTORIAL

pytestmark = [pytest.mark.once, pytest.mark.xdist_group("readme")]

README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
FIRST_HOUR = (TUTORIAL / "first-hour.md").read_text()
MARKET = (REFERENCE / "market-python.md").read_text()
PERFORMANCE = (INTERNALS / "performance.md").read_text()
EVALUATION = (INTERNALS / "evaluation.md").read_text()
RELIABILITY = (INTERNALS / "reliability.md").read_text()
SIMULATOR = (GUIDES / "simulator.md").read_text()
WITH_COMMANDS = README + FIRST_HOUR + MARKET + PERFORMANCE + EVALUATION + RELIABILITY + SIMULATOR
LAISSEZ = re.compile(r"^(?:\.venv/bin/)?laissez ")
ENDLESS = ("laissez events -f",)  # runs until Ctrl-C
LONG = re.compile(r"laissez (check|bench|paper|sim (run|compare)|tenant run)")


def commands() -> list[str]:
    """Every line of the shell snippets that is for `laissez`, as typed in a clone, once."""
    snippets = re.findall(r"```sh\n(.*?)```", WITH_COMMANDS, re.DOTALL)
    lines = [line.partition("  #")[0].strip() for text in snippets for line in text.splitlines()]
    assert all(re.match(r"make |export |(\.venv/bin/)?laissez ", line) for line in lines), lines
    return list(dict.fromkeys(LAISSEZ.sub("laissez ", one) for one in lines if LAISSEZ.match(one)))


def programs() -> list[Example]:
    found = [*examples(README), *examples(FIRST_HOUR), *examples(MARKET)]
    return [example for example in found if example.kind == "python"]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell in a folder where `make run` was typed: the sample is up."""
    opened = Shell(tmp_path_factory.mktemp("readme"))
    try:
        opened.serve("laissez up --data laissez-sample")
        for line in re.findall(r"^export .*$", WITH_COMMANDS, re.MULTILINE):
            assert (0, "") == opened.type(line)
        opened.type(f"export LAISSEZ_URL={USUAL}")
        yield opened
    finally:
        opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("command", [one for one in commands() if not LONG.match(one)])
def test_a_command_of_the_readme_runs(shell: Shell, command: str) -> None:
    if command in ENDLESS:
        status, printed = shell.type(f"{command} | head --lines 2")
        assert (0, 2) == (status, len(printed.splitlines())), printed
    else:
        status, printed = shell.type(command)
        assert (0, True) == (status, bool(printed)), printed


@pytest.mark.slow
@pytest.mark.parametrize("program", programs(), ids=lambda program: f"line{program.line}")
def test_a_program_of_the_readme_prints_what_is_shown(shell: Shell, program: Example) -> None:
    ((typed, shown),) = program.steps
    shell.run(program)
    ((status, printed),) = program.found
    assert 0 == status, f"{typed}\n{printed}"
    assert printed if shown == "" else printed == shown, f"{shown}\n{printed}"


@pytest.mark.parametrize("command", [one for one in commands() if LONG.match(one)])
def test_a_slow_command_is_parsed(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    understood: list[dict[str, Any]] = []
    invoke = typer.core.TyperCommand.invoke

    def parsed(self: typer.core.TyperCommand, context: Any) -> Any:
        """The outermost command passes its line on; the inner command is not run."""
        return invoke(self, context) if context.allow_extra_args else understood.append(context)

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(typer.core.TyperCommand, "invoke", parsed)
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert (0, 1) == (done.exit_code, len(understood)), done.output


def test_a_command_that_cannot_be_parsed_is_noticed() -> None:
    assert 2 == CliRunner().invoke(app, ["check", "market", "--historys", "3"]).exit_code


# -- files, figures and requirements


def test_every_named_file_exists() -> None:
    named = re.findall(r"`((?:src|docs|tests)/[\w./-]*)`", README + CONTRIBUTING)
    assert len(named) >= 20
    assert [] == [path for path in named if not (ROOT / path).exists()]


def test_the_benchmarks_give_a_figure_for_every_operation() -> None:
    assert [] == [
        operation
        for operation in OPERATIONS
        if not re.search(rf"^\| {operation} \|.*\d", PERFORMANCE, re.MULTILINE)
    ]


def test_the_figures_of_the_readme_are_on_the_pages_it_links() -> None:
    section = README.partition("\n## What the paper says")[2].partition("\n```")[0]
    quoted = re.findall(r"\d[\d,.]*(?: %| ms)?", section)
    assert {"407,075", "58,375", "49 %", "59"} <= set(quoted)
    assert [] == [figure for figure in quoted if figure not in PERFORMANCE + EVALUATION]


def test_the_readme_is_short() -> None:
    assert len(README.split()) < 1000


def test_the_readme_names_the_supported_pythons() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(classifiers))
    for page in (README, FIRST_HOUR):
        assert f"Python {', '.join(supported[:-1])} or {supported[-1]}" in page


def test_every_named_target_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    make = re.compile(r"(?:^|`)make ([a-z-]+)", re.MULTILINE)
    assert {"run", "test", "build"} <= set(make.findall(README))
    assert set(make.findall(WITH_COMMANDS)) <= targets
