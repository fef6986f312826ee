"""Answers with a secret, which only the first answer to a request has: print it, or write it to a
file (`--save`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from laissez.cli.commands import IDEMPOTENCY_KEY, OUTPUT, Command, client_command, option
from laissez.cli.output import Format
from laissez.cli.profiles import ConfigError
from laissez.cli.tables import Column, show_one
from laissez.client import Client
from laissez.wire.views import Key
from laissez.wire.webhooks import Webhook, WebhookSecret

Made = TypeVar("Made", Key, Webhook, WebhookSecret)

SAVE = option(
    "save",
    Annotated[
        Path | None,
        typer.Option(
            "--save",
            help="Write the secret to this new file, readable only by you, and do not show it.",
        ),
    ],
    None,
)


class SecretMissing(Exception):
    """The answer does not have the secret; the message says what to do."""


def reveals(columns: Sequence[Column[Made]]) -> Callable[[Callable[..., Made]], Command]:
    """A command from a function that makes a secret and returns the answer with it."""

    def decorate(function: Callable[..., Made]) -> Command:
        def run(client: Client, save: Path | None, output: Format, **given: Any) -> None:
            def make() -> Made:
                return _with_secret(function(client, **given))

            show_one(make() if save is None else _save(make, save), columns, output)

        return client_command(function, run, SAVE, IDEMPOTENCY_KEY, OUTPUT)

    return decorate


def _save(make: Callable[[], Made], path: Path) -> Made:
    """The answer without its secret, which is in the file. The file is made first: a secret that
    cannot be kept is lost."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigError(
            f"--save: expected the name of a new file, found {path}: {error.strerror}"
        ) from None
    try:
        with os.fdopen(descriptor, "w") as file:
            made = make()
            file.write(f"{made.secret}\n")
    except BaseException:
        path.unlink()
        raise
    return msgspec.structs.replace(made, secret=None)


def _with_secret(made: Made) -> Made:
    """A repeated request, whether the user or the client repeated it, is answered without the
    secret."""
    if made.secret is None:
        remedy = (
            f"laissez tenants revoke-key {made.id}, and issue another"
            if isinstance(made, Key)
            else f"laissez webhooks rotate {made.id}"
        )
        raise SecretMissing(
            f"expected the secret of {made.id}, found an answer without it: it is in the first"
            f" answer to a request alone. Use {remedy}"
        )
    return made
