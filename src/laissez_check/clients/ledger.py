"""All requests of clients, with the answers, events and lists that they got: these must still be
true after any crash.

A request without an answer stays open until it is sent again under its id, and answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec

from laissez.server.http.orders import PART
from laissez_check.finding import Finding

Json: TypeAlias = dict[str, Any]

# Nothing was done: send it again.
PASSING = frozenset({"overloaded", "stopping", "rate_limited", "too_many_sessions"})
NEVER = frozenset(
    {
        "internal",
        "journal_failed",
        "unauthenticated",
        "forbidden",
        "method_not_allowed",
        "bad_request",
    }
)


class Part(msgspec.Struct, frozen=True):
    """The outcome of one command: code and detail of a refusal, or events."""

    refused: tuple[str, str] | None
    events: tuple[Json, ...]


class Answer(msgspec.Struct, frozen=True):
    """`parts` has one for each command, if the answer has their outcomes. `status` and `body` are
    those of REST."""

    parts: tuple[Part, ...]
    status: int = 0
    body: bytes = b""


class Asked(msgspec.Struct, eq=False):
    """A request as a message of a session. Only REST has `batch`, `run` and `stop`.

    `of_session` marks an order that goes with its session, so that REST cannot repeat it.
    """

    holder: str
    id: str
    command: Json
    of_session: bool = False
    answer: Answer | None = None
    is_checked: bool = False

    @property
    def kind(self) -> str:
        return str(self.command["type"])

    @property
    def ids(self) -> list[str]:
        """The ids of its commands in the journal."""
        counts = {"batch": len(self.command.get("commands", ())), "run": self.command.get("count")}
        return [self.id, *(f"{self.id}{PART}{n}" for n in range(1, counts.get(self.kind) or 1))]

    def __str__(self) -> str:
        return f"{self.holder}'s request {self.id} ({msgspec.json.encode(self.command).decode()})"


class Shown(msgspec.Struct, frozen=True):
    """A list of orders or leases (`kind`) up to event `n`."""

    holder: str
    kind: str
    n: int
    items: tuple[Json, ...]


class Quoted(msgspec.Struct, frozen=True):
    holder: str
    scope: str
    price: str | None
    at: str
    run: int = 0  # of the service: its clock may differ from run to run


class Holdings:
    """A tenant's orders and leases as its clients know them. Events may come in any order."""

    def __init__(self) -> None:
        self.orders: dict[str, None] = {}
        self.leases: dict[str, str] = {}  # with the order that won each
        self._gone: set[str] = set()

    def note(self, event: Json) -> None:
        kind = event["type"]
        if kind == "order.placed" and event["order"] not in self._gone:
            self.orders[event["order"]] = None
        if kind in ("order.cancelled", "lease.started"):
            self._gone.add(event["order"])
            self.orders.pop(event["order"], None)
        if kind == "lease.started" and event["lease"] not in self._gone:
            self.leases[event["lease"]] = event["order"]
        if kind == "lease.ended":
            self._gone.add(event["lease"])
            self.leases.pop(event["lease"], None)


class Ledger:
    def __init__(self, holders: Iterable[str]) -> None:
        self.asked: dict[tuple[str, str], Asked] = {}
        # Events by holder and number.
        self.seen: dict[str, dict[int, Json]] = {holder: {} for holder in holders}
        # Events that are not yet compared with the journal.
        self.unchecked: list[tuple[str, int]] = []
        self.holdings = {holder: Holdings() for holder in self.seen}
        self.shown: list[Shown] = []
        # Holder, orders or leases, id: of lists without an event number.
        self.shown_ids: set[tuple[str, str, str]] = set()
        self.quoted: list[Quoted] = []
        self.answers = 0
        self.repeats = 0
        self.broken: list[str] = []  # findings of callbacks, which cannot raise

    def ask(self, asked: Asked) -> Asked:
        self.asked[asked.holder, asked.id] = asked
        return asked

    def of(self, holder: str) -> list[Asked]:
        return [asked for asked in self.asked.values() if asked.holder == holder]

    def unanswered(self, holder: str) -> list[Asked]:
        return [asked for asked in self.of(holder) if asked.answer is None]

    def answered(self, asked: Asked, answer: Answer, where: str) -> None:
        """Note an answer. Every later one must be like the first."""
        self.answers += 1
        for part in answer.parts:
            if part.refused is not None and part.refused[0] in NEVER:
                self.breaks(f"{asked} was answered with {part.refused} ({where})")
            for event in part.events:
                self.saw(asked.holder, event, f"the answer to {asked}")
        first = asked.answer
        if first is None:
            asked.answer = answer
            return
        self.repeats += 1
        if asked.kind in ("run", "stop") and first.status >= 400 and answer.status >= 400:
            # Refused before the market: nothing is remembered, and the reason may change.
            return
        before, now = (first.status, first.body), (answer.status, answer.body)
        if first.body and answer.body and before != now:
            self.breaks(f"{asked} was answered first with {before}, and sent again with {now}")
        if first.parts != answer.parts:
            self.breaks(
                f"{asked} was answered first with {first.parts}, and sent again ({where}) with"
                f" {answer.parts}"
            )

    def saw(self, holder: str, numbered: Json, where: str) -> None:
        n = numbered["n"]
        first = self.seen[holder].get(n)
        if first is None:
            self.seen[holder][n] = numbered
            self.unchecked.append((holder, n))
            self.holdings[holder].note(numbered["event"])
        elif first != numbered:
            self.breaks(
                f"event {n} of {holder} was told first as {first}, and then, in {where}, as"
                f" {numbered}"
            )

    def breaks(self, what: str) -> None:
        self.broken.append(what)

    def check(self) -> None:
        """Raise the first finding, if there is one."""
        if self.broken:
            raise Finding(self.broken[0])


class Dense:
    """Check that a stream of events has no gap and no repetition."""

    def __init__(self, ledger: Ledger, holder: str, where: str) -> None:
        self._ledger = ledger
        self._holder = holder
        self._where = where
        self.last = 0

    def told(self, numbered: Json) -> None:
        n = numbered["n"]
        if n != self.last + 1:
            self._ledger.breaks(f"{self._where} of {self._holder} told event {n} after {self.last}")
        self.last = max(self.last, n)
        self._ledger.saw(self._holder, numbered, self._where)
