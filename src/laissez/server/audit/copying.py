"""A copy of the log of refusals and the digests, also of those that a server is writing: without
it, digests that were kept would fit no backup."""

from __future__ import annotations

from pathlib import Path

from laissez.journal import disk
from laissez.server.audit.digests import FILE
from laissez.server.audit.files import FOLDER, days, path_of


def copy(data: Path, target: Path) -> None:
    """Into another data folder. The digests first: a server writes what they tell of before them,
    so all of it is in what is copied afterwards."""
    folder = data / FOLDER
    for path in (
        folder / FILE,
        *(path_of(folder, date) for date in days(folder)),
        *folder.glob("*.cut-*"),
    ):
        try:
            content = path.read_bytes()
        # there are no digests yet; or it was removed meanwhile, because it was old
        except FileNotFoundError:
            continue
        disk.make_folder(target / FOLDER)
        # the last line may still be on its way
        whole = content.rfind(b"\n") + 1 if path.suffix == ".jsonl" else len(content)
        disk.write_whole(target / FOLDER / path.name, content[:whole])
