"""The server of a crash test: it takes a snapshot every few commands, as no setting allows, so that
kills meet them. It has a fault on purpose if `LAISSEZ_FAULT` names one, to see it found.

A check that never fails proves nothing. Each fault is one that a real mistake could make.
`python -m laissez_check.crashes.served serve`.
"""

from __future__ import annotations

import os
import runpy
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from laissez.journal import Document, GroupCommit, Journal, recovery
from laissez.journal import Entry as Stored
from laissez.journal.format import SEQ_MAX
from laissez.server import data_folder
from laissez.server.retention import Snapshotter
from laissez_check.simulated.service_bugs import ids_forgotten_at_start
from laissez_check.started_server import Entry

COMMANDS = 150  # between two snapshots
VARIABLE = "LAISSEZ_FAULT"
STORING_TAKES_S = 0.02


def take_snapshots_by_commands() -> None:
    Snapshotter._is_due = (  # type: ignore[method-assign]
        lambda self: self._gateway.position - self._last >= COMMANDS
    )


def early() -> None:
    """Commands are reported durable when they are handed over, and stored a little later."""
    put, store = GroupCommit.put, GroupCommit._store_group

    def put_and_report(self: GroupCommit, entry: Stored, documents: Sequence[Document] = ()) -> int:
        seq = put(self, entry, documents)
        self._on_durable(seq)
        return seq

    def store_late(self: GroupCommit) -> None:
        time.sleep(STORING_TAKES_S)
        store(self)

    GroupCommit.put = put_and_report  # type: ignore[method-assign,assignment]
    GroupCommit._store_group = store_late  # type: ignore[method-assign,assignment]


def forgetful() -> None:
    """A start does not learn which ids were used."""
    (bug,) = ids_forgotten_at_start()
    setattr(*bug)


def behind() -> None:
    """A start leaves out the last group of the journal."""
    recover, replay = recovery.recover, recovery.replay

    def recover_less(journal: Journal, **more: Any) -> Any:
        def replay_less(machine: Any, group: Any, after: int = 0, until: int = SEQ_MAX) -> None:
            if group.last < journal.last:
                replay(machine, group, after, until)

        recovery.replay = replay_less
        return recover(journal, **more)

    data_folder.recover = recover_less  # type: ignore[attr-defined]


FAULTS: dict[str, Callable[[], None]] = {"early": early, "forgetful": forgetful, "behind": behind}


def entry_of(fault: str = "") -> Entry:
    """How to start it, with a fault or without."""
    return Entry(("-m", "laissez_check.crashes.served"), {VARIABLE: fault})


if __name__ == "__main__":
    fault = os.environ[VARIABLE]
    if fault:
        FAULTS[fault]()
    take_snapshots_by_commands()
    sys.argv[0] = "laissez"
    runpy.run_module("laissez.cli", run_name="__main__")
