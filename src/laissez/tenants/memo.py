"""A dictionary that computes what it is asked for and forgets its oldest entry when it is full:
everything once, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Memo(dict[Key, Value]):
    """At most `entries_max` answers of `compute`. `memo[key]` is the answer for `key`: a
    dictionary's own look-up, where it is there already."""

    def __init__(self, entries_max: int, compute: Callable[[Key], Value]) -> None:
        super().__init__()
        self.entries_max = entries_max
        self._compute = compute

    def __missing__(self, key: Key) -> Value:
        answer = self._compute(key)
        if len(self) >= self.entries_max:
            del self[next(iter(self))]
        self[key] = answer
        return answer
