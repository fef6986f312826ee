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
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from laissez_check.disk.faulty import FaultyDisk, OpenFile

# From sqlite3.h.
OK, IOERR, FULL, CANTOPEN = 0, 10, 13, 14
IOERR_WRITE, IOERR_FSYNC, IOERR_TRUNCATE, IOERR_DELETE = (
    IOERR | 3 << 8,
    IOERR | 4 << 8,
    IOERR | 6 << 8,
    IOERR | 10 << 8,
)
IOERR_DELETE_NOENT = IOERR | 23 << 8
IOERR_LOCK = IOERR | 15 << 8  # not "busy", for whose end SQLite would wait
OPEN_CREATE = 0x4

_Close = CFUNCTYPE(c_int, c_void_p)
_Write = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_Truncate = CFUNCTYPE(c_int, c_void_p, c_int64)
_Sync = CFUNCTYPE(c_int, c_void_p, c_int)
# The name is an address, since SQLite keeps it.
_Open = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, POINTER(c_int))
_Delete = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)
_Randomness = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p)


class CannotWatch(Exception):
    """This Python's SQLite cannot be reached."""


class _Methods(ctypes.Structure):
    _fields_ = [
        ("version", c_int),
        ("close", c_void_p),
        ("read", c_void_p),
        ("write", c_void_p),
        ("truncate", c_void_p),
        ("sync", c_void_p),
        ("size", c_void_p),
        ("lock", c_void_p),
        *((f"other{n}", c_void_p) for n in range(11)),
    ]


class _Vfs(ctypes.Structure):
    _fields_ = [
        ("version", c_int),
        ("file_bytes", c_int),
        ("path_bytes_max", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", c_void_p),
        ("delete", c_void_p),
        *((f"other{n}", c_void_p) for n in range(6)),
        ("randomness", c_void_p),
        *((f"later{n}", c_void_p) for n in range(7)),
    ]


class _Shim:
    """The copy of the VFS. A process has one."""

    def __init__(self) -> None:
        self.library = _library()
        self.watcher: FaultyDisk | None = None
        self._open_files: dict[int, tuple[FaultyDisk, OpenFile]] = {}  # by address
        self._methods: dict[int, int] = {}  # of an open file: the address of the original's table
        self._tables: dict[int, _Methods] = {}  # by the address of the original's
        self._original = _Vfs.from_address(self.library.sqlite3_vfs_find(None))
        self._original_open: Callable[..., int] = _Open(self._original.open)
        self._original_delete: Callable[..., int] = _Delete(self._original.delete)
        self._functions = [
            _Open(_guarded(self._open)),
            _Delete(_guarded(self._delete)),
            _Randomness(_guarded(self._random)),
        ]
        self.vfs = _Vfs()
        ctypes.memmove(addressof(self.vfs), addressof(self._original), ctypes.sizeof(_Vfs))
        self.vfs.name = b"laissez-watched"
        self.vfs.next = None
        self.vfs.open, self.vfs.delete, self.vfs.randomness = (
            ctypes.cast(function, c_void_p).value for function in self._functions
        )

    def _open(self, vfs: int, name: int | None, file: int, flags: int, out: Any) -> int:
        watcher = self.watcher
        path = _path(name)
        if watcher is None or not watcher.owns(path):
            return self._original_open(addressof(self._original), name, file, flags, out)
        try:
            opened = watcher.opened(path, bool(flags & OPEN_CREATE) and not os.path.exists(path))
        except OSError:
            return CANTOPEN
        code = self._original_open(addressof(self._original), name, file, flags, out)
        methods = c_void_p.from_address(file)  # the first field of a file
        if code == OK and methods.value:
            self._open_files[file] = watcher, opened
            self._methods[file] = methods.value
            methods.value = addressof(self._table(methods.value))
        return code

    def _delete(self, vfs: int, name: int, with_folder: int) -> int:
        watcher = self.watcher
        path = _path(name)
        if watcher is None or not watcher.owns(path):
            return self._original_delete(addressof(self._original), name, with_folder)
        try:
            watcher.delete(path, bool(with_folder))
        except FileNotFoundError:
            return IOERR_DELETE_NOENT
        except OSError:
            return IOERR_DELETE
        return OK

    def let_go(self) -> None:
        """Restore the original functions, for connections that are closed while Python ends."""
        for file, methods in self._methods.items():
            c_void_p.from_address(file).value = methods
        self.vfs.open, self.vfs.delete, self.vfs.randomness = (
            self._original.open,
            self._original.delete,
            self._original.randomness,
        )

    def _random(self, vfs: int, count: int, out: int) -> int:
        ctypes.memmove(
            out, self.watcher.random_bytes(count) if self.watcher else os.urandom(count), count
        )
        return count

    def _table(self, address: int) -> _Methods:
        """The original's table, with our functions for changes of a file."""
        if address not in self._tables:
            table = _Methods()
            ctypes.memmove(addressof(table), address, ctypes.sizeof(_Methods))
            close, write, truncate, lock = (
                _Close(table.close),
                _Write(table.write),
                _Truncate(table.truncate),
                _Sync(table.lock),
            )
            ours = [
                _Close(_guarded(lambda file: self._close(close, file))),
                _Write(
                    _guarded(
                        lambda file, data, count, offset: self._write(
                            write, file, data, count, offset
                        )
                    )
                ),
                _Truncate(_guarded(lambda file, size: self._truncate(truncate, file, size))),
                _Sync(_guarded(self._sync)),
                _Sync(_guarded(lambda file, level: self._lock(lock, file, level))),
            ]
            table.close, table.write, table.truncate, table.sync, table.lock = (
                ctypes.cast(function, c_void_p).value for function in ours
            )
            self._functions += ours
            self._tables[address] = table
        return self._tables[address]

    def _close(self, original: Callable[[int], int], file: int) -> int:
        del self._open_files[file], self._methods[file]
        return original(file)

    def _write(
        self,
        original: Callable[[int, int, int, int], int],
        file: int,
        data: int,
        count: int,
        offset: int,
    ) -> int:
        watcher, opened = self._open_files[file]
        reaches, error = watcher.write_at(opened, offset, ctypes.string_at(data, count))
        code = original(file, data, reaches, offset) if reaches else OK
        if error:
            return FULL if error == errno.ENOSPC else IOERR_WRITE
        return code

    def _truncate(self, original: Callable[[int, int], int], file: int, size: int) -> int:
        watcher, opened = self._open_files[file]
        try:
            watcher.truncate(opened, size)
        except OSError:
            return IOERR_TRUNCATE
        return original(file, size)

    def _lock(self, original: Callable[[int, int], int], file: int, level: int) -> int:
        watcher, opened = self._open_files[file]
        return original(file, level) if watcher.may_lock(opened) else IOERR_LOCK

    def _sync(self, file: int, flags: int) -> int:
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


def _guarded(function: Callable[..., int]) -> Callable[..., int]:
    """Turn exceptions into error codes: C cannot pass them on, and would see success."""

    def called(*values: Any) -> int:
        try:
            return function(*values)
        except BaseException:
            traceback.print_exc()
            return IOERR

    return called
