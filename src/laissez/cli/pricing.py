"""`laissez floor` and `laissez controls`: how the operator steers prices, node by node."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from laissez.cli.arguments import AgainOption, band, price, seconds
from laissez.cli.connection import connected
from laissez.cli.listing import listing, noun
from laissez.cli.output import Format, FormatOption, WatchOption
from laissez.cli.preview import PreviewOption, show_preview
from laissez.cli.tables import Column, money, show_json
from laissez.client import Client
from laissez.wire.events import Band
from laissez.wire.requests import BandSetting, SetControls, SetFloor
from laissez.wire.views import Controls, Done, Floor

floors = noun("Floors: the least price of everything below a node (operator).")
controls = noun("Controls: bands, holds and flash fees (operator).")

NodeArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="NODE", help="A node of the topology.")
]
BandOption: TypeAlias = Annotated[
    BandSetting | None,
    typer.Option(
        parser=band, metavar="FRACTION/DURATION", help="At most so much within that time, 10%/1h."
    ),
]
DurationOption: TypeAlias = Annotated[
    float | None, typer.Option(parser=seconds, metavar="DURATION")
]


def written(limit: Band | None) -> str | None:
    return None if limit is None else f"{limit.fraction}/{limit.seconds:g}s"


FLOORS: list[Column[Floor]] = [
    Column("NODE", lambda floor: floor.node),
    Column("OWN $/h", lambda floor: "" if floor.own is None else money(floor.own), right=True),
    Column("IN FORCE $/h", lambda floor: money(floor.in_force), right=True),
]
CONTROLS: list[Column[Controls]] = [
    Column("NODE", lambda node: node.node),
    Column("RISE", lambda node: written(node.rise), right=True),
    Column("FALL", lambda node: written(node.fall), right=True),
    Column("HOLD s", lambda node: None if node.hold_s is None else f"{node.hold_s:g}", right=True),
    Column(
        "FLASH s", lambda node: None if node.flash_s is None else f"{node.flash_s:g}", right=True
    ),
]


@floors.command("list")
@connected
def list_floors(
    client: Client, output: FormatOption = Format.TABLE, watch: WatchOption = None
) -> None:
    """List the nodes that have a floor."""
    listing(client.floors, FLOORS, output, watch, "no floors")


@floors.command("set")
@connected
def set_floor(
    client: Client,
    node: NodeArgument,
    floor: Annotated[str, typer.Argument(parser=price, metavar="PRICE", help="Dollars per hour.")],
    preview: PreviewOption = False,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Set the floor of a node; a rise band may let it rise only in steps."""
    if preview:
        show_preview(client, SetFloor(node=node, price=floor), idempotency_key, output)
        return
    tell(
        client.set_floor(node, floor, idempotency_key=idempotency_key),
        f"the floor of {node} is set",
        output,
    )


@floors.command("remove")
@connected
def remove_floor(
    client: Client,
    node: NodeArgument,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Remove the floor of a node; those above it stay in force."""
    tell(
        client.remove_floor(node, idempotency_key=idempotency_key),
        f"{node} has no floor of its own",
        output,
    )


@controls.command("list")
@connected
def list_controls(
    client: Client, output: FormatOption = Format.TABLE, watch: WatchOption = None
) -> None:
    """List the nodes that have controls of their own."""
    listing(client.controls, CONTROLS, output, watch, "no controls")


@controls.command("set")
@connected
def set_controls(
    client: Client,
    node: NodeArgument,
    rise: BandOption = None,
    fall: BandOption = None,
    hold: DurationOption = None,
    flash: DurationOption = None,
    preview: PreviewOption = False,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Replace all controls of a node; what is left out comes from the nearest node above that sets
    it."""
    if rise is None and fall is None and hold is None and flash is None:
        raise typer.BadParameter(
            "expected at least one of --rise, --fall, --hold and --flash; `laissez controls remove`"
            " takes all away"
        )
    if preview:
        show_preview(
            client,
            SetControls(node=node, rise=rise, fall=fall, hold_s=hold, flash_s=flash),
            idempotency_key,
            output,
        )
        return
    done = client.set_controls(
        node, rise=rise, fall=fall, hold_s=hold, flash_s=flash, idempotency_key=idempotency_key
    )
    tell(done, f"the controls of {node} are set", output)


@controls.command("remove")
@connected
def remove_controls(
    client: Client,
    node: NodeArgument,
    idempotency_key: AgainOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Remove the controls of a node; those above it come into force."""
    tell(
        client.remove_controls(node, idempotency_key=idempotency_key),
        f"{node} has no controls of its own",
        output,
    )


def tell(done: Done, words: str, output: Format) -> None:
    if output is Format.JSON:
        show_json(done)
        return
    ended = sum(told.event.__struct_config__.tag == "lease.ended" for told in done.events)
    typer.echo(f"{words}{f'; {ended} leases ended' if ended else ''}")
