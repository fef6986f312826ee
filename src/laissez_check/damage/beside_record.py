"""The record after a start over a damaged `beside.db`. What `audit verify` finds well must be what
was written; what it does not, it names.

Every digest is what it was, and every line of the log that a digest tells of. Of later lines the
end may be missing: that nobody can know (`docs/reference/audit.md`). A file that is lost or put
back as it was earlier is found by digests that were kept elsewhere alone, and they must tell. What
a start reads, the digests and the end of the log, it does not find damaged in silence.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from laissez.journal import Reader
from laissez.server.audit.log import Digest
from laissez.server.audit.verify import verify
from laissez_check.damage.beside import Kept, record_in
from laissez_check.finding import Finding

KEPT = "kept-elsewhere.jsonl"


def check_record(folder: Path, kept: Kept, is_put_back: bool, said: list[str]) -> None:
    told_of = msgspec.json.decode(kept.digests[-1], type=Digest).refusals
    problems = verify(folder).problems
    if problems:
        if not said and any(_is_read_by_a_start(problem, told_of) for problem in problems):
            raise Finding(f"a start said nothing, and audit verify says: {problems[0]}")
        return
    with Reader.of(folder) as reader:
        lines, digests = record_in(folder, reader.identity)
    differs = _difference(lines, digests, kept, told_of)
    if differs:
        _check_that_kept_digests_tell(folder, kept)
    if not differs and lines[: len(kept.lines)] != kept.lines:
        differs = "a log of refusals whose last lines are gone"
    if differs and not said and not is_put_back:
        raise Finding(f"nothing was said, and audit verify finds well {differs}")


def _is_read_by_a_start(problem: str, told_of: int) -> bool:
    """The digests, and the lines that no digest tells of."""
    line = re.match(r"refusals, line (\d+): (?!lines)", problem)
    return int(line[1]) > told_of if line else problem.startswith(("digests, line", "/"))


def _difference(lines: list[bytes], digests: list[bytes], kept: Kept, told_of: int) -> str:
    if digests[: len(kept.digests)] != kept.digests:
        return "digests that are not those that were written"
    if lines[:told_of] != kept.lines[:told_of]:
        return "a log of refusals that is not what its digests told of"
    return ""


def _check_that_kept_digests_tell(folder: Path, kept: Kept) -> None:
    path = folder.parent / KEPT
    path.write_bytes(b"\n".join(kept.digests))
    if verify(folder, path).ok:
        raise Finding("the record is another, and digests that were kept elsewhere do not tell")
