"""The record after a start over damaged files of it. What `audit verify` finds well must be what
was written; what it does not, it names.

Every digest is what it was, and every line of the log that a digest tells of. Of later lines the
end may be missing: that nobody can know (`docs/audit.md`). Anything else that is missing was cut
off, and that is said. And what a start reads, the digests and the end of the log, it does not find
damaged in silence.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from laissez.server.audit.digests import FILE
from laissez.server.audit.log import FOLDER, Digest
from laissez.server.audit.verify import verify
from laissez_check.damage.beside import Kept, digests_in, lines_in
from laissez_check.finding import Finding

DIGESTS = f"{FOLDER}/{FILE}"


def check_record(
    folder: Path,
    kept: Kept,
    whole: dict[str, bytes],
    damaged: dict[str, bytes | None],
    said: list[str],
) -> None:
    verdict = verify(folder)
    newest = max(
        name
        for name in (*whole, *damaged)
        if name.startswith(f"{FOLDER}/refusals-") and name.endswith(".jsonl")
    )
    changed = {name for name in (DIGESTS, newest) if whole.get(name) != damaged.get(name)}
    if verdict.problems:
        if changed and not said:
            raise Finding(
                f"a start said nothing about {', '.join(sorted(changed))}, of which audit verify"
                f" says: {verdict.problems[0]}"
            )
        return
    if digests_in(folder / FOLDER)[: len(kept.digests)] != kept.digests:
        raise Finding("audit verify finds digests well that are not those that were written")
    lines = lines_in(folder / FOLDER)
    told_of = msgspec.json.decode(kept.digests[-1], type=Digest).refusals if kept.digests else 0
    if lines[:told_of] != kept.lines[:told_of]:
        raise Finding(
            "audit verify finds a log of refusals well that is not what its digests told of"
        )
    if (
        lines[: len(kept.lines)] != kept.lines
        and not said
        and not _is_cut_short(whole.get(newest, b""), damaged.get(newest))
    ):
        raise Finding(
            "lines of the log of refusals are gone, nothing was said, and audit verify finds it"
            " well"
        )


def _is_cut_short(whole: bytes, damaged: bytes | None) -> bool:
    """Whole lines are missing from its end, and nothing else."""
    return damaged is None or (whole.startswith(damaged) and damaged[-1:] in (b"", b"\n"))
