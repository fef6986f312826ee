"""Verification, summaries and exports: reading everything without a lock."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from laissez.cli.journal import app, decoded_entries, summary
from laissez.exchange.commands import OPERATOR, SERVICE, Request
from laissez.journal import Document, Entry, Journal, JournalMissing, Reader, snapshots
from laissez.journal.verify import verify
from laissez.market import Market, Topology
from laissez.market.commands import SetFloor
from laissez.server.data_folder import Replaying
from support.journal_sum import GENESIS, Sum, begin, filed, filled, take_snapshot

pytestmark = pytest.mark.once


def test_a_journal_in_use_is_verified_with_its_snapshots(tmp_path: Path) -> None:
    filled(tmp_path)
    done: list[tuple[int, int]] = []
    with Journal.open(tmp_path) as journal:
        for seq in (0, 7, 8, 60):
            take_snapshot(journal, seq)
        report = verify(
            tmp_path, begin=begin, on_progress=lambda seq, last: done.append((seq, last))
        )
        assert (True, 60, 12, [0, 7, 8, 60]) == (
            report.ok,
            report.entries,
            report.groups,
            report.snapshots,
        )
        assert (1, 60, journal.head, journal.identity) == (
            report.first_at,
            report.last_at,
            report.head,
            report.identity,
        )
        with journal.reader() as reader:
            assert report.documents == 2 * len(filed(reader, "tens")) > 0
    assert (60, 60) == done[-1]


def test_an_empty_journal_is_verified(tmp_path: Path) -> None:
    Journal.create(tmp_path, GENESIS).close()
    report = verify(tmp_path, begin=begin)
    assert (True, 0, None) == (report.ok, report.entries, report.last_at)


def test_each_snapshot_that_differs_from_the_replayed_state_is_reported(tmp_path: Path) -> None:
    filled(tmp_path)
    with Reader.of(tmp_path) as reader:
        head = reader.chain_at(10)
        assert head
    snapshots.write(tmp_path, 10, head, b"4")
    snapshots.write(tmp_path, 20, bytes(32), b"4")
    snapshots.write(tmp_path, 30, bytes(32), b"4").write_bytes(b"")
    snapshots.write(tmp_path, 61, bytes(32), b"4")
    problems = verify(tmp_path, begin=begin).problems
    expected = (
        "not the state after entry 10",
        "belongs to another journal",
        "cut short",
        "the journal ends at 60: entries are missing",
    )
    assert [True] * 4 == [text in problem for text, problem in zip(expected, problems, strict=True)]


def test_damage_and_divergence_are_reported_with_their_place(tmp_path: Path) -> None:
    filled(tmp_path)
    assert ["entry 1 "] == [
        problem[:8] for problem in verify(tmp_path, begin=lambda genesis: Sum(0)).problems
    ]
    database = sqlite3.connect(tmp_path / "journal.db", isolation_level=None)
    database.execute("UPDATE groups SET chain = zeroblob(32) WHERE first = 31")
    database.close()
    report = verify(tmp_path, begin=begin)
    assert (30, ["entries 31 to 35"]) == (
        report.entries,
        [problem[:16] for problem in report.problems],
    )
    with pytest.raises(JournalMissing):
        verify(tmp_path / "none", begin=begin)


def test_entries_missing_from_the_end_are_reported(tmp_path: Path) -> None:
    """The rest is a valid journal that ends early. The mark makes a start refuse it."""
    filled(tmp_path)
    database = sqlite3.connect(tmp_path / "journal.db", isolation_level=None)
    database.execute("DELETE FROM documents WHERE seq > 50")
    database.execute("DELETE FROM groups WHERE first > 50")
    database.close()
    report = verify(tmp_path, begin=begin)
    assert (50, ["entries 51 to 60 of"]) == (
        report.entries,
        [problem[:19] for problem in report.problems],
    )


def test_a_falling_time_in_the_file_is_reported(tmp_path: Path) -> None:
    with Journal.create(tmp_path, GENESIS) as journal:
        machine = Sum(int(GENESIS))
        journal.append([machine.enter(9, 1)[0]])
        journal.last_at = 0
        journal.append([machine.enter(8, 1)[0]])
    assert ["entry 2: its time 8 lies before that of the entry before it, 9"] == verify(
        tmp_path, begin=begin
    ).problems


def test_a_summary_describes_the_journal(tmp_path: Path) -> None:
    filled(tmp_path)
    with Journal.open(tmp_path) as journal:
        take_snapshot(journal, 10)
        found = summary(tmp_path)
        assert (60, 60, journal.head.hex(), [10], 4) == (
            found["entries"],
            found["last_at"],
            found["head"],
            found["snapshots"],
            found["genesis_bytes"],
        )
    assert found["created_us"] > 0
    assert found["file_bytes"] > 4096


def market_journal(folder: Path) -> None:
    """Three rising floors, and a document filed with the last."""
    genesis = Market(Topology.of(["h100/gpu0"]), 10).snapshot()
    replaying = Replaying.begin(genesis)
    made = []
    for at in (1, 2, 3):
        asked = Request(OPERATOR, SERVICE, "", b"", SetFloor("h100", at))
        request = replaying.codec.pack_request(asked)
        made.append(Entry(at, request, replaying.apply(at, request)[0]))
    with Journal.create(folder, genesis) as journal:
        journal.append(made, [(2, Document("acme", b""))])


def test_a_range_of_entries_is_described_in_words(tmp_path: Path) -> None:
    market_journal(tmp_path)
    shown = list(decoded_entries(tmp_path, 2, 3))
    assert [(2, 2, []), (3, 3, ["acme"])] == [
        (row["seq"], row["at"], row["documents"]) for row in shown
    ]
    assert ("operator", "set_floor") == (
        shown[0]["entry"]["who"],
        shown[0]["entry"]["command"]["type"],
    )
    assert [2] == [row["seq"] for row in decoded_entries(tmp_path, 2, 2)]


def test_an_export_has_one_json_object_per_line(tmp_path: Path) -> None:
    market_journal(tmp_path)
    lines = [
        json.loads(line)
        for line in CliRunner().invoke(app, ["export", str(tmp_path)]).stdout.splitlines()
    ]
    assert [1, 2, 3] == [line["seq"] for line in lines]
    assert "floor.set" == lines[0]["entry"]["events"][0]["event"]["type"]
