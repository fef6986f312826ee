"""Which webhooks there are: part of the exchange's state, so deterministic, durable and replayed.
Of a secret it knows only when it was made."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from laissez.server.commands import (
    CreateWebhook,
    DeleteWebhook,
    RestartWebhook,
    RotateWebhookSecret,
    WebhookCommand,
)
from laissez.server.turned import Turned
from laissez.wire.events import (
    WebhookCreated,
    WebhookDeleted,
    WebhookEvent,
    WebhookRestarted,
    WebhookSecretRotated,
)
from laissez.wire.ids import tag_of, webhook_id
from laissez.wire.limits import WEBHOOKS_MAX
from laissez.wire.problems import Code
from laissez.wire.times import format_time


class WebhookRecord(msgspec.Struct):
    id: str
    holder: str
    url: str
    types: tuple[str, ...] | None
    created_at: int
    after: int  # the last event that is not sent
    started_at: int  # when it was created, or last told to start again
    starts: int  # how often
    secret_at: int
    previous_at: int | None = None  # of the secret before, which signs too for a while


class Saved(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """As a snapshot has it."""

    live: list[WebhookRecord]
    numbered: list[tuple[str, int]]


class Registry:
    def __init__(self, saved: Saved | None = None) -> None:
        # oldest first
        self.live: dict[str, WebhookRecord] = (
            {record.id: record for record in saved.live} if saved else {}
        )
        # how many each holder has ever had: no id is given twice
        self._numbered: dict[str, int] = dict(saved.numbered) if saved else {}
        self.changes = 0  # since the start of the process, for whoever keeps up with it

    def saved(self) -> Saved | None:
        """None where nobody ever had one: such snapshots are as they were before there were
        webhooks."""
        return (
            Saved(list(self.live.values()), sorted(self._numbered.items()))
            if self._numbered
            else None
        )

    def of(self, holder: str) -> Iterator[WebhookRecord]:
        return (record for record in self.live.values() if record.holder == holder)

    def find(self, holder: str, id: str) -> WebhookRecord:
        """Somebody else's answers exactly like one that never was."""
        record = self.live.get(id)
        if record is None or record.holder != holder:
            raise Turned(Code.NOT_FOUND, f"you have no webhook {id!r}")
        return record

    def apply(self, at: int, holder: str, command: WebhookCommand, latest: int) -> WebhookEvent:
        """`latest` is the number of the holder's latest event."""
        match command:
            case CreateWebhook():
                event: WebhookEvent = self._create(at, holder, command, latest)
            case RotateWebhookSecret():
                event = self._rotate(at, self.find(holder, command.webhook))
            case RestartWebhook():
                event = self._restart(at, self.find(holder, command.webhook), command.after, latest)
            case DeleteWebhook():
                del self.live[self.find(holder, command.webhook).id]
                event = WebhookDeleted(format_time(at), command.webhook)
        self.changes += 1
        return event

    def _create(self, at: int, holder: str, command: CreateWebhook, latest: int) -> WebhookEvent:
        if sum(1 for _ in self.of(holder)) >= WEBHOOKS_MAX:
            raise Turned(
                Code.TOO_MANY_WEBHOOKS,
                f"you have {WEBHOOKS_MAX} webhooks and may not have more: delete one first",
            )
        after = _number(latest if command.after is None else command.after, latest)
        number = self._numbered[holder] = self._numbered.get(holder, 0) + 1
        id = webhook_id(tag_of(holder), number)
        self.live[id] = WebhookRecord(id, holder, command.url, command.types, at, after, at, 1, at)
        return WebhookCreated(format_time(at), id, command.url, command.types, after)

    def _rotate(self, at: int, record: WebhookRecord) -> WebhookEvent:
        if record.secret_at == at:
            raise Turned(Code.CONFLICT, "its secret was made at this very instant")
        record.previous_at, record.secret_at = record.secret_at, at
        return WebhookSecretRotated(format_time(at), record.id)

    def _restart(self, at: int, record: WebhookRecord, after: int, latest: int) -> WebhookEvent:
        record.after = _number(after, latest)
        record.started_at = at
        record.starts += 1
        return WebhookRestarted(format_time(at), record.id, after)


def _number(after: int, latest: int) -> int:
    if not 0 <= after <= latest:
        raise Turned(
            Code.BAD_REQUEST,
            f"after: expected the number of an event from 0 to {latest}, your latest, found"
            f" {after}",
        )
    return after
