"""The journal: whether it is whole, and whether all that it tells, and every snapshot beside it, is
what comes of it when it is carried out again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

from laissez.journal import Document, JournalError, Reader
from laissez.journal.verify import verify
from laissez.server.audit.verdict import Verdict
from laissez.server.exchange import Exchange
from laissez.server.opening import Replaying, read_asker
from laissez.wire.ids import KEY

Progress: TypeAlias = Callable[[str, int, int], None]  # with what, how many, of how many


def is_chained(reader: Reader, verdict: Verdict, on_progress: Progress) -> bool:
    """Each entry follows the one before it, and the last is there. All are looked at, so that
    digests can be compared with what there is."""
    told_before = len(verdict.problems)
    verdict.head = reader.start.hex()
    try:
        reader.check_file()
        last, at = reader.tail().last, 0
        for group in reader.groups(1, last):
            for seq, entry in enumerate(group.entries, group.first):
                if entry.at < at:
                    verdict.tell(
                        f"journal, entry {seq}", "its time lies before that of the entry before it"
                    )
                at = entry.at
            verdict.entries, verdict.head = group.last, group.chain.hex()
            on_progress("entries", group.last, last)
        reader.check_mark()
    except JournalError as error:
        verdict.tell("journal", str(error))
    return len(verdict.problems) == told_before


def carry_out_again(data: Path, verdict: Verdict, on_progress: Progress) -> None:
    strange: dict[tuple[str, str], int] = {}
    report = verify(
        data,
        begin=lambda genesis: _Asked(Exchange.begin(genesis), strange),
        on_progress=partial(on_progress, "carried out again"),
    )
    verdict.replayed, verdict.snapshots = report.entries, report.snapshots
    for problem in report.problems:
        verdict.tell("journal", problem)
    for (who, key), seq in strange.items():
        verdict.tell(
            f"journal, entry {seq}", f"it was asked for with {key}, which {who} was never given"
        )


class _Asked(Replaying):
    """Notes who asked, and first at which entry, with a key that the journal knows nothing of: it
    was in a snapshot, say, that is gone by now."""

    def __init__(self, exchange: Exchange, strange: dict[tuple[str, str], int]) -> None:
        super().__init__(exchange)
        self._strange = strange
        self._seq = 0

    def apply(self, at: int, request: bytes) -> tuple[bytes, tuple[Document, ...]]:
        self._seq += 1
        asker = read_asker(request)
        if asker.by.startswith(KEY):
            known = self.exchange.keys.get(asker.by)
            if known is None or known.holder != asker.who:
                self._strange.setdefault((asker.who, asker.by), self._seq)
        return super().apply(at, request)
