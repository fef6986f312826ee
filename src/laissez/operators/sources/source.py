"""A source of one signal, and the simplest one: the operator's own Python function."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from laissez.config import shown
from laissez.operators.fields import MapError
from laissez.operators.view import Missing, Reading


class Source(ABC):
    """A source of readings. It never raises because of the outside world."""

    is_remote: ClassVar[bool] = False  # whether a read may wait for a server

    @abstractmethod
    def read(self, now: int) -> Reading | Missing:
        """The latest value, as of `now` in microseconds."""

    def close(self) -> None:  # noqa: B027 - most sources hold nothing open
        """Release connections."""


@dataclass(kw_only=True)
class PythonCallable(Source):
    """`call` takes the time in microseconds and returns a number, a `Reading`, or None. In a file
    it is written as "package.module:function"."""

    call: Callable[[int], Any]
    timeout_s: Annotated[float, Meta(gt=0, le=3_600)] = 5.0

    def __post_init__(self) -> None:
        self._calling: threading.Thread | None = None
        if not callable(self.call):
            raise MapError(f"call: expected a function, found {shown(self.call)}")

    def read(self, now: int) -> Reading | Missing:
        """Call the function in a thread, so that a hanging one blocks nothing else."""
        if self._calling is not None and self._calling.is_alive():
            return Missing(f"{self._name} has not come back from an earlier call")
        answers: list[Reading | Missing] = []
        self._calling = threading.Thread(
            target=lambda: answers.append(self._answer(now)), name=self._name, daemon=True
        )
        self._calling.start()
        self._calling.join(self.timeout_s)
        if answers:
            return answers[0]
        return Missing(f"{self._name} did not come back within {self.timeout_s:g} s")

    def _answer(self, now: int) -> Reading | Missing:
        try:
            found = self.call(now)
        except BaseException as error:  # an operator's own code may raise anything, even an exit
            return Missing(f"{self._name}: {type(error).__name__}: {error}")
        if found is None:
            return Missing(f"{self._name} has no reading")
        if isinstance(found, Reading | Missing):
            return found
        if isinstance(found, bool) or not isinstance(found, int | float):
            return Missing(f"{self._name}: expected a number, found {shown(found)}")
        try:
            return Reading(float(found), now)
        except OverflowError:  # a number too large for a float is too large for any map
            return Reading(math.inf if found > 0 else -math.inf, now)

    @property
    def _name(self) -> str:
        module = getattr(self.call, "__module__", "")
        return f"{module}:{getattr(self.call, '__qualname__', type(self.call).__name__)}"
