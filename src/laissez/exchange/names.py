"""Names that the journal stores as numbers, and the tags in the ids of holders.

Nodes, holders and keys are numbered by their place in a list that only grows.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache

from laissez.exchange.commands import OPERATOR, SERVICE


class Names:
    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)  # of the topology's nodes
        self.holders: list[str] = [OPERATOR]
        self.keys: list[str] = [SERVICE]


@lru_cache(1 << 16)
def tag_of(holder: str) -> str:
    """Eight letters and digits, always the same for the same name."""
    return (
        base64.b32encode(hashlib.blake2b(holder.encode(), digest_size=5).digest()).decode().lower()
    )
