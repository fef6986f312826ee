"""A shim between SQLite and its files: a watcher decides about every write, truncation, sync,
creation and deletion. An `OSError` of the watcher becomes an error of SQLite.

SQLite reaches its files through a table of functions, a VFS. The shim copies the usual one,
replaces a few functions, and makes the copy the default of the library that Python's `sqlite3`
uses. Reads and shared memory stay the original's. The tables and functions are made once and never
freed: a connection that is closed late, or never, still finds them.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import os
import sys
import traceback
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, addressof, c_char_p, c_int, c_int64, c_void_p
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from laissez_check.disk.faulty import FaultyDisk, OpenFile

# From sqlite3.h.
OK, IOERR, FULL, CANTOPEN = 0, 10, 13, 14
IOERR_WRITE, IOERR_FSYNC, IOERR_TRUNCATE, IOERR_DELETE, IOERR_DELETE_NOENT, IOERR_LOCK = (
    IOERR | kind << 8 for kind in (3, 4, 6, 10, 23, 15)
)
OPEN_CREATE = 0x4

# The functions of both tables that are replaced.
_FILE_FUNCTIONS = {
    "close": CFUNCTYPE(c_int, c_void_p),
    "write": CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64),
    "truncate": CFUNCTYPE(c_int, c_void_p, c_int64),
    "sync": CFUNCTYPE(c_int, c_void_p, c_int),
    "lock": CFUNCTYPE(c_int, c_void_p, c_int),
}
_VFS_FUNCTIONS = {
    # The name is an address, since SQLite keeps it.
    "open": CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, POINTER(c_int)),
    "delete": CFUNCTYPE(c_int, c_void_p, c_void_p, c_int),
    "randomness": CFUNCTYPE(c_int, c_void_p, c_int, c_void_p),
}


Function: TypeAlias = Callable[..., int]


class CannotWatch(Exception):
    """This Python's SQLite cannot be reached."""


def _pointers(*names: str) -> list[tuple[str, Any]]:
    return [(name, c_void_p) for name in names]


class _Methods(ctypes.Structure):
    _fields_ = [
        ("version", c_int),
        *_pointers("close", "read", "write", "truncate", "sync", "size", "lock"),
        *_pointers(*(f"other{n}" for n in range(11))),
    ]


class _Vfs(ctypes.Structure):
    _fields_ = [
        ("version", c_int),
        ("file_bytes", c_int),
        ("path_bytes_max", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        *_pointers("data", "open", "delete"),
        *_pointers(*(f"other{n}" for n in range(6)), "randomness"),
        *_pointers(*(f"later{n}" for n in range(7))),
    ]


class _Shim:
    """The copy of the VFS. A process has one."""

    def __init__(self) -> None:
        self.library = _library()
        self.watcher: FaultyDisk | None = None
        self._open_files: dict[int, tuple[FaultyDisk, OpenFile]] = {}  # by address
        self._methods: dict[int, int] = {}  # of an open file: the address of the original's table
        self._tables: dict[int, _Methods] = {}  # by the address of the original's
        self._functions: list[Any] = []  # kept for C
        self._original = _Vfs.from_address(self.library.sqlite3_vfs_find(None))
        self.vfs = _Vfs()
        ctypes.memmove(addressof(self.vfs), addressof(self._original), ctypes.sizeof(_Vfs))
        self.vfs.name = b"laissez-watched"
        self.vfs.next = None
        self._replace(self.vfs, _VFS_FUNCTIONS)

    def _replace(self, table: ctypes.Structure, kinds: dict[str, Any]) -> None:
        """Put our functions into a copy of a table. Each gets the original's first."""
        for name, kind in kinds.items():
            original = kind(getattr(table, name))
            ours = kind(_guarded(partial(getattr(self, f"_{name}"), original)))
            setattr(table, name, ctypes.cast(ours, c_void_p).value)
            self._functions.append(ours)

    def let_go(self) -> None:
        """Restore the original functions, for connections that are closed while Python ends."""
        for file, methods in self._methods.items():
            c_void_p.from_address(file).value = methods
        for name in _VFS_FUNCTIONS:
            setattr(self.vfs, name, getattr(self._original, name))

    def _open(
        self, original: Function, vfs: int, name: int | None, file: int, flags: int, out: Any
    ) -> int:
        watcher = self.watcher
        path = _path(name)
        if watcher is None or not watcher.owns(path):
            return original(addressof(self._original), name, file, flags, out)
        try:
            opened = watcher.opened(path, bool(flags & OPEN_CREATE) and not os.path.exists(path))
        except OSError:
            return CANTOPEN
        code = original(addressof(self._original), name, file, flags, out)
        methods = c_void_p.from_address(file)  # the first field of a file
        if code == OK and methods.value:
            self._open_files[file] = watcher, opened
            self._methods[file] = methods.value
            methods.value = addressof(self._table(methods.value))
        return code

    def _delete(self, original: Function, vfs: int, name: int, with_folder: int) -> int:
        watcher = self.watcher
        path = _path(name)
        if watcher is None or not watcher.owns(path):
            return original(addressof(self._original), name, with_folder)
        try:
            watcher.delete(path, bool(with_folder))
        except FileNotFoundError:
            return IOERR_DELETE_NOENT
        except OSError:
            return IOERR_DELETE
        return OK

    def _randomness(self, original: Function, vfs: int, count: int, out: int) -> int:
        drawn = self.watcher.random_bytes(count) if self.watcher else os.urandom(count)
        ctypes.memmove(out, drawn, count)
        return count

    def _table(self, address: int) -> _Methods:
        """The original's table, with our functions for changes of a file."""
        if address not in self._tables:
            table = self._tables[address] = _Methods()
            ctypes.memmove(addressof(table), address, ctypes.sizeof(_Methods))
            self._replace(table, _FILE_FUNCTIONS)
        return self._tables[address]

    def _close(self, original: Function, file: int) -> int:
        del self._open_files[file], self._methods[file]
        return original(file)

    def _write(self, original: Function, file: int, data: int, count: int, offset: int) -> int:
        watcher, opened = self._open_files[file]
        reaches, error = watcher.write_at(opened, offset, ctypes.string_at(data, count))
        code = original(file, data, reaches, offset) if reaches else OK
        if error:
            return FULL if error == errno.ENOSPC else IOERR_WRITE
        return code

    def _truncate(self, original: Function, file: int, size: int) -> int:
        watcher, opened = self._open_files[file]
        try:
            watcher.truncate(opened, size)
        except OSError:
            return IOERR_TRUNCATE
        return original(file, size)

    def _lock(self, original: Function, file: int, level: int) -> int:
        """Refuse a lock with an error. SQLite would wait for the end of "busy"."""
        watcher, opened = self._open_files[file]
        return original(file, level) if watcher.may_lock(opened) else IOERR_LOCK

    def _sync(self, original: Function, file: int, flags: int) -> int:
        watcher, opened = self._open_files[file]
        try:
            watcher.sync(opened)
        except OSError:
            return IOERR_FSYNC
        return OK


def install(watcher: FaultyDisk) -> None:
    """Watch all files that this process opens from now on."""
    shim = _shim()
    if shim.watcher is not None:
        raise CannotWatch("SQLite's files are watched already: one watcher at a time")
    shim.watcher = watcher
    shim.library.sqlite3_vfs_register(addressof(shim.vfs), 1)
    shim.library.sqlite3_randomness(0, None)  # seed again


def remove() -> None:
    shim = _shim()
    shim.library.sqlite3_vfs_unregister(addressof(shim.vfs))
    shim.watcher = None
    shim.library.sqlite3_randomness(0, None)


@cache
def _shim() -> _Shim:
    shim = _Shim()
    # Connections point to it until the very end.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(shim.vfs))
    atexit.register(shim.let_go)
    return shim


def _library() -> ctypes.CDLL:
    import _sqlite3

    where = getattr(_sqlite3, "__file__", None)
    try:
        library = ctypes.CDLL(where)  # with the libraries it is linked to; None is the program
        library.sqlite3_vfs_find.restype = c_void_p
        library.sqlite3_vfs_find.argtypes = [c_char_p]
        library.sqlite3_vfs_register.argtypes = [c_void_p, c_int]
        library.sqlite3_vfs_unregister.argtypes = [c_void_p]
        library.sqlite3_randomness.argtypes = [c_int, c_void_p]
    except (OSError, AttributeError) as error:
        raise CannotWatch(
            f"SQLite's own functions cannot be reached from {where or sys.executable} ({error}):"
            " this Python has SQLite built in and hidden. Use one whose sqlite3 module is linked"
            " to the SQLite library."
        ) from error
    return library


def _path(name: int | None) -> str:
    return os.fsdecode(ctypes.string_at(name)) if name else ""


def _guarded(function: Function) -> Function:
    """Turn exceptions into error codes: C cannot pass them on, and would see success."""

    def called(*values: Any) -> int:
        try:
            return function(*values)
        except BaseException:
            traceback.print_exc()
            return IOERR

    return called
