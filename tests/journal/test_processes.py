"""The journal and real processes: one writer at a time, killed at any moment, out of space."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from laissez.journal import Journal, JournalDamaged, JournalError, JournalLocked, Reader
from support import journal_sum
from support.journal_sum import GENESIS, append, recovered

pytestmark = pytest.mark.once


@contextmanager
def adding(folder: Path, *limit: str) -> Iterator[subprocess.Popen[str]]:
    """A process that adds ones for ever and prints durable entries. It is killed at the end of the
    block."""
    process = subprocess.Popen(
        [sys.executable, journal_sum.__file__, str(folder), *limit],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def said(process: subprocess.Popen[str]) -> Iterator[list[str]]:
    assert process.stdout
    for line in process.stdout:
        if line.endswith("\n"):
            yield line.split()


def killed(folder: Path, after: int) -> int:
    """Let a process add, and kill it once `after` more entries are durable; returns the last
    reported one."""
    with adding(folder) as process:
        lines = said(process)
        durable = stop = int(next(lines)[1])
        stop += after
        while durable < stop:
            durable = int(next(lines)[1])
        process.send_signal(signal.SIGKILL)
        for _, seq in lines:
            durable = int(seq)
        return durable


def test_a_second_process_is_refused_with_the_id_of_the_first(tmp_path: Path) -> None:
    Journal.create(tmp_path, GENESIS).close()
    with adding(tmp_path) as process:
        next(said(process))
        with pytest.raises(
            JournalLocked, match=rf"in use by process {process.pid}\. .* stop that one first"
        ):
            Journal.open(tmp_path)
        with Reader.of(tmp_path) as reader:
            assert reader.genesis == GENESIS, "reading needs no lock"
    Journal.open(tmp_path).close()


def test_a_second_writer_in_the_same_process_is_refused_too(tmp_path: Path) -> None:
    with (
        Journal.create(tmp_path, GENESIS),
        pytest.raises(JournalLocked, match=f"process {os.getpid()}"),
    ):
        Journal.open(tmp_path)
    Journal.open(tmp_path).close()


def test_a_program_started_by_the_writer_does_not_keep_the_lock(tmp_path: Path) -> None:
    with Journal.create(tmp_path, GENESIS):
        child = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False
        )
    try:
        Journal.open(tmp_path).close()
    finally:
        child.communicate(b"\n")


def test_two_writers_past_the_lock_cannot_fork_the_history(tmp_path: Path) -> None:
    machine = journal_sum.filled(tmp_path)
    with Journal.open(tmp_path) as first:
        (tmp_path / "journal.lock").unlink()
        with Journal.open(tmp_path) as second:
            append(second, machine, [1, 2])
            with pytest.raises(JournalError, match="UNIQUE"):
                append(first, machine, [1])
    with Journal.open(tmp_path) as journal:
        assert 62 == journal.last


def test_a_killed_writer_loses_nothing_that_it_reported_durable(tmp_path: Path) -> None:
    Journal.create(tmp_path, GENESIS).close()
    for after in (1, 60, 7, 300):
        durable = killed(tmp_path, after)
        with Journal.open(tmp_path) as journal:
            assert durable <= journal.last
            found = recovered(journal)
            assert (int(GENESIS) + journal.last, []) == (found.machine.total, found.warnings)


def test_a_write_ahead_log_damaged_or_lost_after_a_kill_is_noticed(tmp_path: Path) -> None:
    Journal.create(tmp_path / "j", GENESIS).close()
    durable = killed(tmp_path / "j", 40)
    shutil.rmtree(tmp_path / "j" / "snapshots", ignore_errors=True)
    size = (tmp_path / "j" / "journal.db-wal").stat().st_size
    refused = 0
    for offset in [None, *range(60), *range(60, size, size // 60)]:
        copy = tmp_path / "copy"
        shutil.copytree(tmp_path / "j", copy)
        (copy / "journal.db-shm").unlink()
        log = copy / "journal.db-wal"
        data = bytearray(log.read_bytes())
        if offset is None:
            log.unlink()
        else:
            data[offset] ^= 0xFF
            log.write_bytes(data)
        try:
            with Journal.open(copy) as journal:
                assert durable <= journal.last, f"byte {offset}"
                assert int(GENESIS) + journal.last == recovered(journal).machine.total
        except JournalDamaged as error:
            refused += 1
            missing = re.match(r"entries \d+ to (\d+) of .* are missing", str(error))
            assert missing
            assert durable <= int(missing[1])
            if offset is not None:
                assert bytes(data) == log.read_bytes(), "what is left is left alone"
        shutil.rmtree(copy)
    assert refused > 40


def test_a_full_disk_stops_the_writer_and_keeps_acknowledged_entries(tmp_path: Path) -> None:
    Journal.create(tmp_path, GENESIS).close()
    for limit in ("100000", "150000"):
        with adding(tmp_path, limit) as process:
            words = list(said(process))
        assert ["recovered", "failed", "refused"] == [
            word[0] for word in words if word[0] != "durable"
        ]
        durable = max(int(word[1]) for word in words if word[0] in ("durable", "recovered"))
        with Journal.open(tmp_path) as journal:
            assert durable <= journal.last
            assert int(GENESIS) + journal.last == recovered(journal).machine.total
