"""Attributes replaced for a while: bugs put in on purpose, and edges of a simulated world.

A check that never fails proves nothing, so each has bugs that it must find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

Patch: TypeAlias = tuple[Any, str, Any]  # an object, an attribute of it, and the new value


def apply(patches: Iterable[Patch]) -> None:
    for place, name, value in patches:
        setattr(place, name, value)


@contextmanager
def replaced(patches: Iterable[Patch]) -> Iterator[None]:
    patches = list(patches)
    usual = [(place, name, getattr(place, name)) for place, name, _ in patches]
    apply(patches)
    try:
        yield
    finally:
        apply(usual)


def bugs_among(names: Mapping[str, Any]) -> dict[str, Callable[[], list[Patch]]]:
    """The bugs of a module, given its globals: its public functions that return patches."""
    return {
        name: made
        for name, made in names.items()
        if not name.startswith("_") and _returns(made) == "list[Patch]"
    }


def _returns(made: Any) -> object:
    return getattr(made, "__annotations__", {}).get("return")
