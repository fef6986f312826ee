"""All that clients have asked, were answered and were shown: it must still be true after any crash.

Answers are kept as they came. A request without an answer stays open until it is sent again, under
the same id, and answered then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec

from laissez.server.http.orders import PART
from laissez_check.finding import Finding

Json: TypeAlias = dict[str, Any]

# Nothing was done: to be sent again.
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
    """`parts` has one for each command, where the answer tells of commands one by one; `status` and
    `body` are those of REST, as they came."""

    parts: tuple[Part, ...]
    status: int = 0
    body: bytes = b""


class Asked(msgspec.Struct, eq=False):
    """A request as a session sends it, without its id; `batch`, `run` and `stop` are REST's alone.

    `of_session` marks an order that goes with its session: only such a session asks for the same.
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
        """The ids under which the journal keeps its commands."""
        counts = {"batch": len(self.command.get("commands", ())), "run": self.command.get("count")}
        return [self.id, *(f"{self.id}{PART}{n}" for n in range(1, counts.get(self.kind) or 1))]

    def __str__(self) -> str:
        return f"{self.holder}'s request {self.id} ({msgspec.json.encode(self.command).decode()})"


class Shown(msgspec.Struct, frozen=True):
    """A list that says up to which event it goes: `kind` is orders or leases."""

    holder: str
    kind: str
    n: int
    items: tuple[Json, ...]


class Quoted(msgspec.Struct, frozen=True):
    holder: str
    scope: str
    price: str | None
    at: str
    run: int = 0  # of the service, where its clock may be set back from one to the next


class Holdings:
    """A tenant's orders and leases, as far as its clients know; in whatever order they heard of
    them."""

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
        # Those of them that were not compared with the journal yet.
        self.unchecked: list[tuple[str, int]] = []
        self.holdings = {holder: Holdings() for holder in self.seen}
        self.shown: list[Shown] = []
        # Holder, orders or leases, id: from lists that do not say up to when they go.
        self.shown_ids: set[tuple[str, str, str]] = set()
        self.quoted: list[Quoted] = []
        self.answers = 0
        self.repeats = 0
        self.broken: list[str] = []  # found where nobody could be told at once

    def ask(self, asked: Asked) -> Asked:
        self.asked[asked.holder, asked.id] = asked
        return asked

    def of(self, holder: str) -> list[Asked]:
        return [asked for asked in self.asked.values() if asked.holder == holder]

    def unanswered(self, holder: str) -> list[Asked]:
        return [asked for asked in self.of(holder) if asked.answer is None]

    def answered(self, asked: Asked, answer: Answer, where: str) -> None:
        """Note an answer; the second and every later one must be the first."""
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
            # Turned away before the market was asked: nothing to remember, and why may have
            # changed.
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
        """Stop if anything was found."""
        if self.broken:
            raise Finding(self.broken[0])


class Dense:
    """Watches that a stream of events leaves nothing out and tells nothing twice."""

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
