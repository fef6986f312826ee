"""A start over damaged files beside the journal: what the service makes of them, and what it says.

Where a webhook stands is what was written, or an earlier place: what was delivered may be delivered
again, nothing is passed over. Whatever is not as it was written, there, among dead letters, or the
key, is said in the log. Then a refusal is noted and digests are brought up, as at every start.
Nothing is too old to be kept.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from laissez.exchange.webhooks import WebhookRecord
from laissez.server.clock import Clock
from laissez.server.data_folder import open_folder
from laissez.server.lifecycle import Service
from laissez.server.settings import Audit, Data, Settings, Webhooks
from laissez.units import SECOND_US, format_time
from laissez.wire.ids import webhook_name
from laissez.wire.problems import Code, ProblemError
from laissez.wire.webhooks import SECRET_PREFIX, DeadLetter
from laissez_check.damage.beside import Kept
from laissez_check.damage.market import LIMITS
from laissez_check.finding import Finding

TURNS = 10  # of the loop, for webhooks to look around


class Started(msgspec.Struct):
    """What the service makes of the files, by webhook, and what it says of them."""

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
    """Than the last entry."""
    return Clock(last_at, wall=lambda: (last_at + SECOND_US) * 1_000, passed=lambda: 0)


async def _look_around(service: Service) -> None:
    """Webhooks begin to run, and are stopped before they get far."""
    running = asyncio.create_task(service.webhooks.run())
    for _ in range(TURNS):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def _letters(service: Service, record: WebhookRecord) -> list[DeadLetter]:
    """None if they cannot be read, which is said."""
    try:
        return await service.webhooks.letters(record)
    except ProblemError:
        return []


def _secrets(service: Service, records: list[WebhookRecord]) -> dict[str, str]:
    """None if the key cannot be had, which is said."""
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
    """All that is logged as a warning or worse."""
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
    """`is_put_back`: what is beside the journal is, in whole or in part, as it was some time
    before. Nothing tells that from what was written last."""
    for record in found.records:
        id = webhook_name(record)
        delivered, whole = found.delivered[id], kept.cursors[id].delivered
        if delivered > whole:
            raise Finding(
                f"events of {id} are passed over: {whole} was delivered last, and it goes on after"
                f" {delivered}"
            )
        if delivered < whole and not found.said and not is_put_back:
            raise Finding(
                f"{id} had got to {whole} and begins again after {delivered}, and nothing was said"
            )
        if found.letters[id] != kept.letters.get(id, []) and not found.said and not is_put_back:
            raise Finding(
                f"the dead letters of {id} are not those that were written, and nothing was said"
            )
        if found.secrets.get(id) != _secret(kept.key, record) and not found.said:
            raise Finding(
                f"{id} is signed for with another secret than its holder has, and nothing was said"
            )


def _secret(key: bytes, record: WebhookRecord) -> str:
    made = f"{webhook_name(record)} {format_time(record.secret_at)}".encode()
    return SECRET_PREFIX + base64.b64encode(hmac.digest(key, made, hashlib.sha256)).decode()
