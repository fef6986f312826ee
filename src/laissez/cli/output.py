"""How commands print: a table for people, or JSON for programs (`-o json`); once, or again and
again (`--watch`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, TypeAlias

import typer

DAY_S = 86_400


class Format(StrEnum):
    """What is no list is printed as lines of text where a table would make it harder to read."""

    TABLE = "table"
    JSON = "json"


FormatOption: TypeAlias = Annotated[
    Format, typer.Option("--output", "-o", help="How to print the answer.")
]
JsonFlag: TypeAlias = Annotated[bool, typer.Option("--json", help="The same as -o json.")]
WatchOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--watch",
        "-w",
        metavar="[SECONDS]",
        min=0.1,
        max=DAY_S,
        help="Show it again every so many seconds (2 unless given) until Ctrl-C.",
    ),
]

WATCH_SECONDS = "2"
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+")


def with_seconds(arguments: Sequence[str]) -> list[str]:
    """Give a bare `--watch` its number: Typer knows no options whose value may be left out."""
    filled = []
    for argument, following in pairwise([*arguments, ""]):
        filled.append(argument)
        if argument in ("--watch", "-w") and _NUMBER.fullmatch(following) is None:
            filled.append(WATCH_SECONDS)
    return filled
