"""Random histories of an exchange: those of `laissez_check.histories`, with accounts, keys, caps,
budgets and closed books in between.

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

from laissez.exchange import commands
from laissez.exchange.commands import OPERATOR, SERVICE, Action, Caps, Request
from laissez.exchange.events import Applied, Document
from laissez.market import Market, Topology
from laissez.market import commands as market
from laissez.server.data_folder import Replaying
from laissez_check.histories import Draft, Step, draw_history
from laissez_check.worlds import World

LENGTH = 150
KEYS_LATER = 10  # commands between changes of keys, caps, budgets and books, on average


class Recorded(msgspec.Struct, frozen=True):
    """A request as the journal holds it, and its outcome."""

    at: int
    request: bytes
    outcome: bytes
    documents: tuple[Document, ...]


class Drawn(msgspec.Struct, frozen=True):
    genesis: bytes
    steps: tuple[Recorded, ...]
    tenants: tuple[str, ...]


def with_fees(count: int) -> list[int]:
    """The first seeds whose histories have flash fees."""
    return list(islice((seed for seed in count_up() if "flash_us" in Draft(seed).controls), count))


@cache
def draw(seed: int, length: int = LENGTH) -> Drawn:
    """A history, played once to get the outcomes."""
    drawn = draw_history(seed, length)
    return _Play(seed, drawn.world).all(drawn.steps)


class _Play:
    def __init__(self, seed: int, world: World) -> None:
        self._rng = Random(seed)
        self._is_thrifty = seed % 3 == 0  # budgets and caps prevent many commands
        self._world = world
        self._genesis = Market(Topology.of(world.leaves), world.orders_per_tenant_max).snapshot()
        self._machine = Replaying.begin(self._genesis)
        self._exchange = self._machine.exchange
        self._now = 1
        self._steps: list[Recorded] = []

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
                self._say_account_command()
            if self._is_thrifty and self._rng.randrange(KEYS_LATER) == 0:
                self._say_cap_or_budget()
        return Drawn(self._genesis, tuple(self._steps), self._world.tenants)

    def _say(self, command: market.Command) -> None:
        tenant = getattr(command, "tenant", OPERATOR)
        if hasattr(command, "tenant") and tenant not in self._world.tenants:
            return  # a tenant without a key
        try:
            said = msgspec.msgpack.decode(msgspec.msgpack.encode(command), type=type(command))
        except (msgspec.MsgspecError, UnicodeEncodeError, TypeError, OverflowError):
            return  # malformed on purpose: never reaches the exchange
        of_session = type(said) is market.PlaceOrder and self._rng.random() < 0.2
        self._enter(tenant, said, of_session)

    def _say_account_command(self) -> None:
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

    def _say_cap_or_budget(self) -> None:
        said: commands.Command = self._rng.choice(
            (
                commands.SetBudget(
                    self._rng.choice((1, 2, 5, 5, 1_000)),
                    self._rng.choice(list(Action)),
                    self._rng.choice((False, False, True, True)),
                ),
                commands.SetOwnCaps(
                    self._rng.choice((None, None, 60)), self._rng.choice((None, None, 120))
                ),
            )
        )
        self._enter(self._rng.choice(self._world.tenants), said)

    def _enter(self, who: str, command: commands.Command, of_session: bool = False) -> None:
        request = self._machine.codec.pack_request(
            Request(who, SERVICE, "", b"", command, of_session)
        )
        outcome, documents = self._machine.apply(self._now, request)
        self._steps.append(Recorded(self._now, request, outcome, documents))


def requests_of(drawn: Drawn) -> list[tuple[int, Request, Applied]]:
    """The requests of a history with their times and outcomes."""
    machine = Replaying.begin(drawn.genesis)
    found = []
    for step in drawn.steps:
        request = machine.codec.unpack_request(step.request)
        found.append((step.at, request, machine.exchange.apply(step.at, request)))
    return found


def digest(seeds: range) -> str:
    found = hashlib.sha256()
    for seed in seeds:
        drawn = draw(seed)
        machine = Replaying.begin(drawn.genesis)
        for step in drawn.steps:
            outcome, documents = machine.apply(step.at, step.request)
            found.update(
                outcome + b"".join(document.name.encode() + document.body for document in documents)
            )
        found.update(machine.snapshot())
    return found.hexdigest()


if __name__ == "__main__":
    print(digest(range(int(sys.argv[1]), int(sys.argv[2]))))
