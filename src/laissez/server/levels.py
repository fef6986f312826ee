"""Every leaf's owner, rate, limit and floor, looked at together for all who follow them.

Nobody is sent anything here: whoever follows comes by a few times a second. The first to come
looks, if anything has happened at all; the others find what it saw. Each is told what is different
from what it was told last, however long ago that was, so nothing waits in a queue. What was looked
at is shown once all of it is durable, not before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec

from laissez.exchange.commands import OPERATOR
from laissez.market.answers import LevelsView
from laissez.server.gateway import Gateway
from laissez.units import format_time
from laissez.wire.books import LevelChange, Levels, LevelsChanged
from laissez.wire.rendering import optional_price, price

EVERY_S = 0.2
# looked at, or written down, before other work has its turn: about a millisecond
LEAVES_PER_TURN = 2_048
COLUMNS = ("rates", "limits", "owner", "floors")
# if more than one in so many leaves changed, whole columns are shorter and sooner made
COLUMNS_FROM = 4


class Part(msgspec.Struct, frozen=True):
    """So many leaves as they were seen, and their columns as they are told. A column that did not
    change is the one of the part before it."""

    seen: LevelsView
    rates: list[str]
    limits: list[str | None]
    owner: list[int]
    floors: list[str]


class Seen(msgspec.Struct, frozen=True):
    """How much somebody was told."""

    version: int
    owners: int


class Feed:
    def __init__(self, gateway: Gateway) -> None:
        self.every_s = EVERY_S
        self._gateway = gateway
        self._looking = asyncio.Lock()
        self._tick = -1
        self._position = -1  # of the journal when it was last looked
        self._at = 0
        self._n = 0
        self._owners: tuple[str, ...] = ()
        self._parts: list[Part] = []
        self._version = 0  # grows with every difference
        # the last version in which each leaf changed
        self._changed_in = [0] * len(gateway.exchange.market.topology.leaves)
        self._column_changed_in = dict.fromkeys(COLUMNS, 0)
        # to those who have seen so much, until there is more to see
        self._messages: dict[Seen, bytes] = {}

    @property
    def seen(self) -> Seen:
        """All that there is to see now."""
        return Seen(self._version, len(self._owners))

    def until_next_s(self) -> float:
        """Everybody comes at the same times, so that one look is enough."""
        return self.every_s - asyncio.get_running_loop().time() % self.every_s

    async def look_in_turn(self) -> None:
        """Look, unless somebody else did so since everybody's last time to come."""
        tick = int(asyncio.get_running_loop().time() // self.every_s)
        async with self._looking:
            if tick > self._tick:
                self._tick = tick
                await self._look()

    async def look_now(self) -> None:
        """For whoever must see what it has just done itself."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        gateway, market = self._gateway, self._gateway.exchange.market
        gateway.admission.check_journal()
        gateway.end_holds()
        at, n, position = gateway.clock.now(), gateway.latest(OPERATOR), gateway.position
        if position != self._position:
            seen = []
            for first in range(0, len(market.topology.leaves), LEAVES_PER_TURN):
                seen.append(market.levels(first, first + LEAVES_PER_TURN))
                await asyncio.sleep(0)
            owners = market.tenants()  # after the last part, so that every owner is among them
            await gateway.all_durable()
            await self._show(seen, owners)
            self._position = position
        self._at, self._n = at, n

    async def _show(self, seen: list[LevelsView], owners: tuple[str, ...]) -> None:
        """Find what is different, then, at one instant, show it."""
        parts: list[Part] = []
        changed: list[int] = []
        columns: set[str] = set()
        for number, view in enumerate(seen):
            old = self._parts[number] if self._parts else None
            if old is not None and old.seen == view:
                parts.append(old)
                continue
            parts.append(_part(view, old))
            changed += _different(view, old, number * LEAVES_PER_TURN)
            columns |= {
                name for name in COLUMNS if getattr(parts[-1], name) is not getattr(old, name, None)
            }
            await asyncio.sleep(0)
        if not changed and owners == self._owners:
            return
        self._version += 1
        self._messages.clear()
        for leaf in changed:
            self._changed_in[leaf] = self._version
        self._column_changed_in.update(dict.fromkeys(columns, self._version))
        self._parts, self._owners = parts, owners

    # -- telling

    def whole(self) -> Levels:
        topology = self._gateway.exchange.market.topology
        names = {root: topology.level_names(root) or None for root in topology.roots}
        return Levels(
            format_time(self._at),
            self._n,
            names,
            self._owners,
            topology.leaves,
            **self._columns(COLUMNS),
        )

    def changes(self, seen: Seen) -> bytes:
        """What is different for somebody who has seen so much, as JSON; made once for all who
        have."""
        message = self._messages.get(seen)
        if message is None:
            message = self._messages[seen] = msgspec.json.encode(self._different_from(seen))
        return message

    def _different_from(self, seen: Seen) -> LevelsChanged:
        at, owners = format_time(self._at), self._owners[seen.owners :]
        leaves = [leaf for leaf, version in enumerate(self._changed_in) if version > seen.version]
        if len(leaves) * COLUMNS_FROM <= len(self._changed_in):
            return LevelsChanged(at, self._n, owners, [self._row(leaf) for leaf in leaves])
        columns = [
            name for name, version in self._column_changed_in.items() if version > seen.version
        ]
        return LevelsChanged(at, self._n, owners, [], **self._columns(columns))

    def _row(self, leaf: int) -> LevelChange:
        part, place = self._parts[leaf // LEAVES_PER_TURN], leaf % LEAVES_PER_TURN
        return leaf, part.rates[place], part.limits[place], part.owner[place], part.floors[place]

    def _columns(self, names: Iterable[str]) -> dict[str, list[Any]]:
        return {
            name: [value for part in self._parts for value in getattr(part, name)] for name in names
        }


def _part(view: LevelsView, old: Part | None) -> Part:
    return Part(
        view,
        old.rates
        if old is not None and old.seen.rates == view.rates
        else [*map(price, view.rates)],
        old.limits
        if old is not None and old.seen.limits == view.limits
        else [*map(optional_price, view.limits)],
        old.owner if old is not None and old.seen.owners == view.owners else view.owners,
        old.floors
        if old is not None and old.seen.floors == view.floors
        else [*map(price, view.floors)],
    )


def _different(new: LevelsView, old: Part | None, first: int) -> list[int]:
    """The places of the leaves that are not as they were; all of them, if there was nothing
    before."""
    if old is None:
        return list(range(first, first + len(new.rates)))
    now = zip(new.rates, new.limits, new.owners, new.floors, strict=True)
    before = zip(old.seen.rates, old.seen.limits, old.seen.owners, old.seen.floors, strict=True)
    return [
        first + place
        for place, (one, other) in enumerate(zip(now, before, strict=True))
        if one != other
    ]
