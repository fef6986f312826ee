"""A disk that fails, fills up and loses unsynced data: real files in a real folder, and a model of
the disk beside them.

Programs work on the files as usual. The model notes unsynced changes. When the power fails, the
files get contents that a real disk could have kept. `sqlite_shim` reports the changes of SQLite,
and `laissez.journal.disk` those of all other files. Faults are placed by the number of an
operation, so a run can be repeated with a fault at each of them.

Reading never fails, and the shared memory of SQLite (`-shm`) is no part of the disk. The lock file
is not watched: it may stay behind or not.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from laissez.journal import disk
from laissez_check.disk import sqlite_shim
from laissez_check.disk.image import Image
from laissez_check.disk.names import FOLDER, Names, Node

__all__ = ["FaultyDisk"]


class OpenFile(NamedTuple):
    """An open file. Files that a dead process still has open change nothing."""

    path: str
    life: int


class FaultyDisk(disk.System):
    """All files under `root`, which is fast on tmpfs. One disk at a time in a process, and one
    thread that writes."""

    def __init__(self, root: Path, draw: random.Random) -> None:
        self.root = root.resolve()
        # Writes, truncations, syncs, creations, renames and deletions so far. Each may crash or
        # fail.
        self.operations = 0
        # The operation at which the machine goes down. All later ones fail, too.
        self.crash_at: int | None = None
        self.fail_at: int | None = None  # the operation with an I/O error
        self.fail_forever = False  # and every later one
        self.room: int | None = None  # bytes left; None means enough
        self.crashed = False
        # Called once, within the operation. It must not raise.
        self.on_crash: Callable[[], None] = lambda: None
        self.met: Counter[str] = Counter()  # what really happened, by kind
        self._draw = draw
        self._below = f"{self.root}{os.sep}"
        self._names = Names()
        self._life = 0

    def __enter__(self) -> Self:
        sqlite_shim.install(self)
        self._usual, disk.system = disk.system, self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        disk.system = self._usual
        sqlite_shim.remove()

    # -- the end of a process, or of all of them

    def kill(self) -> None:
        """End the process. All writes stay, but a later power failure may still take the unsynced
        ones."""
        self._begin_again()
        for path in self._files():
            _place(path, path.read_bytes())

    def power_off(self) -> None:
        """Cut the power. Each unsynced write is kept, lost, torn or garbled; each unsynced
        creation, renaming and deletion is kept or undone."""
        self._begin_again()
        kept = self._names.after_power_failure(self._draw)
        for path in self._files():
            if (str(path) in self._names and str(path) not in kept) or path.name.endswith("-shm"):
                path.unlink()
            elif str(path) not in kept:
                _place(path, path.read_bytes())
        for name, node in kept.items():
            if isinstance(node, Image):
                _place(Path(name), node.after_power_failure(self._draw, self.met))
        for lost in self._names.lost_folders(kept):
            shutil.rmtree(lost, ignore_errors=True)
        self._names = Names()

    def _files(self) -> list[Path]:
        return [Path(folder, name) for folder, _, names in os.walk(self.root) for name in names]

    def _begin_again(self) -> None:
        self._life += 1
        self.crashed = False
        self.crash_at = None

    # -- what goes wrong

    def _fault(self, what: str, path: str) -> int:
        """Count an operation. Returns its error number, or 0 if it succeeds."""
        self.operations += 1
        if self.crash_at is not None and self.operations >= self.crash_at:
            self.crashed = True
            self.met[f"crash at a {what}"] += 1
            self.met["crash within a snapshot"] += "/snapshots" in path
            self.on_crash()
            return errno.EIO
        if (
            self.fail_at is None
            or self.operations < self.fail_at
            or (self.operations > self.fail_at and not self.fail_forever)
        ):
            return 0
        if self.operations == self.fail_at:
            self.met["I/O error for ever" if self.fail_forever else "I/O error once"] += 1
        return errno.EIO

    def _happens(self, what: str, path: str) -> bool:
        """Count an operation that is done as a whole or not at all, and raise if it fails. In a
        crash it may be done all the same, which False tells."""
        self._refuse_the_dead()
        if not self._fault(what, path):
            return True
        if self.crashed and self._draw.random() < 0.5:
            return False
        raise OSError(errno.EIO, "the disk failed, on purpose")

    def _do(self, what: str, path: str | Path, *acts: Callable[[], object]) -> None:
        happens = self._happens(what, str(path))
        for act in acts:
            act()
        if not happens:
            raise OSError(errno.EIO, "the disk failed, on purpose")

    def _refuse_the_dead(self, life: int | None = None) -> None:
        if self.crashed or (life is not None and life != self._life):
            raise OSError(errno.EIO, "the machine is down, on purpose")

    def _reaching(self, path: str, size: int, offset: int, count: int) -> tuple[int, int]:
        """The number of bytes of a write that reach a file of this size, and the error number."""
        error = self._fault("write", path)
        if error:
            count = self._draw.choice((0, count, self._draw.randrange(count + 1)))
        grows = max(0, offset + count - size)
        if self.room is not None:
            if grows > self.room:
                self.met["no room"] += 1
                count, error = max(0, count - (grows - self.room)), errno.ENOSPC
                grows = max(0, offset + count - size)
            self.room -= grows
        return count, error

    def _freed(self, count: int) -> None:
        if self.room is not None:
            self.room += max(0, count)

    # -- SQLite's files, for `sqlite_shim`

    def owns(self, path: str) -> bool:
        return path.startswith(self._below)

    def opened(self, path: str, is_new: bool) -> OpenFile:
        if is_new:
            self._do("creation", path, self._noting(Path(path), Image()))
        return OpenFile(path, self._life)

    def write_at(self, file: OpenFile, offset: int, data: bytes) -> tuple[int, int]:
        """The number of bytes that reach the file, and the error number or 0."""
        if self.crashed or file.life != self._life:
            return 0, errno.EIO
        image = self._image(file.path)
        count, error = self._reaching(file.path, image.size, offset, len(data))
        image.change(offset, data[:count])
        return count, error

    def truncate(self, file: OpenFile, size: int) -> None:
        self._refuse_the_dead(file.life)
        image = self._image(file.path)

        def cut() -> None:
            self._freed(image.size - size)
            image.change(size, None)

        self._do("truncation", file.path, cut)

    def sync(self, file: OpenFile) -> None:
        """Sync the model; the real file need not be. SQLite syncs the folder with a new log, and
        here with every log."""
        self._refuse_the_dead(file.life)
        self._sync(file.path)
        if file.path.endswith(("-wal", "-journal")):
            self._names.sync(os.path.dirname(file.path))

    def may_lock(self, file: OpenFile) -> bool:
        """A file that may not be locked is not changed when it is closed."""
        return not self.crashed and file.life == self._life

    def delete(self, path: str, with_folder: bool) -> None:
        self.remove(Path(path))
        if with_folder:
            self.fsync(Path(path).parent)

    def random_bytes(self, count: int) -> bytes:
        """The seed of SQLite's random numbers, so that its files are the same each time."""
        return self._draw.randbytes(count)

    # -- all other files (`disk.System`)

    def write(self, path: Path, parts: Iterable[bytes]) -> None:
        if not self.owns(str(path)):
            super().write(path, parts)
            return
        data = b"".join(parts)
        self.create(path)
        self._refuse_the_dead()
        image = self._image(str(path))
        self._freed(image.size)
        if image.size:
            image.change(0, None)
        count, error = self._reaching(str(path), 0, 0, len(data))
        image.change(0, data[:count])
        path.write_bytes(data[:count])
        if error:
            raise OSError(error, os.strerror(error))
        self._refuse_the_dead()
        self._sync(str(path))

    def fsync(self, path: Path) -> None:
        if not self.owns(f"{path}{os.sep}"):
            if not self.root.is_relative_to(path):  # folders above the root stay
                super().fsync(path)
            return
        if path.is_dir():
            self._do("sync of a folder", path, partial(self._names.sync, str(path)))
        else:
            self._refuse_the_dead()
            self._sync(str(path))

    def create(self, path: Path) -> None:
        if not self.owns(str(path)):
            super().create(path)
            return
        if not path.exists():
            self._do("creation", path, partial(super().create, path), self._noting(path, Image()))

    def rename(self, old: Path, new: Path) -> None:
        if not self.owns(str(old)):
            super().rename(old, new)
            return
        image = self._image(str(old))
        self._image(str(new))
        note = partial(self._names.rename, str(old), str(new), image)
        self._do("renaming", old, partial(old.rename, new), note)

    def remove(self, path: Path) -> None:
        if not self.owns(str(path)):
            super().remove(path)
            return
        if not path.exists():
            raise FileNotFoundError(path)
        size = self._image(str(path)).size
        self._do("deletion", path, path.unlink, self._noting(path, None))
        self._freed(size)

    def make_folder(self, path: Path) -> None:
        if not self.owns(str(path)):
            super().make_folder(path)
            return
        self._do("creation", path, partial(super().make_folder, path), self._noting(path, FOLDER))

    def map(self, path: Path) -> disk.Mapped:
        real = super().map(path)
        if not self.owns(str(path)):
            return real
        image = self._image(str(path))
        image.mapped = True
        return _FaultyMap(self, real, image, OpenFile(str(path), self._life))

    # --

    def _noting(self, path: Path, node: Node | None) -> Callable[[], None]:
        return partial(self._names.put, str(path), node)

    def _image(self, path: str) -> Image:
        """The image of a file. Content from before the first change was kept by the disk."""
        if path not in self._names:
            self._names.adopt(
                path, Image(Path(path).read_bytes()) if os.path.exists(path) else None
            )
        node = self._names[path]
        return node if isinstance(node, Image) else Image()

    def _sync(self, path: str) -> None:
        image = self._image(path)
        try:
            self._do("sync", path, image.sync)
        except OSError:
            if not self.crashed:
                image.sync_failed(self._draw)
            raise


class _FaultyMap:
    """A mapped file. Memory changes at once and never fails; the disk follows at an unknown
    time."""

    def __init__(self, disk: FaultyDisk, real: disk.Mapped, image: Image, file: OpenFile) -> None:
        self._disk = disk
        self._real = real
        self._image = image
        self._file = file

    def __setitem__(self, place: slice, content: bytes) -> None:
        if self._is_alive():
            self._real[place] = content
            self._image.change(place.start, content)

    def flush(self) -> None:
        self._disk.sync(self._file)

    def close(self) -> None:
        self._real.close()

    def _is_alive(self) -> bool:
        return self._disk.may_lock(self._file)


def _place(path: Path, content: bytes) -> None:
    """Replace the file by a new one, so that locks and memory maps of the old one do not hold
    it."""
    fresh = path.with_name(f"{path.name}.placed")
    fresh.write_bytes(content)
    fresh.chmod(0o600)
    fresh.replace(path)
