"""The volatility controls, literally (M15, M16, M18): anchors are looked up in the full history of
every node's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from laissez.market.commands import Alternative, SetControls
from laissez_check.oracle_state import BandSetting, Fee, Liability, Order, State

ONE_PPM = 1_000_000
Setting = TypeVar("Setting")


def governing(state: State, settings: Mapping[str, Setting], node: str) -> Setting | None:
    """The setting of the nearest node, counted from the node itself up to the root."""
    for above in reversed(state.topology.path[node]):
        if above in settings:
            return settings[above]
    return None


def set_controls(state: State, command: SetControls) -> None:
    """The new settings replace all the node had; intervals count from now."""
    node = command.node
    for settings in (state.rises, state.falls, state.holds_us, state.flashes_us):
        settings.pop(node, None)
    if command.rise is not None:
        state.rises[node] = BandSetting(
            command.rise,
            state.now,
            {below: state.standing_rate(below) for below in state.topology.nodes},
        )
    if command.fall is not None:
        state.falls[node] = BandSetting(
            command.fall,
            state.now,
            {below: state.floors.get(below, 0) for below in state.topology.nodes},
        )
    if command.hold_us is not None:
        state.holds_us[node] = command.hold_us
    if command.flash_us is not None:
        state.flashes_us[node] = command.flash_us


def write_history(state: State) -> None:
    """Note every node's standing rate and own floor as they are after what just happened."""
    for node in state.topology.nodes:
        for log, value in (
            (state.standing_log[node], state.standing_rate(node)),
            (state.floor_log[node], state.floors.get(node, 0)),
        ):
            if value != (log[-1][1] if log else 0):
                log.append((state.now, value))


def anchor(state: State, setting: BandSetting, log: list[tuple[int, int]], node: str) -> int:
    """The value at the start of the current interval: for the first right after the `SetControls`,
    for a later one after all that came before."""
    intervals_passed = (state.now - setting.since) // setting.band.interval_us
    if intervals_passed == 0:
        return setting.first[node]
    start = setting.since + intervals_passed * setting.band.interval_us
    earlier = [value for at, value in log if at < start]
    return earlier[-1] if earlier else 0


def clip_bid(state: State, alternative: Alternative) -> Alternative:
    """M15: the alternative in force."""
    setting = governing(state, state.rises, alternative.scope)
    if setting is None:
        return alternative
    base = anchor(state, setting, state.standing_log[alternative.scope], alternative.scope)
    if base == 0:
        return alternative
    highest = base + base * setting.band.fraction_ppm // ONE_PPM
    return Alternative(alternative.scope, min(alternative.bid, highest), alternative.limit)


def clip_floor(state: State, node: str, price: int) -> int:
    """M16: the floor in force."""
    setting = governing(state, state.falls, node)
    if setting is None:
        return price
    base = anchor(state, setting, state.floor_log[node], node)
    return max(price, base - base * setting.band.fraction_ppm // ONE_PPM, 0)


def new_liability(
    state: State, alternative: Alternative, without: Order | None
) -> Liability | None:
    """M18: what a bid placed or raised now becomes liable for; `without` is the order itself where
    it still rests."""
    duration_us = governing(state, state.flashes_us, alternative.scope)
    excess = alternative.bid - state.standing_rate(alternative.scope, without)
    if duration_us is None or excess <= 0:
        return None
    return Liability(excess, state.now + duration_us)


def withdraw(
    state: State, order: Order, alternatives: tuple[Alternative, ...]
) -> tuple[list[Fee], dict[str, Liability]]:
    """M18: the fees for replacing an order's alternatives by these (none: it is cancelled), and the
    liabilities it then has."""
    new_bid = {alternative.scope: alternative.bid for alternative in alternatives}
    fees = []
    remaining = {}
    for old in order.alternatives:
        liability = order.liabilities.get(old.scope)
        if liability is None or state.now >= liability.end:
            continue
        drop = old.bid - new_bid[old.scope] if old.scope in new_bid else liability.rate
        fee_rate = min(liability.rate, max(drop, 0))
        if fee_rate > 0:
            fees.append(Fee(order.tenant, order.id, old.scope, fee_rate, state.now, liability.end))
        if old.scope in new_bid and fee_rate < liability.rate:
            remaining[old.scope] = Liability(liability.rate - fee_rate, liability.end)
    return fees, remaining


def liabilities_after(
    state: State,
    order: Order | None,
    remaining: dict[str, Liability],
    alternatives: tuple[Alternative, ...],
) -> dict[str, Liability]:
    """M18: a bid that is new or raised gets a new liability if there is one to get; everything else
    keeps what remains."""
    old_bid = {old.scope: old.bid for old in order.alternatives} if order is not None else {}
    liabilities = dict(remaining)
    for alternative in alternatives:
        if alternative.scope not in old_bid or alternative.bid > old_bid[alternative.scope]:
            fresh = new_liability(state, alternative, order)
            if fresh is not None:
                liabilities[alternative.scope] = fresh
    return liabilities
