"""Commands that run until they are stopped: what they say as they go, one line each, and how Ctrl-C
ends them in good order."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Callable

import typer

from laissez.cli.output import Format

WHAT_WIDTH = 14


def teller(output: Format) -> Callable[..., None]:
    """A function that prints what happened, with its facts."""

    def tell(what: str, **facts: str) -> None:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        if output is Format.JSON:
            typer.echo(json.dumps({"at": at, "what": what, **facts}))
        else:
            typer.echo(
                f"{at}  {what.replace('_', ' '):<{WHAT_WIDTH}} "
                f" {'  '.join(f'{name}={fact}' for name, fact in facts.items())}".rstrip()
            )

    return tell


def stop_on_signals(stop: Callable[[], None]) -> None:
    """Call `stop` where a signal would otherwise end the process at once."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
