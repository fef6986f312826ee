"""A market at work on a disk with faults: crashes, power failures, I/O errors once and for ever, no room; also while it is founded, recovers or takes
a snapshot. A journal has some lives, one after the other; in each all that was ever acknowledged must be there."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

from laissez.check.crash_finding import Finding
from laissez.check.damage_market import AtWork, Truth, compare, found, opened
from laissez.check.damage_samples import checkpoints_after
from laissez.check.faulty_disk import FaultyDisk
from laissez.journal import Entry, JournalError, JournalFailed
from laissez.service.founding import is_founded

FAULTS = ("killed", "power failure", "error once", "error for ever", "disk full", "nothing can be written")
LIVES = 3
GROUPS_MAX = 5
SOON, LATER = 12, 70  # operations: about those of an opening, and of a life


class Run:
    def __init__(self, root: Path, draw: random.Random) -> None:
        self.folder = root / "new" / "data"  # neither is there yet
        self.fault = draw.choice(FAULTS)
        self.truth = Truth(draw.randbytes(16))
        self._draw = draw
        self._disk = FaultyDisk(root, draw)
        self._is_known = False  # somebody was told that this market is there

    def play(self) -> None:
        """Leaves the folder as the last fault left it."""
        with self._disk, checkpoints_after(self._draw.choice((2, 4, 8, 1_000))):
            for _ in range(LIVES):
                self._place_fault()
                self._live()
                self._die()
            self._found_if_new()

    def _place_fault(self) -> None:
        disk, at = self._disk, self._disk.operations + self._draw.randrange(1, self._draw.choice((SOON, LATER)))
        if self.fault in ("killed", "power failure"):
            disk.crash_at = at
        elif self.fault == "disk full":
            disk.room = self._draw.choice((0, self._draw.randrange(60_000)))
        else:
            disk.fail_at = disk.operations + 1 if self.fault == "nothing can be written" else at
            disk.fail_forever = self.fault != "error once"

    def _live(self) -> None:
        """Work until the fault, or until it is stopped."""
        try:
            market = self._opened()
        except JournalError:
            return
        try:
            self._work(market)
        except JournalFailed:
            self._try_once_more(market)
        if self._disk.crashed or self._draw.random() < 0.3:
            with suppress(OSError):
                market.journal.close()

    def _opened(self) -> AtWork:
        self._found_if_new()
        market = opened(self.folder)
        try:
            compare(market, self.truth)
        except BaseException:
            market.journal.close()
            raise
        self._is_known = True
        self.truth.acknowledged = market.journal.last  # from now on whoever asks is told
        return AtWork(market, self.truth, self._draw)

    def _found_if_new(self) -> None:
        """Cut short, it is done again, as the first start of a server does."""
        if is_founded(self.folder):
            return
        if self._is_known:
            raise Finding("the whole journal is gone")
        found(self.folder, self.truth)

    def _work(self, market: AtWork) -> None:
        for _ in range(self._draw.randrange(GROUPS_MAX + 1)):
            market.group(self._draw.choice((1, 2, 5)))
            if self._draw.random() < 0.3:
                with suppress(OSError):  # nobody needs it
                    market.snapshot()

    def _try_once_more(self, market: AtWork) -> None:
        """After a failed write nothing is taken, although the disk may be well again."""
        self._mend()
        with suppress(JournalFailed):
            market.journal.append([Entry(market.journal.last_at, b"", b"")])
            raise Finding("the journal took an entry after a failed write")

    def _die(self) -> None:
        self._mend()
        if self.fault == "power failure" or (self.fault != "killed" and self._draw.random() < 0.5):
            self._disk.power_off()
        else:
            self._disk.kill()

    def _mend(self) -> None:
        self._disk.fail_at = self._disk.room = None
