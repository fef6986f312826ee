"""`laissez run` and `laissez instances`: ask for instances, wait for them, see them."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic, sleep
from typing import Annotated

import typer

from laissez.cli.arguments import AgainOption, PriceOption, seconds
from laissez.cli.connection import connected
from laissez.cli.exits import EXIT_FAILED
from laissez.cli.listing import listing
from laissez.cli.output import Format, FormatOption, WatchOption
from laissez.cli.tables import Column, moment, money, show, show_json
from laissez.client import Client
from laissez.wire.views import Instance, InstancesDone

POLL_S = 1.0

INSTANCES: list[Column[Instance]] = [
    Column("INSTANCE", lambda instance: instance.id),
    Column("STATE", lambda instance: instance.state),
    Column(
        "SCOPE", lambda instance: instance.scope if instance.leaf is None else None, optional=True
    ),
    Column("LEAF", lambda instance: instance.leaf, optional=True),
    Column("LEASE", lambda instance: instance.lease, optional=True),
    Column("RATE $/h", lambda instance: instance.rate and money(instance.rate), right=True),
    Column("MAX $/h", lambda instance: money(instance.max_price), right=True),
    Column("SINCE", lambda instance: moment(instance.since)),
    Column("TENANT", lambda instance: instance.tenant, optional=True),
]


@connected
def run(
    client: Client,
    max_price: PriceOption,
    type: Annotated[
        str | None, typer.Option("--type", help="A type of resource, such as h100.")
    ] = None,
    scope: Annotated[
        str | None, typer.Option("--scope", help="A node below a type: any leaf below it will do.")
    ] = None,
    near: Annotated[
        str | None,
        typer.Option(
            "--near",
            metavar="LEASE",
            help="Near a lease of yours: below the node above it at --level.",
        ),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(
            "--level", help="With --near: a level's name (rack), or steps up from the leaf."
        ),
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="How many.")] = 1,
    wait: Annotated[
        bool, typer.Option("--wait", help="Until all are running; ends with 1 if one never will.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            parser=seconds,
            metavar="DURATION",
            help="With --wait: no longer than this.",
        ),
    ] = None,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Ask for instances, up to a price. They run as soon as the market lets them, and for as long
    as it does."""
    if sum(given is not None for given in (type, scope, near)) != 1:
        raise typer.BadParameter("expected exactly one of --type, --scope and --near")
    if (near is None) != (level is None):
        raise typer.BadParameter("expected --near and --level together")
    steps = int(level) if level is not None and level.isdecimal() else level
    done = client.run(
        type=type,
        scope=scope,
        near=near,
        level=steps,
        count=count,
        max_price=max_price,
        idempotency_key=idempotency_key,
    )
    instances = waited(client, done.instances, timeout) if wait else done.instances
    if output is Format.JSON:
        show_json(InstancesDone(instances=tuple(instances), refused=done.refused))
    else:
        show(instances, INSTANCES, output, "nothing was asked for")
    for reason in done.refused:
        typer.echo(f"refused: {reason}", err=True)
    if done.refused or (wait and any(instance.state != "running" for instance in instances)):
        raise typer.Exit(EXIT_FAILED)


@connected
def instances(
    client: Client, output: FormatOption = Format.TABLE, watch: WatchOption = None
) -> None:
    """List your instances."""
    listing(client.instances, INSTANCES, output, watch, "no instances")


def waited(
    client: Client, instances: Sequence[Instance], timeout_s: float | None
) -> Sequence[Instance]:
    """The instances once none is pending, or as they are when time is up. What is still pending
    stays asked for."""
    latest = {instance.id: instance for instance in instances}
    ends = None if timeout_s is None else monotonic() + timeout_s
    while pending := [instance for instance in latest.values() if instance.state == "pending"]:
        if ends is not None and monotonic() >= ends:
            typer.echo(
                f"{len(pending)} still pending, and still asked for; `laissez release INSTANCE`"
                " ends that",
                err=True,
            )
            break
        sleep(POLL_S)
        latest |= {instance.id: client.instance(instance.id) for instance in pending}
    return tuple(latest.values())
