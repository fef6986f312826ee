"""Names that the journal stores as numbers, and the tags in the ids of holders.

Nodes, holders and keys are numbered by their place in a list that only grows.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from typing import Final

from laissez.exchange.commands import OPERATOR, SERVICE


class Numbering:
    """Names by number, and numbers by name."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names: list[str] = list(names)
        self.numbers: dict[str, int] = {name: place for place, name in enumerate(self.names)}

    def add(self, name: str) -> None:
        self.numbers[name] = len(self.names)
        self.names.append(name)


class Names:
    def __init__(self, paths: Iterable[str]) -> None:
        self.nodes = Numbering(paths)
        self.holders = Numbering((OPERATOR,))
        self.keys = Numbering((SERVICE,))


_TAGS_MAX: Final = 1 << 16
_tags: Final[dict[str, str]] = {}  # looked up several times per command


def tag_of(holder: str) -> str:
    """Eight letters and digits, always the same for the same name."""
    tag = _tags.get(holder)
    if tag is None:
        if len(_tags) >= _TAGS_MAX:
            _tags.clear()
        digest = hashlib.blake2b(holder.encode(), digest_size=5).digest()
        tag = _tags[holder] = base64.b32encode(digest).decode().lower()
    return tag
