"""The command `laissez`: its commands, each in a module that is imported only when the command is
called, so that every command starts fast.

Other packages add commands by entry points: of the group `laissez.commands` for `laissez NAME`, of
`laissez.commands.audit` for `laissez audit NAME`.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer

import laissez
from laissez.cli.errors import EXIT_TERMINATED, error_message, exit_code, require_utf8
from laissez.cli.output import Format, FormatOption, opt, spell_out

app = typer.Typer(
    name="laissez",
    help="LaissezCloud: a market for GPU leases.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

# panel of the help: (command, module:attribute in `laissez.cli`, help)
COMMANDS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "For tenants": (
        ("quote", "trading:quote", "Show the lowest price at which you would get a GPU now."),
        ("run", "trading:run", "Request instances, up to a price."),
        ("instances", "trading:instances", "List your instances."),
        ("leases", "trading:leases", "List or show your leases."),
        ("limit", "trading:limit", "Set the most you will pay for a lease."),
        ("release", "trading:release", "Give up a lease, or stop an instance."),
        ("orders", "trading:orders", "List, place, amend or cancel orders."),
        ("bill", "spending:bill", "Show what you owe."),
        ("budget", "spending:budgets", "Show, set or remove your budget."),
        ("caps", "spending:caps", "Show or set what you may spend per hour."),
        ("price-history", "trading:price_history", "Show what a lease was charged, and when."),
        ("events", "events:events", "Show your events, or follow them."),
        ("webhooks", "events:webhooks", "Send your events to a URL."),
        ("tenant", "tenant:app", "Run a task that trades for itself."),
    ),
    "For the operator": (
        ("market", "cluster:market", "Show totals of the whole market."),
        ("topology", "cluster:topology", "Show the tree of the cluster."),
        ("resources", "cluster:resources", "List GPUs, take them offline or online."),
        ("book", "cluster:book", "Show the open orders and prices at a node."),
        ("floor", "cluster:floors", "List, set or remove floors."),
        ("controls", "cluster:controls", "List, set or remove bands, holds and fees."),
        ("tenants", "tenants:app", "Manage tenants, their caps and their keys."),
        ("operator", "operator:app", "Let maps of power, cooling and more price the market."),
    ),
    "The server": (
        ("up", "serve:up", "Start a small market to try things out."),
        ("serve", "serve:serve", "Run the service."),
        ("journal", "journal:app", "Inspect, verify, export or back up a journal."),
        ("audit", "audit:app", "Show requests and refusals, and verify the record and bills."),
        ("doctor", "doctor:doctor", "Check your setup, and say what to do."),
    ),
    "The market itself": (
        ("demo", "demo:main", "Show a small market at work."),
        ("sim", "sim:app", "Simulate clouds and compare them."),
    ),
}

PLUGINS = "laissez.commands"
PROOF = "laissezcloud-proof"
# commands of the distribution PROOF, with their help, which is shown without importing them
PROOFS = {
    "check": "Check that the market and the service keep their promises.",
    "bench": "Measure how fast the market and the service are here.",
    "paper": "Reproduce every figure of the paper.",
}
SERVER_PACKAGES = frozenset({"httptools", "prometheus_client", "uvloop"})  # of the extra `server`

# the command's own module reads the rest of the line
PASS_ON: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}


class NotInstalled(Exception):
    """A command is part of a package that is not installed; the message names it."""


def main() -> None:
    """Run the command line. An operating error ends it with one line; a bug keeps its traceback."""
    # raise SystemExit, so that worker processes are ended too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))
    try:
        require_utf8(sys.argv[1:], os.environ)
        app(prog_name="laissez")
    except Exception as error:
        message = error_message(error)
        if message is None:
            raise
        typer.echo(f"laissez: {message}", err=True)
        sys.exit(exit_code(error))


def add_command(name: str, place: str, about: str, panel: str) -> None:
    """Add a command that imports its module, `place`, when it is called."""

    @app.command(
        name, help=about, rich_help_panel=panel, context_settings=PASS_ON, add_help_option=False
    )
    def command(context: typer.Context) -> None:
        module, _, attribute = place.partition(":")
        try:
            commands = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            if error.name not in SERVER_PACKAGES:
                raise
            raise NotInstalled(
                f"'laissez {name}' runs the server, which is not installed: pip install"
                f" 'laissezcloud[server]=={laissez.__version__}'"
            ) from None
        for plugin in entry_points(group=f"{PLUGINS}.{name}"):
            commands.command(plugin.name)(plugin.load())
        call(commands, context)


def call(commands: Any, context: typer.Context) -> None:
    """Give the rest of the line to a function or a group, which ends the process itself."""
    if not isinstance(commands, typer.Typer):
        function, commands = commands, typer.Typer(add_completion=False)
        commands.command()(function)
    typer.main.get_command(commands)(args=spell_out(context.args), prog_name=context.command_path)


def add_plugins() -> None:
    """Add the commands of other packages. Those of ours that are not installed name their
    package."""
    found = {plugin.name: plugin.value for plugin in entry_points(group=PLUGINS)}
    for name, place in found.items():
        about = PROOFS.get(name, f"A command of {place.partition('.')[0]}.")
        add_command(name, place, about, "Proof and plug-ins")
    for name in PROOFS.keys() - found:
        add_missing(name)


def add_missing(name: str) -> None:
    @app.command(name, hidden=True, context_settings=PASS_ON, add_help_option=False)
    def command() -> None:
        raise NotInstalled(
            f"'laissez {name}' is part of {PROOF}, which is not installed: pip install"
            f" {PROOF}=={laissez.__version__}"
        )


for panel, members in COMMANDS.items():
    for name, place, about in members:
        add_command(name, f"laissez.cli.{place}", about, panel)
add_plugins()


@app.command("version", rich_help_panel="The market itself")
def show_version(output: FormatOption = Format.TABLE) -> None:
    """Show the version, the Python it runs on, and which form of the market is in use."""
    facts = {
        "version": laissez.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "market": laissez.market_form(),
    }
    if output is Format.JSON:
        typer.echo(json.dumps(facts))
    else:
        typer.echo(f"laissez {facts['version']} on {facts['python']}, market {facts['market']}")


def version_and_exit(asked: bool) -> None:
    if asked:
        show_version(Format.TABLE)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        opt("Show the version and exit.", "--version", is_eager=True, callback=version_and_exit),
    ] = False,
) -> None:
    pass
