"""A server with a fault on purpose, to see that the crash test finds it: `LAISSEZ_FAULT=early
python -m laissez_check.crashes.faulty_server serve`.

A check that never fails proves nothing. Each fault is one that a real mistake could make.
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
from laissez_check.crashes.busy_server import take_snapshots_by_commands
from laissez_check.simulated.service_bugs import ids_forgotten_at_start
from laissez_check.started_server import Entry

VARIABLE = "LAISSEZ_FAULT"
STORING_TAKES_S = 0.02


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


def entry_of(fault: str) -> Entry:
    """The server with that fault."""
    return Entry(("-m", "laissez_check.crashes.faulty_server"), {VARIABLE: fault})


if __name__ == "__main__":
    FAULTS[os.environ[VARIABLE]]()
    take_snapshots_by_commands()
    sys.argv[0] = "laissez"
    runpy.run_module("laissez.cli", run_name="__main__")
