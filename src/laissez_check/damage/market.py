"""A small market at work on a journal, and the truth about it: what the journal must hold, and the
state, events and ids that go with it."""

from __future__ import annotations

import hashlib
import random
from copy import copy
from functools import cache
from pathlib import Path

from laissez.exchange import commands
from laissez.exchange.codec import Codec
from laissez.exchange.commands import OPERATOR, SERVICE, Caps, Command, Request
from laissez.exchange.events import Applied, Document, tenant_of
from laissez.exchange.exchange import Exchange
from laissez.journal import Entry, Filed, Journal, snapshots
from laissez.market import Market, Topology
from laissez.market import commands as to_market
from laissez.market.commands import Alternative
from laissez.server.data_folder import Opened, open_folder
from laissez.server.settings import Limits
from laissez.units import HOUR_US
from laissez_check.finding import Finding

LEAVES = ("gpu/r1/g1", "gpu/r1/g2", "gpu/r2/g1")
SCOPES = ("gpu", "gpu/r1", *LEAVES)
TENANTS = ("ann", "bob", "cat")
WEBHOOKS = 2
NOBODY_THERE = "https://127.0.0.1/"  # where no webhook may lead
BEGINNING = 1_700_000_000_000_000
# however long ago the beginning is, nothing is too old to be remembered
LIMITS = Limits(history_hours=10**6)
PRICES = (500_000, 1_000_000, 2_000_000, 3_000_000)


class Truth:
    """Of one journal, by sequence number."""

    def __init__(self, identity: bytes) -> None:
        self.identity = identity
        self.acknowledged = 0
        # last, entries, documents
        self.groups: list[tuple[int, list[Entry], tuple[Filed, ...]]] = []
        self.states = {0: digest(Exchange.begin(genesis()))}  # where a group ends
        self._told: list[tuple[int, str]] = []  # entry, whose event
        self._ids: list[tuple[int, str, str]] = []  # entry, holder, id

    def copy(self) -> Truth:
        copied = copy(self)
        copied.groups, copied._told, copied._ids, copied.states = (
            list(self.groups),
            list(self._told),
            list(self._ids),
            dict(self.states),
        )
        return copied

    def forget_after(self, seq: int) -> None:
        """What was tried and is not there will be something else."""
        self.groups = [group for group in self.groups if group[0] <= seq]
        self._told = [told for told in self._told if told[0] <= seq]
        self._ids = [used for used in self._ids if used[0] <= seq]

    def note(self, seq: int, request: Request, applied: Applied) -> None:
        self._told += [
            (seq, who) for event in applied.events for who in (OPERATOR, tenant_of(event)) if who
        ]
        if request.id:
            self._ids.append((seq, request.who, request.id))

    def events(self, holder: str, last: int) -> list[int]:
        """The entries with events for a holder."""
        return list(dict.fromkeys(seq for seq, who in self._told if who == holder and seq <= last))

    def ids(self, last: int) -> list[tuple[int, str, str]]:
        return [used for used in self._ids if used[0] <= last]


def digest(exchange: Exchange) -> bytes:
    return hashlib.sha256(exchange.snapshot()).digest()


@cache
def genesis() -> bytes:
    return Market(Topology.of(LEAVES), 100).snapshot()


def found(folder: Path, truth: Truth) -> None:
    """A new market."""
    Journal.create(folder, genesis(), identity=truth.identity, created_us=BEGINNING).close()


class AtWork:
    """An opened market that is given random commands."""

    def __init__(self, opened: Opened, truth: Truth, draw: random.Random) -> None:
        self.journal = opened.journal
        self.exchange = opened.exchange
        self._codec = Codec(self.exchange.names)
        self._truth = truth
        self._draw = draw
        truth.forget_after(self.journal.last)

    def group(self, count: int, after_us: int = 0) -> None:
        """Some commands, stored as one group, when this time has passed. Raises what the journal
        raises; else they are acknowledged."""
        entries: list[Entry] = []
        documents: list[tuple[int, Document]] = []
        at = max(self.journal.last_at, BEGINNING) + after_us
        for index in range(count):
            at += self._draw.choice((0, 1, 1_000_000, HOUR_US))
            seq = self.journal.last + 1 + index
            request = self._request(seq, at)
            packed = self._codec.pack_request(request)
            applied = self.exchange.apply(at, request)
            entries.append(Entry(at, packed, self._codec.pack_outcome(at, request, applied)))
            documents += [(index, document) for document in applied.documents]
            self._truth.note(seq, request, applied)
        self._store(entries, documents)

    def _store(self, entries: list[Entry], documents: list[tuple[int, Document]]) -> None:
        first = self.journal.last + 1
        last = self.journal.last + len(entries)
        filed = sorted(
            (Filed(first + index, document.name, document.body) for index, document in documents),
            key=lambda d: (d.seq, d.name),
        )
        self._truth.groups.append((last, entries, tuple(filed)))
        self._truth.states[last] = digest(self.exchange)
        self.journal.append(entries, documents)
        self._truth.acknowledged = last

    def snapshot(self) -> None:
        snapshots.write(
            self.journal.folder, self.journal.last, self.journal.head, self.exchange.snapshot()
        )
        snapshots.prune(self.journal.folder)

    def _request(self, seq: int, at: int) -> Request:
        who, command = self._asked(seq, at)
        return Request(who, SERVICE, f"id-{seq}" if self._draw.random() < 0.5 else "", b"", command)

    def _asked(self, seq: int, at: int) -> tuple[str, Command]:
        draw = self._draw
        accounts = self.exchange.accounts
        if len(accounts) < len(TENANTS):
            return OPERATOR, commands.CreateTenant(TENANTS[len(accounts)], Caps())
        if len(self.exchange.webhooks.live) < WEBHOOKS:
            return TENANTS[len(self.exchange.webhooks.live)], commands.CreateWebhook(
                NOBODY_THERE, None, 0
            )
        tenant, market = draw.choice(TENANTS), self.exchange.market
        kind = draw.randrange(10)
        if kind < 4:
            bid = draw.choice(PRICES)
            return tenant, to_market.PlaceOrder(
                tenant, (Alternative(draw.choice(SCOPES), bid, bid * draw.choice((1, 2))),)
            )
        # of all that ever were: what is over is refused
        counts = market.counts(tenant)
        if kind == 4 and counts.orders_placed:
            order = draw.randint(1, counts.orders_placed)
            return tenant, to_market.CancelOrder(tenant, order)
        if kind == 5 and counts.leases_started:
            lease = draw.randint(1, counts.leases_started)
            return tenant, to_market.Relinquish(tenant, lease)
        if kind == 6:
            return OPERATOR, commands.IssueKey(
                tenant, f"key_{seq}", draw.randbytes(32), ("read",), ""
            )
        if kind == 7:
            return tenant, commands.SetBudget(draw.choice((None, 10**9)))
        if kind == 8:
            return OPERATOR, to_market.CloseBooks(at)
        return OPERATOR, to_market.SetFloor(draw.choice(SCOPES), draw.choice(PRICES))


def opened(folder: Path) -> Opened:
    return open_folder(folder, LIMITS)


def compare(opened: Opened, truth: Truth) -> None:
    """What was recovered with what it must be."""
    last = opened.journal.last
    if last < truth.acknowledged:
        raise Finding(
            f"silent loss: it goes on after entry {last}, and entries up to {truth.acknowledged}"
            " were acknowledged"
        )
    if opened.journal.identity != truth.identity:
        raise Finding("another journal was opened")
    with opened.journal.reader() as reader:
        stored = [(group.last, group.entries, group.documents) for group in reader.groups()]
    if stored != [group for group in truth.groups if group[0] <= last] or (
        last and last != stored[-1][0]
    ):
        raise Finding(f"the entries up to {last} are not those that were written")
    if digest(opened.exchange) != truth.states.get(last):
        raise Finding(f"the state after entry {last} never was")
    _compare_memories(opened, truth)


def _compare_memories(opened: Opened, truth: Truth) -> None:
    last = opened.journal.last
    ids = truth.ids(last)
    if any(opened.event_log.find(holder, id) != seq for seq, holder, id in ids):
        raise Finding(f"the ids remembered are not those used up to entry {last}")
    latest = {
        OPERATOR: opened.exchange.events,
        **{name: account.events for name, account in opened.exchange.accounts.items()},
    }
    for holder, number in latest.items():
        if opened.event_log.entries_after(holder, 0, number) != truth.events(holder, last):
            raise Finding(f"the events of {holder} are not those up to entry {last}")
