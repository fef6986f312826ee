"""`laissez version`: what a report of a problem has to say."""

from __future__ import annotations

import json
import platform

import typer

import laissez
from laissez.cli.output import Format


def show_version(output: Format) -> None:
    facts = {
        "version": laissez.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "market": laissez.market_form(),
    }
    if output is Format.JSON:
        typer.echo(json.dumps(facts))
    else:
        typer.echo(f"laissez {facts['version']} on {facts['python']}, market {facts['market']}")
