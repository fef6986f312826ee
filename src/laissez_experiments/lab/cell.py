"""A cell: one self-contained piece of work. Its result depends on its fields and the code alone, so
it is done once and kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar

import msgspec


class Cell(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Its fields are plain data, and the stored result is found by them.

    `result` is the type that `run` returns, which can be written as JSON; `seconds` is its usual
    time on one core, from which the time left is estimated. A cell that measures a speed needs the
    machine for itself (`is_alone`). `packages` are those whose code decides its result, beside
    everything that is simulated.
    """

    result: ClassVar[Any]
    seconds: ClassVar[float] = 1.0
    is_alone: ClassVar[bool] = False
    packages: ClassVar[tuple[str, ...]] = ()

    def __hash__(self) -> int:
        return hash(self.written())

    def written(self) -> bytes:
        """All its fields, which identify it among cells of its type, in files too."""
        return msgspec.json.encode(self, order="deterministic")

    @property
    def weight(self) -> float:
        """Its time in seconds, where cells of one type differ much."""
        return self.seconds

    @property
    def group(self) -> Hashable:
        """Cells of one group share costly preparations, so one worker does them in sequence."""
        return self

    @abstractmethod
    def run(self) -> Any:
        """Do it."""

    @abstractmethod
    def __str__(self) -> str:
        """Its description in error messages."""
