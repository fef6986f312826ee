"""Secrets: in one answer and no other, so one that is not there is an error; and to a file instead
of the screen."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from laissez.cli.profiles import ConfigError
from laissez.wire.views import Key
from laissez.wire.webhooks import Webhook, WebhookSecret

Made = TypeVar("Made", Key, Webhook, WebhookSecret)


class SecretNotTold(Exception):
    """It was made, and the answer does not say what it is; the message says what to do."""


def with_secret(make: Callable[[], Made], save: Path | None) -> Made:
    """What is made, with its secret; without it if that went to the file `save`."""
    return _told(make()) if save is None else _saved(make, save)


def _saved(make: Callable[[], Made], path: Path) -> Made:
    """Nobody else can read the file. It is made first: a secret that cannot be kept is lost."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigError(
            f"--save: expected the name of a new file, found {path}: {error.strerror}"
        ) from None
    try:
        with os.fdopen(descriptor, "w") as file:
            made = _told(make())
            file.write(f"{made.secret}\n")
    except BaseException:
        path.unlink()
        raise
    return msgspec.structs.replace(made, secret=None)


def _told(made: Made) -> Made:
    """An answer that was lost on its way is not given again with the secret, whether we sent the
    request twice or our client did."""
    if made.secret is None:
        remedy = (
            f"laissez tenants revoke-key {made.id}, and issue another"
            if isinstance(made, Key)
            else f"laissez webhooks rotate {made.id}"
        )
        raise SecretNotTold(
            f"expected the secret of {made.id}, found an answer without it: it is in the first"
            f" answer to a request alone. Use {remedy}"
        )
    return made
