"""Data folders to be damaged, as a kill or a stop leaves them. The real code makes them, the same
to the byte each time."""

from __future__ import annotations

import random
import shutil
from functools import cache
from pathlib import Path

import msgspec

from laissez.journal import Journal, wal
from laissez.journal.disk import make_folder, write_atomically
from laissez.server.first_start import KEYS
from laissez.units import HOUR_US
from laissez_check.damage.beside import Beside, Kept
from laissez_check.damage.market import AtWork, Truth, found, opened
from laissez_check.disk.faulty import FaultyDisk
from laissez_check.patches import replaced
from laissez_check.scratch import scratch

SAMPLES = 12
GROUPS = (3, 4)  # before and after the middle of a sample's life
DAY_US = 24 * HOUR_US

Files = dict[str, bytes]


class Sample(msgspec.Struct, frozen=True):
    files: Files
    older: dict[str, list[bytes]]  # earlier contents, the oldest first
    truth: Truth
    beside: Kept


@cache
def sample(number: int) -> Sample:
    """By number: everything in the log; stopped in the end; the log restarted over its older
    content, by frequent checkpoints; stopped and started again."""
    pages = wal.CHECKPOINT_PAGES if number % 4 != 2 else 6
    with (
        scratch() as root,
        FaultyDisk(root, random.Random(number)) as disk,
        replaced([(wal, "CHECKPOINT_PAGES", pages)]),
    ):
        life = _Life(root / "data", number)
        for groups, ends in zip(GROUPS, (number % 4 == 3, number % 4 == 1), strict=True):
            journal = life.work(groups)
            if ends:
                journal.close()
                life.beside.close()
            disk.kill()
            journal.close()  # the process is dead, so this changes nothing
            life.beside.close()
        return Sample(read_files(root / "data"), life.older, life.truth, life.beside.kept)


class _Life:
    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._draw = random.Random(number)
        self.truth = Truth(self._draw.randbytes(16))
        found(folder, self.truth)
        self.older: dict[str, list[bytes]] = {}
        make_folder(folder / KEYS)
        write_atomically(folder / KEYS / "operator.key", b"lz_for_nobody\n")
        self.beside = Beside(folder, self.truth.identity, self._draw)

    def work(self, groups: int) -> Journal:
        """Leaves the journal open."""
        market = AtWork(opened(self._folder), self.truth, self._draw)
        for number in range(groups):
            market.group(self._draw.choice((1, 2, 5, 9)), after_us=DAY_US * (number % 2))
            if number % 3 == 1:
                market.snapshot()
            self.beside.go_on(market)
            self._remember()
        return market.journal

    def _remember(self) -> None:
        for name, content in read_files(self._folder).items():
            versions = self.older.setdefault(name, [])
            if not versions or versions[-1] != content:
                versions.append(content)


def read_files(folder: Path) -> Files:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write_files(folder: Path, files: dict[str, bytes | None]) -> None:
    """None makes a folder in the place of a file."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content)
