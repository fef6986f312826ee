"""`docs/reference/cli.md` lists every command of `laissez` with the program's own help.

Run this file as a program to write the page (`make reference`).
"""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from laissez.cli.app import COMMANDS, PLUGINS, app
from support.paths import INTERNALS, REFERENCE

PAGE = REFERENCE / "cli.md"
BEGIN = "<!-- The rest is made by `make reference`. -->\n\n"
# The top of the page describes these.
EVERYWHERE = {
    "--url",
    "--profile",
    "--key-file",
    "--insecure",
    "--output",
    "--json",
    "--idempotency-key",
    "--help",
}
# These pages explain the subcommands of a group.
PROVED_ON = {"bench": "performance.md", "check": "reliability.md"}
PLACES = {name: place for members in COMMANDS.values() for name, place, _ in members} | {
    point.name: point.value for point in entry_points(group=PLUGINS)
}

pytestmark = pytest.mark.once


def command_at(place: str) -> Any:
    """The command or group that `laissez.cli.app` imports when it is called."""
    module, _, attribute = place.partition(":")
    found = getattr(import_module(module if "." in module else f"laissez.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command()(found)
        found = alone
    return typer.main.get_command(found)


def members_of(name: str, command: Any) -> dict[str, Any]:
    """The subcommands of a group, with those that other packages add."""
    members = dict(getattr(command, "commands", {}))
    for point in entry_points(group=f"{PLUGINS}.{name}"):
        members.setdefault(point.name, command_at(point.value))
    return {key: member for key, member in members.items() if not member.hidden}


def argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()).removesuffix("...").strip("[]")
    name += "..." if parameter.nargs == -1 else ""
    return name if parameter.required else f"[{name}]"


def parameters(command: Any) -> list[str]:
    """The arguments and options that a command takes, as its usage shows them."""
    found = []
    for one in command.params:
        if one.param_type_name == "argument":
            found.append(argument(one))
        elif not one.hidden and not EVERYWHERE & set(one.opts):
            found.append(one.opts[0] if one.required else f"[{one.opts[0]}]")
    return found


def flowing(text: str | None) -> str:
    """Help text as one paragraph; the source breaks its lines."""
    return re.sub(r"\s+", " ", (text or "").partition("\f")[0]).strip()


def entry(path: str, command: Any) -> str:
    """Usage and help of a command."""
    usage = " ".join([path, *parameters(command)])
    return f"`{usage}`: {flowing(command.help)}"


def section(name: str, command: Any) -> str:
    """A command, or a group with its subcommands or the page that explains them."""
    members = members_of(name, command)
    path = f"laissez {name}"
    if not members:
        return entry(path, command)
    if name in PROVED_ON:
        named = ", ".join(f"`{key}`" for key in members)
        parts = [f"{named}: see [{PROVED_ON[name]}](../internals/{PROVED_ON[name]})."]
    else:
        parts = [entry(f"{path} {key}", one) for key, one in members.items()]
    return "\n\n".join([f"### {path}", *parts])


def reference() -> str:
    top: Any = typer.main.get_command(app)
    panels: dict[str, list[str]] = {}
    for name, one in top.commands.items():
        if not one.hidden:
            command = command_at(PLACES[name]) if name in PLACES else one
            panels.setdefault(one.rich_help_panel, []).append(section(name, command))
    # Single commands first: they have no heading of their own.
    parts = [
        "\n\n".join([f"## {panel}", *sorted(panels[panel], key=lambda part: part[0] == "#")])
        for panel in panels
    ]
    return "\n\n".join(parts) + "\n"


def test_the_page_matches_the_program() -> None:
    written = PAGE.read_text().partition(BEGIN)[2]
    assert written == reference(), "run: make reference"


def test_every_command_of_the_help_is_on_the_page() -> None:
    shown = CliRunner().invoke(app, ["--help"]).output
    named = set(re.findall(r"^│ ([a-z][a-z-]*) ", shown, re.MULTILINE))
    assert {"quote", "serve", "check", "version"} <= named
    page = PAGE.read_text()
    assert [] == [
        one
        for one in sorted(named)
        if not re.search(rf"^### laissez {one}$|^`laissez {one}\b", page, re.MULTILINE)
    ]


def test_the_commands_that_check_and_measure_are_on_their_pages() -> None:
    for name, page in PROVED_ON.items():
        text = (INTERNALS / page).read_text()
        members = members_of(name, command_at(PLACES[name]))
        assert [] == [key for key in members if f"laissez {name} {key}" not in text]


if __name__ == "__main__":
    PAGE.write_text(f"{PAGE.read_text().partition(BEGIN)[0]}{BEGIN}{reference()}")
