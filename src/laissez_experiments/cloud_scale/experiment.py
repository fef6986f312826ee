"""A cloud of 10,000 nodes and more than 1,000 training and inference tenants: what they ask of the
market, and whether it is what holds them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from laissez.sim.scenario import InferenceTable, TenantsTable
from laissez_bench import simulation
from laissez_experiments.cloud_scale.cells import SimulationSpeed
from laissez_experiments.cloud_scale.figure import cloud_scale_figure
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import PERCENT, Claim, Findings, Number
from laissez_experiments.lab.plan import Plan
from laissez_experiments.scalability.cells import Machine, this_machine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES: Final = ((100, 10), (1_000, 100), (10_000, 1_010))  # nodes and tenants
QUICK_SIZES: Final = SIZES[:1]
MEASURED_S: Final = 60  # of virtual time: every tenant decides at least twice
PAPER_NODES: Final = 10_000
PAPER_TENANTS: Final = 1_000
# requests/s of one tenant; it has no others
PAPER_ASKS: Final[Mapping[str, float]] = {"inference": 10.0, "training": 3.0}
ABOUT: Final = 2.0  # within this factor, a rate is about another
NOT_THE_LIMIT: Final = 0.5  # of the time: the rest takes more
HOLDING_MIN: Final = 0.9  # of the tenants: our own bar for a cloud that serves them
SPAN: Final = f"{(simulation.SETTLED_S + MEASURED_S) / 60:g} virtual minutes"
LIMIT: Final = "the limit was simulation capacity rather than the matching engine"
SMALL: Final = f"decided at {PAPER_NODES:,} nodes, which the quick version does not have"


class CloudScale(Experiment):
    name = "cloud-scale"
    title = "A cloud of 10,000 nodes and 1,000 tenants"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return size_cells(plan, this_machine())

    def findings(self, plan: Plan, results: Results) -> Findings:
        machine = this_machine()
        rows: list[simulation.Row] = [results[cell] for cell in size_cells(plan, machine)]
        largest = rows[-1]

        def draw() -> Figure:
            return cloud_scale_figure(rows, [paper_asks(row) for row in rows])

        return Findings(
            claims=[
                _runs(largest),
                _is_not_the_limit(largest),
                _nor_at_the_papers_rates(largest),
                _serves_more(largest),
                *(_asks(kind, largest) for kind in PAPER_ASKS),
            ],
            text=_text(machine, largest),
            rows=[_flat(row) for row in rows],
            draw=draw,
        )


def size_cells(plan: Plan, machine: Machine) -> list[SimulationSpeed]:
    sizes = QUICK_SIZES if plan.quick else SIZES
    kinds = tuple(PAPER_ASKS)
    return [
        SimulationSpeed(
            machine=machine, nodes=nodes, tenants=tenants, kinds=kinds, minutes=MEASURED_S / 60
        )
        for nodes, tenants in sizes
    ]


def paper_asks(row: simulation.Row) -> float:
    """Requests/s if every tenant asked as often as the paper's."""
    return sum(of.tenants * PAPER_ASKS[kind] for kind, of in row.kinds.items())


def share_at_the_papers_rates(row: simulation.Row) -> float:
    """The market's share of the time, if it had as much more to do and nothing else took longer:
    tenants would also have to decide more often."""
    market = row.market_share * paper_asks(row) / row.asked_per_second
    return market / (market + 1 - row.market_share)


def _decided(row: simulation.Row, holds: bool) -> bool | None:
    return holds if row.nodes >= PAPER_NODES else None


def _note(row: simulation.Row, otherwise: str = "") -> str:
    return otherwise if row.nodes >= PAPER_NODES else SMALL


def _runs(row: simulation.Row) -> Claim:
    """The paper does not say for how long, nor what it takes to support a tenant."""
    return Claim(
        figure=CloudScale.name,
        claim=(
            f"{row.nodes:,} nodes and {row.tenants:,} training and inference tenants are run for"
            f" {SPAN}; in the end {HOLDING_MIN * PERCENT:.0f} % of them or more hold GPUs"
        ),
        paper=f"about {PAPER_NODES:,} nodes, more than {PAPER_TENANTS:,} tenants",
        measured=row.holding / row.tenants * PERCENT,
        holds=_decided(
            row, row.tenants > PAPER_TENANTS and row.holding >= HOLDING_MIN * row.tenants
        ),
        unit="%",
        note=_note(
            row,
            f"{row.holding:,} hold GPUs, {row.waiting:,} wait with their orders; {row.leased:,}"
            f" GPUs are leased, and all tenants together need {row.demand:.2f} times what there is."
            f" The span and the {HOLDING_MIN * PERCENT:.0f} % are our choice",
        ),
    )


def _is_not_the_limit(row: simulation.Row) -> Claim:
    return Claim(
        figure=CloudScale.name,
        claim="simulating the tenants takes the time, not the market: its share is below one half",
        paper=LIMIT,
        measured=row.market_share * PERCENT,
        holds=_decided(row, row.market_share < NOT_THE_LIMIT),
        unit="%",
        note=_note(row),
    )


def _nor_at_the_papers_rates(row: simulation.Row) -> Claim:
    share, more = share_at_the_papers_rates(row), paper_asks(row) / row.asked_per_second
    return Claim(
        figure=CloudScale.name,
        claim=(
            "nor would the market take the time if these tenants asked as often as the paper's: its"
            " share is below one half"
        ),
        paper=LIMIT,
        measured=share * PERCENT,
        holds=_decided(row, share < NOT_THE_LIMIT),
        unit="%",
        note=_note(
            row,
            f"reckoned: {more:.1f} times the market's own time, everything else as measured, though"
            " asking more often takes the tenants' time too",
        ),
    )


def _serves_more(row: simulation.Row) -> Claim:
    """Compared with the paper's tenants, who ask more often than ours."""
    asked = max(paper_asks(row), row.asked_per_second)
    return Claim(
        figure=CloudScale.name,
        claim=(
            "the market serves more requests/s than these tenants ask of it, even if they asked as"
            " often as the paper's"
        ),
        paper="sufficient",
        measured=row.market_per_second / asked,
        holds=_decided(row, row.market_per_second > asked),
        unit="x",
        note=_note(
            row,
            f"{row.market_per_second:,.0f}/s of its own time; asked are"
            f" {row.asked_per_second:,.0f}/s, or {paper_asks(row):,.0f}/s",
        ),
    )


def _asks(kind: str, row: simulation.Row) -> Claim:
    of, paper = row.kinds[kind], PAPER_ASKS[kind]
    each = of.asked_per_second / of.tenants
    pace_s = InferenceTable().plan_seconds if kind == "inference" else TenantsTable().decide_seconds
    return Claim(
        figure=CloudScale.name,
        claim=f"requests/s that one {kind} tenant submits",
        paper=paper,
        measured=each,
        holds=_decided(row, paper / ABOUT <= each <= paper * ABOUT),
        unit="requests/s",
        note=_note(row, f"here it decides every {pace_s:g} s, and when it gains or loses a GPU"),
    )


def _text(machine: Machine, row: simulation.Row) -> str:
    return (
        f"{row.nodes:,} GPUs, half H100 and half A100, and {row.tenants:,} tenants, half inference"
        f" services and half training jobs, that together need {row.demand:.2f} times what there"
        f" is. All come within {simulation.ARRIVALS_S // 60} minutes; {SPAN} are run in all, and"
        f" time is taken over the last {MEASURED_S} seconds of them. Measured here and now, on one"
        f" core ({machine}), in one run: there are no intervals. In the end {row.holding:,} tenants"
        f" hold {row.leased:,} GPUs and {row.waiting:,} others wait with their orders. They ask"
        f" {row.asked_per_second:,.0f} requests per virtual second of the market ("
        + ", ".join(
            f"{of.asked_per_second / of.tenants:.2f} by each {kind} tenant"
            for kind, of in row.kinds.items()
        )
        + f"); at the paper's rates it would be {paper_asks(row):,.0f}. At {row.speed:,.1f} times"
        f" real time, the market serves {row.requests_per_second:,.0f} per real second in"
        f" {_percent(row.market_share)} of the time, so it could serve"
        f" {row.market_per_second:,.0f}; at the paper's rates it would take"
        f" {_percent(share_at_the_papers_rates(row))}. The adapters take"
        f" {_percent(row.adapter_share)}, the models of the applications"
        f" {_percent(row.world_share)}, the simulator itself {_percent(row.simulator_share)}."
    )


def _percent(share: float) -> str:
    return f"{share * PERCENT:.1f} %"


def _flat(row: simulation.Row) -> dict[str, Number | str | None]:
    by_kind = {
        f"{kind}_asks_per_second": of.asked_per_second / of.tenants
        for kind, of in sorted(row.kinds.items())
    }
    return {
        "nodes": row.nodes,
        "tenants": row.tenants,
        "demand": row.demand,
        "leased": row.leased,
        "holding": row.holding,
        "waiting": row.waiting,
        "speed": row.speed,
        "asked_per_virtual_second": row.asked_per_second,
        "at_the_papers_rates": paper_asks(row),
        "served_per_real_second": row.requests_per_second,
        "served_per_market_second": row.market_per_second,
        "market_share": row.market_share,
        "market_share_at_the_papers_rates": share_at_the_papers_rates(row),
        "adapter_share": row.adapter_share,
        "world_share": row.world_share,
        "simulator_share": row.simulator_share,
        **by_kind,
    }
