"""What belongs to each command: how it must look, what may speak against it, and what it does. One
row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from laissez.market import closing, effects, guards, shapes
from laissez.market.commands import (
    AdvanceTime,
    AmendOrder,
    BringOnline,
    CancelOrder,
    CloseBooks,
    PlaceOrder,
    Relinquish,
    SetControls,
    SetFloor,
    SetLimit,
    TakeOffline,
)
from laissez.market.events import Refused
from laissez.market.state import State

Rule: TypeAlias = tuple[
    Callable[[Any], str],  # the first field of the wrong type, "" if there is none
    Callable[[State, Any], Refused | None],  # why not
    # what it does, once nothing speaks against it; None if time passing is all
    Callable[[State, Any], None] | None,
]

RULES: Final[dict[type, Rule]] = {
    PlaceOrder: (shapes.misshapen_place, guards.why_not_place, effects.place),
    AmendOrder: (shapes.misshapen_amend, guards.why_not_amend, effects.amend),
    CancelOrder: (shapes.misshapen_cancel, guards.why_not_cancel, effects.cancel),
    SetLimit: (shapes.misshapen_limit, guards.why_not_limit, effects.set_limit),
    Relinquish: (shapes.misshapen_relinquish, guards.why_not_relinquish, effects.relinquish),
    SetFloor: (shapes.misshapen_floor, guards.why_not_floor, effects.set_floor),
    SetControls: (shapes.misshapen_controls, guards.why_not_controls, effects.set_controls),
    TakeOffline: (shapes.misshapen_switch, guards.why_not_offline, effects.take_offline),
    BringOnline: (shapes.misshapen_switch, guards.why_not_online, effects.bring_online),
    AdvanceTime: (shapes.misshapen_nothing, guards.never_refused, None),
    CloseBooks: (shapes.misshapen_close, guards.why_not_close, closing.close_books),
}
