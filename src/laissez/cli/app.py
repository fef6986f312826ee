"""The commands of `laissez`, and how it ends.

What a command does is in the module named beside it, which is imported only when the command is
called: every command starts fast.

Other packages add commands by entry points: of the group `laissez.commands` for `laissez NAME`, of
`laissez.commands.audit` for `laissez audit NAME`.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer

import laissez
from laissez.cli.encoding import check_text
from laissez.cli.exits import EXIT_TERMINATED, exit_code, told
from laissez.cli.output import Format, FormatOption, with_seconds
from laissez.cli.version import show_version

app = typer.Typer(
    name="laissez",
    help="LaissezCloud: a market for GPU leases.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

# the called module reads its own options
HANDS_ON: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}

# panel of the help: (command, where it is, what it does)
COMMANDS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "For tenants": (
        ("quote", "laissez.cli.prices:quote", "Show the least price that wins a resource now."),
        ("run", "laissez.cli.instances:run", "Ask for instances, up to a price."),
        ("instances", "laissez.cli.instances:instances", "List your instances."),
        ("leases", "laissez.cli.leases:app", "List or show your leases."),
        ("limit", "laissez.cli.leases:limit", "Set the most you will pay for a lease."),
        ("release", "laissez.cli.leases:release", "Give up a lease, or stop an instance."),
        ("orders", "laissez.cli.orders:app", "List, place, amend or cancel orders."),
        ("bill", "laissez.cli.bills:bill", "Show what is owed."),
        ("budget", "laissez.cli.budget:app", "Show, set or remove your budget."),
        ("caps", "laissez.cli.caps:app", "Show or set what you may spend per hour."),
        (
            "price-history",
            "laissez.cli.prices:price_history",
            "Show what a lease was charged, and when.",
        ),
        ("events", "laissez.cli.events:events", "Show what happened, or follow it."),
        ("webhooks", "laissez.cli.webhooks:app", "Have what happens sent to an address of yours."),
        ("tenant", "laissez.cli.tenant:app", "Let a task trade for itself."),
    ),
    "For the operator": (
        ("market", "laissez.cli.resources:market", "Show the whole market in figures."),
        ("topology", "laissez.cli.resources:topology", "Show the tree of resources."),
        ("resources", "laissez.cli.resources:app", "List leaves, take them offline or online."),
        ("book", "laissez.cli.books:book", "Show bids and asks of a node."),
        ("floor", "laissez.cli.pricing:floors", "List, set or remove floors."),
        ("controls", "laissez.cli.pricing:controls", "List, set or remove bands, holds and fees."),
        ("tenants", "laissez.cli.tenants:app", "Tenants, their caps and their keys."),
        (
            "operator",
            "laissez.cli.operator:app",
            "Let maps of power, cooling and more price the market.",
        ),
    ),
    "The server": (
        ("up", "laissez.cli.serve:up", "Start a small market to try things out."),
        ("serve", "laissez.cli.serve:serve", "Run the service."),
        ("journal", "laissez.cli.journal:app", "Look into a journal, and check it."),
        (
            "audit",
            "laissez.cli.audit:app",
            "What was done and refused, and whether bills follow from it.",
        ),
        (
            "doctor",
            "laissez.cli.doctor:doctor",
            "Check that everything is in place, and say what to do.",
        ),
    ),
    "The market itself": (
        ("demo", "laissez.cli.demo:main", "Show a small market at work."),
        ("sim", "laissez.cli.sim:app", "Simulate clouds and compare them."),
    ),
}

PLUGINS = "laissez.commands"
PROOF = "laissezcloud-proof"
# Commands of the distribution PROOF, with what `laissez --help` says of each without importing it.
PROOFS = {
    "check": "Find out whether the market and the service keep their promises.",
    "bench": "Measure how fast the market and the service are here.",
    "paper": "Reproduce every figure of the paper.",
}


# packages of the extra `server`
OF_SERVER = frozenset({"httptools", "prometheus_client", "uvloop"})


class NotInstalled(Exception):
    """A command is part of a package that is not installed; the message names it."""


def main() -> None:
    """Run the command line. An operating error ends it with one line; a bug keeps its traceback."""
    # leave through the front door, so that workers are ended too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))
    try:
        check_text(sys.argv[1:], os.environ)
        app(prog_name="laissez")
    except Exception as error:
        said = told(error)
        if said is None:
            raise
        typer.echo(f"laissez: {said}", err=True)
        sys.exit(exit_code(error))


def version_and_exit(asked: bool) -> None:
    if asked:
        show_version(Format.TABLE)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=version_and_exit
        ),
    ] = False,
) -> None:
    pass


def add(name: str, place: str, about: str, panel: str) -> None:
    """A command that hands the rest of its line on to the module where it is."""

    @app.command(
        name, help=about, rich_help_panel=panel, context_settings=HANDS_ON, add_help_option=False
    )
    def command(context: typer.Context) -> None:
        module, _, attribute = place.partition(":")
        try:
            commands = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            if error.name not in OF_SERVER:
                raise
            raise NotInstalled(
                f"'laissez {name}' runs the server, which is not installed: pip install"
                f" 'laissezcloud[server]=={laissez.__version__}'"
            ) from None
        for plugin in entry_points(group=f"{PLUGINS}.{name}"):
            commands.command(plugin.name)(plugin.load())
        hand_on(context, commands)


def add_plugins() -> None:
    """Add the commands of other packages, and say where those of ours are that are not
    installed."""
    found = {plugin.name: plugin.value for plugin in entry_points(group=PLUGINS)}
    for name, place in found.items():
        add(
            name,
            place,
            PROOFS.get(name, f"A command of {place.partition('.')[0]}."),
            "Proof and plug-ins",
        )
    for name in PROOFS.keys() - found:
        add_missing(name)


def add_missing(name: str) -> None:
    @app.command(name, hidden=True, context_settings=HANDS_ON, add_help_option=False)
    def command() -> None:
        raise NotInstalled(
            f"'laissez {name}' is part of {PROOF}, which is not installed: pip install"
            f" {PROOF}=={laissez.__version__}"
        )


def hand_on(context: typer.Context, commands: Any) -> None:
    """Give the rest of the line to `commands`, a function or a group of them, which ends the
    process itself."""
    if not isinstance(commands, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command()(commands)
        commands = alone
    typer.main.get_command(commands)(
        args=with_seconds(context.args), prog_name=context.command_path
    )


for panel, members in COMMANDS.items():
    for name, place, about in members:
        add(name, place, about, panel)
add_plugins()


@app.command("version", rich_help_panel="The market itself")
def version_command(output: FormatOption = Format.TABLE) -> None:
    """Show the version, the Python it runs on, and which form of the market is in use."""
    show_version(output)
