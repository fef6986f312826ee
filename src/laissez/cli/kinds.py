"""The kinds of commands that speak to a server. Each is a decorator that adds the options of its
kind and prints the result of the function.

- `lists`: rows, once or repeatedly (`--watch`).
- `shows`: one thing, a line per field; `answers`: one thing in a form of its own.
- `changes`: a change, reported in a sentence.
- `previews`: a change by the operator, or its effects instead (`--preview`).
- `reveals`: a new secret, printed or written to a file (`--save`). Only the first answer to a
  request has it.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
import typer

from laissez.cli.commands import (
    IDEMPOTENCY_KEY,
    OUTPUT,
    WATCH,
    Command,
    Kind,
    client_command,
    option,
)
from laissez.cli.errors import EXIT_FAILED
from laissez.cli.output import Format, opt
from laissez.cli.profiles import ConfigError
from laissez.cli.tables import (
    Column,
    money,
    number_column,
    price_column,
    show,
    show_again,
    show_json,
    show_one,
)
from laissez.client import Client
from laissez.wire.figures import PreviewDone, PreviewEnded, PreviewTenant
from laissez.wire.views import Done, Key
from laissez.wire.webhooks import Webhook, WebhookSecret

T = TypeVar("T")
Made = TypeVar("Made", Key, Webhook, WebhookSecret)
Call: TypeAlias = Callable[..., Any]  # the decorated function
Send: TypeAlias = Callable[..., Done]  # a method of the client, but for the idempotency key

PREVIEWED = Annotated[bool, opt("Show the effects, and change nothing.", "--preview")]
PREVIEW = option("preview", PREVIEWED, False)

TENANTS: list[Column[PreviewTenant]] = [
    Column("TENANT", lambda one: one.tenant),
    number_column("WOULD LOSE", lambda one: one.lost),
    number_column("WOULD WIN", lambda one: one.won),
]
ENDED: list[Column[PreviewEnded]] = [
    Column("WOULD END", lambda lease: lease.leaf),
    Column("TENANT", lambda lease: lease.tenant),
    Column("REASON", lambda lease: lease.reason),
    price_column("RATE $/h", lambda lease: lease.rate),
    price_column("LIMIT $/h", lambda lease: lease.limit),
]


def kind(run: Command, *options: inspect.Parameter) -> Kind:
    """A decorator. `run` gets the decorated function, the client and all arguments."""
    return lambda function: client_command(function, partial(run, function), *options)


def connected(function: Command) -> Command:
    """The function gets a client, and prints by itself."""
    return client_command(function, function)


def lists(columns: Sequence[Column[T]], empty: str = "") -> Kind:
    """The function returns rows. Without rows, `empty` goes to standard error."""

    def run(call: Call, client: Client, output: Format, watch: float | None, **given: Any) -> None:
        show_again(lambda: call(client, **given), columns, output, watch, empty)

    return kind(run, OUTPUT, WATCH)


def shows(columns: Sequence[Column[T]]) -> Kind:
    """The function returns one thing."""

    def run(call: Call, client: Client, output: Format, **given: Any) -> None:
        show_one(call(client, **given), columns, output)

    return kind(run, OUTPUT)


def answers(print_answer: Callable[[T], None]) -> Kind:
    """The function returns one thing, which `print_answer` prints for people."""

    def run(call: Call, client: Client, output: Format, **given: Any) -> None:
        found = call(client, **given)
        if output is Format.JSON:
            show_json(found)
        else:
            print_answer(found)

    return kind(run, OUTPUT)


def changes(said: str | Callable[[Any], str]) -> Kind:
    """The function takes an `idempotency_key`, changes something, and returns the server's answer.
    `said` puts it into words: a template of the arguments and the answer (`done`), or a
    function."""

    def run(call: Call, client: Client, output: Format, **given: Any) -> None:
        print_done(call(client, **given), said, output, given)

    return kind(run, IDEMPOTENCY_KEY, OUTPUT)


def print_done(done: Any, said: str | Callable[[Any], str], output: Format, given: Any) -> None:
    if output is Format.JSON:
        show_json(done)
        return
    text = said.format(done=done, **given) if isinstance(said, str) else said(done)
    events = done.events if isinstance(done, Done) else ()
    ended = sum(told.event.__struct_config__.tag == "lease.ended" for told in events)
    typer.echo(f"{text}; {ended} leases ended" if ended else text)


# Previews


def previews(said: str) -> Kind:
    """The function returns a command of the operator and the client's method that sends it. The
    template `said` describes the result."""

    def run(
        call: Call,
        client: Client,
        preview: bool,
        idempotency_key: str | None,
        output: Format,
        **given: Any,
    ) -> None:
        command, send = call(client, **given)
        if not preview:
            print_done(send(idempotency_key=idempotency_key), said, output, given)
        elif idempotency_key is None:
            _print_preview(client.preview([command]), output)
        else:
            raise typer.BadParameter(
                "expected either --preview or --idempotency-key, found both: a preview changes"
                " nothing"
            )

    return kind(run, PREVIEW, IDEMPOTENCY_KEY, OUTPUT)


def _print_preview(found: PreviewDone, output: Format) -> None:
    """Ends like the command itself if that would be refused."""
    if output is Format.JSON:
        show_json(found)
    elif not found.refused:
        _print_effects(found)
    for refused in found.refused if output is Format.TABLE else ():
        typer.echo(f"laissez: it would be refused: {refused.detail} ({refused.code})", err=True)
    if found.refused:
        raise typer.Exit(EXIT_FAILED)


def _print_effects(found: PreviewDone) -> None:
    typer.echo(
        f"{found.leases_ended:,} leases would end and {found.leases_started:,} start;"
        f" {found.transfers:,} GPUs would change hands\n"
        f"of the leases that continue, {found.dearer:,} would pay more and {found.cheaper:,} less\n"
        f"all together {money(found.rate_before)} -> {money(found.rate_after)} $/h; idle GPUs"
        f" {found.idle_before:,} -> {found.idle_after:,}"
    )
    show(found.tenants, TENANTS)
    show(found.ended, ENDED)
    if found.leases_ended > len(found.ended):
        typer.echo(f"and {found.leases_ended - len(found.ended):,} more")


# Secrets

SAVE = option(
    "save",
    Annotated[Path | None, opt("Write the secret to this new private file; do not show it.")],
)


class SecretMissing(Exception):
    """The answer does not have the secret; the message says what to do."""


def reveals(columns: Sequence[Column[Made]]) -> Kind:
    """The function makes a secret and returns the answer with it."""

    def run(call: Call, client: Client, save: Path | None, output: Format, **given: Any) -> None:
        def make() -> Made:
            made: Made = call(client, **given)
            return _with_secret(made)

        show_one(make() if save is None else _save(make, save), columns, output)

    return kind(run, SAVE, IDEMPOTENCY_KEY, OUTPUT)


def _save(make: Callable[[], Made], path: Path) -> Made:
    """Make the file first, since a lost secret is lost. Returns the rest of the answer."""
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
    """A repeated request, by the user or by the client, is answered without the secret."""
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
