"""How many requests the market serves, and how fast, as one tree of equal instances grows (the paper's figure of scalability)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from laissez.bench import market, service
from laissez.experiments.lab.cell import Cell
from laissez.experiments.lab.experiment import Experiment, Results
from laissez.experiments.lab.findings import Claim, Findings, Number
from laissez.experiments.lab.plan import Plan
from laissez.experiments.scalability.cells import Machine, MarketSpeed, ServiceSpeed, this_machine
from laissez.experiments.scalability.figure import scalability_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OPERATIONS: Final[Mapping[str, str]] = {
    "place_anywhere": "place anywhere",
    "transfer": "transfer",
    "cancel_anywhere": "cancel anywhere",
}
LEAVES: Final = (100, 1_000, 10_000, 100_000)
CLAIMED_LEAVES: Final = 10_000
RESTING: Final = 10_000
CALLS: Final = 10_000
QUICK_LEAVES: Final = (100, 1_000)
QUICK_RESTING: Final = 600
QUICK_CALLS: Final = 1_000
# load and requests per second that are asked; None: as many as are answered
LOADS: Final = (("session", 5_000.0), ("session", 10_000.0), ("session", 15_000.0), ("session", None), ("batch", None))
LOAD_S: Final = 4.0
PAPER_PER_SECOND: Final = 25_000
PAPER_MS: Final = 20
US_PER_MS: Final = 1_000
SMALL_TREE: Final = f"decided at {CLAIMED_LEAVES:,} leaves, which the quick version does not have"
NO_SERVICE: Final = "the quick version starts no server"

MarketRows = Mapping[tuple[str, int], market.Row]  # by operation and leaves
ServiceRows = Sequence[tuple[ServiceSpeed, service.Row]]


class Scalability(Experiment):
    name = "scalability"
    title = "Requests per second and latency as a tree grows"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        machine = this_machine()
        return [market_cell(plan, machine), *service_cells(plan, machine)]

    def findings(self, plan: Plan, results: Results) -> Findings:
        machine = this_machine()
        measured: MarketRows = {(row.operation, row.leaves): row for row in results[market_cell(plan, machine)] if row.operation in OPERATIONS}
        served: ServiceRows = [(cell, results[cell]) for cell in service_cells(plan, machine)]

        def draw() -> Figure:
            return scalability_figure(OPERATIONS, measured, [(described(cell), row) for cell, row in served], PAPER_PER_SECOND, PAPER_MS)

        return Findings(
            claims=[*_in_process(plan, measured), *_through_the_service(measured, served)],
            text=_text(plan, machine, measured, served),
            rows=[*(_market_row(row) for row in measured.values()), *(_service_row(cell, row) for cell, row in served)],
            draw=draw,
        )


def market_cell(plan: Plan, machine: Machine) -> MarketSpeed:
    if plan.quick:
        return MarketSpeed(machine=machine, leaves=QUICK_LEAVES, resting=QUICK_RESTING, calls=QUICK_CALLS)
    return MarketSpeed(machine=machine, leaves=LEAVES, resting=RESTING, calls=CALLS)


def service_cells(plan: Plan, machine: Machine) -> list[ServiceSpeed]:
    """None where it must be quick: starting a server takes longer than all the rest."""
    if plan.quick:
        return []
    return [
        ServiceSpeed(machine=machine, load=load, asked_per_second=asked, measured_s=LOAD_S, leaves=service.LEAVES, tenants=service.TENANTS)
        for load, asked in LOADS
    ]


def described(cell: ServiceSpeed) -> str:
    load = "sessions" if cell.load == "session" else "batches of 100"
    return f"{load}, flat out" if cell.asked_per_second is None else f"{load} at {cell.asked_per_second:,.0f}/s"


def _in_process(plan: Plan, measured: MarketRows) -> list[Claim]:
    leaves = QUICK_LEAVES[-1] if plan.quick else CLAIMED_LEAVES
    note = SMALL_TREE if plan.quick else ""
    claims = []
    for operation, words in OPERATIONS.items():
        row = measured[operation, leaves]
        p99_ms = row.p99_us / US_PER_MS
        claims += [
            Claim(
                figure=Scalability.name,
                claim=f"{words}, {leaves:,} leaves, in process: requests served per second",
                paper=PAPER_PER_SECOND,
                measured=row.per_second,
                holds=None if plan.quick else row.per_second >= PAPER_PER_SECOND,
                unit="requests/s",
                note=note,
            ),
            Claim(
                figure=Scalability.name,
                claim=f"{words}, {leaves:,} leaves, in process: 99 of 100 requests take less than {PAPER_MS} ms",
                paper=PAPER_MS,
                measured=p99_ms,
                holds=None if plan.quick else p99_ms < PAPER_MS,
                unit="ms",
                note=note,
            ),
        ]
    return claims


def _through_the_service(measured: MarketRows, served: ServiceRows) -> list[Claim]:
    return [
        _service_claim(f"with 99 of 100 answered within {PAPER_MS} ms", max(_in_time(served), default=0.0), measured, served),
        _service_claim("however long they wait", max((row.per_second for _, row in served), default=0.0), measured, served),
    ]


def _in_time(served: ServiceRows) -> list[float]:
    return [row.per_second for _, row in served if row.p99_ms < PAPER_MS]


def _service_claim(which: str, per_second: float, measured: MarketRows, served: ServiceRows) -> Claim:
    holds = per_second >= PAPER_PER_SECOND if served else None
    return Claim(
        figure=Scalability.name,
        claim=f"through the service, every answer durable: requests answered per second, {which}",
        paper=PAPER_PER_SECOND,
        measured=per_second if served else None,
        holds=holds,
        unit="requests/s",
        note=NO_SERVICE if holds is None else "" if holds else _why_slower(measured),
    )


def _why_slower(measured: MarketRows) -> str:
    """The market itself is not what holds the service up."""
    slowest = min(measured[operation, CLAIMED_LEAVES].per_second for operation in OPERATIONS)
    return (
        f"the market alone serves at least {slowest:,.0f}/s of each operation at as many leaves: the rest is the server's one process "
        "(protocol, accounts, journal), which shares the machine with the load"
    )


def _text(plan: Plan, machine: Machine, measured: MarketRows, served: ServiceRows) -> str:
    smallest, largest = min(leaves for _, leaves in measured), max(leaves for _, leaves in measured)
    cell = market_cell(plan, machine)
    parts = [
        f"One tree of {smallest:,} to {largest:,} GPUs, every one leased, with {cell.resting:,} orders waiting at its root: orders for anywhere "
        "are placed and cancelled, and leases given up pass to the order that is next in the queue.",
        f"Measured here and now ({machine}), in one run on a machine that others may use too: there are no intervals, and another run gives other "
        "figures.",
        f"In process, at {largest:,} leaves, "
        + ", ".join(
            f"{words} runs at {(row := measured[operation, largest]).per_second:,.0f} requests/s (99 of 100 within {row.p99_us:,.0f} us)"
            for operation, words in OPERATIONS.items()
        )
        + f"; at {smallest:,} leaves at "
        + ", ".join(f"{measured[operation, smallest].per_second:,.0f}" for operation in OPERATIONS)
        + f" requests/s. The paper has about {PAPER_PER_SECOND:,} requests/s below {PAPER_MS} ms.",
    ]
    if served:
        in_time = max(_in_time(served), default=None)
        parts.append(
            f"Through the service ({service.LEAVES:,} leaves, {service.TENANTS:,} tenants that place, amend and cancel orders, set limits and ask "
            "for quotes; each answer is durable before it is sent; server and load share the cores), "
            + " and ".join(
                f"{described(cell)}, get {row.per_second:,.0f} answers/s (99 of 100 within {row.p99_ms:,.0f} ms)"
                for cell, row in served
                if cell.asked_per_second is None
            )
            + (
                f"; under no load that was tried came 99 of 100 answers within {PAPER_MS} ms."
                if in_time is None
                else f"; the highest load with 99 of 100 answers within {PAPER_MS} ms got {in_time:,.0f} answers/s."
            )
        )
    return " ".join(parts)


def _market_row(row: market.Row) -> dict[str, Number | str | None]:
    return {
        "through": "process",
        "load": row.operation,
        "leaves": row.leaves,
        "asked_per_second": None,
        "per_second": row.per_second,
        "p50_ms": row.p50_us / US_PER_MS,
        "p99_ms": row.p99_us / US_PER_MS,
    }


def _service_row(cell: ServiceSpeed, row: service.Row) -> dict[str, Number | str | None]:
    return {
        "through": "service",
        "load": row.load,
        "leaves": row.leaves,
        "asked_per_second": cell.asked_per_second,
        "per_second": row.per_second,
        "p50_ms": row.p50_ms,
        "p99_ms": row.p99_ms,
    }
