"""A bounded cache of a pure function. Unlike `functools.lru_cache` it can be pickled, and a hit
costs only a dictionary's own look-up."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Cache(dict[Key, Value]):
    """`cache[key]` is `compute(key)`. When it is full, the oldest entry makes room."""

    def __init__(self, entries_max: int, compute: Callable[[Key], Value]) -> None:
        super().__init__()
        self.entries_max = entries_max
        self._compute = compute

    def __missing__(self, key: Key) -> Value:
        value = self._compute(key)
        if len(self) >= self.entries_max:
            del self[next(iter(self))]
        self[key] = value
        return value
