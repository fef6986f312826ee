"""A start with a damaged record: where it continues, what it leaves untouched, and its reports."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import pytest

from laissez.journal import JournalError, Reader
from laissez.server.audit.digests import add_missing, logged
from laissez.server.audit.log import Broken, start
from laissez.server.audit.refusals import DAY_US
from laissez.server.audit.verify import verify
from laissez.server.beside import FILE, Beside, BesideFailed, reading
from laissez_check.disk.faulty import FaultyDisk
from support.audit_world import (
    BEGAN,
    DAYS,
    append,
    change,
    digests,
    identity_of,
    lines,
    made,
    make_digests,
    noted,
    remove,
    stored,
)

pytestmark = pytest.mark.once


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path / "data")


def last_digested(folder: Path) -> tuple[int, str]:
    """The line and the day after which the log continues."""
    identity = identity_of(folder)
    with reading(folder / FILE, identity) as connection:
        end = logged(connection, start(identity))
    return end.n, DAYS[(end.at - BEGAN) // DAY_US - 1] if end.at else ""


# -- digests


@pytest.mark.parametrize(
    "spoiled",
    [lambda line: line.replace(b'"lines":3', b'"lines":7'), lambda line: line[:-3] + b'g"}'],
)
@pytest.mark.parametrize("line", [1, 2, 3])
def test_an_altered_digest_stays_and_is_reported_with_its_place(
    folder: Path, line: int, spoiled: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    """A bug once trusted any readable digest."""
    change(folder, "digests", lambda rows: {**rows, line: spoiled(rows[line])})
    damaged = stored(folder, "digests")
    assert [] == make_digests(folder) and damaged == stored(folder, "digests")
    assert f"'line': {line}," in str([vars(record) for record in caplog.records])


def test_unreadable_digests_at_the_end_are_reported_and_remade(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = stored(folder, "digests")
    change(folder, "digests", lambda rows: {**rows, 3: b"nonsense", 4: rows[1][:-20]})
    assert [DAYS[2]] == make_digests(folder) and whole == stored(folder, "digests")
    told = [record.found for record in caplog.records]  # type: ignore[attr-defined]
    assert [repr(b"nonsense"), repr(whole[1][:-20])] == told


@pytest.mark.parametrize(
    ("found", "meant"),
    [
        (b'"seq":6', b'"seq":5'),
        (b'"refusals":9', b'"refusals":8'),
        (b'"journal":"', b'"journal":"0'),
    ],
)
def test_nothing_follows_from_a_false_last_digest(folder: Path, found: bytes, meant: bytes) -> None:
    change(folder, "digests", lambda rows: {**rows, 3: rows[3].replace(found, meant)})
    damaged = stored(folder, "digests")
    with pytest.raises(
        Broken, match="digests, line 3: the journal or the log of refusals is not what it says"
    ):
        make_digests(folder)
    assert damaged == stored(folder, "digests")


def test_the_log_continues_after_the_last_credible_digest(folder: Path) -> None:
    assert (9, DAYS[2]) == last_digested(folder)
    forged = stored(folder, "digests")[3].replace(b'"refusals":9', b'"refusals":8')
    change(folder, "digests", lambda rows: {**rows, 3: forged})
    assert (6, DAYS[1]) == last_digested(folder)
    change(folder, "digests", lambda rows: {1: b"nonsense", 2: rows[2]})
    # the digest before it is missing, and the log agrees
    assert (6, DAYS[1]) == last_digested(folder)
    remove(folder, 6)
    assert (0, "") == last_digested(folder)


def test_digests_that_contradict_the_journal_are_not_remade(folder: Path, tmp_path: Path) -> None:
    """Otherwise an attacker who changed the journal and all checksums only had to wait for a
    restart."""
    before, identity = stored(folder, "digests"), identity_of(folder)
    with (
        Reader.of(made(tmp_path / "other")) as reader,
        closing(Beside(folder / FILE, identity)) as beside,
        pytest.raises(Broken, match="none is added"),
    ):
        beside.transact(lambda c: add_missing(c, start(identity), reader, DAYS[3]))
    assert before == stored(folder, "digests")


def test_an_unreadable_file_is_a_problem_without_a_traceback(folder: Path) -> None:
    path = folder / FILE
    path.unlink()
    path.mkdir()
    assert [f"{path} cannot be read: disk I/O error"] == verify(folder).problems
    path.rmdir()
    path.write_bytes(b"no database at all, and long enough to be taken for one" * 100)
    assert [f"{path} cannot be read: file is not a database"] == verify(folder).problems


# -- the end of the log, where a start continues


def test_an_altered_line_since_the_last_digest_stays_and_is_reported(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A bug once compared nothing with its predecessor, so the log silently continued from it."""
    change(folder, "refusals", lambda rows: {**rows, 10: rows[10].replace(b"ann", b"bob")})
    found = verify(folder).problems
    assert ["refusals, line 10"] == [problem.split(": ")[0] for problem in found]
    assert 13 == append(folder, [noted(BEGAN + 3 * DAY_US + 9)]).n
    assert "is not what was written" in caplog.text and found == verify(folder).problems


@pytest.mark.parametrize("left", [b"", b'{"n":12,"at":"19', bytes(40), b'{"n":12}'])
def test_the_log_continues_after_an_unreadable_line(
    folder: Path, left: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    change(folder, "refusals", lambda rows: {**rows, 12: left})
    assert 13 == append(folder, [noted(BEGAN + 3 * DAY_US + 9)]).n
    assert 1 == caplog.text.count("is not what was written")
    assert ["refusals, line 12: it does not end with its chain"] == verify(folder).problems


def test_lines_of_another_log_are_reported_and_continued_from(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = stored(made(tmp_path / "other"), "refusals")
    change(folder, "refusals", lambda rows: {**rows, **{n: other[n] for n in (10, 11, 12)}})
    assert 12 == append(folder).n and 1 == caplog.text.count("is not what was written")
    assert ["refusals, line 10"] == [one.split(": ")[0] for one in verify(folder).problems]


def test_missing_lines_before_the_end_are_reported(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    change(folder, "digests", lambda rows: {})
    remove(folder, 7, 8, 9)
    assert 12 == append(folder).n
    reasons = [record.reason for record in caplog.records]  # type: ignore[attr-defined]
    assert ["lines 7 to 9 are missing before it"] == reasons


def test_the_largest_line_number_stops_only_the_log(folder: Path) -> None:
    change(folder, "refusals", lambda rows: {**rows, 2**63 - 1: rows[12]})
    with pytest.raises(OverflowError):
        append(folder, [noted(BEGAN + 4 * DAY_US)])
    assert not verify(folder).ok


# -- times


def test_times_do_not_fall_if_the_clock_is_behind_the_last_line(folder: Path) -> None:
    """Time continues from the end of the journal, which lacks later refusals."""
    append(folder, [noted(BEGAN), noted(BEGAN + 5 * DAY_US)])
    _, last, clamped, later = [line.at_us for line in lines(folder)][-4:]
    assert last == clamped and later == BEGAN + 5 * DAY_US


def test_times_do_not_fall_into_a_day_with_a_digest(folder: Path) -> None:
    remove(folder, 10, 11, 12)
    append(folder, [noted(BEGAN)])
    assert BEGAN + 3 * DAY_US == lines(folder)[-1].at_us and verify(folder).ok


# -- unsynced lines and digests


@pytest.mark.parametrize("seed", range(6))
def test_unsynced_lines_and_digests_are_synced_before_others_follow_them(
    tmp_path: Path, seed: int
) -> None:
    """A bug: the next process read them from the page cache and made a digest of them; then the
    power failed."""
    whole = made(tmp_path / "whole")
    change(whole, "digests", lambda rows: {})
    with FaultyDisk(tmp_path, Random(seed)) as disk:
        for fails in range(1, 12):
            folder = tmp_path / f"data{fails}"
            shutil.copytree(whole, folder)
            disk.fail_at = disk.operations + fails
            with suppress(OSError, JournalError, BesideFailed):
                append(folder, [noted(BEGAN + 3 * DAY_US + number) for number in range(10, 15)])
                make_digests(folder)
            disk.kill()
            disk.fail_at = None
            end = append(folder)
            make_digests(folder)
            known = digests(folder)
            disk.power_off()
            assert (end, known) == (append(folder), digests(folder))
            assert [] == verify(folder).problems
