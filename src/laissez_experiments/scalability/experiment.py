"""Rate and latency of the market as one tree of equal instances grows (the paper's figure of
scalability)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from laissez_bench import market, service, world
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import Claim, Findings, Row
from laissez_experiments.lab.plan import Plan
from laissez_experiments.scalability.cells import Machine, MarketSpeed, ServiceSpeed, this_machine
from laissez_experiments.scalability.figure import US_PER_MS, MarketRows, Scale

TRANSFER: Final = "transfer"
OPERATIONS: Final[Mapping[str, str]] = {
    "place_anywhere": "place anywhere",
    TRANSFER: "transfer",
    "cancel_anywhere": "cancel anywhere",
}
LEAVES: Final = (100, 1_000, 10_000, 100_000)
CLAIMED_LEAVES: Final = 10_000
RESTING: Final = 10_000
CALLS: Final = 10_000
QUICK_LEAVES: Final = (100, 1_000)
QUICK_RESTING: Final = 600
QUICK_CALLS: Final = 1_000
SESSIONS: Final = "session"
BATCHES: Final = "batch"
# load and requests per second; None: as many as are answered
LOADS: Final = (
    (SESSIONS, 5_000.0),
    (SESSIONS, 10_000.0),
    (SESSIONS, 15_000.0),
    (SESSIONS, None),
    (BATCHES, None),
)
LOAD_S: Final = 4.0
PAPER_PER_SECOND: Final = 25_000
PAPER_MS: Final = 20
SMALL_TREE: Final = f"decided at {CLAIMED_LEAVES:,} leaves, which the quick version does not have"
NO_SERVICE: Final = "the quick version starts no server"
AT_THE_ROOT: Final = (
    "the paper's goes to the earliest matching order at the finest matching granularity; here all"
    " orders wait at the root"
)

ServiceRows = Sequence[tuple[ServiceSpeed, service.Row]]


class Scalability(Experiment):
    name = "scalability"
    title = "Requests per second and latency as a tree grows"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        machine = this_machine()
        return [market_cell(plan, machine), *service_cells(plan, machine)]

    def findings(self, plan: Plan, results: Results) -> Findings:
        machine = this_machine()
        measured: MarketRows = {
            (row.operation, row.leaves): row
            for row in results[market_cell(plan, machine)]
            if row.operation in OPERATIONS
        }
        served: ServiceRows = [(cell, results[cell]) for cell in service_cells(plan, machine)]
        loads = [(described(cell), row) for cell, row in served]
        scale = Scale(OPERATIONS, measured, loads, PAPER_PER_SECOND, PAPER_MS)
        return Findings(
            claims=[*_in_process(plan, measured), *_through_the_service(measured, served)],
            text=_text(plan, machine, measured, served),
            rows=[
                *map(_market_row, measured.values()),
                *(_service_row(cell, row) for cell, row in served),
            ],
            draw=scale.draw,
        )


def market_cell(plan: Plan, machine: Machine) -> MarketSpeed:
    leaves, resting, calls = (
        (QUICK_LEAVES, QUICK_RESTING, QUICK_CALLS) if plan.quick else (LEAVES, RESTING, CALLS)
    )
    return MarketSpeed(machine=machine, leaves=leaves, resting=resting, calls=calls)


def service_cells(plan: Plan, machine: Machine) -> list[ServiceSpeed]:
    """None for a quick plan: starting a server takes longer than all the rest."""
    return [
        ServiceSpeed(
            machine=machine,
            load=load,
            asked_per_second=asked,
            measured_s=LOAD_S,
            leaves=world.LEAVES,
            tenants=world.TENANTS,
        )
        for load, asked in LOADS
        if not plan.quick
    ]


def described(cell: ServiceSpeed) -> str:
    load = "sessions" if cell.load == SESSIONS else "batches of 100"
    if cell.asked_per_second is None:
        return f"{load}, flat out"
    return f"{load} at {cell.asked_per_second:,.0f}/s"


def _in_process(plan: Plan, measured: MarketRows) -> list[Claim]:
    """Rates alone: a call in process waits for no other, so its time says nothing about requests
    that come together."""
    leaves = QUICK_LEAVES[-1] if plan.quick else CLAIMED_LEAVES
    return [
        Claim(
            claim=(
                f"{words}, {leaves:,} leaves, in process: requests served per second, one after the"
                " other"
            ),
            paper=PAPER_PER_SECOND,
            measured=(per_second := measured[operation, leaves].per_second),
            holds=None if plan.quick else per_second >= PAPER_PER_SECOND,
            unit="requests/s",
            note=SMALL_TREE if plan.quick else AT_THE_ROOT if operation == TRANSFER else "",
        )
        for operation, words in OPERATIONS.items()
    ]


def _through_the_service(measured: MarketRows, served: ServiceRows) -> list[Claim]:
    """The rate and the latency together, as in the paper; batches apart, because a hundred of their
    requests travel as one."""
    in_ms = f"requests answered per second, with 99 of 100 answered within {PAPER_MS} ms"
    at_all = "requests answered per second, however long they wait"
    if not served:
        return [
            _service_claim(f"in sessions: {in_ms}", None, None, NO_SERVICE),
            _service_claim(f"in batches of 100, flat out: {in_ms}", None, None, NO_SERVICE),
            _service_claim(f"in sessions, flat out: {at_all}", None, None, NO_SERVICE, paper=None),
        ]
    in_time, batches = _in_time(served), _flat_out(BATCHES, served)
    in_time_holds = in_time >= PAPER_PER_SECOND
    batches_hold = batches.per_second >= PAPER_PER_SECOND and batches.p99_ms < PAPER_MS
    return [
        _service_claim(
            f"in sessions: {in_ms}",
            in_time,
            in_time_holds,
            "" if in_time_holds else _why_slower(measured),
        ),
        _service_claim(
            f"in batches of 100, flat out: {in_ms}",
            batches.per_second,
            batches_hold,
            "" if batches_hold else f"99 of 100 were answered within {batches.p99_ms:,.1f} ms",
        ),
        _service_claim(
            f"in sessions, flat out: {at_all}",
            _flat_out(SESSIONS, served).per_second,
            None,
            paper=None,
        ),
    ]


def _service_claim(
    claim: str,
    per_second: float | None,
    holds: bool | None,
    note: str = "",
    paper: int | None = PAPER_PER_SECOND,
) -> Claim:
    return Claim(
        claim=f"through the service, every answer durable, {claim}",
        paper=paper,
        measured=per_second,
        holds=holds,
        unit="requests/s",
        note=note,
    )


def _in_time(served: ServiceRows) -> float:
    """The highest rate of answers in time to sessions; zero if there was none."""
    return max(
        (row.per_second for cell, row in served if cell.load == SESSIONS and row.p99_ms < PAPER_MS),
        default=0.0,
    )


def _flat_out(load: str, served: ServiceRows) -> service.Row:
    return next(row for cell, row in served if (cell.load, cell.asked_per_second) == (load, None))


def _why_slower(measured: MarketRows) -> str:
    """Whether the market itself is the bottleneck of the service."""
    slowest = min(measured[operation, CLAIMED_LEAVES].per_second for operation in OPERATIONS)
    if slowest < PAPER_PER_SECOND:
        return (
            f"the market alone serves {slowest:,.0f}/s of its slowest operation at as many leaves"
        )
    return (
        f"the market alone serves at least {slowest:,.0f}/s of each operation at as many leaves:"
        " the rest is the server's one process (protocol, accounts, journal), which shares the"
        " machine with the load"
    )


def _text(plan: Plan, machine: Machine, measured: MarketRows, served: ServiceRows) -> str:
    smallest, largest = min(leaves for _, leaves in measured), max(leaves for _, leaves in measured)
    cell = market_cell(plan, machine)
    parts = [
        (
            f"One tree of {smallest:,} to {largest:,} GPUs, every one leased, with {cell.resting:,}"
            " orders waiting at its root: orders for anywhere are placed and cancelled, and leases"
            f" given up pass to the order that is next in the queue (transfer: {AT_THE_ROOT})."
        ),
        (
            f"Measured here and now ({machine}), in one run on a machine that others may use too:"
            " there are no intervals, and another run gives other figures."
        ),
        f"In process, at {largest:,} leaves, "
        + ", ".join(
            f"{words} runs at {(row := measured[operation, largest]).per_second:,.0f} requests/s"
            f" (99 of 100 calls take {row.p99_us:,.0f} us or less)"
            for operation, words in OPERATIONS.items()
        )
        + f"; at {smallest:,} leaves at "
        + ", ".join(f"{measured[operation, smallest].per_second:,.0f}" for operation in OPERATIONS)
        + " requests/s. Latency in process is the time of a call alone: no call waits for another."
        f" The paper has about {PAPER_PER_SECOND:,} requests/s below {PAPER_MS} ms; only through"
        " the service are the two measured together.",
    ]
    if served:
        in_time = _in_time(served)
        parts.append(
            f"Through the service ({world.LEAVES:,} leaves, {world.TENANTS:,} tenants that"
            " place, amend and cancel orders, set limits and ask for quotes; each answer is"
            " durable before it is sent; server and load share the cores), "
            + " and ".join(
                f"{described(cell)}, get {row.per_second:,.0f} answers/s (99 of 100 within"
                f" {row.p99_ms:,.0f} ms)"
                for cell, row in served
                if cell.asked_per_second is None
            )
            + (
                f"; the highest load of sessions with 99 of 100 answers within {PAPER_MS} ms got"
                f" {in_time:,.0f} answers/s."
                if in_time
                else (
                    "; under no load of sessions that was tried came 99 of 100 answers within"
                    f" {PAPER_MS} ms."
                )
            )
        )
    return " ".join(parts)


def _market_row(row: market.Row) -> Row:
    return {
        "through": "process",
        "load": row.operation,
        "leaves": row.leaves,
        "asked_per_second": None,
        "per_second": row.per_second,
        "p50_ms": row.p50_us / US_PER_MS,
        "p99_ms": row.p99_us / US_PER_MS,
    }


def _service_row(cell: ServiceSpeed, row: service.Row) -> Row:
    return {
        "through": "service",
        "load": row.load,
        "leaves": row.leaves,
        "asked_per_second": cell.asked_per_second,
        "per_second": row.per_second,
        "p50_ms": row.p50_ms,
        "p99_ms": row.p99_ms,
    }
