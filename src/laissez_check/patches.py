"""Attributes replaced for a while: bugs put in on purpose, and edges of a simulated world.

A check that never fails proves nothing, so each has bugs that it must find.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

Patch: TypeAlias = tuple[Any, str, Any]  # an object, an attribute of it, and the new value


def replace(patches: Iterable[Patch]) -> list[Patch]:
    """Apply the patches. Returns those that undo them."""
    patches = list(patches)
    undo = [(place, name, getattr(place, name)) for place, name, _ in patches]
    for place, name, value in patches:
        setattr(place, name, value)
    return undo


@contextmanager
def replaced(patches: Iterable[Patch]) -> Iterator[None]:
    undo = replace(patches)
    try:
        yield
    finally:
        replace(undo)
