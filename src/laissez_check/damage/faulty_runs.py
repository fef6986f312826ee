"""A market at work on a disk with faults: crashes, power failures, I/O errors once and for ever, no
room; also while it is founded, recovers or takes a snapshot. A journal has some lives, one after
the other; in each all that was ever acknowledged must be there."""

from __future__ import annotations

import random
from contextlib import ExitStack, suppress
from pathlib import Path

from laissez.journal import Entry, JournalError, JournalFailed
from laissez.server.first_start import has_market
from laissez_check.damage.market import AtWork, Truth, compare, found, opened
from laissez_check.damage.samples import SAMPLES, checkpoints_after, sample, write_files
from laissez_check.disk.faulty import FaultyDisk
from laissez_check.finding import Finding

KILLS = ("killed", "power failure", "killed, then power failure")
FAULTS = (*KILLS, "error once", "error for ever", "disk full", "nothing can be written")
LIVES = 3
GROUPS_MAX = 4
# operations: about those of an opening, of a life, of founding and a life
SOON, LATER, FOUNDED = 10, 40, 60


class Run:
    def __init__(self, root: Path, draw: random.Random) -> None:
        self._draw = draw
        self.folder = root / "new" / "data"  # to be made, or as a sample has it
        self.fault = draw.choice(FAULTS)
        self._is_known = draw.random() < 0.6  # somebody was told that this market is there
        self.truth = self._sample() if self._is_known else Truth(draw.randbytes(16))
        self._disk = FaultyDisk(root, draw)
        # journals that are still open when their process dies: closing them then changes nothing
        self._left = ExitStack()

    def _sample(self) -> Truth:
        whole = sample(self._draw.randrange(SAMPLES))
        write_files(self.folder, {**whole.files})
        return whole.truth.copy()

    def play(self) -> None:
        """Leaves the folder as the last fault left it."""
        with self._disk, self._left, checkpoints_after(self._draw.choice((2, 4, 8, 1_000))):
            for life in range(LIVES):
                only_looks = self.fault == "killed, then power failure" and life == 1
                if not only_looks:
                    self._place_fault()
                self._live(only_looks)
                self._die(life)
            self._found_if_new()

    def _place_fault(self) -> None:
        disk, at = (
            self._disk,
            self._disk.operations
            + self._draw.randrange(
                1, self._draw.choice((SOON, LATER if self._is_known else FOUNDED))
            ),
        )
        if self.fault in KILLS:
            disk.crash_at = at
        elif self.fault == "disk full":
            disk.room = self._draw.choice((0, self._draw.randrange(60_000)))
        else:
            disk.fail_at = disk.operations + 1 if self.fault == "nothing can be written" else at
            disk.fail_forever = self.fault != "error once"

    def _live(self, only_looks: bool) -> None:
        """Work until the fault, or until it is stopped; or do nothing but tell what is there."""
        try:
            market = self._opened()
        except JournalError:
            return
        self._left.callback(market.journal.close)
        try:
            self._work(market, 0 if only_looks else self._draw.randrange(GROUPS_MAX + 1))
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
        if has_market(self.folder):
            return
        if self._is_known:
            raise Finding("the whole journal is gone")
        found(self.folder, self.truth)

    def _work(self, market: AtWork, groups: int) -> None:
        for _ in range(groups):
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

    def _die(self, life: int) -> None:
        """The power may also fail after a kill, when what the dead process wrote has been found and
        told, and the disk may not have it yet."""
        self._mend()
        fails = {"killed": False, "power failure": True, "killed, then power failure": life == 1}
        if fails.get(self.fault, self._draw.random() < 0.5):
            self._disk.power_off()
        else:
            self._disk.kill()
        self._left.close()

    def _mend(self) -> None:
        self._disk.fail_at = self._disk.room = None
