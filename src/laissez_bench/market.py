"""The speed of the market, operation by operation, through its public `apply`.

Each operation is timed call by call; commands are made beforehand, and the restoration of the load
afterwards is not timed. The time of reading the clock (some 50 ns) is included.
"""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import tracemalloc
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter_ns
from typing import Any

import msgspec

import laissez
from laissez.market import (
    AmendOrder,
    CancelOrder,
    CloseBooks,
    Command,
    LeaseEnded,
    LeaseStarted,
    Market,
    OrderPlaced,
    PlaceOrder,
    Relinquish,
    SetFloor,
    SetLimit,
    at_price,
)
from laissez.workers import leave_signals_to_the_parent
from laissez_bench.crowd import LIMITS, TENANTS, Crowd, tree
from laissez_check.oracle import Oracle

ROUND = 250  # commands timed between two restorations of the load
ROUNDS_PER_TURN = 4
ORACLE_LEAVES = 1_000
# the oracle copies every order to every leaf: ten thousand of them would take minutes
ORACLE_RESTING = 10
ORACLE_CALLS = {Market: 2_000, Oracle: 5}  # pairs of place and cancel


class Row(msgspec.Struct):
    """One line of the result. For `bill` the unit is one lease listed, for everything else one
    call.

    `places` is the number of leaves that the load names. `crowding` is the time with this many
    resting orders over the time with a hundred, and `times_oracle` the speed over that of the naive
    oracle, where both were measured.
    """

    operation: str
    leaves: int
    resting: int
    per_second: float
    p50_us: float
    p99_us: float
    compiled: bool
    places: int
    bytes_per_leaf: float
    crowding: float | None = None
    times_oracle: int | None = None


class Timer:
    """Times calls one by one."""

    def __init__(self) -> None:
        self.nanoseconds: list[float] = []

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        start = perf_counter_ns()
        result = function(*arguments)
        self.nanoseconds.append(perf_counter_ns() - start)
        return result


def per_second(rounds: list[list[float]]) -> float:
    """The rate of the median round, so that one disturbed round does not count for more than
    one."""
    return median(len(times) / sum(times) for times in rounds) * 1e9


class Cell:
    """One crowd, in a process of its own: memory that another crowd used and left would scatter
    this one."""

    def __init__(self, leaves: int, resting: int, places: int) -> None:
        self.leaves, self.resting, self.places = leaves, resting, places
        spawn = multiprocessing.get_context("spawn")
        with spawn.Pool(1, leave_signals_to_the_parent) as pool:
            self.bytes_per_leaf = pool.apply(memory_per_leaf, (leaves,))
        self.pool = spawn.Pool(1, _gather, (leaves, resting, places))
        self.rounds: dict[str, list[list[float]]] = {operation: [] for operation in OPERATIONS}

    def take_turn(self) -> None:
        """Some rounds of every operation."""
        for operation, rounds in self.pool.apply(_take_turn).items():
            self.rounds[operation] += rounds

    def rows(self) -> list[Row]:
        self.pool.terminate()
        return [self._row(operation, rounds) for operation, rounds in self.rounds.items()]

    def _row(self, operation: str, rounds: list[list[float]]) -> Row:
        ordered = sorted(itertools.chain(*rounds))
        return Row(
            operation,
            self.leaves,
            self.resting,
            round(per_second(rounds), 1),
            round(ordered[len(ordered) // 2] / 1_000, 3),
            round(ordered[len(ordered) * 99 // 100] / 1_000, 3),
            laissez.market_form() == "compiled",
            self.places,
            round(self.bytes_per_leaf, 1),
        )


def turns(calls: int) -> int:
    """The number of turns in which each operation is called that often."""
    return -(-calls // (ROUND * ROUNDS_PER_TURN))


def measure(
    sizes: list[tuple[int, int]], places: int, calls: int, tell: Callable[[str], None]
) -> list[Row]:
    """All operations on crowds of these sizes (leaves, resting), turn by turn, so that other work
    on the machine slows all of them alike."""
    cells: list[Cell] = []
    for leaves, resting in sizes:
        tell(f"gathering {leaves:,} leaves, {resting:,} resting")
        cells.append(Cell(leaves, resting, places))
    for _ in range(turns(calls)):
        tell("measuring, turn by turn")
        for cell in cells:
            cell.take_turn()
    return [row for cell in cells for row in cell.rows()]


_crowds: list[Crowd] = []  # in a worker process: its own one


def _gather(leaves: int, resting: int, places: int) -> None:
    leave_signals_to_the_parent()
    _crowds.append(Crowd(leaves, resting, places))
    # a collection that scans a hundred thousand leases says nothing about one operation
    gc.disable()


def _take_turn() -> dict[str, list[list[float]]]:
    (crowd,) = _crowds
    crowd.do(CloseBooks(crowd.now))  # or bills would list more and more leases that ended
    return {operation: _play_rounds(crowd, operation) for operation in OPERATIONS}


def _play_rounds(crowd: Crowd, operation: str) -> list[list[float]]:
    """The first round warms up caches after the other crowds' turns, and is not counted."""
    timers = [Timer() for _ in range(1 + ROUNDS_PER_TURN)]
    for timer in timers:
        LOADS[operation](crowd, timer)
    return [timer.nanoseconds for timer in timers[1:]]


def memory_per_leaf(leaves: int) -> float:
    """Python memory of a market with every leaf leased, nothing else resting, per leaf."""
    gc.collect()
    tracemalloc.start()
    crowd = Crowd(leaves, 0)
    gc.collect()
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del crowd
    return used / leaves


# -- the loads: each times one round and leaves the crowd about as it found it


def _timed(crowd: Crowd, timer: Timer, commands: Sequence[Command]) -> list[list[Any]]:
    apply = crowd.market.apply
    answers: list[list[Any]] = []
    for command in commands:
        crowd.now += 1
        answers.append(timer.call(apply, command, crowd.now))
    return answers


def _place(crowd: Crowd, timer: Timer, scopes: list[str]) -> list[tuple[str, int]]:
    orders = [PlaceOrder(crowd.tenant(), (crowd.waiting(scope),)) for scope in scopes]
    placed = [answer[0] for answer in _timed(crowd, timer, orders)]
    assert all(isinstance(event, OrderPlaced) for event in placed)
    return [(event.tenant, event.order) for event in placed]


def _cancel(crowd: Crowd, timer: Timer, orders: list[tuple[str, int]]) -> None:
    crowd.random.shuffle(orders)
    _timed(crowd, timer, [CancelOrder(tenant, order) for tenant, order in orders])


def place_anywhere(crowd: Crowd, timer: Timer) -> None:
    _cancel(crowd, Timer(), _place(crowd, timer, ["h100"] * ROUND))


def cancel_anywhere(crowd: Crowd, timer: Timer) -> None:
    _cancel(crowd, timer, _place(crowd, Timer(), ["h100"] * ROUND))


def place_rack(crowd: Crowd, timer: Timer) -> None:
    racks = [crowd.market.topology.ancestor(crowd.leaf(), "rack") for _ in range(ROUND)]
    _cancel(crowd, Timer(), _place(crowd, timer, racks))


def amend(crowd: Crowd, timer: Timer) -> None:
    chosen = crowd.random.sample(list(crowd.resting), min(ROUND, len(crowd.resting)))
    _timed(crowd, timer, [AmendOrder(*order, (crowd.waiting("h100"),)) for order in chosen])


def transfer(crowd: Crowd, timer: Timer) -> None:
    """Leases given up pass to orders queued at the root, so each relinquishment moves a lease."""
    count = min(ROUND, len(crowd.places), len(crowd.resting) // 2)
    leaves = crowd.random.sample(crowd.places, count)
    moves = _timed(crowd, timer, [Relinquish(*crowd.lease(leaf)) for leaf in leaves])
    for ended, started in moves:
        assert isinstance(ended, LeaseEnded)
        assert isinstance(started, LeaseStarted)
        del crowd.resting[started.tenant, started.order]
        crowd.do(SetLimit(started.tenant, started.lease, crowd.random.randint(*LIMITS)))
    for _ in moves:
        crowd.place_one("h100")


def set_limit(crowd: Crowd, timer: Timer) -> None:
    leases = [crowd.lease(crowd.leaf()) for _ in range(ROUND)]
    _timed(crowd, timer, [SetLimit(*lease, crowd.random.randint(*LIMITS)) for lease in leases])


def quote(crowd: Crowd, timer: Timer) -> None:
    """A tenant asks around a leaf it holds: its host, its rack, anywhere."""
    for _ in range(ROUND):
        leaf = crowd.leaf()
        level = crowd.random.choice(("host", "rack", "type"))
        scope = crowd.market.topology.ancestor(leaf, level)
        timer.call(crowd.market.quote, crowd.market.owner(leaf), scope)


def rate(crowd: Crowd, timer: Timer) -> None:
    for _ in range(ROUND):
        timer.call(crowd.market.rate, crowd.leaf())


def bill(crowd: Crowd, timer: Timer) -> None:
    """A bill after some price moved; the time is spread over the leases it lists."""
    for _ in range(20):
        tenant = crowd.tenant()
        placed = crowd.do(PlaceOrder(tenant, (at_price("h100", LIMITS[0]),)))[0]
        assert isinstance(placed, OrderPlaced)
        crowd.now += 1_000_000
        crowd.do(CancelOrder(tenant, placed.order))
        one = Timer()
        lines = len(one.call(crowd.market.bill, crowd.market.owner(crowd.leaf())).leases)
        timer.nanoseconds.extend([one.nanoseconds[0] / lines] * lines)


_TIMED = (place_anywhere, cancel_anywhere, amend, place_rack, transfer, set_limit, quote, rate)
LOADS: dict[str, Callable[[Crowd, Timer], None]] = {load.__name__: load for load in (*_TIMED, bill)}
OPERATIONS = tuple(LOADS)


# -- the oracle beside it


def times_oracle() -> float:
    """The speed of the market in placing and cancelling anywhere over that of the naive oracle,
    side by side on the same load."""
    seconds: list[float] = []
    for engine in (Market(tree(ORACLE_LEAVES)), Oracle(tree(ORACLE_LEAVES).leaves)):
        timer = Timer()
        _fill(engine)
        for call in range(ORACLE_CALLS[type(engine)]):
            at = 100_000 + 2 * call
            order = PlaceOrder("asker", (at_price("h100", 2_000_000),))
            placed = timer.call(engine.apply, order, at)[0]
            timer.call(engine.apply, CancelOrder("asker", placed.order), at + 1)
        seconds.append(1 / per_second([timer.nanoseconds]))
    return seconds[1] / seconds[0]


def _fill(engine: Market | Oracle) -> None:
    engine.apply(SetFloor("h100", 1_000_000), 0)
    scopes = list(tree(ORACLE_LEAVES).leaves) + ["h100"] * ORACLE_RESTING
    for i, scope in enumerate(scopes):
        price = LIMITS[0] if scope != "h100" else 1_500_000
        engine.apply(PlaceOrder(f"tenant{i % TENANTS}", (at_price(scope, price),)), i)
