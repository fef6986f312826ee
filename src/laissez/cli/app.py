"""The commands of `laissez`, and how it ends.

A package with commands of its own is imported only when one of them is called, so that every other command starts fast.
"""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import Annotated, Any

import typer

from laissez.cli.output import Format, FormatOption
from laissez.cli.version import show_version

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_TERMINATED = 143  # as a shell reports it: 128 and the signal's number

app = typer.Typer(name="laissez", help="LaissezCloud: a market for GPU leases.", no_args_is_help=True, pretty_exceptions_enable=False)

HANDS_ON: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}  # the called package reads its own options


def main() -> None:
    """Run the command line. Our own errors end it with one line; a bug keeps its traceback."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))  # leave through the front door, so that workers are ended too
    try:
        app(prog_name="laissez")
    except Exception as error:
        if not is_ours(error):
            raise
        typer.echo(f"laissez: {error}", err=True)
        sys.exit(EXIT_USAGE)


def is_ours(error: Exception) -> bool:
    """An operating error is an exception class that we defined; everything else that gets this far is a bug."""
    return type(error).__module__.partition(".")[0] == "laissez" and not isinstance(error, AssertionError)


def version_and_exit(asked: bool) -> None:
    if asked:
        show_version(Format.TEXT)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=version_and_exit)] = False,
) -> None:
    pass


@app.command("version")
def version_command(output: FormatOption = Format.TEXT) -> None:
    """Show the version, the Python it runs on, and which form of the market is in use."""
    show_version(output)


@app.command("check", context_settings=HANDS_ON, add_help_option=False)
def check_command(context: typer.Context) -> None:
    """Check the market against an independent one."""
    hand_on(context, import_module("laissez.check.cli").app)


@app.command("bench", context_settings=HANDS_ON, add_help_option=False)
def bench_command(context: typer.Context) -> None:
    """Measure how fast the market is here."""
    hand_on(context, import_module("laissez.bench.cli").app)


@app.command("demo", context_settings=HANDS_ON, add_help_option=False)
def demo_command(context: typer.Context) -> None:
    """Show a small market at work."""
    demo = typer.Typer(add_completion=False)
    demo.command()(import_module("laissez.cli.demo").main)
    hand_on(context, demo)


def hand_on(context: typer.Context, commands: typer.Typer) -> None:
    """Give the rest of the line to `commands`, which ends the process itself."""
    typer.main.get_command(commands)(args=context.args, prog_name=context.command_path)
