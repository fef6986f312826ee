"""A signal from the operator's own Python: a function of the time, in microseconds, that gives a
number, a `Reading`, or `None` if there is none."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from laissez.config import shown
from laissez.operators.errors import MapError
from laissez.operators.reading import Missing, Reading
from laissez.operators.sources.source import Source


@dataclass(kw_only=True)
class PythonCallable(Source):
    """`call` is the function; in a file it is written as where it is, "package.module:function"."""

    call: Callable[[int], Any]
    timeout_s: Annotated[float, Meta(gt=0, le=3_600)] = 5.0

    def __post_init__(self) -> None:
        self._calling: threading.Thread | None = None
        if not callable(self.call):
            raise MapError(f"call: expected a function, found {shown(self.call)}")

    def read(self, now: int) -> Reading | Missing:
        """What the function says, if it does so in time; in a thread, so that one that hangs stops
        neither the other maps nor the end."""
        if self._calling is not None and self._calling.is_alive():
            return Missing(f"{self._name} has not come back from an earlier call")
        answers: list[Reading | Missing] = []
        self._calling = threading.Thread(
            target=lambda: answers.append(self._answer(now)), name=self._name, daemon=True
        )
        self._calling.start()
        self._calling.join(self.timeout_s)
        return (
            answers[0]
            if answers
            else Missing(f"{self._name} did not come back within {self.timeout_s:g} s")
        )

    def _answer(self, now: int) -> Reading | Missing:
        try:
            found = self.call(now)
        # whatever an operator's own code may raise, an exit included
        except BaseException as error:
            return Missing(f"{self._name}: {type(error).__name__}: {error}")
        if found is None:
            return Missing(f"{self._name} has no reading")
        if isinstance(found, Reading | Missing):
            return found
        if isinstance(found, bool) or not isinstance(found, int | float):
            return Missing(f"{self._name}: expected a number, found {shown(found)}")
        return Reading(_float(found), now)

    @property
    def _name(self) -> str:
        module = getattr(self.call, "__module__", "")
        return f"{module}:{getattr(self.call, '__qualname__', type(self.call).__name__)}"


def _float(number: float) -> float:
    """A whole number may be too large for a float; it is too large for any map too."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
