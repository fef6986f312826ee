"""A server that takes a snapshot every few commands, as no setting allows, so that kills meet them:
`python -m laissez_check.crashes.busy_server ...`."""

from __future__ import annotations

import runpy
import sys

from laissez.server.retention import Snapshotter
from laissez_check.started_server import Entry

COMMANDS = 150  # between two snapshots
ENTRY = Entry(("-m", "laissez_check.crashes.busy_server"))


def take_snapshots_by_commands() -> None:
    Snapshotter._is_due = (  # type: ignore[method-assign]
        lambda self: self._gateway.position - self._last >= COMMANDS
    )


if __name__ == "__main__":
    take_snapshots_by_commands()
    sys.argv[0] = "laissez"
    runpy.run_module("laissez.cli", run_name="__main__")
