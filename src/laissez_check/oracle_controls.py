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
    path = reversed(state.topology.path[node])
    return next((settings[above] for above in path if above in settings), None)


def set_controls(state: State, command: SetControls) -> None:
    """The new settings replace all the node had; intervals count from now."""
    node, nodes = command.node, state.topology.nodes
    for settings in (state.rises, state.falls, state.holds_us, state.flashes_us):
        settings.pop(node, None)
    if command.rise is not None:
        standing = {below: state.standing_rate(below) for below in nodes}
        state.rises[node] = BandSetting(command.rise, state.now, standing)
    if command.fall is not None:
        floors = {below: state.floors.get(below, 0) for below in nodes}
        state.falls[node] = BandSetting(command.fall, state.now, floors)
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
    return next((value for at, value in reversed(log) if at < start), 0)


def clip_bid(state: State, alternative: Alternative) -> Alternative:
    """M15: the alternative in force."""
    scope = alternative.scope
    setting = governing(state, state.rises, scope)
    base = 0 if setting is None else anchor(state, setting, state.standing_log[scope], scope)
    if setting is None or base == 0:
        return alternative
    highest = base + base * setting.band.fraction_ppm // ONE_PPM
    return Alternative(scope, min(alternative.bid, highest), alternative.limit)


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
    """M18: the liability of a bid that is placed or raised now; `without` is the order itself where
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
    """M18: a bid that is new or raised gets a new liability if there is one to get; every other
    keeps what remains."""
    old_bid = {} if order is None else {old.scope: old.bid for old in order.alternatives}
    liabilities = dict(remaining)
    for alternative in alternatives:
        scope = alternative.scope
        if scope not in old_bid or alternative.bid > old_bid[scope]:
            fresh = new_liability(state, alternative, order)
            if fresh is not None:
                liabilities[scope] = fresh
    return liabilities
