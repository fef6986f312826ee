"""Random numbers, in streams that do not disturb each other: what one part draws never depends on
how much another has drawn."""

from __future__ import annotations

from hashlib import sha256
from random import Random


def stream(seed: int, *names: str | int) -> Random:
    """The stream of that name under that seed; the same everywhere, always."""
    text = "/".join(map(str, (seed, *names)))
    return Random(int.from_bytes(sha256(text.encode()).digest(), "big"))
