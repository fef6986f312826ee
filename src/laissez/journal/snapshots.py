"""Snapshots of the state after an entry, so that a start need not replay the entries before it.
They save time and are never required.

A file `snapshots/<seq, 16 digits>.snapshot` holds a magic word, a version, the SHA-256 of the rest,
the sequence number, the journal's link there (`Reader.chain_at(seq)`) and the state. It must not be
written before the entry is durable.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from laissez.journal.disk import make_folder, remove, write_atomically
from laissez.journal.errors import SnapshotUnusable

FOLDER = "snapshots"
VERSION = 1
_MAGIC = b"LZSNAP\r\n"  # a copy in text mode changes the line end
_OPENING = struct.Struct(">8sI32s")
_PLACE = struct.Struct(">Q32s")
_NAME = re.compile(r"([0-9]{16})\.snapshot")


class Snapshot(NamedTuple):
    seq: int
    head: bytes
    body: bytes


class SnapshotFile(NamedTuple):
    """The file of a snapshot; `read` checks it."""

    seq: int
    path: Path

    def read(self) -> Snapshot:
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise SnapshotUnusable(f"{self.path} cannot be read: {error.strerror}") from error
        return _decoded(self, data)


def write(folder: Path, seq: int, head: bytes, body: bytes) -> Path:
    """Write a snapshot, completely or not at all."""
    path = folder / FOLDER / f"{seq:016}.snapshot"
    make_folder(path.parent)
    place = _PLACE.pack(seq, head)
    check = hashlib.sha256(place)
    check.update(body)
    write_atomically(path, _OPENING.pack(_MAGIC, VERSION, check.digest()), place, body)
    return path


def newest_first(folder: Path) -> Iterator[SnapshotFile]:
    """The snapshots, newest first. Other files, such as an unfinished one, are ignored."""
    for path in sorted((folder / FOLDER).glob("*.snapshot"), reverse=True):
        if match := _NAME.fullmatch(path.name):
            yield SnapshotFile(int(match[1]), path)


def prune(folder: Path, keep: int = 2) -> list[Path]:
    """Delete all but the newest `keep` snapshots, and unfinished ones; returns the deleted files.
    Do not call it while a snapshot is being written."""
    if keep < 1:
        raise ValueError(f"at least one snapshot is kept, not {keep}")
    old = [file.path for file in newest_first(folder)][keep:]
    old += sorted((folder / FOLDER).glob("*.snapshot.new"))
    for path in old:
        remove(path)
    return old


def _decoded(file: SnapshotFile, data: bytes) -> Snapshot:
    if len(data) < _OPENING.size + _PLACE.size:
        raise SnapshotUnusable(f"{file.path} is cut short: it has {len(data)} bytes")
    magic, version, check = _OPENING.unpack_from(data)
    if magic != _MAGIC:
        raise SnapshotUnusable(
            f"{file.path} is not a snapshot: it begins with {magic!r}, {_MAGIC!r} was expected"
        )
    if version != VERSION:
        raise SnapshotUnusable(
            f"{file.path} is in format {version}, this version reads format {VERSION}"
        )
    rest = memoryview(data)[_OPENING.size :]
    if hashlib.sha256(rest).digest() != check:
        raise SnapshotUnusable(f"{file.path} is damaged: its checksum differs")
    seq, head = _PLACE.unpack_from(rest)
    if seq != file.seq:
        raise SnapshotUnusable(f"{file.path} is misnamed: it was taken after entry {seq}")
    return Snapshot(seq, head, bytes(rest[_PLACE.size :]))
