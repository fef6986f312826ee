"""What can happen to the files of a data folder while nobody looks: bits flip, parts are cut,
zeroed, doubled, exchanged, files get lost."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable

import msgspec

from laissez.journal import snapshots
from laissez.server.beside import FILE as BESIDE
from laissez.server.webhooks.signing import FILE as KEY
from laissez_check.damage.samples import SAMPLES, Sample, sample

PAGE_BYTES = 4096
WAL_HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24
SLOT_BYTES = 64

Damaged = dict[str, bytes | None]


class Damage(msgspec.Struct, frozen=True):
    kind: str
    what: str  # in words, for a failure
    files: Damaged


def damage(draw: random.Random, whole: Sample) -> Damage:
    kind = draw.choices(list(KINDS), [share for share, _ in KINDS.values()])[0]
    files: Damaged = dict(whole.files)
    return Damage(kind, f"{kind}: {KINDS[kind][1](draw, whole, files)}", files)


# -- parts of a file


Change = Callable[[random.Random, bytes, int, int], bytes]


def _part(change: Change) -> Callable[[random.Random, Sample, Damaged], str]:
    def happen(draw: random.Random, whole: Sample, files: Damaged) -> str:
        name = _file(draw, whole)
        content = whole.files[name]
        begin, end = _region(draw, name, len(content))
        files[name] = change(draw, content, begin, end)
        return f"{name}, bytes {begin} to {end} of {len(content)}"

    return happen


def _flip(draw: random.Random, content: bytes, begin: int, end: int) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8))):
        changed[draw.randrange(begin, end)] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _cut_off(draw: random.Random, content: bytes, begin: int, end: int) -> bytes:
    return content[:begin]


def _cut_out(draw: random.Random, content: bytes, begin: int, end: int) -> bytes:
    return content[:begin] + content[end:]


def _zero(draw: random.Random, content: bytes, begin: int, end: int) -> bytes:
    return content[:begin] + bytes(end - begin) + content[end:]


def _garble(draw: random.Random, content: bytes, begin: int, end: int) -> bytes:
    return content[:begin] + draw.randbytes(end - begin) + content[end:]


def _double(draw: random.Random, content: bytes, begin: int, end: int) -> bytes:
    """Beside itself, over what follows it, or at the end."""
    part = content[begin:end]
    return draw.choice(
        (
            content[:end] + part + content[end:],
            content[:end] + part + content[end + len(part) :],
            content + part,
        )
    )


def _exchange(draw: random.Random, content: bytes, begin: int, end: int) -> bytes:
    """With a part of the same length elsewhere."""
    length = min(end - begin, len(content) // 2)
    other = draw.randrange(len(content) - length + 1)
    first, second = sorted((min(begin, len(content) - length), other))
    if second < first + length:
        return content[first:] + content[:first]
    middle = content[first + length : second]
    return (
        content[:first]
        + content[second : second + length]
        + middle
        + content[first : first + length]
        + content[second + length :]
    )


def _flip_line(draw: random.Random, whole: Sample, files: Damaged) -> str:
    """In a line of the log of refusals or a digest, where it is in the file already."""
    content = whole.files[BESIDE]
    found = list(re.finditer(draw.choice((rb'{"n":[^{]*"}', rb'{"date":[^{]*"}')), content))
    begin, end = draw.choice(found).span() if found else (0, len(content))
    files[BESIDE] = _flip(draw, content, begin, end)
    return f"{BESIDE}, bytes {begin} to {end}"


def _region(draw: random.Random, name: str, size: int) -> tuple[int, int]:
    """Anywhere, of any length, or where the file's own structure has its seams."""
    begin = (
        draw.choice([place for place in _seams(name, size) if place < size])
        if draw.random() < 0.5
        else draw.randrange(size)
    )
    length = draw.choice(
        (
            1,
            4,
            8,
            24,
            100,
            512,
            PAGE_BYTES,
            PAGE_BYTES + FRAME_HEADER_BYTES,
            draw.randrange(1, size + 1),
        )
    )
    return begin, min(size, begin + length)


def _seams(name: str, size: int) -> list[int]:
    if name.endswith("-wal"):
        frames = range(WAL_HEADER_BYTES, size, PAGE_BYTES + FRAME_HEADER_BYTES)
        return [0, 8, 16, 24, *frames, *(frame + FRAME_HEADER_BYTES for frame in frames)]
    if name.endswith(".db"):
        return [
            *range(0, 100, 4),
            *(
                page + offset
                for page in range(0, size, PAGE_BYTES)
                for offset in (0, 1, 3, 5, 8, 12)
            ),
        ]
    if name.endswith(".mark"):
        return [*range(0, size, 8), SLOT_BYTES]
    return [0, 8, 12, 44, 52, 84, size - 1]


# -- whole files


def _lost(draw: random.Random, whole: Sample, files: Damaged) -> str:
    name = _file(draw, whole)
    del files[name]
    return name


def _all_snapshots_lost(draw: random.Random, whole: Sample, files: Damaged) -> str:
    for name in _snapshots(whole):
        del files[name]
    return "all"


def _empty(draw: random.Random, whole: Sample, files: Damaged) -> str:
    name = _file(draw, whole)
    files[name] = b""
    return name


def _older(draw: random.Random, whole: Sample, files: Damaged) -> str:
    """Put back from an earlier day."""
    name = _file(draw, whole)
    files[name] = draw.choice(whole.older.get(name) or [b""])
    return name


def _stale(draw: random.Random, whole: Sample, files: Damaged) -> str:
    """A part of it as it was before: a write that the disk said it had done."""
    name = _file(draw, whole)
    content, before = whole.files[name], draw.choice(whole.older.get(name) or [b""])
    begin, end = _region(draw, name, len(content))
    if draw.random() < 0.5:
        begin = begin // PAGE_BYTES * PAGE_BYTES
        end = min(len(content), begin + PAGE_BYTES)
    files[name] = (content[:begin] + before[begin:end] + content[begin + len(before[begin:end]) :])[
        : len(content)
    ]
    return f"{name}, bytes {begin} to {end}"


def _foreign(draw: random.Random, whole: Sample, files: Damaged) -> str:
    """Of another journal, under the same name where there is one."""
    other = sample(
        draw.choice([number for number in range(SAMPLES) if sample(number) is not whole])
    )
    name = draw.choice(sorted(other.files))
    files[name] = other.files[name]
    return name


def _foreign_snapshot(draw: random.Random, whole: Sample, files: Damaged) -> str:
    """Of another journal that had got just as far: nothing after it is replayed, so nothing but its
    origin tells."""
    other = sample(
        draw.choice([number for number in range(SAMPLES) if sample(number) is not whole])
    )
    rest = other.files[_snapshots(other)[-1]][snapshots._OPENING.size + snapshots._PLACE.size :]
    seq = whole.truth.acknowledged
    content = snapshots._PLACE.pack(seq, other.truth.identity * 2) + rest
    opening = snapshots._OPENING.pack(
        snapshots._MAGIC, snapshots.VERSION, hashlib.sha256(content).digest()
    )
    name = f"snapshots/{seq:016}.snapshot"
    files[name] = opening + content
    return name


def _confused(draw: random.Random, whole: Sample, files: Damaged) -> str:
    """One file of the folder under the name of another."""
    name, other = _file(draw, whole), _file(draw, whole)
    files[name], files[other] = whole.files[other], whole.files[name]
    return f"{name} and {other}"


def _misnamed(draw: random.Random, whole: Sample, files: Damaged) -> str:
    """A snapshot that claims to be another's."""
    name = draw.choice(_snapshots(whole))
    claimed = draw.choice(
        (
            0,
            1,
            int(name[-25:-9]) + draw.choice((-1, 1)),
            whole.truth.acknowledged + 1,
            10**15,
            draw.randrange(whole.truth.acknowledged),
        )
    )
    renamed = f"snapshots/{claimed:016}.snapshot"
    files[renamed] = whole.files[name]
    if draw.random() < 0.5 and name != renamed:
        del files[name]
    return f"{name} as {renamed}"


def _folder(draw: random.Random, whole: Sample, files: Damaged) -> str:
    name = _file(draw, whole)
    files[name] = None
    return name


def _stale_lock(draw: random.Random, whole: Sample, files: Damaged) -> str:
    files["journal.lock"] = draw.choice(
        (b"", b"1\n", b"999999999\n", b"x" * 5_000, draw.randbytes(40))
    )
    return repr(files["journal.lock"])


def _half_written(draw: random.Random, whole: Sample, files: Damaged) -> str:
    """What is left of making a file that was cut short."""
    name = draw.choice((*_snapshots(whole), "journal.db", "journal.mark", *_beside(whole)))
    files[f"{name}.new"] = whole.files[name][: draw.randrange(len(whole.files[name]) + 1)]
    return f"{name}.new"


def _file(draw: random.Random, whole: Sample) -> str:
    """The journal itself and its snapshots more often than what lies beside them."""
    names = sorted(name for name, content in whole.files.items() if content)
    own = [name for name in names if name in ("journal.db", "journal.db-wal")]
    return draw.choice(
        draw.choices((own, _snapshots(whole)[-1:], _beside(whole), names), (9, 3, 6, 6))[0]
    )


def _beside(whole: Sample) -> list[str]:
    """What the service keeps of its own, and no journal."""
    return [
        name
        for name, content in sorted(whole.files.items())
        if content and name.startswith((BESIDE, str(KEY)))
    ]


def _snapshots(whole: Sample) -> list[str]:
    return [name for name in sorted(whole.files) if name.startswith("snapshots/")]


# How often of 39, and what.
KINDS: dict[str, tuple[int, Callable[[random.Random, Sample, Damaged], str]]] = {
    "flipped": (8, _part(_flip)),
    "line flipped": (3, _flip_line),
    "cut off": (2, _part(_cut_off)),
    "cut out": (2, _part(_cut_out)),
    "zeroed": (3, _part(_zero)),
    "garbled": (3, _part(_garble)),
    "doubled": (2, _part(_double)),
    "exchanged": (2, _part(_exchange)),
    "stale part": (3, _stale),
    "lost": (1, _lost),
    "snapshots lost": (1, _all_snapshots_lost),
    "empty": (1, _empty),
    "older": (1, _older),
    "foreign": (1, _foreign),
    "foreign snapshot": (1, _foreign_snapshot),
    "confused": (1, _confused),
    "misnamed": (1, _misnamed),
    "folder": (1, _folder),
    "stale lock": (1, _stale_lock),
    "half written": (1, _half_written),
}
