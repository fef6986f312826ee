"""How far each webhook got, and what was given up: files beside the journal, written whole.

The cursors of all are one small file, written after deliveries and at most once a second; so a
crash may repeat a delivery, never skip one. Dead letters are a file per webhook, written before the
cursor passes them. All of them are sealed. A file that is lost or damaged costs repeated
deliveries, or the letters, and is told in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from laissez.journal.disk import make_folder, remove, write_whole
from laissez.server.webhooks.sealed import is_sealed, seal, unseal
from laissez.wire.limits import DEAD_LETTERS_MAX
from laissez.wire.webhooks import DeadLetter

FOLDER = "webhooks"  # in the data folder
CURSORS = "cursors.json"

T = TypeVar("T")
log = logging.getLogger("laissez.webhooks")


class Cursor(msgspec.Struct, forbid_unknown_fields=True):
    """Where one webhook stands. `starts` and `started_at` say since which start of it that is so,
    and in which journal: there, its like may have the same id. `through` is where the delivery
    under way ends, 0 if none is.
    """

    starts: int
    started_at: int
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
    """Without a folder, in memory alone. What is written goes on though nobody waits for it any
    more, and the next one waits for it."""

    def __init__(self, folder: Path | None, origin: bytes) -> None:
        """`origin` is the identity of the journal that it goes with."""
        self._folder = folder
        self._origin = origin
        self._memory: dict[str, bytes] = {}
        self._turn = asyncio.Lock()

    def cursors(self) -> dict[str, Cursor]:
        return self._read(CURSORS, _read_cursors, {}, "where webhooks stand could not be read")

    def letters(self, id: str) -> Letters:
        return self._read(
            f"{id}.json",
            _read_letters,
            Letters(),
            "the dead letters of a webhook could not be read, and are lost",
        )

    async def keep_cursors(self, cursors: dict[str, Cursor]) -> None:
        await asyncio.shield(self._write_in_turn(CURSORS, msgspec.json.encode(cursors)))

    async def add_letters(self, id: str, letters: Sequence[DeadLetter]) -> Letters:
        """After a crash the same may be given up once more."""
        return await self._change(id, partial(_added, letters))

    async def drop_letters(self, id: str, after: int) -> Letters:
        """Those after that event are sent again."""
        return await self._change(id, partial(_without, after))

    async def forget(self, id: str) -> None:
        await asyncio.shield(self._forget_in_turn(f"{id}.json"))

    async def _change(self, id: str, change: Callable[[Letters], Letters]) -> Letters:
        return await asyncio.shield(self._change_in_turn(id, change))

    async def _change_in_turn(self, id: str, change: Callable[[Letters], Letters]) -> Letters:
        async with self._turn:
            before = self.letters(id)
            after = change(before)
            if after != before:
                await self._write(f"{id}.json", msgspec.json.encode(after))
            return after

    async def _forget_in_turn(self, name: str) -> None:
        async with self._turn:
            self._memory.pop(name, None)
            if self._folder is not None:
                remove(self._folder / name)

    async def _write_in_turn(self, name: str, content: bytes) -> None:
        async with self._turn:
            await self._write(name, content)

    async def _write(self, name: str, content: bytes) -> None:
        """In turn. Raises OSError."""
        if self._folder is None:
            self._memory[name] = content
        else:
            # it waits for the disk
            await asyncio.to_thread(_write, self._folder / name, seal(self._origin, name, content))

    def _read(self, name: str, read: Callable[[bytes], T], none: T, warning: str) -> T:
        try:
            if self._folder is None:
                return read(self._memory[name]) if name in self._memory else none
            stored = (self._folder / name).read_bytes()
            # One from before there was a seal is taken once more: all would be delivered again, and
            # letters lost. What a seal lay around is none.
            return read(unseal(self._origin, name, stored) if is_sealed(stored) else stored)
        except FileNotFoundError:
            return none
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            log.warning(warning, extra={"file": name, "reason": reason})
            return none


def _write(path: Path, content: bytes) -> None:
    make_folder(path.parent)
    write_whole(path, content)


def _added(letters: Sequence[DeadLetter], before: Letters) -> Letters:
    """A whole letter takes the place of the same from before; a range of events that are gone does
    not take the place of whole ones."""
    new = [
        one
        for letter in letters
        for one in ([letter] if letter.told is not None else _beyond(letter, before.kept))
    ]
    every = [one for one in before.kept if not new or one.n < new[0].n] + new
    over = max(0, len(every) - DEAD_LETTERS_MAX)
    return Letters(tuple(every[over:]), before.dropped + over)


def _beyond(gone: DeadLetter, kept: Sequence[DeadLetter]) -> list[DeadLetter]:
    known = max((one.last for one in kept if one.n <= gone.last), default=0)
    return [msgspec.structs.replace(gone, n=max(gone.n, known + 1))] if known < gone.last else []


def _without(after: int, before: Letters) -> Letters:
    return Letters(tuple(one for one in before.kept if one.n <= after), before.dropped)
