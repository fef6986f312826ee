"""Damage to the files of a data folder at rest: bits flip, parts are cut, zeroed, doubled or
exchanged, files get lost."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import msgspec

from laissez.journal import snapshots
from laissez.server.beside import FILE as BESIDE
from laissez.server.webhooks.signing import FILE as KEY
from laissez_check.damage.samples import SAMPLES, Sample, sample

PAGE_BYTES = 4096
WAL_HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24
FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES
SLOT_BYTES = 64
LENGTHS = (1, 4, 8, 24, 100, 512, PAGE_BYTES, FRAME_BYTES)  # of a damaged part
LOCKS = (b"", b"1\n", b"999999999\n", b"x" * 5_000)
LINES = (rb'{"n":[^{]*"}', rb'{"date":[^{]*"}')  # of the log of refusals, and digests

Damaged: TypeAlias = dict[str, bytes | None]
Draw: TypeAlias = random.Random
Change: TypeAlias = Callable[[Draw, bytes, int, int], bytes]  # of a part of a file's content
Happen: TypeAlias = Callable[[Draw, Sample, Damaged], str]  # returns the place


class Damage(msgspec.Struct, frozen=True):
    kind: str
    what: str  # in words, for a failure
    files: Damaged


def damage(draw: Draw, whole: Sample) -> Damage:
    kind = draw.choices(list(KINDS), [share for share, _ in KINDS.values()])[0]
    files: Damaged = dict(whole.files)
    return Damage(kind, f"{kind}: {KINDS[kind][1](draw, whole, files)}", files)


# -- parts of a file


def _part(change: Change, draw: Draw, whole: Sample, files: Damaged) -> str:
    name = _file(draw, whole)
    content = whole.files[name]
    begin, end = _region(draw, name, len(content))
    files[name] = change(draw, content, begin, end)
    return f"{name}, bytes {begin} to {end} of {len(content)}"


def _flip(draw: Draw, content: bytes, begin: int, end: int) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8))):
        changed[draw.randrange(begin, end)] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _cut_off(draw: Draw, content: bytes, begin: int, end: int) -> bytes:
    return content[:begin]


def _replace_by(made: Callable[[Draw, int], bytes]) -> Change:
    return lambda draw, content, begin, end: (
        content[:begin] + made(draw, end - begin) + content[end:]
    )


def _double(draw: Draw, content: bytes, begin: int, end: int) -> bytes:
    """Beside itself, over the bytes that follow it, or at the end."""
    part, rest = content[begin:end], content[end:]
    doubled = (content[:end] + part + rest, content[:end] + part + rest[len(part) :])
    return draw.choice((*doubled, content + part))


def _exchange(draw: Draw, content: bytes, begin: int, end: int) -> bytes:
    """With a part of the same length elsewhere."""
    length = min(end - begin, len(content) // 2)
    other = draw.randrange(len(content) - length + 1)
    first, second = sorted((min(begin, len(content) - length), other))
    if second < first + length:
        return content[first:] + content[:first]
    changed = bytearray(content)
    changed[first : first + length] = content[second : second + length]
    changed[second : second + length] = content[first : first + length]
    return bytes(changed)


def _flip_line(draw: Draw, whole: Sample, files: Damaged) -> str:
    """In a line of the log of refusals or a digest, if the file has one already."""
    content = whole.files[BESIDE]
    found = list(re.finditer(draw.choice(LINES), content))
    begin, end = draw.choice(found).span() if found else (0, len(content))
    files[BESIDE] = _flip(draw, content, begin, end)
    return f"{BESIDE}, bytes {begin} to {end}"


def _stale(draw: Draw, whole: Sample, files: Damaged) -> str:
    """A part as it was before: a write that the disk reported and did not do."""
    name = _file(draw, whole)
    content, before = whole.files[name], draw.choice(whole.older.get(name) or [b""])
    begin, end = _region(draw, name, len(content))
    if draw.random() < 0.5:
        begin = begin // PAGE_BYTES * PAGE_BYTES
        end = min(len(content), begin + PAGE_BYTES)
    stale = before[begin:end]
    files[name] = (content[:begin] + stale + content[begin + len(stale) :])[: len(content)]
    return f"{name}, bytes {begin} to {end}"


def _region(draw: Draw, name: str, size: int) -> tuple[int, int]:
    """Anywhere, of any length, or at a boundary of the file's own structure."""
    seams = [place for place in _seams(name, size) if place < size]
    begin = draw.choice(seams) if draw.random() < 0.5 else draw.randrange(size)
    return begin, min(size, begin + draw.choice((*LENGTHS, draw.randrange(1, size + 1))))


def _seams(name: str, size: int) -> list[int]:
    if name.endswith("-wal"):
        frames = range(WAL_HEADER_BYTES, size, FRAME_BYTES)
        return [0, 8, 16, 24, *frames, *(frame + FRAME_HEADER_BYTES for frame in frames)]
    if name.endswith(".db"):
        pages = range(0, size, PAGE_BYTES)
        return [*range(0, 100, 4), *(page + at for page in pages for at in (0, 1, 3, 5, 8, 12))]
    if name.endswith(".mark"):
        return [*range(0, size, 8), SLOT_BYTES]
    return [0, 8, 12, 44, 52, 84, size - 1]


# -- whole files


def _lost(draw: Draw, whole: Sample, files: Damaged) -> str:
    name = _file(draw, whole)
    del files[name]
    return name


def _all_snapshots_lost(draw: Draw, whole: Sample, files: Damaged) -> str:
    for name in _snapshots(whole):
        del files[name]
    return "all"


def _instead(content: bytes | None, draw: Draw, whole: Sample, files: Damaged) -> str:
    name = _file(draw, whole)
    files[name] = content
    return name


def _older(draw: Draw, whole: Sample, files: Damaged) -> str:
    """Put back from an earlier day."""
    name = _file(draw, whole)
    files[name] = draw.choice(whole.older.get(name) or [b""])
    return name


def _foreign(draw: Draw, whole: Sample, files: Damaged) -> str:
    """A file of another journal, under the same name if there is one."""
    other = _another(draw, whole)
    name = draw.choice(sorted(other.files))
    files[name] = other.files[name]
    return name


def _foreign_snapshot(draw: Draw, whole: Sample, files: Damaged) -> str:
    """A snapshot of another journal of the same length: no entry follows it, so only its origin
    shows that it is foreign."""
    other = _another(draw, whole)
    rest = other.files[_snapshots(other)[-1]][snapshots._OPENING.size + snapshots._PLACE.size :]
    content = snapshots._PLACE.pack(whole.truth.last, other.truth.identity * 2) + rest
    digest = hashlib.sha256(content).digest()
    name = _snapshot_name(whole.truth.last)
    files[name] = snapshots._OPENING.pack(snapshots._MAGIC, snapshots.VERSION, digest) + content
    return name


def _confused(draw: Draw, whole: Sample, files: Damaged) -> str:
    """Two files of the folder under each other's name."""
    name, other = _file(draw, whole), _file(draw, whole)
    files[name], files[other] = whole.files[other], whole.files[name]
    return f"{name} and {other}"


def _misnamed(draw: Draw, whole: Sample, files: Damaged) -> str:
    """A snapshot under the name of another entry."""
    name, last = draw.choice(_snapshots(whole)), whole.truth.last
    beside = int(name[-25:-9]) + draw.choice((-1, 1))
    renamed = _snapshot_name(draw.choice((0, 1, beside, last + 1, 10**15, draw.randrange(last))))
    files[renamed] = whole.files[name]
    if draw.random() < 0.5 and name != renamed:
        del files[name]
    return f"{name} as {renamed}"


def _stale_lock(draw: Draw, whole: Sample, files: Damaged) -> str:
    files["journal.lock"] = draw.choice((*LOCKS, draw.randbytes(40)))
    return repr(files["journal.lock"])


def _half_written(draw: Draw, whole: Sample, files: Damaged) -> str:
    """The remains of a file whose making was cut short."""
    name = draw.choice((*_snapshots(whole), "journal.db", "journal.mark", *_beside(whole)))
    files[f"{name}.new"] = whole.files[name][: draw.randrange(len(whole.files[name]) + 1)]
    return f"{name}.new"


def _another(draw: Draw, whole: Sample) -> Sample:
    return draw.choice([other for other in map(sample, range(SAMPLES)) if other is not whole])


def _file(draw: Draw, whole: Sample) -> str:
    """The journal and its snapshots more often than the files beside them."""
    names = sorted(name for name, content in whole.files.items() if content)
    own = [name for name in names if name in ("journal.db", "journal.db-wal")]
    groups = (own, _snapshots(whole)[-1:], _beside(whole), names)
    return draw.choice(draw.choices(groups, (9, 3, 6, 6))[0])


def _beside(whole: Sample) -> list[str]:
    """The files that the service keeps beside the journal."""
    starts = (BESIDE, str(KEY))
    return [name for name, text in sorted(whole.files.items()) if text and name.startswith(starts)]


def _snapshots(whole: Sample) -> list[str]:
    return [name for name in sorted(whole.files) if name.startswith("snapshots/")]


def _snapshot_name(seq: int) -> str:
    return f"snapshots/{seq:016}.snapshot"


# The share of each kind.
KINDS: dict[str, tuple[int, Happen]] = {
    "flipped": (8, partial(_part, _flip)),
    "line flipped": (3, _flip_line),
    "cut off": (2, partial(_part, _cut_off)),
    "cut out": (2, partial(_part, _replace_by(lambda draw, length: b""))),
    "zeroed": (3, partial(_part, _replace_by(lambda draw, length: bytes(length)))),
    "garbled": (3, partial(_part, _replace_by(random.Random.randbytes))),
    "doubled": (2, partial(_part, _double)),
    "exchanged": (2, partial(_part, _exchange)),
    "stale part": (3, _stale),
    "lost": (1, _lost),
    "snapshots lost": (1, _all_snapshots_lost),
    "empty": (1, partial(_instead, b"")),
    "older": (1, _older),
    "foreign": (1, _foreign),
    "foreign snapshot": (1, _foreign_snapshot),
    "confused": (1, _confused),
    "misnamed": (1, _misnamed),
    "folder": (1, partial(_instead, None)),
    "stale lock": (1, _stale_lock),
    "half written": (1, _half_written),
}
