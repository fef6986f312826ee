"""State beside the journal: a damaged file is set aside and never stops a start."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from laissez.server.beside import FILE, Beside, BesideFailed, Damaged, seal, unseal
from laissez_check.disk.faulty import FaultyDisk

pytestmark = pytest.mark.once

IDENTITY = b"i" * 16
ADD = "INSERT INTO signins VALUES (?, ?)"


def add(digest: bytes, body: bytes = b"body") -> Callable[[sqlite3.Connection], object]:
    return lambda connection: connection.execute(ADD, (digest, body))


def digests(beside: Beside) -> list[bytes]:
    rows = beside.transact(lambda c: c.execute("SELECT digest FROM signins").fetchall())
    return [bytes(digest) for (digest,) in rows]


def made(folder: Path, rows: int = 1) -> Path:
    beside = Beside(folder / FILE, IDENTITY)
    for n in range(rows):
        beside.transact(add(b"%d" % n, bytes(1000)))
    beside.close()
    return folder / FILE


def no_database(path: Path) -> None:
    path.write_bytes(b"no database at all, and long enough to be taken for one" * 100)


def garbled_pages(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + Random(1).randbytes(len(content) - 4096))


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4096])


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def another_application(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA application_id = 7")
    connection.close()


def no_tables(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TABLE meta")
    connection.close()


@pytest.mark.parametrize(
    "damage", [no_database, garbled_pages, cut_short, a_folder, another_application, no_tables]
)
def test_a_damaged_file_is_set_aside_and_replaced(
    tmp_path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    path = made(tmp_path, 20)
    damage(path)
    beside = Beside(path, IDENTITY)
    assert "is damaged and was set aside" in caplog.text
    assert [] == digests(beside)
    beside.transact(add(b"new"))
    beside.close()
    assert [b"new"] == digests(Beside(path, IDENTITY))
    assert (tmp_path / f"{FILE}.damaged-1").exists()


def test_a_file_of_another_journal_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = made(tmp_path)
    assert [] == digests(Beside(path, b"another journal!"))
    assert "is damaged and was set aside" in caplog.text
    assert [b"0"] == digests(Beside(path.with_name(f"{FILE}.damaged-1"), IDENTITY))


def test_each_file_set_aside_has_its_own_name(tmp_path: Path) -> None:
    for _ in range(2):
        no_database(made(tmp_path))
        Beside(tmp_path / FILE, IDENTITY).close()
    assert {FILE, f"{FILE}.damaged-1", f"{FILE}.damaged-2"} == {
        one.name for one in tmp_path.iterdir()
    }


def test_a_file_that_cannot_be_opened_stays_and_is_retried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made(tmp_path)
    with FaultyDisk(tmp_path, Random(1)) as disk:
        disk.fail_at, disk.fail_forever = 1, True
        beside = Beside(tmp_path / FILE, IDENTITY)
        with pytest.raises(BesideFailed):
            beside.transact(add(b"1"))
        disk.fail_at = None
        beside.transact(add(b"1"))
        assert [b"0", b"1"] == digests(beside)
        beside.close()
    assert "the server goes on without it" in caplog.text
    assert not list(tmp_path.glob("*.damaged*"))


@pytest.mark.parametrize("seed", range(10))
def test_written_rows_survive_a_power_failure(tmp_path: Path, seed: int) -> None:
    with FaultyDisk(tmp_path, Random(seed)) as disk:
        written: list[bytes] = []
        for life in range(3):
            beside = Beside(tmp_path / FILE, IDENTITY)
            for n in range(4):
                if n == 2:
                    disk.crash_at = disk.operations + Random(seed + life).randint(1, 6)
                try:
                    beside.transact(add(b"%d %d" % (life, n)))
                except BesideFailed:
                    break
                written.append(b"%d %d" % (life, n))
            disk.crashed = True
            beside.close()
            disk.power_off()
            found = digests(Beside(tmp_path / FILE, IDENTITY))
            # a failed one may be there, too
            assert set(written) <= set(found) and len(found) <= len(written) + 1
            written = found
    assert not list(tmp_path.glob("*.damaged*"))


def test_a_transaction_that_fails_changes_nothing(tmp_path: Path) -> None:
    beside = Beside(tmp_path / FILE, IDENTITY)

    def twice(connection: sqlite3.Connection) -> None:
        for _ in range(2):
            connection.execute(ADD, (b"same", b"body"))

    with pytest.raises(BesideFailed):
        beside.transact(twice)
    with pytest.raises(ZeroDivisionError):
        beside.transact(lambda connection: (connection.execute(ADD, (b"x", b"")), 1 // 0))
    assert [] == digests(beside)


def test_work_continues_in_its_thread_after_a_cancellation(tmp_path: Path) -> None:
    beside = Beside(tmp_path / FILE, IDENTITY)
    threads: list[str] = []
    may_go_on = threading.Event()

    def slowly(connection: sqlite3.Connection) -> None:
        assert may_go_on.wait(10)
        threads.append(threading.current_thread().name)
        connection.execute(ADD, (b"1", b""))

    async def story() -> None:
        task = asyncio.create_task(beside.run(slowly))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        may_go_on.set()
        assert [b"1"] == await beside.run(
            lambda c: [bytes(d) for (d,) in c.execute("SELECT digest FROM signins")]
        )

    asyncio.run(story())
    assert ["beside_0"] == threads
    beside.close()


def test_a_damaged_renamed_or_foreign_row_is_ignored() -> None:
    """One changed digit of a cursor would make a webhook skip events."""
    stored = seal(IDENTITY, "cursor whk_1", b"12")
    assert b"12" == unseal(IDENTITY, "cursor whk_1", stored)
    for identity, name, found in (
        (IDENTITY, "cursor whk_1", stored.replace(b"12", b"17")),
        (IDENTITY, "cursor whk_1", stored[:-1]),
        (IDENTITY, "cursor whk_2", stored),
        (b"another journal", "cursor whk_1", stored),
        (IDENTITY, "cursor whk_1", b""),
    ):
        with pytest.raises(Damaged):
            unseal(identity, name, found)
