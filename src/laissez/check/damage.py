"""Damage: whatever happens to a data folder, it is recovered with everything that was acknowledged, or refused, naming the place: `laissez check damage`.

A case is one seed: a prepared data folder with one damage to its files or rows, or a market at work on a disk with faults. Then the folder is opened by
the real code. What it may do: open with exactly the entries, the state, the events and the ids that were there, take a new command and open again; or
refuse with an error of the journal that says where. Never another error, a state that never was, or silent loss.
"""

from __future__ import annotations

import random
import signal
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import msgspec

from laissez.check.campaign import in_order
from laissez.check.crash_finding import Finding
from laissez.check.damage_bugs import put_in
from laissez.check.damage_files import damage
from laissez.check.damage_market import AtWork, Truth, compare, opened
from laissez.check.damage_rows import edit
from laissez.check.damage_runs import Run
from laissez.check.damage_samples import SAMPLES, read_files, sample, scratch, write_files
from laissez.journal import JournalError
from laissez.service.signins import FILE as SIGNINS
from laissez.service.signins import SignIns

CASE_TAKES_S = 60  # at most; it takes milliseconds


class Case(msgspec.Struct, frozen=True):
    """What was done, what came of it, and what was wrong with that."""

    seed: int
    kind: str
    refused: bool
    finding: str | None = None


class Outcome(msgspec.Struct, frozen=True):
    cases: int
    recovered: dict[str, int]  # by kind
    refused: dict[str, int]
    failure: str | None


def run(seeds: range, jobs: int, bug: str = "", tell: Callable[[int], None] = lambda cases: None) -> Outcome:
    """Play the case of every seed; stop at the first that finds something. `bug` is one of `damage_bugs`, to see that it is found."""
    recovered: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    done = 0
    for case in in_order(seeds, partial(play, bug=bug), jobs):
        if case.finding is not None:
            return Outcome(done, recovered, refused, f"{case.finding}\n\nagain: laissez check damage --cases 1 --seed {case.seed}")
        (refused if case.refused else recovered)[case.kind] += 1
        done += 1
        tell(done)
    return Outcome(done, recovered, refused, None)


def play(seed: int, bug: str = "") -> Case:
    draw = random.Random(seed)
    what = ""
    with scratch() as root, put_in(bug), _watched():
        case = draw.choices((_Files, _Rows, _Disk), (60, 10, 30))[0](root, draw, seed)
        try:
            refusal = case.happen()
        except Finding as finding:
            return Case(seed, case.kind, False, f"{case.what}\n{finding}")
        except Exception:
            return Case(seed, case.kind, False, f"{case.what}\nan error that is none of the journal's:\n{traceback.format_exc()}")
    return Case(seed, case.kind, refusal)
