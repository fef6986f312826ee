"""`laissez webhooks`: have your events sent to a URL."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from laissez.cli.arguments import AgainOption
from laissez.cli.connection import connected
from laissez.cli.events import line
from laissez.cli.listing import listing, noun
from laissez.cli.output import Format, FormatOption, WatchOption
from laissez.cli.saving import with_secret
from laissez.cli.tables import Column, moment, show_json, show_one
from laissez.client import Client
from laissez.wire.views import Done
from laissez.wire.webhooks import DeadLetter, Webhook, WebhookSecret

app = noun(
    "Have your events sent to a URL: signed, in order, and retried until they are delivered."
)

IdArgument: TypeAlias = Annotated[str, typer.Argument(metavar="WEBHOOK", help="The webhook's id.")]
AfterArgument: TypeAlias = Annotated[
    int,
    typer.Argument(
        min=0, metavar="N", help="Send all events after number N again; 0: all that are kept."
    ),
]
SaveOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--save",
        help="Write the secret to this new file, readable only by you, and do not show it.",
    ),
]

WEBHOOKS: list[Column[Webhook]] = [
    Column("WEBHOOK", lambda webhook: webhook.id),
    Column("URL", lambda webhook: webhook.url),
    Column("TYPES", lambda webhook: "all" if webhook.types is None else ",".join(webhook.types)),
    Column("STATE", lambda webhook: webhook.state),
    Column("UP TO", lambda webhook: webhook.delivered, right=True),
    Column("FAILURES", lambda webhook: webhook.failures or None, right=True, optional=True),
    Column("LAST ERROR", lambda webhook: webhook.last_error, optional=True),
    Column("NEXT", lambda webhook: moment(webhook.next_attempt_at), optional=True),
    Column("DEAD", lambda webhook: webhook.dead_letters, right=True),
    Column(
        "DROPPED", lambda webhook: webhook.dead_letters_dropped or None, right=True, optional=True
    ),
    Column("SECRET", lambda webhook: webhook.secret, optional=True),
]
SECRET: list[Column[WebhookSecret]] = [
    Column("WEBHOOK", lambda made: made.id),
    Column("SECRET", lambda made: made.secret, optional=True),
    Column("BOTH SIGN UNTIL", lambda made: moment(made.previous_until)),
]
LETTERS: list[Column[DeadLetter]] = [
    Column(
        "EVENTS",
        lambda letter: str(letter.n) if letter.last == letter.n else f"{letter.n}-{letter.last}",
        right=True,
    ),
    Column("GIVEN UP", lambda letter: moment(letter.at)),
    Column("WHY", lambda letter: letter.why),
    Column("EVENT", lambda letter: None if letter.told is None else line(letter.told).strip()),
]


@app.command("list")
@connected
def list_webhooks(
    client: Client, output: FormatOption = Format.TABLE, watch: WatchOption = None
) -> None:
    """List your webhooks and their progress."""
    listing(client.webhooks, WEBHOOKS, output, watch, "no webhooks")


@app.command("show")
@connected
def show_webhook(client: Client, webhook: IdArgument, output: FormatOption = Format.TABLE) -> None:
    """Show one webhook and its progress."""
    show_one(client.webhook(webhook), WEBHOOKS, output)


@app.command()
@connected
def create(
    client: Client,
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="The URL to send events to: https://host/path.")
    ],
    types: Annotated[
        list[str] | None,
        typer.Option("--type", help="Only events of this type; may be repeated. Default: all."),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(
            "--after", min=0, metavar="N", help="Start after event N. Default: with the next event."
        ),
    ] = None,
    save: SaveOption = None,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Create a webhook. Its secret is shown only once."""
    make = partial(
        client.create_webhook, address, types=types, after=after, idempotency_key=idempotency_key
    )
    show_one(with_secret(make, save), WEBHOOKS, output)


@app.command()
@connected
def delete(
    client: Client,
    webhook: IdArgument,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Delete a webhook and its dead letters."""
    tell(
        client.delete_webhook(webhook, idempotency_key=idempotency_key),
        f"{webhook} is deleted",
        output,
    )


@app.command()
@connected
def rotate(
    client: Client,
    webhook: IdArgument,
    save: SaveOption = None,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Make a new secret, shown only once. The previous one also signs for a day; rotate twice to
    end that at once."""
    make = partial(client.rotate_webhook_secret, webhook, idempotency_key=idempotency_key)
    show_one(with_secret(make, save), SECRET, output)


@app.command("dead-letters")
@connected
def dead_letters(
    client: Client,
    webhook: IdArgument,
    output: FormatOption = Format.TABLE,
    watch: WatchOption = None,
) -> None:
    """List the events that could not be delivered."""
    listing(lambda: client.dead_letters(webhook), LETTERS, output, watch, "no dead letters")


@app.command()
@connected
def redeliver(
    client: Client,
    webhook: IdArgument,
    after: AfterArgument,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Send all events after number N again, as far back as the server keeps events."""
    tell(
        client.redeliver(webhook, after, idempotency_key=idempotency_key),
        f"all events after {after} are sent to {webhook} again",
        output,
    )


def tell(done: Done, words: str, output: Format) -> None:
    if output is Format.JSON:
        show_json(done)
    else:
        typer.echo(words)
