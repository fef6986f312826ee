"""The command `laissez`: what it prints, and how it ends."""

from __future__ import annotations

import errno
import json
import os
import platform
import subprocess
import sys
from types import ModuleType

import pytest
import typer
from typer.testing import CliRunner

import laissez
from laissez.cli.app import COMMANDS, PROOFS, app, main
from laissez.cli.errors import error_message, exit_code


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    program = "from laissez.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
    )


def test_the_process_runs_the_requested_form_of_the_market() -> None:
    asked = os.environ.get("LAISSEZ_MARKET") or "auto"
    assert asked in ("auto", laissez.market_form())


@pytest.mark.parametrize("arguments", [["version"], ["--version"]])
def test_version_is_one_line_for_people(arguments: list[str]) -> None:
    done = CliRunner().invoke(app, arguments)
    assert 0 == done.exit_code
    assert (
        f"laissez {laissez.__version__} on CPython {platform.python_version()}, market"
        f" {laissez.market_form()}\n" == done.stdout
    )


def test_version_is_an_object_for_programs() -> None:
    done = CliRunner().invoke(app, ["version", "-o", "json"])
    assert 0 == done.exit_code
    expected = {
        "version": laissez.__version__,
        "python": f"CPython {platform.python_version()}",
        "market": laissez.market_form(),
    }
    assert expected == json.loads(done.stdout)


@pytest.mark.parametrize(
    "arguments", [["version", "-o", "xml"], ["version", "more"], ["unheard-of"], ["--unheard-of"]]
)
def test_wrong_usage_ends_with_2(arguments: list[str]) -> None:
    assert 2 == CliRunner().invoke(app, arguments).exit_code


def test_help_names_every_command_and_imports_none() -> None:
    done = CliRunner().invoke(app, ["--help"])
    assert 0 == done.exit_code
    for command in (
        "version",
        *PROOFS,
        *(name for members in COMMANDS.values() for name, _, _ in members),
    ):
        assert f" {command} " in done.stdout


def without_plugins(*arguments: str) -> subprocess.CompletedProcess[str]:
    """As where the product is installed alone."""
    program = (
        "from importlib import metadata; metadata.entry_points = lambda group: (); from laissez.cli"
        " import main; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True
    )


@pytest.mark.parametrize("command", PROOFS)
def test_a_command_of_a_package_that_is_not_installed_names_the_package(command: str) -> None:
    expected = (
        f"'laissez {command}' is part of laissezcloud-proof, which is not installed: pip install"
        f" laissezcloud-proof=={laissez.__version__}"
    )
    done = without_plugins(command, "--help")
    assert (2, f"laissez: {expected}\n") == (done.returncode, done.stderr)


def test_help_shows_commands_of_other_packages_only_where_they_are_installed() -> None:
    shown = without_plugins("--help").stdout
    assert " serve " in shown
    assert [] == [command for command in PROOFS if f"│ {command} " in shown]
    assert "│ bills " not in without_plugins("audit", "--help").stdout
    assert "│ bills " in CliRunner().invoke(app, ["audit", "--help"]).stdout


def test_an_error_of_ours_ends_with_one_line_and_no_traceback() -> None:
    done = run("version", LAISSEZ_MARKET="complied")
    assert 2 == done.returncode
    assert "" == done.stdout
    assert (
        "laissez: LAISSEZ_MARKET must be one of auto, compiled, interpreted; it is 'complied'\n"
        == done.stderr
    )


def test_version_loads_neither_the_market_nor_any_other_package() -> None:
    program = (
        "import sys\nfrom laissez.cli import main\nsys.argv[1:] = ['version']\ntry:"
        " main()\nfinally: print([name for name in sys.modules if name.count('.') == 1 and"
        " name.startswith('laissez.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ["['laissez._form', 'laissez.cli']"] == done.stdout.splitlines()[1:]


def test_errors_of_ours_and_of_files_are_reported_and_all_others_are_bugs() -> None:
    assert "no" == error_message(laissez.FormError("no"))
    assert "somewhere: Permission denied" == error_message(
        PermissionError(errno.EACCES, "Permission denied", "somewhere")
    )
    assert f"{'a' * 200}: File name too long" == error_message(
        OSError(errno.ENAMETOOLONG, "File name too long", "a" * 5_000)
    )
    assert None is error_message(ImportError("no"))
    assert None is error_message(
        type("Broken", (AssertionError,), {"__module__": "laissez.market.book"})("no")
    )
    assert None is error_message(FileNotFoundError(errno.ENOENT, "No such file", "somewhere"))
    assert None is error_message(OSError(errno.EIO, "Input/output error"))


def test_arguments_that_are_not_utf_8_are_refused_and_not_shown() -> None:
    def ended(*arguments: bytes, **variables: bytes) -> tuple[int, bytes]:
        environment = {**os.environb, **{name.encode(): value for name, value in variables.items()}}
        program = [sys.executable, "-c", "from laissez.cli import main; main()"]
        done = subprocess.run([*program, *arguments], env=environment, capture_output=True)
        return done.returncode, done.stderr

    assert (
        2,
        b"laissez: argument 2: expected text in UTF-8, found other bytes after 4 characters\n",
    ) == ended(b"quote", b"h100\xff")
    assert (
        2,
        b"laissez: LAISSEZ_URL: expected text in UTF-8, found other bytes after 7 characters\n",
    ) == ended(b"quote", LAISSEZ_URL=b"http://\xff")
    assert (
        2,
        b"laissez: LAISSEZ_KEY: expected text in UTF-8, found other bytes after 6 characters\n",
    ) == ended(b"quote", LAISSEZ_KEY=b"lz_abc\xff")


def test_errors_outside_the_client_count_as_usage() -> None:
    assert 2 == exit_code(laissez.FormError("no"))


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """A fake `laissez_bench.cli` with two commands."""
    commands = typer.Typer()

    @commands.command()
    def compare(old: str, times: int = 1) -> None:
        typer.echo(f"{old} {times}")
        raise typer.Exit(1)

    @commands.command()
    def fail() -> None:
        raise ZeroDivisionError

    module = ModuleType("laissez_bench.cli")
    monkeypatch.setattr(module, "app", commands, raising=False)
    monkeypatch.setitem(sys.modules, "laissez_bench.cli", module)
    return commands


@pytest.mark.usefixtures("bench")
def test_a_package_reads_its_own_arguments_and_chooses_the_exit_code() -> None:
    done = CliRunner().invoke(app, ["bench", "compare", "--times", "3", "before"])
    assert (1, "before 3\n") == (done.exit_code, done.stdout)


@pytest.mark.usefixtures("bench")
def test_a_package_shows_its_own_help_under_its_full_name() -> None:
    done = CliRunner().invoke(app, ["bench", "compare", "--help"], prog_name="laissez")
    assert 0 == done.exit_code
    assert "laissez bench compare" in done.stdout


@pytest.mark.usefixtures("bench")
def test_wrong_usage_inside_a_package_ends_with_2() -> None:
    assert 2 == CliRunner().invoke(app, ["bench", "compare", "--unheard-of"]).exit_code


@pytest.mark.usefixtures("bench")
def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["laissez", "bench", "fail"])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # typer replaces it
    with pytest.raises(ZeroDivisionError):
        main()


def test_the_demo_is_a_function_with_options_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def demo(seed: int = 0) -> None:
        typer.echo(f"seed {seed}")

    module = ModuleType("laissez.cli.demo")
    monkeypatch.setattr(module, "main", demo, raising=False)
    monkeypatch.setitem(sys.modules, "laissez.cli.demo", module)
    done = CliRunner().invoke(app, ["demo", "--seed", "7"])
    assert (0, "seed 7\n") == (done.exit_code, done.stdout)
