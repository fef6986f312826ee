"""Secrets that go to a file instead of the screen."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from laissez.cli.profiles import ConfigError
from laissez.wire.views import Key
from laissez.wire.webhooks import Webhook, WebhookSecret

Shown = TypeVar("Shown", Key, Webhook, WebhookSecret)


def saved(issue: Callable[[], Shown], path: Path) -> Shown:
    """What is issued, but its secret went to a file that nobody else can read. The file is made first: a secret that cannot be kept is lost."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigError(f"--save: expected the name of a new file, found {path}: {error.strerror}") from None
    try:
        with open(descriptor, "w") as file:
            issued = issue()
            file.write(f"{issued.secret}\n")
    except BaseException:
        path.unlink()
        raise
    return msgspec.structs.replace(issued, secret=None)
