"""A dictionary that forgets its oldest entry when it is full: what is computed once is looked up afterwards, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Memo(Generic[Key, Value]):
    """At most `entries_max` answers."""

    def __init__(self, entries_max: int) -> None:
        self.entries_max = entries_max
        self._answers: dict[Key, Value] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: Key, compute: Callable[[], Value]) -> Value:
        """The answer for `key`, computed if it is not there."""
        if key in self._answers:
            return self._answers[key]
        answer = compute()
        if len(self._answers) >= self.entries_max:
            del self._answers[next(iter(self._answers))]
        self._answers[key] = answer
        return answer
