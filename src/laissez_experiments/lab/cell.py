"""A cell: one piece of work, whole in itself. What comes of it depends on its fields and on the
code alone, so it is done once and kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar

import msgspec


class Cell(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Its fields are plain data: they are what the stored result is found by.

    `result` is the type of what `run` gives, which can be written as JSON; `seconds` about how long
    that takes on one core: the time left is told from it. A cell that measures how fast something
    is wants the machine for itself (`is_alone`). `packages` are those whose code decides what comes
    of it, beside everything that is simulated.
    """

    result: ClassVar[Any]
    seconds: ClassVar[float] = 1.0
    is_alone: ClassVar[bool] = False
    packages: ClassVar[tuple[str, ...]] = ()

    def __hash__(self) -> int:
        return hash(self.written())

    def written(self) -> bytes:
        """All its fields: what tells it from others of its type, in files too."""
        return msgspec.json.encode(self, order="deterministic")

    @property
    def weight(self) -> float:
        """In seconds; for cells of one type that differ much."""
        return self.seconds

    @property
    def group(self) -> Hashable:
        """Cells of one group share costly preparations, so they are done one after the other by the
        same worker."""
        return self

    @abstractmethod
    def run(self) -> Any:
        """Do it."""

    @abstractmethod
    def __str__(self) -> str:
        """What it is, for whoever has to find out why it failed."""
