"""`docs/reference/cli.md` lists every command of `laissez` with the program's own help.

Run this file as a program to write the page (`make reference`).
"""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from laissez.cli.app import COMMANDS, PLUGINS, PROOFS, app
from support.paths import REFERENCE

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


def placeholder(option: Any) -> str:
    if option.metavar:
        return str(option.metavar)
    kind = option.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(one.value) for one in kind)
    return {int: "N", float: "N", Path: "PATH"}.get(kind, "TEXT")


def default_of(option: Any) -> str:
    default = option.default
    if option.is_flag or default in (None, (), "") or callable(default):
        return ""
    shown = default.value if isinstance(default, Enum) else default
    return f" (default: {shown:g})" if isinstance(shown, float) else f" (default: {shown})"


def option_line(option: Any) -> str:
    value = "" if option.is_flag else f" {placeholder(option)}"
    names = ", ".join(f"`{name}{value}`" for name in (*option.opts, *option.secondary_opts))
    required = " (required)" if option.required else ""
    about = f": {option.help}" if option.help else ""
    return f"- {names}{about}{default_of(option)}{required}"


def argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()).removesuffix("...").strip("[]")
    name += "..." if parameter.nargs == -1 else ""
    return name if parameter.required else f"[{name}]"


def parameters(command: Any) -> dict[str, str]:
    """The parameters of a command, each as shown by its usage and with its explanation."""
    found = {}
    for one in command.params:
        if one.param_type_name == "argument":
            name = argument(one)
            found[name] = f"- `{name.strip('[].')}`: {one.help}" if one.help else ""
        elif not one.hidden and not EVERYWHERE & set(one.opts):
            found[f"[{one.opts[0]}]"] = option_line(one)
    return found


def flowing(text: str | None) -> str:
    """Help text as one paragraph; the source breaks its lines."""
    return re.sub(r"\s+", " ", (text or "").partition("\f")[0]).strip()


def entry(path: str, command: Any, shared: set[str]) -> str:
    """Usage, help and options of a command. Lines shared by several commands are on the page
    once."""
    lines = parameters(command)
    usage = " ".join(
        [path, *(name for name, line in lines.items() if name[:2] != "[-" or line in shared)]
    )
    own = [line for line in lines.values() if line and line not in shared]
    return "\n\n".join([f"`{usage}`: {flowing(command.help)}"] + ["\n".join(own)] * bool(own))


def section(name: str, command: Any, shared: set[str]) -> str:
    """A command with its subcommands. Checks, benchmarks and experiments get one line each."""
    members = members_of(name, command)
    path = f"laissez {name}"
    if not members:
        parts = [entry(path, command, shared)]
    elif name in PROOFS:
        lines = [f"- `{path} {key}`: {flowing(one.help)}" for key, one in members.items()]
        parts = ["\n".join(lines)]
    else:
        parts = [entry(f"{path} {key}", one, shared) for key, one in members.items()]
    return "\n\n".join([f"### {path}", *parts])


def reference() -> str:
    top: Any = typer.main.get_command(app)
    shown = {name: one for name, one in top.commands.items() if not one.hidden}
    commands = {
        name: command_at(PLACES[name]) if name in PLACES else one for name, one in shown.items()
    }
    described = [
        one
        for name, command in commands.items()
        for one in members_of(name, command).values() or [command]
        if name not in PROOFS or not members_of(name, command)
    ]
    counts = Counter(line for one in described for line in parameters(one).values() if line)
    shared = {line for line, count in counts.items() if count > 1}
    panels = {"Parameters of several commands": ["\n".join(sorted(shared))]}
    for name, command in commands.items():
        panel = panels.setdefault(shown[name].rich_help_panel, [])
        panel.append(section(name, command, shared))
    return "\n\n".join("\n\n".join([f"## {panel}", *panels[panel]]) for panel in panels) + "\n"


def test_the_page_matches_the_program() -> None:
    written = PAGE.read_text().partition(BEGIN)[2]
    assert written == reference(), "run: make reference"


def test_every_command_of_the_help_is_on_the_page() -> None:
    shown = CliRunner().invoke(app, ["--help"]).output
    named = set(re.findall(r"^│ ([a-z][a-z-]*) ", shown, re.MULTILINE))
    assert {"quote", "serve", "check", "version"} <= named
    page = PAGE.read_text()
    assert [] == [one for one in sorted(named) if f"### laissez {one}\n" not in page]


if __name__ == "__main__":
    PAGE.write_text(f"{PAGE.read_text().partition(BEGIN)[0]}{BEGIN}{reference()}")
