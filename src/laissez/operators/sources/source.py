"""A source: where one signal comes from. It either has a reading or says why not; it never raises
for what it finds out there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from laissez.operators.reading import Missing, Reading


class Source(ABC):
    is_remote: ClassVar[bool] = False  # whether reading may have to wait for somebody else

    @abstractmethod
    def read(self, now: int) -> Reading | Missing:
        """The latest value, as of `now` in microseconds."""

    def close(self) -> None:  # noqa: B027 - most sources hold nothing open
        """Give up what it holds open."""
