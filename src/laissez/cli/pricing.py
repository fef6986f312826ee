"""`laissez floor` and `laissez controls`: the operator sets floors, bands, holds and flash fees,
node by node."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Annotated, TypeAlias

import typer

from laissez.cli.arguments import band, price, seconds
from laissez.cli.commands import changes, lists, noun
from laissez.cli.preview import Send, previews
from laissez.cli.tables import Column, price_column
from laissez.client import Client
from laissez.wire.events import Band
from laissez.wire.requests import BandSetting, OperatorCommand, SetControls, SetFloor
from laissez.wire.views import Controls, Done, Floor

floors = noun("Floors: the lowest price of everything below a node (operator).")
controls = noun("Controls: bands, holds and flash fees (operator).")

NodeArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="NODE", help="A node of the topology, such as h100/rack1.")
]
BandOption: TypeAlias = Annotated[
    BandSetting | None,
    typer.Option(
        parser=band,
        metavar="FRACTION/DURATION",
        help="The largest change of prices within a time, such as 10%/1h.",
    ),
]


def band_text(band: Band | None) -> str | None:
    return None if band is None else f"{band.fraction}/{band.seconds:g}s"


def _seconds_text(duration: float | None) -> str | None:
    return None if duration is None else f"{duration:g}"


FLOORS: list[Column[Floor]] = [
    Column("NODE", lambda floor: floor.node),
    price_column("OWN $/h", lambda floor: floor.own, missing=""),
    price_column("IN FORCE $/h", lambda floor: floor.in_force),
]
CONTROLS: list[Column[Controls]] = [
    Column("NODE", lambda node: node.node),
    Column("RISE", lambda node: band_text(node.rise), right=True),
    Column("FALL", lambda node: band_text(node.fall), right=True),
    Column("HOLD s", lambda node: _seconds_text(node.hold_s), right=True),
    Column("FLASH s", lambda node: _seconds_text(node.flash_s), right=True),
]


@floors.command("list")
@lists(FLOORS, empty="no floors")
def list_floors(client: Client) -> Iterable[Floor]:
    """List the nodes that have a floor."""
    return client.floors()


@floors.command("set")
@previews("the floor of {node} is set")
def set_floor(
    client: Client,
    node: NodeArgument,
    floor: Annotated[str, typer.Argument(parser=price, metavar="PRICE", help="Dollars per hour.")],
) -> tuple[OperatorCommand, Send]:
    """Set the floor of a node. A rise band may let it rise only in steps."""
    return SetFloor(node=node, price=floor), partial(client.set_floor, node, floor)


@floors.command("remove")
@changes("{node} has no floor of its own")
def remove_floor(client: Client, node: NodeArgument, idempotency_key: str | None) -> Done:
    """Remove the floor of a node. The floors above it stay in force."""
    return client.remove_floor(node, idempotency_key=idempotency_key)


@controls.command("list")
@lists(CONTROLS, empty="no controls")
def list_controls(client: Client) -> Iterable[Controls]:
    """List the nodes that have controls of their own."""
    return client.controls()


@controls.command("set")
@previews("the controls of {node} are set")
def set_controls(
    client: Client,
    node: NodeArgument,
    rise: BandOption = None,
    fall: BandOption = None,
    hold: Annotated[
        float | None,
        typer.Option(parser=seconds, metavar="DURATION", help="The minimum hold of a lease."),
    ] = None,
    flash: Annotated[
        float | None,
        typer.Option(
            parser=seconds,
            metavar="DURATION",
            help="How long a bid that raises the rate pays for that, even if it is withdrawn.",
        ),
    ] = None,
) -> tuple[OperatorCommand, Send]:
    """Replace all controls of a node. What you leave out comes from the nearest node above that
    sets it."""
    if rise is None and fall is None and hold is None and flash is None:
        raise typer.BadParameter(
            "expected at least one of --rise, --fall, --hold and --flash; `laissez controls remove`"
            " removes them all"
        )
    command = SetControls(node=node, rise=rise, fall=fall, hold_s=hold, flash_s=flash)
    send = partial(client.set_controls, node, rise=rise, fall=fall, hold_s=hold, flash_s=flash)
    return command, send


@controls.command("remove")
@changes("{node} has no controls of its own")
def remove_controls(client: Client, node: NodeArgument, idempotency_key: str | None) -> Done:
    """Remove the controls of a node. Those above it come into force."""
    return client.remove_controls(node, idempotency_key=idempotency_key)
