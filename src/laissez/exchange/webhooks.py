"""The registry of webhooks. It stores only the time at which a secret was made, not the secret."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from laissez.exchange.commands import (
    CreateWebhook,
    RestartWebhook,
    RotateWebhookSecret,
    WebhookCommand,
)
from laissez.exchange.events import (
    WebhookCreated,
    WebhookDeleted,
    WebhookEvent,
    WebhookRestarted,
    WebhookSecretRotated,
)
from laissez.exchange.refusals import Denial, Refused

WEBHOOKS_MAX = 8  # per holder


class WebhookRecord(msgspec.Struct):
    holder: str
    number: int  # counted per holder
    url: str
    types: tuple[int, ...] | None
    created_at: int
    after: int  # events after this number are sent
    started_at: int  # the time of creation or of the last restart
    starts: int
    secret_at: int
    previous_at: int | None = None  # of the previous secret, which also signs for a while


class Registry:
    def __init__(
        self, live: list[WebhookRecord] | None = None, created: dict[str, int] | None = None
    ) -> None:
        # oldest first
        self.live = {(record.holder, record.number): record for record in live or ()}
        # webhooks ever created per holder: numbers are never reused
        self.created = created or {}
        self.changes = 0  # since the process started, so that callers notice changes

    def of(self, holder: str) -> Iterator[WebhookRecord]:
        return (record for record in self.live.values() if record.holder == holder)

    def find(self, holder: str, number: int) -> WebhookRecord:
        record = self.live.get((holder, number))
        if record is None:
            raise Refused(Denial.WEBHOOK_UNKNOWN, "", number)
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
            case _:
                self.find(holder, command.webhook)
                del self.live[holder, command.webhook]
                event = WebhookDeleted(at, holder, command.webhook)
        self.changes += 1
        return event

    def _create(self, at: int, holder: str, command: CreateWebhook, latest: int) -> WebhookEvent:
        if sum(1 for _ in self.of(holder)) >= WEBHOOKS_MAX:
            raise Refused(Denial.TOO_MANY_WEBHOOKS, "", WEBHOOKS_MAX)
        after = latest if command.after is None else _checked(command.after, latest)
        number = self.created[holder] = self.created.get(holder, 0) + 1
        self.live[holder, number] = WebhookRecord(
            holder, number, command.url, command.types, at, after, at, 1, at
        )
        return WebhookCreated(at, holder, number, command.url, command.types, after)

    def _rotate(self, at: int, record: WebhookRecord) -> WebhookEvent:
        if record.secret_at == at:
            raise Refused(Denial.WEBHOOK_SECRET_FRESH)
        record.previous_at, record.secret_at = record.secret_at, at
        return WebhookSecretRotated(at, record.holder, record.number)

    def _restart(self, at: int, record: WebhookRecord, after: int, latest: int) -> WebhookEvent:
        record.after = _checked(after, latest)
        record.started_at = at
        record.starts += 1
        return WebhookRestarted(at, record.holder, record.number, after)


def _checked(after: int, latest: int) -> int:
    if not 0 <= after <= latest:
        raise Refused(Denial.EVENT_NUMBER_INVALID, "after", after, latest)
    return after
