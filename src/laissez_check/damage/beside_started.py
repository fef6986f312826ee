"""A start over damaged files beside the journal: cursors and dead letters of webhooks, the key, and
the record.

A webhook resumes at its cursor or earlier: events may be delivered again, but none is passed over.
The log reports every cursor, dead letter or key that is not as it was written. Then a refusal is
noted and digests are brought up to date, as at every start. Nothing is too old to be kept.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from laissez.exchange.webhooks import WebhookRecord
from laissez.journal import Reader
from laissez.server.audit.log import Digest
from laissez.server.audit.verify import verify
from laissez.server.clock import Clock
from laissez.server.data_folder import open_folder
from laissez.server.lifecycle import Service
from laissez.server.settings import Audit, Data, Settings, Webhooks
from laissez.units import SECOND_US, format_time
from laissez.wire.ids import webhook_name
from laissez.wire.problems import Code, ProblemError
from laissez.wire.webhooks import SECRET_PREFIX, DeadLetter
from laissez_check.damage.beside import Kept, record_in
from laissez_check.damage.market import LIMITS
from laissez_check.finding import Finding

KEPT = "kept-elsewhere.jsonl"
TURNS = 10  # of the loop, in which webhooks start


class Started(msgspec.Struct):
    """The state of each webhook after a start, and the warnings in the log."""

    records: list[WebhookRecord]
    delivered: dict[str, int]
    letters: dict[str, list[DeadLetter]]
    secrets: dict[str, str]
    said: list[str]


def start(folder: Path) -> Started:
    with _listening() as said:
        return asyncio.run(_start(folder, said))


async def _start(folder: Path, said: list[str]) -> Started:
    opened = open_folder(folder, LIMITS, start_clock=_a_second_later)
    settings = Settings(
        data=Data(folder=str(folder)),
        limits=LIMITS,
        audit=Audit(keep_days=36_500),
        webhooks=Webhooks(dead_after_hours=80_000),
    )
    service = Service(settings, opened)
    try:
        records = list(opened.exchange.webhooks.live.values())
        webhooks = service.webhooks
        delivered = {webhook_name(one): webhooks.view(one).delivered for one in records}
        letters = {webhook_name(one): await _letters(service, one) for one in records}
        service.gateway.refusals.note(ProblemError(Code.FORBIDDEN, "no"), "listTenants", None, {})
        await service.audit.write()
        await _look_around(service)
        return Started(records, delivered, letters, _secrets(service, records), said)
    finally:
        service.close()


def _a_second_later(last_at: int) -> Clock:
    """A second after the last entry."""
    return Clock(last_at, wall=lambda: (last_at + SECOND_US) * 1_000, passed=lambda: 0)


async def _look_around(service: Service) -> None:
    """Webhooks begin to run, and are stopped before they get far."""
    running = asyncio.create_task(service.webhooks.run())
    for _ in range(TURNS):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def _letters(service: Service, record: WebhookRecord) -> list[DeadLetter]:
    """Empty if they cannot be read, which the log says."""
    try:
        return await service.webhooks.letters(record)
    except ProblemError:
        return []


def _secrets(service: Service, records: list[WebhookRecord]) -> dict[str, str]:
    """Empty if the key cannot be read, which the log says."""
    try:
        service.webhooks.key.load()
    except ProblemError:
        return {}
    return {
        webhook_name(record): service.webhooks.key.secret(
            webhook_name(record), format_time(record.secret_at)
        )
        for record in records
    }


@contextmanager
def _listening() -> Iterator[list[str]]:
    """Every warning and error in the log."""
    said: list[str] = []
    logger, handler = logging.getLogger("laissez"), logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    disabled, propagates = logging.root.manager.disable, logger.propagate
    logging.disable(logging.NOTSET)
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield said
    finally:
        logger.propagate = propagates
        logger.removeHandler(handler)
        logging.disable(disabled)


def check_webhooks(found: Started, kept: Kept, is_put_back: bool) -> None:
    """`is_put_back`: the files beside the journal are, in whole or in part, as they were earlier.
    Nothing can distinguish that from the latest content."""
    for record in found.records:
        id = webhook_name(record)
        delivered, latest = found.delivered[id], kept.cursors[id].delivered
        if delivered > latest:
            raise Finding(
                f"events of {id} are passed over: {latest} was delivered last, and it goes on after"
                f" {delivered}"
            )
        silent = not found.said and not is_put_back
        if silent and delivered < latest:
            raise Finding(
                f"{id} had got to {latest} and begins again after {delivered}, and nothing was said"
            )
        if silent and found.letters[id] != kept.letters.get(id, []):
            raise Finding(
                f"the dead letters of {id} are not those that were written, and nothing was said"
            )
        if not found.said and found.secrets.get(id) != _secret(kept.key, record):
            raise Finding(
                f"{id} is signed for with another secret than its holder has, and nothing was said"
            )


def _secret(key: bytes, record: WebhookRecord) -> str:
    made = f"{webhook_name(record)} {format_time(record.secret_at)}".encode()
    return SECRET_PREFIX + base64.b64encode(hmac.digest(key, made, hashlib.sha256)).decode()


# -- the record


def check_record(folder: Path, kept: Kept, is_put_back: bool, said: list[str]) -> None:
    """Check the record after a start. A record that `audit verify` finds well must be as it was
    written: all digests, and all lines of the log that a digest covers. The end of later lines may
    be missing: that cannot be known (`docs/reference/audit.md`). If a file is lost or put back,
    only digests kept elsewhere reveal it, and they must."""
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
    """A start reads the digests, and the lines that no digest covers. It must report damage in
    them."""
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
        raise Finding("the record is another, and digests kept elsewhere do not reveal it")
