"""How commands print: for people, or as JSON for programs (`-o json`)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


FormatOption: TypeAlias = Annotated[Format, typer.Option("--output", "-o", help="How to print the answer.")]
