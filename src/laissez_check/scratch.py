"""Folders of short-lived worlds, in memory if possible. Those of a campaign lie in one folder,
which the parent removes: workers may be ended in the middle of their work."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108  folders in it have names that cannot be guessed

_within: Path | None = None  # the parent of all folders of this process, if it is set


@contextmanager
def scratch() -> Iterator[Path]:
    parent = _within or (MEMORY if MEMORY.is_dir() else None)
    folder = Path(tempfile.mkdtemp(prefix="laissez-check-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_folders_in(folder: Path) -> None:
    global _within  # noqa: PLW0603  of a worker process
    _within = folder
