"""Secrets and signatures of webhooks, as in the Standard Webhooks specification.

A secret is derived from one key of the server, the webhook's id and the time the secret was made.
So it is never stored in a journal, snapshot or backup. The key file gives access to all secrets.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import secrets
from pathlib import Path

from laissez.exchange.webhooks import WebhookRecord
from laissez.journal.disk import fsync, make_folder, rename, write_atomically
from laissez.server.beside import Damaged, seal, unseal
from laissez.units import HOUR_US, SECOND_US, format_time
from laissez.wire.ids import webhook_name
from laissez.wire.problems import Code, ProblemError
from laissez.wire.webhooks import SECRET_PREFIX

FILE = Path("keys") / "webhooks.key"  # in the data folder
KEY_BYTES = 32
BOTH_SIGN_US = 24 * HOUR_US  # how long the previous secret signs too

log = logging.getLogger("laissez.webhooks")


class SigningKey:
    """The key that secrets are derived from, read or made on first use. Without a path it is in
    memory only."""

    def __init__(self, path: Path | None, origin: bytes) -> None:
        """`origin` is the identity of the journal."""
        self._path = path
        self._origin = origin
        self._key = b""

    def secret(self, id: str, made_at: str) -> str:
        """The secret of a webhook, in the form shown to its holder."""
        return SECRET_PREFIX + base64.b64encode(self._bytes(id, made_at)).decode()

    def headers(
        self, record: WebhookRecord, delivery: str, body: bytes, now: int
    ) -> dict[str, str]:
        """The headers that sign a delivery. `now` is wall-clock time."""
        timestamp = str(now // SECOND_US)
        signed = f"{delivery}.{timestamp}.".encode() + body
        made = [record.secret_at]
        if record.previous_at is not None and now < record.secret_at + BOTH_SIGN_US:
            made.append(record.previous_at)
        keys = [self._bytes(webhook_name(record), format_time(at)) for at in made]
        digests = [hmac.digest(key, signed, hashlib.sha256) for key in keys]
        return {
            "webhook-id": delivery,
            "webhook-timestamp": timestamp,
            "webhook-signature": " ".join(
                f"v1,{base64.b64encode(digest).decode()}" for digest in digests
            ),
        }

    @property
    def exists(self) -> bool:
        return bool(self._key) or self._path is None or self._path.exists()

    def load(self) -> None:
        """Read the key or make one. A command that shows a secret loads it first: after the command
        the answer must not fail."""
        if self._key:
            return
        try:
            self._key = self._read() or self._make()
        except OSError as error:
            log.error(
                "the key that signs webhooks can be neither read nor written",
                extra={"reason": error.strerror},
            )
            raise ProblemError(
                Code.OVERLOADED,
                "the key that signs webhooks is unavailable; nothing was done: try again later",
                10,
            ) from None

    def _bytes(self, id: str, made_at: str) -> bytes:
        self.load()
        return hmac.digest(self._key, f"{id} {made_at}".encode(), hashlib.sha256)

    def _read(self) -> bytes:
        """The stored key, empty without one. A damaged key is set aside."""
        path = self._path
        if path is None or not path.exists():
            return b""
        try:
            key = unseal(self._origin, FILE.name, path.read_bytes())
        except Damaged:
            log.error(
                "the key that signs webhooks is damaged and was set aside: receivers turn"
                " deliveries away until each secret is rotated"
            )
            rename(path, path.with_name(f"{path.name}.damaged"))
            return b""
        fsync(path.parent)  # the process that made it may have crashed before this
        fsync(path.parent.parent)
        return key

    def _make(self) -> bytes:
        key = secrets.token_bytes(KEY_BYTES)
        if self._path is not None:
            write(self._path, key, self._origin)
            log.info("made a key that signs webhooks", extra={"file": str(self._path)})
        return key


def write(path: Path, key: bytes, origin: bytes) -> None:
    make_folder(path.parent)
    write_atomically(path, seal(origin, FILE.name, key))
    fsync(path.parent.parent)
