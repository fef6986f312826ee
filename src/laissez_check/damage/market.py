"""A small market at work on a journal, and the truth that a recovery must find."""

from __future__ import annotations

import hashlib
import random
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
UNREACHABLE = "https://127.0.0.1/"  # by the rules for webhooks
BEGINNING = 1_700_000_000_000_000
# However long ago the beginning is, nothing is too old to be remembered.
LIMITS = Limits(history_hours=10**6)
PRICES = (500_000, 1_000_000, 2_000_000, 3_000_000)


class Truth:
    """The entries of a journal, with the state, events and ids that follow from them."""

    def __init__(self, identity: bytes) -> None:
        self.identity = identity
        self.last = 0
        self.groups: list[tuple[int, list[Entry], tuple[Filed, ...]]] = []  # by their last entry
        self.state = digest(Exchange.begin(genesis()))
        self.told: dict[str, dict[int, None]] = {}  # the entries with events for each holder
        self.ids: list[tuple[int, str, str]] = []  # entry, holder, id

    def note(self, seq: int, request: Request, applied: Applied) -> None:
        for event in applied.events:
            for holder in filter(None, (OPERATOR, tenant_of(event))):
                self.told.setdefault(holder, {})[seq] = None
        if request.id:
            self.ids.append((seq, request.who, request.id))


def digest(exchange: Exchange) -> bytes:
    return hashlib.sha256(exchange.snapshot()).digest()


@cache
def genesis() -> bytes:
    return Market(Topology.of(LEAVES), 100).snapshot()


def found(folder: Path, truth: Truth) -> None:
    """A new market."""
    Journal.create(folder, genesis(), identity=truth.identity, created_us=BEGINNING).close()


def opened(folder: Path) -> Opened:
    return open_folder(folder, LIMITS)


class AtWork:
    """An opened market that is given random commands."""

    def __init__(self, opened: Opened, truth: Truth, draw: random.Random) -> None:
        self.journal = opened.journal
        self.exchange = opened.exchange
        self._codec = Codec(self.exchange.names)
        self._truth = truth
        self._draw = draw

    def group(self, count: int, after_us: int = 0) -> None:
        """Store some commands as one group, `after_us` later."""
        truth, first = self._truth, self.journal.last + 1
        entries: list[Entry] = []
        documents: list[tuple[int, Document]] = []
        at = max(self.journal.last_at, BEGINNING) + after_us
        for index in range(count):
            at += self._draw.choice((0, 1, 1_000_000, HOUR_US))
            request = self._request(first + index, at)
            packed = self._codec.pack_request(request)
            applied = self.exchange.apply(at, request)
            entries.append(Entry(at, packed, self._codec.pack_outcome(at, request, applied)))
            documents += [(index, document) for document in applied.documents]
            truth.note(first + index, request, applied)
        self.journal.append(entries, documents)
        filed = [Filed(first + index, one.name, one.body) for index, one in documents]
        truth.last = self.journal.last
        truth.groups.append((truth.last, entries, tuple(sorted(filed, key=lambda d: d[:2]))))
        truth.state = digest(self.exchange)

    def snapshot(self) -> None:
        snapshots.write(
            self.journal.folder, self.journal.last, self.journal.head, self.exchange.snapshot()
        )
        snapshots.prune(self.journal.folder)

    def _request(self, seq: int, at: int) -> Request:
        who, command = self._asked(seq, at)
        return Request(who, SERVICE, f"id-{seq}" if self._draw.random() < 0.5 else "", b"", command)

    def _asked(self, seq: int, at: int) -> tuple[str, Command]:
        draw, market = self._draw, self.exchange.market
        tenants, webhooks = len(self.exchange.accounts), len(self.exchange.webhooks.live)
        if tenants < len(TENANTS):
            return OPERATOR, commands.CreateTenant(TENANTS[tenants], Caps())
        if webhooks < WEBHOOKS:
            return TENANTS[webhooks], commands.CreateWebhook(UNREACHABLE, None, 0)
        tenant, price, kind = draw.choice(TENANTS), draw.choice(PRICES), draw.randrange(10)
        # Orders and leases that have ended, too: commands for them are refused.
        counts = market.counts(tenant)
        if kind < 4:
            wanted = Alternative(draw.choice(SCOPES), price, price * draw.choice((1, 2)))
            return tenant, to_market.PlaceOrder(tenant, (wanted,))
        if kind == 4 and counts.orders_placed:
            order = draw.randint(1, counts.orders_placed)
            return tenant, to_market.CancelOrder(tenant, order)
        if kind == 5 and counts.leases_started:
            lease = draw.randint(1, counts.leases_started)
            return tenant, to_market.Relinquish(tenant, lease)
        if kind == 6:
            key = draw.randbytes(32)
            return OPERATOR, commands.IssueKey(tenant, f"key_{seq}", key, ("read",), "")
        if kind == 7:
            return tenant, commands.SetBudget(draw.choice((None, 10**9)))
        if kind == 8:
            return OPERATOR, to_market.CloseBooks(at)
        return OPERATOR, to_market.SetFloor(draw.choice(SCOPES), price)


def compare(opened: Opened, truth: Truth) -> None:
    """Compare a recovered market with the truth."""
    last = opened.journal.last
    if last < truth.last:
        raise Finding(
            f"silent loss: it goes on after entry {last}, and entries up to {truth.last} were"
            " acknowledged"
        )
    if opened.journal.identity != truth.identity:
        raise Finding("another journal was opened")
    with opened.journal.reader() as reader:
        stored = [(group.last, group.entries, group.documents) for group in reader.groups()]
    if stored != truth.groups:
        raise Finding(f"the entries up to {last} are not those that were written")
    if digest(opened.exchange) != truth.state:
        raise Finding(f"the state after entry {last} never existed")
    if any(opened.event_log.find(holder, id) != seq for seq, holder, id in truth.ids):
        raise Finding(f"the ids remembered are not those used up to entry {last}")
    latest = {name: account.events for name, account in opened.exchange.accounts.items()}
    for holder, number in {OPERATOR: opened.exchange.events, **latest}.items():
        if opened.event_log.entries_after(holder, 0, number) != [*truth.told.get(holder, ())]:
            raise Finding(f"the events of {holder} are not those up to entry {last}")
