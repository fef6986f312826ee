"""What cells came to, kept in files: one each, found by what the cell is made of and by the code that was run.

Results of other code are never taken for those of this one: everything that a simulation runs is part of the name. A file that is not whole, or of
another form, counts as not there.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

import laissez
from laissez.experiments.lab.cell import Cell

SIMULATED: Final = ("market", "tenants", "operators", "sim")  # packages that decide what comes of a simulation
SUFFIX: Final = ".json"


class StoreError(Exception):
    """Results cannot be kept there; the message says why."""


class Store:
    """A folder of results. Any number of processes may write to it: each file appears whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, cell: Cell) -> Path:
        name = sha256(code(type(cell).__module__, cell.packages) + cell.written()).hexdigest()[:32]
        return self.folder / f"{type(cell).__name__.lower()}-{name}{SUFFIX}"

    def has(self, cell: Cell) -> bool:
        return self.get(cell) is not None

    def get(self, cell: Cell) -> Any | None:
        """What came of it; None if it was not done, or not by this code."""
        try:
            return msgspec.json.decode(self.path(cell).read_bytes(), type=cell.result)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def put(self, cell: Cell, result: Any) -> None:
        path = self.path(cell)
        fresh = path.with_suffix(f".{os.getpid()}")
        try:
            fresh.write_bytes(msgspec.json.encode(result))
            fresh.replace(path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise StoreError(f"{path.parent}: cannot keep results there: {error.strerror}") from error


@cache
def code(module: str, packages: tuple[str, ...] = ()) -> bytes:
    """A digest of everything that is simulated, of these packages too, and of the module that says what a cell does."""
    root = Path(laissez.__file__).parent
    digest = sha256(f"{module}\0".encode() + Path(str(sys.modules[module].__file__)).read_bytes())
    for path in (path for package in (*SIMULATED, *packages) for path in sorted((root / package).rglob("*.py"))):
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return digest.digest()
