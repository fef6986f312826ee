"""Damage: a damaged data folder is recovered with everything that was acknowledged, or refused with
the place of the damage.

A case is one seed: a prepared data folder with one damage to its files or rows, which the real code
then opens. It may open with exactly the entries, the state, the events and the ids that were there,
take a new command and open again. Or it may refuse, change nothing, and say where. Never another
error, a state that never existed, or silent loss. `laissez check damage`.
"""

from __future__ import annotations

import logging
import random
import re
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from pathlib import Path
from types import FrameType

import msgspec

from laissez.journal import JournalError
from laissez.server.beside import FILE as BESIDE
from laissez.server.first_start import has_market
from laissez_check.campaign import play_all
from laissez_check.damage.beside_started import check_record, check_webhooks, start
from laissez_check.damage.bugs import put_in
from laissez_check.damage.files import Damage, damage
from laissez_check.damage.market import AtWork, Truth, compare, opened
from laissez_check.damage.rows import edit
from laissez_check.damage.samples import (
    SAMPLES,
    Files,
    Sample,
    read_files,
    sample,
    write_files,
)
from laissez_check.finding import Finding, Outcome
from laissez_check.scratch import scratch

CASE_TAKES_S = 60  # at most; it takes milliseconds
ROWS = 0.15  # share of cases that edit rows
PLACE = re.compile(r"\bentr(y|ies) \d+")


class Case(msgspec.Struct, frozen=True):
    seed: int
    kind: str  # of damage
    refused: bool = False
    finding: str | None = None


def run(
    seeds: range, jobs: int = 1, bug: str = "", tell: Callable[[int], None] = lambda cases: None
) -> Outcome:
    """Damage the folder of every seed, and stop at the first finding. `bug` is one of
    `laissez_check.damage.bugs`, to see that it is found."""
    return play_all(seeds, partial(_outcome, bug), jobs, tell)


def _outcome(bug: str, seed: int) -> Outcome:
    case = play(seed, bug)
    if case.finding is not None:
        again = f"again: laissez check damage --cases 1 --seed {seed}"
        return Outcome({"cases": 0}, f"{case.finding}\n\n{again}", {"kinds": {}})
    ends = {"recovered": int(not case.refused), "refused": int(case.refused)}
    return Outcome({"cases": 1, **ends}, None, {"kinds": {case.kind: ends}})


def play(seed: int, bug: str = "") -> Case:
    draw = random.Random(seed)
    for number in range(SAMPLES):
        sample(number)  # before the bug is in: samples do not depend on the first case
    whole = sample(draw.randrange(SAMPLES))
    with scratch() as root, put_in(bug), _watched():
        done = _damaged(draw, whole, root / "data")
        try:
            return Case(seed, done.kind, _is_refused(draw, whole, done, root / "data"))
        except Finding as finding:
            return Case(seed, done.kind, finding=f"{done.what}\n{finding}")
        except Exception:
            error = f"an error that is none of the journal's:\n{traceback.format_exc()}"
            return Case(seed, done.kind, finding=f"{done.what}\n{error}")


def _damaged(draw: random.Random, whole: Sample, folder: Path) -> Damage:
    if draw.random() < ROWS:
        write_files(folder, {**whole.files})
        return Damage("rows", edit(draw, folder), {**read_files(folder)})
    done = damage(draw, whole)
    write_files(folder, done.files)
    return done


def _is_refused(draw: random.Random, whole: Sample, done: Damage, folder: Path) -> bool:
    before = read_files(folder)
    if _refuses(draw, folder, deepcopy(whole.truth)):
        _check_that_nothing_changed(folder, before)
        return True
    found = start(folder)
    is_put_back = _is_put_back(whole, done)
    check_webhooks(found, whole.beside, is_put_back)
    check_record(folder, whole.beside, is_put_back, found.said)
    return False


def _refuses(draw: random.Random, folder: Path, truth: Truth) -> bool:
    """Open the folder as a start of the server does. If it opens, compare it and enter another
    command."""
    if not has_market(folder):
        raise Finding("silent loss: a start takes the folder for empty, and makes a new market")
    try:
        market = opened(folder)
    except JournalError as error:
        if str(folder) not in str(error) and not PLACE.search(str(error)):
            raise Finding(f"the refusal names no place: {error!r}") from None
        return True
    try:
        compare(market, truth)
        AtWork(market, truth, draw).group(1)
    finally:
        market.journal.close()
    again = opened(folder)
    again.journal.close()
    if again.journal.last != truth.last:
        raise Finding(f"a new entry {truth.last} was taken and is gone after opening again")
    return False


def _is_put_back(whole: Sample, done: Damage) -> bool:
    """Whether `beside.db` is older than it was, in whole or in part. Without its log it is: SQLite
    takes a damaged log for the remains of a crash."""
    log = f"{BESIDE}-wal"
    return done.files.get(log) != whole.files.get(log) or (
        done.kind in ("older", "stale part") and done.files.get(BESIDE) != whole.files.get(BESIDE)
    )


def _check_that_nothing_changed(folder: Path, before: Files) -> None:
    """A refused folder is left as it is, as evidence."""
    left = read_files(folder)
    for name, content in before.items():
        is_noted = name != "journal.lock" and not name.endswith("-shm")
        if is_noted and left.get(name) != content:
            raise Finding(f"it was refused, and {name} is no longer what it was")


@contextmanager
def _watched() -> Iterator[None]:
    """A case that hangs is a finding, too."""
    usual = signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(CASE_TAKES_S)
    logging.disable(logging.WARNING)  # damage gives many warnings
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)


def _hangs(number: int, frame: FrameType | None) -> None:
    raise Finding(f"nothing moves any more after {CASE_TAKES_S} seconds")
