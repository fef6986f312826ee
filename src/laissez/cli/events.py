"""`laissez events` and `laissez webhooks`: read events, follow them, or have them sent to a URL."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, TypeAlias

import typer

from laissez.cli.arguments import MANY
from laissez.cli.commands import add, argument, noun
from laissez.cli.kinds import changes, connected, lists, reveals, shows
from laissez.cli.output import Format, FormatOption, arg, opt
from laissez.cli.tables import Column, format_second, show_json, time_column
from laissez.cli.texts import event_text
from laissez.client import Client
from laissez.wire.events import Notice, Numbered
from laissez.wire.webhooks import DeadLetter, Webhook, WebhookSecret

TYPE_WIDTH = 18

webhooks = noun("Send your events to a URL: signed, in order, and retried until delivered.")

WebhookArgument: TypeAlias = Annotated[str, arg("The webhook's id.", metavar="WEBHOOK")]
WEBHOOK_ID = argument("id", WebhookArgument)
AFTER = argument(
    "after",
    Annotated[int, arg("Those after event N; 0: all.", min=0, metavar="N")],
)


@connected
def events(
    client: Client,
    follow: Annotated[bool, opt("Print events and rates until Ctrl-C.", "--follow", "-f")] = False,
    after: Annotated[int | None, opt("Only events after event N.", min=0, metavar="N")] = None,
    limit: Annotated[int | None, opt("At most this many.", min=1, max=MANY)] = None,
    tenant: Annotated[
        str | None, opt("Only this tenant's, with its own numbers (operator).")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show past events; with -f, those from now on. In JSON, one object per line."""
    if follow and tenant is not None:
        raise typer.BadParameter("expected either --follow or --tenant, found both")
    found = client.follow(after) if follow else client.events(after, limit, tenant=tenant)
    for numbered in islice(found, limit):
        if output is Format.JSON:
            show_json(numbered)
        else:
            typer.echo(event_line(numbered))


def event_line(numbered: Numbered | Notice) -> str:
    """Number, time, type and fields. A notice has no number."""
    number, event, tenant = (
        (str(numbered.n), numbered.event, numbered.tenant)
        if isinstance(numbered, Numbered)
        else ("-", numbered, None)
    )
    whose = "" if tenant is None else f"tenant={tenant} "
    type = str(event.__struct_config__.tag)
    at = format_second(event.at)
    return f"{number:>8}  {at}  {type:<{TYPE_WIDTH}}  {whose}{event_text(event)}"


WEBHOOKS: list[Column[Webhook]] = [
    Column("WEBHOOK", lambda webhook: webhook.id),
    Column("URL", lambda webhook: webhook.url),
    Column("TYPES", lambda webhook: "all" if webhook.types is None else ",".join(webhook.types)),
    Column("STATE", lambda webhook: webhook.state),
    Column("DELIVERED", lambda webhook: webhook.delivered, right=True),
    Column("FAILURES", lambda webhook: webhook.failures or None, right=True, optional=True),
    Column("LAST ERROR", lambda webhook: webhook.last_error, optional=True),
    time_column("NEXT", lambda webhook: webhook.next_attempt_at, optional=True),
    Column("DEAD", lambda webhook: webhook.dead_letters, right=True),
    Column("DROPPED", lambda one: one.dead_letters_dropped or None, right=True, optional=True),
    Column("SECRET", lambda webhook: webhook.secret, optional=True),
]
SECRETS: list[Column[WebhookSecret]] = [
    Column("WEBHOOK", lambda made: made.id),
    Column("SECRET", lambda made: made.secret, optional=True),
    time_column("BOTH SIGN UNTIL", lambda made: made.previous_until),
]
DEAD_LETTERS: list[Column[DeadLetter]] = [
    Column(
        "EVENTS",
        lambda letter: str(letter.n) if letter.last == letter.n else f"{letter.n}-{letter.last}",
        right=True,
    ),
    time_column("GIVEN UP", lambda letter: letter.at),
    Column("REASON", lambda letter: letter.why),
    Column("EVENT", lambda letter: letter.told and event_line(letter.told).strip()),
]


add(webhooks, "list", "List your webhooks.", lists(WEBHOOKS, "no webhooks"), "webhooks")
add(webhooks, "show", "Show one webhook.", shows(WEBHOOKS), "webhook", WEBHOOK_ID)


@webhooks.command()
@reveals(WEBHOOKS)
def create(
    client: Client,
    address: Annotated[str, arg("Where to send events: https://host/path.", metavar="URL")],
    types: Annotated[list[str] | None, opt("Only this type; may be repeated.", "--type")] = None,
    after: Annotated[int | None, opt("Start after event N, not now.", min=0, metavar="N")] = None,
    *,
    idempotency_key: str | None,
) -> Webhook:
    """Create a webhook. Its secret is shown only once."""
    return client.create_webhook(address, types=types, after=after, idempotency_key=idempotency_key)


DELETED = changes("{id} is deleted")
SENT_AGAIN = changes("all events after {after} are sent to {id} again")
LETTERS = lists(DEAD_LETTERS, "no dead letters")
add(
    webhooks,
    "delete",
    "Delete a webhook and its dead letters.",
    DELETED,
    "delete_webhook",
    WEBHOOK_ID,
)
add(
    webhooks,
    "rotate",
    "Make a new secret, shown only once. The previous one signs for another day, or until the next"
    " rotation.",
    reveals(SECRETS),
    "rotate_webhook_secret",
    WEBHOOK_ID,
)
add(webhooks, "dead-letters", "List undelivered events.", LETTERS, "dead_letters", WEBHOOK_ID)
add(webhooks, "redeliver", "Send events again.", SENT_AGAIN, "redeliver", WEBHOOK_ID, AFTER)
