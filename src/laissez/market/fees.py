"""Flash fees: a bid that lifts a scope's standing rate must stand for a while, or its tenant pays
the difference that it made (M18).

A bid becomes *liable* when it is placed or raised. Withdrawing it too soon turns the liability, or
the part withdrawn, into a fee. The fee is a rate until the time at which the bid would have been
free to go: it accrues, and shows on the bill, like a lease.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from laissez.market.controls import flash_of
from laissez.market.events import FeeCharged
from laissez.market.tenant import Fee

if TYPE_CHECKING:
    from laissez.market.order import Resting
    from laissez.market.state import State


def become_liable(state: State, resting: Resting) -> None:
    """Make a bid liable if it lifts its scope's standing rate. Its order must not rest yet."""
    flash = flash_of(resting.scope)
    if flash == 0:
        return
    made = resting.bid - resting.scope.rate(None)
    if made > 0:
        resting.liable = made
        resting.liable_until = state.now + flash


def amend_liabilities(
    state: State, before: tuple[Resting, ...], after: tuple[Resting, ...]
) -> None:
    if not state.with_controls and not any([old.liable for old in before]):
        return
    now_at = {resting.scope.path: resting for resting in after}
    for old in before:
        new = now_at.pop(old.scope.path, None)
        if new is None:
            charge_fee(state, old, old.liable)
            continue
        if new.bid < old.bid:
            charge_fee(state, old, min(old.liable, old.bid - new.bid))
        new.liable = old.liable
        new.liable_until = old.liable_until
        if new.bid > old.bid:
            become_liable(state, new)
    for resting in now_at.values():
        become_liable(state, resting)


def charge_fee(state: State, resting: Resting, rate: int) -> None:
    """Charge part or all of a liability, if it has not run out."""
    if rate == 0 or state.now >= resting.liable_until:
        return
    resting.liable -= rate
    order = resting.order
    order.tenant.owes(Fee(order.id, resting.scope.path, rate, state.now, resting.liable_until))
    state.events.append(
        FeeCharged(
            state.now, order.tenant.name, order.id, resting.scope.path, rate, resting.liable_until
        )
    )
