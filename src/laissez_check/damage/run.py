"""Damage: whatever happens to a data folder, it is recovered with everything that was acknowledged,
or refused, naming the place.

A case is one seed: a prepared data folder with one damage to its files or rows, or a market at work
on a disk with faults. Then the folder is opened by the real code. What it may do: open with exactly
the entries, the state, the events and the ids that were there, take a new command and open again;
or refuse with an error of the journal that says where. Never another error, a state that never was,
or silent loss. `laissez check damage`.
"""

from __future__ import annotations

import logging
import random
import re
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

import msgspec

from laissez.journal import JournalError
from laissez.server.beside import FILE as BESIDE
from laissez.server.first_start import has_market
from laissez_check.campaign import in_order
from laissez_check.damage.beside_record import check_record
from laissez_check.damage.beside_started import check_webhooks, start
from laissez_check.damage.bugs import put_in
from laissez_check.damage.faulty_runs import Run
from laissez_check.damage.files import Damage, damage
from laissez_check.damage.market import AtWork, Truth, compare, opened
from laissez_check.damage.rows import edit
from laissez_check.damage.samples import SAMPLES, Sample, read_files, sample, write_files
from laissez_check.finding import Finding, Outcome
from laissez_check.scratch import scratch

CASE_TAKES_S = 60  # at most; it takes milliseconds
PLACE = re.compile(r"\bentr(y|ies) \d+")


class Case(msgspec.Struct, frozen=True):
    """What was done, what came of it, and what was wrong with that."""

    seed: int
    kind: str
    refused: bool = False
    finding: str | None = None


def run(
    seeds: range, jobs: int = 1, bug: str = "", tell: Callable[[int], None] = lambda cases: None
) -> Outcome:
    """Play the case of every seed, and stop at the first finding. `bug` is one of
    `laissez_check.damage.bugs`, to see that it is found."""
    kinds: dict[str, Counter[str]] = {}  # recovered and refused, by kind of damage
    counted = Counter(cases=0, recovered=0, refused=0)
    for case in in_order(seeds, partial(play, bug=bug), jobs):
        if case.finding is not None:
            again = f"again: laissez check damage --cases 1 --seed {case.seed}"
            return Outcome(counted, f"{case.finding}\n\n{again}", {"kinds": kinds})
        end = "refused" if case.refused else "recovered"
        kinds.setdefault(case.kind, Counter(recovered=0, refused=0))[end] += 1
        counted.update(("cases", end))
        tell(counted["cases"])
    return Outcome(counted, None, {"kinds": dict(sorted(kinds.items()))})


def play(seed: int, bug: str = "") -> Case:
    draw = random.Random(seed)
    for number in range(SAMPLES):
        # once, by the code as it is: what they are must not depend on which case came first
        sample(number)
    story = draw.choices((FileStory, RowStory, DiskStory), (60, 10, 30))[0](seed, draw)
    with scratch() as root, put_in(bug), _watched():
        try:
            refused = story.tell(root)
            return Case(seed, story.kind, refused)
        except Finding as finding:
            return Case(seed, story.kind, finding=f"{story.what}\n{finding}")
        except Exception:
            return Case(
                seed,
                story.kind,
                finding=(
                    f"{story.what}\nan error that is none of the"
                    f" journal's:\n{traceback.format_exc()}"
                ),
            )


class Story:
    kind = "?"
    what = "before anything happened"

    def __init__(self, seed: int, draw: random.Random) -> None:
        self._draw = draw

    def tell(self, root: Path) -> bool:
        """Let it happen and see what becomes of it; whether the folder is refused."""
        raise NotImplementedError

    def _refusal(self, folder: Path, truth: Truth) -> JournalError | None:
        """Open the folder, as a start of the server does, and see what it holds."""
        if not has_market(folder):
            raise Finding(
                "silent loss: a start takes the folder for an empty one, and makes a new market"
                " in it"
            )
        try:
            market = opened(folder)
        except JournalError as error:
            _check_that_it_says_where(folder, error)
            return error
        try:
            compare(market, truth)
            AtWork(market, truth, self._draw).group(1)
        finally:
            market.journal.close()
        again = opened(folder)
        again.journal.close()
        if again.journal.last != truth.acknowledged:
            raise Finding(
                f"a new entry {truth.acknowledged} was taken and is gone after opening again"
            )
        return None


class FileStory(Story):
    def tell(self, root: Path) -> bool:
        whole = sample(self._draw.randrange(SAMPLES))
        done = damage(self._draw, whole)
        self.kind, self.what = done.kind, done.what
        write_files(root / "data", done.files)
        refused = self._refusal(root / "data", whole.truth.copy()) is not None
        if refused:
            _check_that_nothing_changed(root / "data", done.files)
        else:
            found = start(root / "data")
            is_put_back = _is_put_back(whole, done)
            check_webhooks(found, whole.beside, is_put_back)
            check_record(root / "data", whole.beside, is_put_back, found.said)
        return refused


def _is_put_back(whole: Sample, done: Damage) -> bool:
    """Whether `beside.db` is older than it was, in whole or in part. So it is without its log:
    SQLite takes what is damaged there for the remains of a crash."""
    log = f"{BESIDE}-wal"
    return done.files.get(log) != whole.files.get(log) or (
        done.kind in ("older", "stale part") and done.files.get(BESIDE) != whole.files.get(BESIDE)
    )


class RowStory(Story):
    kind = "rows"

    def tell(self, root: Path) -> bool:
        whole = sample(self._draw.randrange(SAMPLES))
        write_files(root / "data", {**whole.files})
        self.what = edit(self._draw, root / "data")
        return self._refusal(root / "data", whole.truth.copy()) is not None


class DiskStory(Story):
    """Nothing is damaged that was said to be kept, and to refuse would be wrong."""

    def tell(self, root: Path) -> bool:
        life = Run(root, self._draw)
        self.kind = self.what = life.fault
        life.play()
        refusal = self._refusal(life.folder, life.truth)
        if refusal is not None:
            raise Finding(f"it is refused, and nothing was damaged: {refusal}")
        return refusal is not None


def _check_that_it_says_where(folder: Path, error: JournalError) -> None:
    if str(folder) not in str(error) and not PLACE.search(str(error)):
        raise Finding(f"the refusal names no place: {error!r}")


def _check_that_nothing_changed(folder: Path, files: dict[str, bytes | None]) -> None:
    """What is refused is left as it is, for whoever looks into it."""
    left = read_files(folder)
    for name, content in files.items():
        if (
            content is not None
            and name != "journal.lock"
            and not name.endswith("-shm")
            and left.get(name) != content
        ):
            raise Finding(f"it was refused, and {name} is no longer what it was")


@contextmanager
def _watched() -> Iterator[None]:
    """A case that hangs is a finding too."""
    usual = signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(CASE_TAKES_S)
    logging.disable(logging.WARNING)  # there is much to warn of
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)


def _hangs(number: int, frame: FrameType | None) -> None:
    raise Finding(f"nothing moves any more after {CASE_TAKES_S} seconds")
