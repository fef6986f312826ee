"""Groups of commands, and the options that say how a command prints: as a table for people or as
JSON for programs (`-o json`), once or repeatedly (`--watch`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Any, TypeAlias

import typer

DAY_S = 86_400
WATCH_SECONDS = "2"
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+")


def opt(about: str, *names: str, **settings: Any) -> Any:
    """An option of a command; its name follows from the parameter unless names are given."""
    return typer.Option(*names, help=about, **settings)


def arg(about: str, **settings: Any) -> Any:
    """An argument of a command."""
    return typer.Argument(help=about, **settings)


class Format(StrEnum):
    """TABLE means text for people: a table, or lines."""

    TABLE = "table"
    JSON = "json"


FormatOption: TypeAlias = Annotated[
    Format, opt("How to print the answer; --json is short for -o json.", "--output", "-o")
]
WatchOption: TypeAlias = Annotated[
    float | None,
    opt(
        f"Repeat every {WATCH_SECONDS} (or SECONDS) seconds until Ctrl-C.",
        "--watch",
        "-w",
        metavar="[SECONDS]",
        min=0.1,
        max=DAY_S,
    ),
]


def group(about: str) -> typer.Typer:
    return typer.Typer(help=about, no_args_is_help=True, add_completion=False)


def spell_out(arguments: Sequence[str]) -> list[str]:
    """Expand the short forms that Typer does not know: `--json` is `--output json`, and a bare
    `--watch` gets its number of seconds."""
    full = []
    for argument, following in pairwise([*arguments, ""]):
        full += ["--output", Format.JSON.value] if argument == "--json" else [argument]
        if argument in ("--watch", "-w") and _NUMBER.fullmatch(following) is None:
            full.append(WATCH_SECONDS)
    return full
