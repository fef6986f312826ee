"""The log of refusals, line by line: each follows from the one before it, and is in the file of its
day."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from laissez.server.audit.files import days, path_of
from laissez.server.audit.lines import Broken, Digest, Refusal, read
from laissez.server.audit.removals import Removals
from laissez.server.audit.verdict import Verdict

UNKNOWN = "?"  # the chain after a line that cannot be read


class Following:
    """What is wrong goes to the verdict, once for each break."""

    def __init__(
        self,
        folder: Path,
        beginning: str,
        digests: Collection[Digest],
        removals: Removals,
        verdict: Verdict,
    ) -> None:
        self.ends: dict[str, tuple[int, str]] = {}  # of each day that has a file: its last line
        self._folder = folder
        self._beginning = beginning
        self._digests = digests
        self._removals = removals
        self._verdict = verdict

    def check(self) -> None:
        before: Refusal | None = None
        for date in days(self._folder):
            path = path_of(self._folder, date)
            for number, stored in self._verdict.read(path):
                where = f"{path.name}, line {number}"
                try:
                    before = self._check_line(stored, before, date)
                except Broken as broken:
                    self._verdict.tell(where, str(broken))
                    before = _as_told(stored, before)
            if before is not None:
                self.ends[date] = before.n, before.chain
        if before is not None:
            self._verdict.last_refusal, self._verdict.refusals_chain = before.n, before.chain

    def _check_line(self, stored: bytes, before: Refusal | None, date: str) -> Refusal:
        n, chain = self._expected(stored) if before is None else (before.n + 1, before.chain)
        line = read(stored, Refusal, None)
        if line.n > n:
            raise Broken(f"lines {n} to {line.n - 1} are missing before it")
        if line.n < n:
            raise Broken(f"line {n} was expected here, {line.n} found")
        line = read(stored, Refusal, None if chain == UNKNOWN else chain)
        if not line.at.startswith(date):
            raise Broken(f"it is of {line.at[:10]}, and in the file of another day")
        if before is not None and line.at < before.at:
            raise Broken("its time lies before that of the line before it")
        self._verdict.refusals += 1
        self._removals.note(line)
        return line

    def _expected(self, stored: bytes) -> tuple[int, str]:
        """What the oldest line that is left must follow: the beginning, or the end of a day whose
        file was removed after its digest was made."""
        line = read(stored, Refusal, None)
        self._verdict.first_refusal = line.n
        ends = [digest for digest in self._digests if digest.refusals == line.n - 1]
        return (ends[-1].refusals + 1, ends[-1].refusals_chain) if ends else (1, self._beginning)


def _as_told(stored: bytes, before: Refusal | None) -> Refusal | None:
    """A line that is broken, as the one that the next must follow, so that one break is told
    once."""
    try:
        return read(stored, Refusal, None)
    except Broken:
        return None if before is None else Refusal(before.n + 1, before.at, "", chain=UNKNOWN)
