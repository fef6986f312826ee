"""One webhook on its course through its holder's events: how far it got, and when it is tried
next."""

from __future__ import annotations

import msgspec

from laissez.server.telling import optional_time
from laissez.server.webhooks.keeping import Cursor
from laissez.server.webhooks.registry import WebhookRecord
from laissez.wire.times import SECOND_US, format_time
from laissez.wire.webhooks import Webhook

BACK_OFF_S = 1.0
BACK_OFF_S_MAX = 900.0


class Course(msgspec.Struct):
    record: WebhookRecord
    cursor: Cursor
    failures: int = 0  # since the last delivery
    last_error: str | None = None
    next_at: int = 0  # not before
    dies_at: int | None = None  # when the first event of a delivery that failed is given up
    served: int = 0  # its latest turn
    is_swift: bool = False  # whether the latest attempt was taken at once

    def succeeded(self) -> None:
        self.failures = 0
        self.last_error = None
        self.next_at = 0
        self.dies_at = None

    def failed(self, why: str, now: int, chance: float) -> None:
        """The next attempt comes after twice the time, and not at the same instant as everybody
        else's."""
        self.is_swift = False
        pause_s = min(BACK_OFF_S * 2 ** min(self.failures, 30), BACK_OFF_S_MAX)
        self.failures += 1
        self.last_error = why
        self.next_at = now + round(pause_s * (0.5 + chance / 2) * SECOND_US)

    def postponed(self, now: int) -> None:
        """Something went wrong here, not there."""
        self.dies_at = None
        self.failed(self.last_error or "the service could not send it", now, 1.0)

    def wakes_at(self) -> int:
        """When there is something to do, if anything waits."""
        return self.next_at if self.dies_at is None else min(self.next_at, self.dies_at)

    def view(self) -> Webhook:
        record, cursor = self.record, self.cursor
        return Webhook(
            record.id,
            record.url,
            record.types,
            format_time(record.created_at),
            "retrying" if self.failures else "active",
            cursor.delivered,
            self.failures,
            self.last_error,
            optional_time(self.next_at if self.failures else None),
            cursor.letters,
            cursor.dropped,
        )
