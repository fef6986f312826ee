"""Volatility controls of a node: bands, minimum hold and flash fee (M15 to M18 of
`docs/reference/market.md`).

They are sent only when those in force differ, because a new setting starts a new interval in the
market.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from laissez.market.answers import ControlsView
from laissez.market.commands import FRACTION_MAX_PPM, Band, SetControls
from laissez.operators.fields import Seconds
from laissez.units import SECOND_US

PPM: Final = 1_000_000


class Move(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A price moves by at most this fraction of itself in `every_s` seconds."""

    fraction: Annotated[float, Meta(ge=0, le=FRACTION_MAX_PPM / PPM)]
    every_s: Seconds


@dataclass(frozen=True, kw_only=True)
class Controls:
    node: str
    rise: Move | None = None
    fall: Move | None = None
    hold_s: Seconds | None = None
    flash_s: Seconds | None = None

    def command(self) -> SetControls:
        return SetControls(
            self.node, _band(self.rise), _band(self.fall), _us(self.hold_s), _us(self.flash_s)
        )

    def are_in_force(self, found: ControlsView | None) -> bool:
        in_force = found or ControlsView(self.node, None, None, None, None)
        return msgspec.structs.astuple(in_force)[1:] == msgspec.structs.astuple(self.command())[1:]


def _band(move: Move | None) -> Band | None:
    if move is None:
        return None
    return Band(round(move.fraction * PPM), max(1, round(move.every_s * SECOND_US)))


def _us(seconds: float | None) -> int | None:
    """At least 1: the market knows no shorter time."""
    return None if seconds is None else max(1, round(seconds * SECOND_US))
