"""A start over a record that is damaged: what it goes on from, what it puts aside or leaves, and
that it says so."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from audit_world import BEGAN, DAYS, change, made, noted
from laissez.journal import JournalError, Reader
from laissez.server.audit.digests import FILE, DigestFile
from laissez.server.audit.log import (
    CUT,
    DAY_US,
    FOLDER,
    Broken,
    Refusal,
    RefusalFiles,
    path_of,
    read,
    start,
)
from laissez.server.audit.verify import verify
from laissez_check.disk.faulty import FaultyDisk

pytestmark = pytest.mark.once


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path / "data")


def digests(folder: Path) -> DigestFile:
    with Reader.of(folder) as reader:
        return DigestFile(folder / FOLDER, start(reader.identity))


def brought_up(folder: Path) -> list[str]:
    with Reader.of(folder) as reader:
        return [one.date for one in digests(folder).bring_up(reader, DAYS[3])]


# -- digests


@pytest.mark.parametrize(
    "spoiled",
    [lambda line: line.replace(b'"lines":3', b'"lines":7'), lambda line: line[:-4] + b'g"}\n'],
)
@pytest.mark.parametrize("line", [0, 1, 2])
def test_a_digest_that_is_not_what_was_written_stays_and_is_told_with_its_place(
    folder: Path, line: int, spoiled: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    """It was believed as long as it could be read."""
    path = folder / FOLDER / FILE
    change(path, lambda lines: [*lines[:line], spoiled(lines[line]), *lines[line + 1 :]])
    damaged = path.read_bytes()
    assert [] == brought_up(folder) and damaged == path.read_bytes()
    assert f"{FILE}, line {line + 1}: " in str([vars(record) for record in caplog.records])


@pytest.mark.parametrize(
    ("found", "meant"),
    [
        (b'"seq":6', b'"seq":5'),
        (b'"refusals":9', b'"refusals":8'),
        (b'"journal":"', b'"journal":"0'),
    ],
)
def test_from_a_last_digest_that_is_not_true_nothing_follows(
    folder: Path, found: bytes, meant: bytes
) -> None:
    path = folder / FOLDER / FILE
    change(path, lambda lines: [*lines[:2], lines[2].replace(found, meant)])
    damaged = path.read_bytes()
    with pytest.raises(
        Broken, match=f"{FILE}, line 3: the journal or the log of refusals is not what it says"
    ):
        brought_up(folder)
    assert damaged == path.read_bytes()


def test_the_log_goes_on_after_the_last_digest_that_is_credible(folder: Path) -> None:
    whole = digests(folder).logged()
    change(
        folder / FOLDER / FILE,
        lambda lines: [*lines[:2], lines[2].replace(b'"refusals":9', b'"refusals":8')],
    )
    assert (9, DAYS[2]) == (whole[0], whole[2]) and (6, DAYS[1]) == digests(folder).logged()[::2]
    change(folder / FOLDER / FILE, lambda lines: [b"nonsense\n", lines[1]])
    # what it follows is gone, and the log says the same
    assert (6, DAYS[1]) == digests(folder).logged()[::2]
    path_of(folder / FOLDER, DAYS[1]).unlink()
    assert (0, "") == digests(folder).logged()[::2]


def test_digests_that_the_journal_does_not_fit_are_not_made_to_fit_it(
    folder: Path, tmp_path: Path
) -> None:
    """Whoever changed the journal and all its checksums would else only have to wait for a
    restart."""
    before = (folder / FOLDER / FILE).read_bytes()
    with (
        Reader.of(made(tmp_path / "other")) as reader,
        pytest.raises(Broken, match="none is added"),
    ):
        digests(folder).bring_up(reader, DAYS[3])
    assert before == (folder / FOLDER / FILE).read_bytes()


@pytest.mark.parametrize("name", [FILE, path_of(Path(), DAYS[3]).name])
def test_what_cannot_be_read_at_all_is_a_problem_and_no_traceback(folder: Path, name: str) -> None:
    (folder / FOLDER / name).unlink()
    (folder / FOLDER / name).mkdir()
    assert [f"{name}: it cannot be read: Is a directory"] == verify(folder).problems


# -- the end of the log, where a start goes on


def go_on(folder: Path) -> RefusalFiles:
    n, chain, over = digests(folder).logged()
    return RefusalFiles(folder / FOLDER, chain, BEGAN + 3 * DAY_US + 9, n, over)


def test_an_altered_line_at_the_beginning_of_the_last_file_is_cut_off_and_told(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing was compared with what comes before it, so it was gone on from."""
    path = path_of(folder / FOLDER, DAYS[3])
    change(path, lambda lines: [lines[0].replace(b"ann", b"bob")])
    assert 10 == go_on(folder).n and "was cut off" in caplog.text
    assert CUT == read(path.read_bytes().splitlines()[0], Refusal, None).code and verify(folder).ok


def test_two_files_that_are_cut_off_at_one_start_are_both_told_of(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The line about the first was written into the second before that was cut, and lost with its
    number."""
    (folder / FOLDER / FILE).unlink()
    change(path_of(folder / FOLDER, DAYS[2]), lambda lines: [*lines[:2], b"nonsense\n"])
    change(path_of(folder / FOLDER, DAYS[3]), lambda lines: [b"nonsense\n"])
    assert 10 == go_on(folder).n and 2 == caplog.text.count("was cut off") and verify(folder).ok
    assert [(9, CUT), (10, CUT)] == [
        ((line := read(one, Refusal, None)).n, line.code)
        for one in path_of(folder / FOLDER, DAYS[3]).read_bytes().splitlines()
    ]


def test_a_file_of_another_day_or_another_log_is_not_gone_on_from(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, last = (path_of(folder / FOLDER, DAYS[day]) for day in (0, 3))
    last.write_bytes(first.read_bytes())
    assert 10 == go_on(folder).n and 1 == caplog.text.count("was cut off")
    last.write_bytes(path_of(made(tmp_path / "other") / FOLDER, DAYS[3]).read_bytes())
    assert 10 == go_on(folder).n and 2 == caplog.text.count("was cut off")


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_line_of_which_nobody_knows_what_came_before_it_is_gone_on_from_and_that_is_told(
    folder: Path, is_damaged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """To put it aside would lose lines that may be right, for the sake of those that are gone or
    damaged."""
    (folder / FOLDER / FILE).unlink()
    before = path_of(folder / FOLDER, DAYS[2])
    if is_damaged:
        change(before, lambda lines: [*lines[:2], b"nonsense\n"])
    else:
        before.unlink()
    assert 12 == go_on(folder).n and "before this one are gone, or damaged" in caplog.text


def test_an_empty_file_of_a_day_is_passed_over(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As it is left when all that it had was cut off."""
    (folder / FOLDER / FILE).unlink()
    path_of(folder / FOLDER, DAYS[3]).write_bytes(b"")
    go_on(folder).append([noted(BEGAN + 4 * DAY_US)])
    assert 10 == go_on(folder).n and "" == caplog.text and verify(folder).ok


# -- what is not on the disk yet


@pytest.mark.parametrize("seed", range(6))
def test_lines_and_digests_that_the_disk_failed_to_keep_are_kept_before_anything_follows_from_them(
    tmp_path: Path, seed: int
) -> None:
    """The next process found them in memory and made a digest of them; then the power failed."""
    whole = made(tmp_path / "whole")
    with FaultyDisk(tmp_path, Random(seed)) as disk:
        for fails in range(1, 12):
            folder = tmp_path / f"data{fails}"
            shutil.copytree(whole, folder)
            (folder / FOLDER / FILE).unlink()
            disk.fail_at = disk.operations + fails
            with suppress(OSError, JournalError):
                go_on(folder).append(
                    [noted(BEGAN + 3 * DAY_US + number) for number in range(10, 15)]
                )
                brought_up(folder)
            disk.kill()
            disk.fail_at = None
            log = go_on(folder)
            brought_up(folder)
            known = digests(folder).credible()
            disk.power_off()
            assert (log.n, log.chain, known) == (
                (again := go_on(folder)).n,
                again.chain,
                digests(folder).credible(),
            )
            assert [] == verify(folder).problems
