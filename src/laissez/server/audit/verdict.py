"""What verifying found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from laissez.server.audit.files import lines_of


@dataclass
class Verdict:
    """`problems` is empty if all is well; each names its place."""

    entries: int = 0
    head: str = ""
    replayed: int = 0  # entries that were carried out again, with the same outcome
    # after which entry each was taken that is what replaying gives
    snapshots: list[int] = field(default_factory=list)
    refusals: int = 0  # lines that were read
    first_refusal: int = 0
    last_refusal: int = 0
    refusals_chain: str = ""
    removed_lines: int = 0  # of days that are gone, and were old, as the service told
    removed_from: str = ""  # the first of those days
    removed_until: str = ""  # the last
    removed_after_days: int = 0  # how old each was at least
    digests: int = 0
    compared: int = 0  # digests kept elsewhere
    until: str = ""  # the last day that has a digest
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def tell(self, where: str, what: str) -> None:
        self.problems.append(f"{where}: {what}")

    def read(self, path: Path) -> Iterator[tuple[int, bytes]]:
        """The lines of a file with their numbers. One that cannot be read is a problem, and has
        none."""
        try:
            return lines_of(path)
        except OSError as error:
            self.tell(path.name, f"it cannot be read: {error.strerror}")
            return iter(())
