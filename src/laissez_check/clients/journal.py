"""The journal as the truth about everything that clients were told: its entries have happened
once, and nothing else has.

The journal's own reader reads it beside the server, each part once.
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
from laissez_check.clients.answers import plain
from laissez_check.clients.ledger import Asked, Json, Ledger, Part, Shown
from laissez_check.finding import Finding

ENDS_ORDER = ("order.cancelled", "lease.started")
# By kind of list: the field that names an item, the field that is shown of it, the events that
# tell it and those that end it.
LISTS = {
    "orders": ("order", "alternatives", ("order.placed", "order.amended"), ENDS_ORDER),
    "leases": ("lease", "limit", ("lease.started", "lease.limit_set"), ("lease.ended",)),
}


class Truth:
    """The contents of the journal so far."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.last = 0
        self._link = b""
        self._codec: Codec | None = None  # with the names up to the last entry
        # The events of each holder, the first at 0.
        self.streams: dict[str, list[Json]] = {OPERATOR: []}
        # The time of the command of each of the operator's events.
        self.entered_at: list[int] = []
        self.parts: dict[tuple[str, str], Part] = {}  # by holder and id
        self.ids: set[tuple[str, str, str]] = set()  # holder, orders or leases, id
        # Open orders that must go with the session that placed them.
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
        codec.learn(entry.request, entry.outcome)  # an outcome may bring new names
        applied = codec.unpack_outcome(entry.at, request, entry.outcome)
        self._tell(entry.at, applied)
        who, id, refusal = request.who, request.id, applied.refusal
        events = _numbered(applied, who) if id or request.of_session else []
        if request.of_session:
            self.going |= {(who, order) for order in _left_open(events)}
        if not id:
            return
        if (who, id) in self.parts:
            raise Finding(f"the request {id} of {who} was carried out twice")
        if refusal is None:
            self.parts[who, id] = Part(None, tuple(events))
        else:
            # Events of a refused request happened before it, and are no part of its answer.
            self.parts[who, id] = Part((code_of(refusal.reason), explain(refusal, who)), ())

    def _tell(self, at: int, applied: Applied) -> None:
        for holder in {OPERATOR, *filter(None, map(tenant_of, applied.events))}:
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

    def _index(self, holder: str, event: Json) -> None:
        if event["type"] in ENDS_ORDER:
            self.going.discard((holder, event["order"]))
        for kind, (name, _, told, _) in LISTS.items():
            if event["type"] in told:
                self.ids.add((holder, kind, event[name]))


def _left_open(events: list[Json]) -> set[str]:
    """The orders that these events place and do not end."""
    told = [one["event"] for one in events]
    ended = {event["order"] for event in told if event["type"] in ENDS_ORDER}
    return {event["order"] for event in told if event["type"] == "order.placed"} - ended


def _numbered(applied: Applied, holder: str) -> list[Json]:
    """The events of an outcome as the API tells them: a tenant its own, the operator all."""
    return list(plain(rendered(applied, holder)))


def compare(truth: Truth, ledger: Ledger) -> None:
    """Compare all answers, events and lists since the last time with the journal."""
    for asked in ledger.asked.values():
        if asked.answer is not None and not asked.is_checked:
            _compare_answer(truth, asked)
            asked.is_checked = True
    for holder, n in ledger.unchecked:
        told, stored = ledger.seen[holder][n], truth.streams.get(holder, [])[n - 1 : n]
        if stored != [told]:
            raise Finding(
                f"{holder} was told event {n} as {told}; the journal holds"
                f" {stored or 'no such event'}"
            )
    for shown in ledger.shown:
        _compare_list(truth, shown)
    for holder, kind, id in ledger.shown_ids - truth.ids:
        raise Finding(f"{holder} was shown {id} among its {kind}; the journal knows nothing of it")
    ledger.unchecked.clear()
    ledger.shown.clear()
    ledger.shown_ids.clear()


def _compare_answer(truth: Truth, asked: Asked) -> None:
    assert asked.answer is not None
    found = [truth.parts.get((asked.holder, id)) for id in asked.ids]
    if asked.kind in ("run", "stop"):
        _compare_instances(asked, found)
        return
    for id, told, stored in zip(asked.ids, asked.answer.parts, found, strict=True):
        if stored is None:
            raise Finding(f"{asked} was answered, and is not in the journal (as {id})")
        if told != stored:
            raise Finding(f"{asked} was answered with {told}; the journal holds {stored}")


def _compare_instances(asked: Asked, found: list[Part | None]) -> None:
    assert asked.answer is not None
    stored = [part for part in found if part is not None]
    body = msgspec.json.decode(asked.answer.body)
    differs = Finding(f"{asked} was answered with {body}; the journal holds {stored}")
    if asked.answer.status >= 400:
        # Refused by the market, or earlier and then unknown to the journal.
        if any(part.refused is None for part in stored):
            raise differs
        return
    if len(stored) < len(found):
        missing = f"{len(found) - len(stored)} of its {len(found)} commands"
        raise Finding(f"{asked} was answered, and {missing} are not in the journal")
    events = [one["event"] for part in stored for one in part.events]
    if asked.kind == "stop":
        over = [one for one in events if one["type"] in ("order.cancelled", "lease.ended")]
        stopped = {body["lease"], body["id"].replace("ins_", "ord_")}
        if not any(event.get("order", event.get("lease")) in stopped for event in over):
            raise differs
        return
    placed = {event["order"] for event in events if event["type"] == "order.placed"}
    if {one["id"].replace("ins_", "ord_") for one in body["instances"]} != placed:
        raise differs


def _compare_list(truth: Truth, shown: Shown) -> None:
    """A list up to event `n` must follow from the events up to `n`."""
    stream = truth.streams.get(shown.holder, [])
    if shown.n > len(stream):
        raise Finding(
            f"{shown.holder} was shown {shown.kind} up to event {shown.n}; the journal holds"
            f" {len(stream)}"
        )
    name, value, told, ended = LISTS[shown.kind]
    left: dict[str, Any] = {}
    for one in stream[: shown.n]:
        event = one["event"]
        if event["type"] in told:
            left[event[name]] = event[value]
        elif event["type"] in ended:
            left.pop(event[name], None)
    listed = {item["id"]: item[value] for item in shown.items}
    if listed != left:
        raise Finding(
            f"{shown.holder} was shown the {shown.kind} {listed} up to event {shown.n}; the journal"
            f" leaves {left}"
        )
