"""Volatility controls as standing settings of a node: bands, minimum hold and flash fee (M15 to M18
of `docs/market.md`).

They are sent when what is in force differs, and only then: in the market a new setting begins a new
interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from laissez.market.answers import ControlsView
from laissez.market.commands import FRACTION_MAX_PPM, Band, SetControls
from laissez.operators.fields import Seconds
from laissez.units import SECOND_US

PPM = 1_000_000


class Move(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a price may move: `fraction` of what it was, in `every_s` seconds."""

    fraction: Annotated[float, Meta(ge=0, le=FRACTION_MAX_PPM / PPM)]
    every_s: Seconds

    def band(self) -> Band:
        return Band(round(self.fraction * PPM), _us(self.every_s))


@dataclass(frozen=True, kw_only=True)
class Controls:
    node: str
    rise: Move | None = None
    fall: Move | None = None
    hold_s: Seconds | None = None
    flash_s: Seconds | None = None

    def command(self) -> SetControls:
        rise, fall = (None if move is None else move.band() for move in (self.rise, self.fall))
        hold, flash = (
            None if seconds is None else _us(seconds) for seconds in (self.hold_s, self.flash_s)
        )
        return SetControls(self.node, rise, fall, hold, flash)

    def are_in_force(self, found: ControlsView | None) -> bool:
        wanted = self.command()
        now = (
            (None,) * 4
            if found is None
            else (found.rise, found.fall, found.hold_us, found.flash_us)
        )
        return (wanted.rise, wanted.fall, wanted.hold_us, wanted.flash_us) == now


def _us(seconds: float) -> int:
    """At least a microsecond: the market knows no shorter time."""
    return max(1, round(seconds * SECOND_US))
