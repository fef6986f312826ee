"""Play one history in a market and in the oracle, and compare everything that can be asked after
every command.

The questions are drawn up from the world and from the oracle, then each is put to both. An answer
is compared by type and value; any exception of the market that the rules do not call for is a
difference like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

import msgspec

from laissez.market.events import Event
from laissez_check.histories import Draft, History, Step
from laissez_check.invariants import violations
from laissez_check.oracle import Oracle
from laissez_check.protocol import MakeMarket, MarketUnderTest
from laissez_check.spoil import UNKNOWN_NODE
from laissez_check.worlds import World


class Options(msgspec.Struct, frozen=True):
    """What to do besides comparing events: move into a restored copy of the market every so many
    steps (0: never), check the invariants, or put no question before the last step (asking makes
    the market work out charges on the way; not asking leaves it all to the end)."""

    snapshot_every: int = 0
    invariants: bool = False
    silent: bool = False


NO_OPTIONS = Options()
# steps: a rule that is broken stays so for a while, and the oracle is asked everything after every
# step
INVARIANTS_EVERY = 3


class Difference(msgspec.Struct, frozen=True):
    """Where the two parted: after `step` (counted from 0), on `question`. `steps` are all commands
    up to and including that one."""

    step: int
    question: str
    expected: str
    found: str
    steps: tuple[Step, ...]

    @property
    def kind(self) -> str:
        """The question without its arguments: `rate` of `rate('h100/a')`."""
        return self.question.split("(")[0]


class Questions(NamedTuple):
    """Questions of one kind, ready to be put to either side: a method, and the arguments of
    each."""

    kind: str
    ways: tuple[tuple[Any, ...], ...] = ((),)


# equal and of one type is the same; of others it is only known from their text
PLAIN = (int, str, bool, type(None))


class Raised(NamedTuple):
    """An exception as an answer. The two that the rules call for are known by name, so that a crash
    never passes for one of them."""

    text: str


NOT_TO_BE_SEEN = Raised("UnknownScope")
BOOKS_CLOSED = Raised("BooksAreClosed")


class Parted(Exception):
    """Carries the first difference out of the loops."""

    def __init__(self, question: str, expected: str, found: str) -> None:
        super().__init__(question)
        self.question, self.expected, self.found = question, expected, found


def first_difference(
    history: History, make_market: MakeMarket, options: Options = NO_OPTIONS
) -> Difference | None:
    """The first difference between the market and the oracle, or none."""
    number = 0
    try:
        match_up = MatchUp(history, make_market, options)
        for number, step in enumerate(history.steps):
            match_up.play(number, step)
    except Parted as parted:
        return Difference(
            number, parted.question, parted.expected, parted.found, history.steps[: number + 1]
        )
    return None


def difference_while_drawn(
    draft: Draft, commands: int, make_market: MakeMarket, options: Options = NO_OPTIONS
) -> Difference | None:
    """The same for a history drawn on the way: the oracle that the draft aims by is the one
    compared with, so it plays each step once."""
    steps: list[Step] = []
    try:
        match_up = MatchUp(History(draft.seed, draft.world, ()), make_market, options, draft.sight)
        match_up.step_last = commands - 1
        for number in range(commands):
            steps.append(draft.step())
            match_up.compare(number, steps[-1], draft.happened)
    except Parted as parted:
        return Difference(
            max(0, len(steps) - 1), parted.question, parted.expected, parted.found, tuple(steps)
        )
    return None


class MatchUp:
    """The market and the oracle, side by side."""

    def __init__(
        self,
        history: History,
        make_market: MakeMarket,
        options: Options,
        oracle: Oracle | None = None,
    ) -> None:
        self.world = history.world
        self.options = options
        self.oracle = oracle or Oracle(self.world.leaves, self.world.orders_per_tenant_max)
        self.market: MarketUnderTest = attempt(
            "make_market()",
            lambda: make_market(self.world.leaves, self.world.orders_per_tenant_max),
        )
        self.oracle_words = words_for_unknown(self.oracle)
        self.market_words = attempt("quote()", lambda: words_for_unknown(self.market))
        self.rng = Random(history.seed)
        self.times = [0]
        self.step_last = len(history.steps) - 1
        self.questions_always = questions_of_any_time(self.world)

    def play(self, number: int, step: Step) -> list[Event]:
        """Apply one step to both and compare everything."""
        expected = self.oracle.apply(step.command, step.at)
        self.compare(number, step, expected)
        return expected

    def compare(self, number: int, step: Step, expected: list[Event]) -> None:
        """Apply to the market what the oracle has seen already, and compare everything."""
        found = attempt("events()", lambda: self.market.apply(step.command, step.at))
        if repr(expected) != repr(found):  # by text: 1, 1.0 and True are equal, but not the same
            raise Parted("events()", repr(expected), repr(found))
        self.times.append(self.oracle.now)
        if self.options.silent and number < self.step_last:
            return
        self.put(self.questions_always, by_text=number == self.step_last)
        self.put(
            questions_of_now(self.oracle, self.world, self.period()),
            by_text=number == self.step_last,
        )
        looks_closer = number % INVARIANTS_EVERY == 0 or number == self.step_last
        if (
            self.options.invariants
            and looks_closer
            and (broken := attempt("invariants()", lambda: violations(self.market)))
        ):
            raise Parted("invariants()", "[]", repr(broken))
        if self.options.snapshot_every and (number + 1) % self.options.snapshot_every == 0:
            attempt("snapshot()", self.restart)

    def put(self, questions: Iterable[Questions], by_text: bool) -> None:
        for kind, ways in questions:
            ask_oracle, ask_market = how_to_ask(self.oracle, kind), how_to_ask(self.market, kind)
            for arguments in ways:
                try:
                    expected = ask_oracle(*arguments)
                except Exception as error:
                    expected = raised(error, arguments, self.oracle_words)
                try:
                    found = ask_market(*arguments)
                except Exception as error:  # whatever it is, it is the market's answer
                    found = raised(error, arguments, self.market_words)
                same = type(expected) is type(found) and expected == found
                if not same or (
                    by_text and type(expected) not in PLAIN and repr(expected) != repr(found)
                ):
                    raise Parted(
                        f"{kind}({', '.join(map(repr, arguments))})", repr(expected), repr(found)
                    )

    def period(self) -> tuple[int, int]:
        """A period of the past, from one moment at which something happened (or just beside it) to
        another."""
        since, until = sorted(
            min(
                self.oracle.now,
                max(0, self.rng.choice(self.times) + self.rng.choice((-1, 0, 0, 1))),
            )
            for _ in range(2)
        )
        return since, until

    def restart(self) -> None:
        """Go on with a market restored from a snapshot of this one."""
        before: Any = self.market
        after = type(before).restore(before.snapshot())
        if before.digest() != after.digest():
            raise Parted("digest()", repr(before.digest()), repr(after.digest()))
        self.market = after


@lru_cache(maxsize=8)
def questions_of_any_time(world: World) -> tuple[Questions, ...]:
    """What can be asked whatever has happened."""
    leaves = tuple((leaf,) for leaf in world.leaves)
    tenants = tuple((tenant,) for tenant in world.tenants)
    everywhere = tuple(
        (tenant, node)
        for tenant in (None, *world.tenants)
        for node in (*world.nodes(), UNKNOWN_NODE)
    )
    return (
        *(Questions(kind) for kind in ("now", "next_deadline", "revenue", "orders", "leases")),
        *(Questions(kind, leaves) for kind in ("owner", "rate", "is_online", "lease_on")),
        Questions("floor", tuple((node,) for node in world.nodes())),
        Questions("quote", everywhere),
        *(
            Questions(kind, tenants)
            for kind in ("pricing_domain", "orders", "leases", "counts", "bill")
        ),
        Questions(
            "lease", tuple((tenant, number) for tenant in world.tenants for number in (0, 1))
        ),
    )


def questions_of_now(oracle: Oracle, world: World, period: tuple[int, int]) -> Iterator[Questions]:
    """What the past has left to ask about."""
    yield Questions("bill", tuple((tenant, *period) for tenant in world.tenants))
    on_books = tuple(oracle.leases_on_books)
    yield from (Questions(kind, on_books) for kind in ("lease", "charge", "price_history"))


def how_to_ask(market: MarketUnderTest, kind: str) -> Callable[..., object]:
    if kind == "now":
        return lambda: market.now
    method: Callable[..., object] = getattr(market, kind)
    return method


def raised(error: Exception, arguments: tuple[Any, ...], words: str) -> Raised:
    """The exception as an answer. A hidden node must be refused in the words for one that does not
    exist (M12)."""
    name = type(error).__name__
    if name == "UnknownScope" and str(error) == words.replace(UNKNOWN_NODE, arguments[-1]):
        return NOT_TO_BE_SEEN
    return BOOKS_CLOSED if name == "BooksAreClosed" else Raised(f"{name}: {error}")


def words_for_unknown(market: MarketUnderTest) -> str:
    """What the operator, who sees everything, is told about a node that does not exist."""
    try:
        market.quote(None, UNKNOWN_NODE)
    except LookupError as error:
        return str(error)
    raise AssertionError("a quote for a node that does not exist")


def attempt(question: str, act: Callable[[], Any]) -> Any:
    """What the market does, a crash being a difference too."""
    try:
        return act()
    except Parted:
        raise
    except Exception as error:
        raise Parted(question, "no exception", f"{type(error).__name__}: {error}") from error
