"""The results of cells in files: one each, found by the fields of the cell and by the code that
was run.

Results of other code are never taken for those of this one: everything that a simulation runs is
part of the name. A file that is not whole, or of another form, counts as missing.
"""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import msgspec

import laissez
from laissez_experiments.lab.cell import Cell

# packages that decide the result of a simulation
SIMULATED: Final = ("laissez.market", "laissez.tenants", "laissez.operators", "laissez.sim")
SUFFIX: Final = ".json"


class StoreError(Exception):
    """Results cannot be kept there; the message says why."""


class Store:
    """A folder of results. Any number of processes may write to it: each file appears whole or not
    at all.

    The code is read once, at the first question about a cell, and workers get the digest of their
    parent: a process does not run sources that change meanwhile.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._codes: dict[tuple[str, tuple[str, ...]], bytes] = {}

    def path(self, cell: Cell) -> Path:
        asked = type(cell).__module__, cell.packages
        if asked not in self._codes:
            self._codes[asked] = code(*asked)
        name = sha256(self._codes[asked] + cell.written()).hexdigest()[:32]
        return self.folder / f"{type(cell).__name__.lower()}-{name}{SUFFIX}"

    def has(self, cell: Cell) -> bool:
        return self.get(cell) is not None

    def get(self, cell: Cell) -> Any | None:
        """The result; None if the cell was not done, or not by this code."""
        try:
            return msgspec.json.decode(self.path(cell).read_bytes(), type=cell.result)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        except OSError as error:
            raise StoreError(f"{self.path(cell)}: cannot be read: {error.strerror}") from error

    def put(self, cell: Cell, result: Any) -> None:
        path, encoded = self.path(cell), msgspec.json.encode(result)
        try:
            msgspec.json.decode(encoded, type=cell.result)
        except msgspec.DecodeError as error:
            raise ValueError(f"expected a result that can be read back: {error}") from error
        fresh = path.with_suffix(f".{os.getpid()}")
        try:
            fresh.write_bytes(encoded)
            fresh.replace(path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            why = f"{path.parent}: cannot keep results there: {error.strerror}"
            raise StoreError(why) from error


def code(module: str, packages: tuple[str, ...] = ()) -> bytes:
    """A digest of everything that is simulated, of these packages, of the module of the cell, and
    of the interpreter."""
    digest = sha256(
        f"{module} {sys.version} {_solver()}\0".encode()
        + Path(str(sys.modules[module].__file__)).read_bytes()
    )
    root = Path(laissez.__file__).parents[1]
    for package in (*SIMULATED, *packages):
        for path in sorted((root / package.replace(".", "/")).rglob("*.py")):
            digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return digest.digest()


def _solver() -> str:
    """The ideal cloud's plans are as good as its solver."""
    try:
        return version("scipy")
    except PackageNotFoundError:
        return ""
