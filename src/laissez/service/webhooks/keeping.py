"""How far each webhook got, and what was given up: files beside the journal, written whole.

The cursors of all are one small file, written after deliveries and at most once a second; so a crash may repeat a delivery, never skip one. Dead
letters are a file per webhook, written before the cursor passes them. A file that is lost or damaged costs repeated deliveries, or the letters, and
is told in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from laissez.journal.disk import make_folder, remove, write_whole
from laissez.wire.limits import DEAD_LETTERS_MAX
from laissez.wire.webhooks import DeadLetter

FOLDER = "webhooks"  # in the data folder
CURSORS = "cursors.json"

T = TypeVar("T")
log = logging.getLogger("laissez.webhooks")


class Cursor(msgspec.Struct, forbid_unknown_fields=True):
    """Where one webhook stands. `starts` says since which start of it that is so; `through` is where the delivery under way ends, 0 if none is."""

    starts: int
    delivered: int
    through: int = 0
    letters: int = 0
    dropped: int = 0


class Letters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kept: tuple[DeadLetter, ...] = ()
    dropped: int = 0


_read_cursors = msgspec.json.Decoder(dict[str, Cursor]).decode
_read_letters = msgspec.json.Decoder(Letters).decode


class Keeping:
    """Without a folder, in memory alone."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: dict[str, bytes] = {}
        self._turn = asyncio.Lock()

    def cursors(self) -> dict[str, Cursor]:
        return self._read(CURSORS, _read_cursors, {}, "where webhooks stand could not be read")

    def letters(self, id: str) -> Letters:
        return self._read(f"{id}.json", _read_letters, Letters(), "the dead letters of a webhook could not be read, and are lost")

    async def keep_cursors(self, cursors: dict[str, Cursor]) -> None:
        await self._write(CURSORS, msgspec.json.encode(cursors))

    async def add_letters(self, id: str, letters: Iterable[DeadLetter]) -> Letters:
        """After a crash the same may be given up once more, and then stand in place of the first time."""
        new = list(letters)
        before = self.letters(id)
        every = [one for one in before.kept if one.n < new[0].n] + new
        over = max(0, len(every) - DEAD_LETTERS_MAX)
        return await self._keep(id, Letters(tuple(every[over:]), before.dropped + over))

    async def drop_letters(self, id: str, after: int) -> Letters:
        """Those after that event are sent again."""
        before = self.letters(id)
        if not before.kept and not before.dropped:
            return before
        return await self._keep(id, Letters(tuple(one for one in before.kept if one.n <= after), before.dropped))

    async def forget(self, id: str) -> None:
        self._memory.pop(f"{id}.json", None)
        if self._folder is not None:
            async with self._turn:
                remove(self._folder / f"{id}.json")

    async def _keep(self, id: str, letters: Letters) -> Letters:
        await self._write(f"{id}.json", msgspec.json.encode(letters))
        return letters

    async def _write(self, name: str, content: bytes) -> None:
        """Raises OSError. A write goes on though nobody waits for it any more, and the next one waits for it."""
        if self._folder is None:
            self._memory[name] = content
        else:
            await asyncio.shield(self._write_in_turn(self._folder / name, content))

    async def _write_in_turn(self, path: Path, content: bytes) -> None:
        async with self._turn:
            await asyncio.to_thread(_write, path, content)  # it waits for the disk

    def _read(self, name: str, read: Callable[[bytes], T], none: T, warning: str) -> T:
        try:
            content = self._memory.get(name) if self._folder is None else (self._folder / name).read_bytes()
            return none if content is None else read(content)
        except FileNotFoundError:
            return none
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            log.warning(warning, extra={"file": name, "reason": reason})
            return none


def _write(path: Path, content: bytes) -> None:
    make_folder(path.parent)
    write_whole(path, content)
