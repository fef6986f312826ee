"""Failed snapshots are retried: a temporary shortage does not stop them for good."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from pathlib import Path
from typing import Any, NoReturn

import pytest

from laissez.server import retention
from laissez.server.retention import Snapshotter
from laissez.server.settings import Journal as JournalSettings
from support.live_world import eventually
from support.service_world import World, with_service

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def no_files() -> NoReturn:
    raise OSError(24, "Too many open files")


def died(*_: Any) -> NoReturn:
    os._exit(9)


@pytest.mark.parametrize(
    "fault",
    [
        "no files for the line",
        "no files for the journal",
        "the copy is killed before it hears its head",
    ],
)
def test_snapshots_continue_after_a_failed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    monkeypatch.setattr(retention, "SNAPSHOT_LOOK_S", 0.001)

    async def story(world: World) -> None:
        journal = world.gateway._journal
        taker = Snapshotter(world.gateway, journal, JournalSettings(snapshot_every_s=0))
        reader = journal.reader

        def late_reader() -> Any:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)  # the copy has ended
            return reader()

        with monkeypatch.context() as patched:
            if fault == "no files for the line":
                patched.setattr(socket, "socketpair", no_files)
            elif fault == "no files for the journal":
                patched.setattr(journal, "reader", no_files)
            else:
                patched.setattr(retention, "_wait_and_store", died)
                patched.setattr(journal, "reader", late_reader)
            running = asyncio.create_task(taker.run())
            await eventually(lambda: retention.NOT_WRITTEN in caplog.text or running.done())
        assert not running.done() and 0 == taker.taken
        await world.place("ann", "h100", "1")
        await eventually(lambda: taker.taken > 0 or running.done())
        running.cancel()
        assert 1 == taker.taken

    with caplog.at_level(logging.ERROR):
        with_service(tmp_path / "data", story)
