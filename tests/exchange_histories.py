"""Random histories of an exchange: those of `laissez_check.histories`, said by tenants in their own
ids.

`python exchange_histories.py 3 7` prints a digest of all outcomes, documents and snapshots of the
histories with seeds 3 to 6.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from itertools import count as count_up
from itertools import islice
from random import Random

import msgspec

from laissez.journal import Document
from laissez.market import Market, Topology
from laissez.market import commands as market
from laissez.server import commands
from laissez.server.budgets import ACTIONS
from laissez.server.commands import OPERATOR, Request
from laissez.server.exchange import Exchange, read_request
from laissez.server.outcomes import pack
from laissez.wire.ids import lease_id, order_id, tag_of
from laissez.wire.requests import Caps
from laissez_check.histories import Draft, Step, draw_history
from laissez_check.worlds import World

LENGTH = 150
KEYS_LATER = 10  # keys, caps, budgets and books change about every so many commands


class Happened(msgspec.Struct, frozen=True):
    """A request as the journal holds it, and what came of it."""

    at: int
    request: bytes
    outcome: bytes
    documents: tuple[Document, ...]


class Drawn(msgspec.Struct, frozen=True):
    genesis: bytes
    steps: tuple[Happened, ...]
    tenants: tuple[str, ...]


def with_fees(count: int) -> list[int]:
    """The first seeds whose histories have flash fees."""
    return list(islice((seed for seed in count_up() if "flash_us" in Draft(seed).controls), count))


@cache
def draw(seed: int, length: int = LENGTH) -> Drawn:
    """A history, played once to know the tenants' own ids."""
    drawn = draw_history(seed, length)
    return _Play(seed, drawn.world).all(drawn.steps)


class _Play:
    def __init__(self, seed: int, world: World) -> None:
        self._rng = Random(seed)
        self._is_thrifty = seed % 3 == 0  # budgets that act and caps keep much from happening
        self._world = world
        self._genesis = Market(Topology.of(world.leaves), world.orders_per_tenant_max).snapshot()
        self._exchange = Exchange.begin(self._genesis)
        self._now = 1
        self._steps: list[Happened] = []

    def all(self, steps: tuple[Step, ...]) -> Drawn:
        for tenant in self._world.tenants:
            self._enter(
                OPERATOR,
                commands.CreateTenant(tenant, Caps(open_orders=self._rng.choice((None, None, 5)))),
            )
        for step in steps:
            at = step.at
            if type(at) is int and self._now <= at < market.TIME_MAX_US:
                self._now = at
            self._say(step.command)
            if self._rng.randrange(KEYS_LATER) == 0:
                self._say_something_else()
            if self._is_thrifty and self._rng.randrange(KEYS_LATER) == 0:
                self._say_what_may_be_spent()
        return Drawn(self._genesis, tuple(self._steps), self._world.tenants)

    def _say(self, command: market.Command) -> None:
        tenant = getattr(command, "tenant", OPERATOR)
        if hasattr(command, "tenant") and tenant not in self._world.tenants:
            return  # one that no key belongs to
        try:
            said = self._in_own_words(command)
            read_request(pack(Request(tenant, "", "", b"", said)))
        except (msgspec.MsgspecError, UnicodeEncodeError, TypeError, OverflowError):
            return  # malformed on purpose: never gets so far
        self._enter(tenant, said)

    def _in_own_words(self, command: market.Command) -> commands.Command:
        if isinstance(command, market.PlaceOrder):
            return commands.PlaceOrder(command.alternatives, self._rng.random() < 0.2)
        if isinstance(command, market.AmendOrder):
            return commands.AmendOrder(
                self._order(command.tenant, command.order), command.alternatives
            )
        if isinstance(command, market.CancelOrder):
            return commands.CancelOrder(self._order(command.tenant, command.order))
        if isinstance(command, market.SetLimit):
            return commands.SetLimit(self._lease(command.tenant, command.lease), command.limit)
        if isinstance(command, market.Relinquish):
            return commands.Relinquish(self._lease(command.tenant, command.lease))
        return command

    def _order(self, tenant: str, number: int) -> str:
        return order_id(tag_of(tenant), number)

    def _lease(self, tenant: str, number: int) -> str:
        return lease_id(tag_of(tenant), number)

    def _say_something_else(self) -> None:
        tenant = self._rng.choice((*self._world.tenants, OPERATOR, "nobody"))
        key = self._rng.choice((*self._exchange.keys, "key_unknown"))
        scopes = ("read", "operate") if tenant == OPERATOR else ("read",)
        said: commands.Command = self._rng.choice(
            (
                commands.IssueKey(
                    tenant, f"key_{len(self._steps)}", bytes(32), scopes, self._rng.choice("abc")
                ),
                commands.RevokeKey(key),
                commands.SetCaps(tenant, Caps(open_orders=self._rng.choice((None, 0, 3, 2_000)))),
                commands.SetBudget(self._rng.choice((None, 0, 1, 10**8, 10**15, 2 * 10**15))),
                market.CloseBooks(
                    self._rng.choice(
                        (
                            self._now,
                            self._exchange.closed_before,
                            (self._now + self._exchange.closed_before) // 2,
                        )
                    )
                ),
            )
        )
        self._enter(
            self._rng.choice(self._world.tenants)
            if isinstance(said, commands.SetBudget)
            else OPERATOR,
            said,
        )

    def _say_what_may_be_spent(self) -> None:
        said: commands.Command = self._rng.choice(
            (
                commands.SetBudget(
                    self._rng.choice((1, 2, 5, 5, 1_000)),
                    self._rng.choice(ACTIONS),
                    self._rng.choice((None, False, True, True)),
                ),
                commands.SetOwnCaps(
                    self._rng.choice((None, None, 60)), self._rng.choice((None, None, 120))
                ),
            )
        )
        self._enter(self._rng.choice(self._world.tenants), said)

    def _enter(self, who: str, command: commands.Command) -> None:
        request = pack(Request(who, "", "", b"", command))
        outcome, documents = self._exchange.replay(self._now, request)
        self._steps.append(Happened(self._now, request, outcome, documents))


def digest(seeds: range) -> str:
    found = hashlib.sha256()
    for seed in seeds:
        drawn = draw(seed)
        exchange = Exchange.begin(drawn.genesis)
        for step in drawn.steps:
            outcome, documents = exchange.replay(step.at, step.request)
            found.update(
                outcome + b"".join(document.name.encode() + document.body for document in documents)
            )
        found.update(exchange.snapshot())
    return found.hexdigest()


if __name__ == "__main__":
    print(digest(range(int(sys.argv[1]), int(sys.argv[2]))))
