"""Digests that somebody kept elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class KeptUnreadable(Exception):
    """They are not where they are said to be."""


class Kept(NamedTuple):
    path: Path
    lines: list[bytes]


def read_kept(path: Path) -> Kept:
    try:
        if path.is_file():
            return Kept(path, path.read_bytes().split(b"\n"))
        why = "none there"
    except OSError as error:
        why = str(error.strerror)
    raise KeptUnreadable(f"{path}: expected a file of digests, found {why}")
