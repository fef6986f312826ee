"""Play one history in a market and in the oracle, and compare all answers after every command.

The questions come from the world and the oracle, and each is put to both sides. Answers are
compared by type and value. An exception that the rules do not call for is a difference like any
other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple, TypeAlias

import msgspec

from laissez.market import Market, Topology
from laissez.market.events import Event
from laissez_check.histories import Draft, History, Step
from laissez_check.invariants import AnyMarket, violations
from laissez_check.oracle import Oracle
from laissez_check.spoil import UNKNOWN_NODE
from laissez_check.worlds import World

# From leaf paths in any order, and how many open orders a tenant may have.
MakeMarket: TypeAlias = Callable[[tuple[str, ...], int], AnyMarket]

# In steps. A broken rule stays broken for a while, and the oracle is compared after every step.
INVARIANTS_EVERY = 3
# Values of these types are the same if they are equal; others only if their text is equal.
PLAIN = (int, str, bool, type(None))


def real_market(leaves: tuple[str, ...], orders_per_tenant_max: int) -> Market:
    return Market(Topology.of(leaves), orders_per_tenant_max=orders_per_tenant_max)


class Options(msgspec.Struct, frozen=True):
    """The options of a comparison: continue in a restored copy of the market at this interval of
    steps (0: never), check the invariants, or ask no question before the last step. Questions make
    the market compute charges on the way; silence leaves them all to the end."""

    snapshot_every: int = 0
    invariants: bool = False
    silent: bool = False


NO_OPTIONS = Options()


class Difference(msgspec.Struct, frozen=True):
    """The first difference: after `step` (counted from 0), on `question`. `steps` are all up to and
    including that one."""

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
    """Questions of one kind: a method, and the arguments of each."""

    kind: str
    ways: tuple[tuple[Any, ...], ...] = ((),)


class Raised(NamedTuple):
    """An exception as an answer. The rules call for two, which are recognised by name, so that a
    crash never passes for one of them."""

    text: str


NOT_TO_BE_SEEN = Raised("UnknownScope")
BOOKS_CLOSED = Raised("BooksAreClosed")


class Parted(Exception):
    """Carries the first difference out of the loops."""

    def __init__(self, question: str, expected: str, found: str) -> None:
        super().__init__(question)
        self.question, self.expected, self.found = question, expected, found

    def after(self, steps: tuple[Step, ...]) -> Difference:
        last = max(0, len(steps) - 1)
        return Difference(last, self.question, self.expected, self.found, steps)


def first_difference(
    history: History, make_market: MakeMarket, options: Options = NO_OPTIONS
) -> Difference | None:
    """The first difference between the market and the oracle, or none."""
    steps: list[Step] = []
    try:
        match_up = MatchUp(history.world, make_market, options, history.seed, len(history.steps))
        for step in history.steps:
            steps.append(step)
            match_up.play(step)
    except Parted as parted:
        return parted.after(tuple(steps))
    return None


def difference_while_drawn(
    draft: Draft, commands: int, make_market: MakeMarket, options: Options = NO_OPTIONS
) -> Difference | None:
    """The same for a history that is drawn meanwhile. The draft's own oracle is compared, so it
    plays each step once."""
    steps: list[Step] = []
    try:
        match_up = MatchUp(
            draft.world, make_market, options, draft.seed, commands, oracle=draft.sight
        )
        for _ in range(commands):
            steps.append(draft.step())
            match_up.compare(steps[-1], draft.happened)
    except Parted as parted:
        return parted.after(tuple(steps))
    return None


class MatchUp:
    """The market and the oracle, side by side. After the last of `steps` steps, answers are
    compared by their text, too."""

    def __init__(
        self,
        world: World,
        make_market: MakeMarket,
        options: Options = NO_OPTIONS,
        seed: int = 0,
        steps: int = 0,
        oracle: Oracle | None = None,
    ) -> None:
        self.world = world
        self.options = options
        self.oracle = oracle or Oracle(world.leaves, world.orders_per_tenant_max)
        self.market: AnyMarket = attempt(
            "make_market()", lambda: make_market(world.leaves, world.orders_per_tenant_max)
        )
        self.oracle_words = words_for_unknown(self.oracle)
        self.market_words = attempt("quote()", lambda: words_for_unknown(self.market))
        self.rng = Random(seed)
        self.times = [0]
        self.steps = steps
        self.played = 0

    def play(self, step: Step) -> list[Event]:
        """Apply one step to both and compare everything."""
        expected = self.oracle.apply(step.command, step.at)
        self.compare(step, expected)
        return expected

    def compare(self, step: Step, expected: list[Event]) -> None:
        """Apply a step that the oracle has played already to the market, and compare everything."""
        found = attempt("events()", lambda: self.market.apply(step.command, step.at))
        if repr(expected) != repr(found):  # by text: 1, 1.0 and True are equal, but not the same
            raise Parted("events()", repr(expected), repr(found))
        self.times.append(self.oracle.now)
        number, self.played = self.played, self.played + 1
        is_last = self.played == self.steps
        if self.options.silent and not is_last:
            return
        self.put(questions_of_any_time(self.world), by_text=is_last)
        self.put(questions_of_now(self.oracle, self.world, self.period()), by_text=is_last)
        if self.options.invariants and (number % INVARIANTS_EVERY == 0 or is_last):
            broken = attempt("invariants()", lambda: violations(self.market))
            if broken:
                raise Parted("invariants()", "[]", repr(broken))
        if self.options.snapshot_every and self.played % self.options.snapshot_every == 0:
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
                except Exception as error:  # the market's answer, whatever it is
                    found = raised(error, arguments, self.market_words)
                same = type(expected) is type(found) and expected == found
                if same and by_text and type(expected) not in PLAIN:
                    same = repr(expected) == repr(found)
                if not same:
                    question = f"{kind}({', '.join(map(repr, arguments))})"
                    raise Parted(question, repr(expected), repr(found))

    def period(self) -> tuple[int, int]:
        """A period of the past, between two moments at or just beside a step."""
        moments = (self.rng.choice(self.times) + self.rng.choice((-1, 0, 0, 1)) for _ in range(2))
        since, until = sorted(min(self.oracle.now, max(0, moment)) for moment in moments)
        return since, until

    def restart(self) -> None:
        """Continue in a market restored from a snapshot of this one."""
        before: Any = self.market
        after = type(before).restore(before.snapshot())
        if before.digest() != after.digest():
            raise Parted("digest()", repr(before.digest()), repr(after.digest()))
        self.market = after


@lru_cache(maxsize=8)
def questions_of_any_time(world: World) -> tuple[Questions, ...]:
    """Questions that do not depend on the past."""
    leaves = tuple((leaf,) for leaf in world.leaves)
    nodes = tuple((node,) for node in world.nodes())
    tenants = tuple((tenant,) for tenant in world.tenants)
    everybody, everywhere = ((None,), *tenants), (*nodes, (UNKNOWN_NODE,))
    kinds = {
        ("now", "next_deadline", "revenue", "orders", "leases"): ((),),
        ("owner", "rate", "is_online", "lease_on"): leaves,
        ("floor",): nodes,
        ("quote",): tuple((*who, *node) for who in everybody for node in everywhere),
        ("pricing_domain", "orders", "leases", "counts", "bill"): tenants,
        ("lease",): tuple((*tenant, number) for tenant in tenants for number in (0, 1)),
    }
    return tuple(Questions(kind, ways) for alike, ways in kinds.items() for kind in alike)


def questions_of_now(oracle: Oracle, world: World, period: tuple[int, int]) -> Iterator[Questions]:
    """Questions about the past."""
    yield Questions("bill", tuple((tenant, *period) for tenant in world.tenants))
    on_books = tuple(oracle.leases_on_books)
    yield from (Questions(kind, on_books) for kind in ("lease", "charge", "price_history"))


def how_to_ask(market: AnyMarket, kind: str) -> Callable[..., object]:
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


def words_for_unknown(market: AnyMarket) -> str:
    """The answer to the operator, who sees everything, about a node that does not exist."""
    try:
        market.quote(None, UNKNOWN_NODE)
    except LookupError as error:
        return str(error)
    raise AssertionError("a quote for a node that does not exist")


def attempt(question: str, act: Callable[[], Any]) -> Any:
    """The result of the market. A crash is a difference, too."""
    try:
        return act()
    except Parted:
        raise
    except Exception as error:
        raise Parted(question, "no exception", f"{type(error).__name__}: {error}") from error
