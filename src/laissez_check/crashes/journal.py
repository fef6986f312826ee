"""The journal as the judge of a crash test: what it holds has happened, once; what it does not hold
has never been.

It is read with the journal's own reader, beside the server, and each part of it once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from laissez.exchange.codec import Codec
from laissez.exchange.commands import OPERATOR
from laissez.exchange.events import Applied, tenant_of
from laissez.exchange.exchange import Exchange
from laissez.journal import Entry, Reader
from laissez.wire.rendering import rendered
from laissez.wire.texts import code_of, explain
from laissez_check.crashes.ledger import Asked, Json, Ledger, Part, Shown
from laissez_check.finding import Finding

ENDS_ORDER = ("order.cancelled", "lease.started")


class Truth:
    """What the journal holds so far."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.last = 0
        self._link = b""
        self._codec: Codec | None = None  # knows the names up to the last entry
        # every holder's events, the first at 0
        self.streams: dict[str, list[Json]] = {OPERATOR: []}
        # of each event of the operator, when its command was applied
        self.entered_at: list[int] = []
        self.parts: dict[tuple[str, str], Part] = {}  # by who asked and under which id
        # by holder and order: all its versions
        self.orders_placed: dict[tuple[str, str], list[Json]] = {}
        self.leases_started: set[tuple[str, str]] = set()
        # orders that are open and are to go with the session that placed them
        self.going: set[tuple[str, str]] = set()

    def read_on(self) -> None:
        with Reader.of(self._folder) as reader:
            if self.last and reader.chain_at(self.last) != self._link:
                raise Finding(f"the journal up to entry {self.last} is not what it was")
            codec = self._codec or Codec(Exchange.begin(reader.genesis).names)
            self._codec = codec
            for group in reader.groups(self.last + 1):
                for entry in group.entries:
                    self._add(codec, entry)
                self.last, self._link = group.last, group.chain

    def _add(self, codec: Codec, entry: Entry) -> None:
        request = codec.unpack_request(entry.request)
        codec.learn(entry.request, entry.outcome)  # the outcome may tell of what it brings
        applied = codec.unpack_outcome(entry.at, request, entry.outcome)
        self._tell(entry.at, applied)
        if request.of_session:
            self.going |= {(request.who, order) for order in self._left_open(request.who, applied)}
        if request.id:
            if (request.who, request.id) in self.parts:
                raise Finding(f"the request {request.id} of {request.who} was carried out twice")
            refusal = applied.refusal
            refused = (
                None
                if refusal is None
                else (code_of(refusal.reason), explain(refusal, request.who))
            )
            # What a refused request tells of is what happened before it; that is not part of its
            # answer.
            self.parts[request.who, request.id] = Part(
                refused, () if refused else tuple(_numbered(applied, request.who))
            )

    def _tell(self, at: int, applied: Applied) -> None:
        tenants = {tenant_of(event) for event in applied.events}
        holders = {OPERATOR, *(tenant for tenant in tenants if tenant is not None)}
        for holder in holders:
            stream = self.streams.setdefault(holder, [])
            for numbered in _numbered(applied, holder):
                if numbered["n"] != len(stream) + 1:
                    raise Finding(
                        f"the journal numbers an event of {holder} {numbered['n']} where"
                        f" {len(stream) + 1} is next"
                    )
                stream.append(numbered)
                if holder == OPERATOR:
                    self.entered_at.append(at)
                else:
                    self._index(holder, numbered["event"])

    def _left_open(self, holder: str, applied: Applied) -> set[str]:
        """What was placed and has not won."""
        events = [one["event"] for one in _numbered(applied, holder)]
        placed, over = (
            {one["order"] for one in events if one["type"] in kinds}
            for kinds in (("order.placed",), ENDS_ORDER)
        )
        return placed - over

    def _index(self, holder: str, event: Json) -> None:
        if event["type"] in ENDS_ORDER:
            self.going.discard((holder, event["order"]))
        if event["type"] in ("order.placed", "order.amended"):
            self.orders_placed.setdefault((holder, event["order"]), []).append(
                event["alternatives"]
            )
        elif event["type"] == "lease.started":
            self.leases_started.add((holder, event["lease"]))


def _numbered(applied: Applied, holder: str) -> list[Json]:
    """The events of an outcome as the API tells them: a tenant its own, the operator all."""
    plain: list[Json] = msgspec.json.decode(msgspec.json.encode(rendered(applied, holder)))
    return plain


def compare(truth: Truth, ledger: Ledger) -> None:
    """Everything that was answered or shown since the last time must be what the journal holds."""
    for asked in ledger.asked.values():
        if asked.answer is not None and not asked.is_checked:
            _compare_answer(truth, asked)
            asked.is_checked = True
    for holder, n in ledger.unchecked:
        stream = truth.streams.get(holder, [])
        if n > len(stream) or stream[n - 1] != ledger.seen[holder][n]:
            raise Finding(
                f"{holder} was told event {n} as {ledger.seen[holder][n]}; the journal holds"
                f" {stream[n - 1 : n] or 'no such event'}"
            )
    for shown in ledger.shown:
        _compare_list(truth, shown)
    for holder, kind, id in ledger.shown_ids:
        known = truth.orders_placed if kind == "orders" else truth.leases_started
        if (holder, id) not in known:
            raise Finding(
                f"{holder} was shown {id} among its {kind}; the journal knows nothing of it"
            )
    ledger.unchecked.clear()
    ledger.shown.clear()
    ledger.shown_ids.clear()


def _compare_answer(truth: Truth, asked: Asked) -> None:
    assert asked.answer is not None
    found = [truth.parts.get((asked.holder, id)) for id in asked.ids]
    if asked.kind in ("run", "stop"):
        _compare_instances(asked, asked.answer.status, found)
        return
    for id, told, stored in zip(asked.ids, asked.answer.parts, found, strict=True):
        if stored is None:
            raise Finding(f"{asked} was answered, and is not in the journal (as {id})")
        if told != stored:
            raise Finding(f"{asked} was answered with {told}; the journal holds {stored}")


def _compare_instances(asked: Asked, status: int, found: list[Part | None]) -> None:
    assert asked.answer is not None
    stored = [part for part in found if part is not None]
    body = msgspec.json.decode(asked.answer.body)
    if status >= 400:
        # Turned away before the market was asked, and then unknown to the journal, or by the
        # market.
        if stored and any(part.refused is None for part in stored):
            raise Finding(f"{asked} was refused with {body}; the journal holds {stored}")
        return
    if len(stored) < len(found):
        raise Finding(
            f"{asked} was answered, and {len(found) - len(stored)} of its {len(found)} commands are"
            " not in the journal"
        )
    events = [one["event"] for part in stored for one in part.events]
    placed = {event["order"] for event in events if event["type"] == "order.placed"}
    ended = {
        event.get("order", event.get("lease"))
        for event in events
        if event["type"] in ("order.cancelled", "lease.ended")
    }
    if asked.kind == "stop":
        if not ended & {body["lease"], body["id"].replace("ins_", "ord_")}:
            raise Finding(f"{asked} was answered with {body}; the journal holds {stored}")
    elif {one["id"].replace("ins_", "ord_") for one in body["instances"]} != placed:
        raise Finding(f"{asked} was answered with {body}; the journal holds {stored}")


def _compare_list(truth: Truth, shown: Shown) -> None:
    """A list up to event `n` holds what the events up to `n` leave, to the last alternative and
    limit."""
    stream = truth.streams.get(shown.holder, [])
    if shown.n > len(stream):
        raise Finding(
            f"{shown.holder} was shown {shown.kind} up to event {shown.n}; the journal holds"
            f" {len(stream)}"
        )
    left: dict[str, Any] = {}
    for one in stream[: shown.n]:
        event = one["event"]
        kind = event["type"]
        if shown.kind == "orders" and kind in ("order.placed", "order.amended"):
            left[event["order"]] = event["alternatives"]
        elif shown.kind == "orders" and kind in ("order.cancelled", "lease.started"):
            left.pop(event["order"], None)
        elif shown.kind == "leases" and kind in ("lease.started", "lease.limit_set"):
            left[event["lease"]] = event["limit"]
        elif shown.kind == "leases" and kind == "lease.ended":
            left.pop(event["lease"], None)
    told = {
        item["id"]: item["alternatives"] if shown.kind == "orders" else item["limit"]
        for item in shown.items
    }
    if told != left:
        raise Finding(
            f"{shown.holder} was shown the {shown.kind} {told} up to event {shown.n}; the journal"
            f" leaves {left}"
        )
