"""What was tried and what came of it; and how a request is made to name one thing or another."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from laissez_check.access.wire import Answer


class Described(msgspec.Struct, frozen=True):
    """An operation as the server describes it."""

    name: str
    method: str
    path: str
    query: tuple[str, ...]


class Tried:
    """What came of it so far."""

    def __init__(self) -> None:
        self.answers: dict[str, dict[str, int]] = {}
        self.findings: list[str] = []

    def note(self, name: str, caller: str, found: int, expected: int) -> None:
        self.answers.setdefault(name, {})[caller] = found
        if found != expected:
            self.findings.append(f"{name} by {caller}: expected {expected}, found {found}")

    def same(self, what: str, expected: Answer, found: Answer) -> None:
        if found != expected:
            self.findings.append(
                f"{what}: expected the same bytes, found\n  {expected.head!r} {expected.body!r}\n "
                f" {found.head!r} {found.body!r}"
            )

    def holds(self, what: str, is_so: bool) -> None:
        if not is_so:
            self.findings.append(what)


def filled(text: Any, thing: dict[str, str]) -> Any:
    """A query or a body with its braces filled."""
    if text is None:
        return None
    written = text if isinstance(text, str) else json.dumps(text)
    for name, value in thing.items():
        written = written.replace(f"{{{name}}}", value)
    return written if isinstance(text, str) else json.loads(written)


def unknown(name: str) -> str:
    """A name like this one, and as long, that nobody ever had."""
    prefix, _, rest = name.rpartition("_") if name[3:4] == "_" else ("", "", name)
    changed = rest[::-1].replace("/", "x") if rest[::-1] != rest else "q" + rest[1:]
    return f"{prefix}_{changed}" if prefix else changed


def of_before(name: str) -> str:
    """What an operation or a message is called where it asks for what happened before."""
    return f"{name}, of before"


def unlisted(described: set[str], listed: set[str], kind: str) -> list[str]:
    missing = [
        f"{kind} {name}: nobody has said who may; access/table.py has no row for it"
        for name in sorted(described - listed)
    ]
    return missing + [
        f"{kind} {name}: access/table.py has a row for it, and the server has no such {kind}"
        for name in sorted(listed - described)
    ]
