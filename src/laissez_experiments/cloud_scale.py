"""A cloud of 10,000 nodes and more than 1,000 training and inference tenants: their requests to the
market, and whether the market is the bottleneck."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from laissez.sim.boxplot import INK, SOFT
from laissez.sim.scenario import InferenceTable, TenantsTable
from laissez_bench import simulation
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import PERCENT, Claim, Findings, Row
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.style import ACCENT, SMALL, Looks, beside, dress, near, new_figure
from laissez_experiments.scalability.cells import Machine, SimulationSpeed, this_machine

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZES: Final = ((100, 10), (1_000, 100), (10_000, 1_010))  # nodes and tenants
QUICK_SIZES: Final = SIZES[:1]
MEASURED_S: Final = 60  # of virtual time: every tenant decides at least twice
PAPER_NODES: Final = 10_000
PAPER_TENANTS: Final = 1_000
# requests/s of one tenant; the paper has no other kinds
PAPER_ASKS: Final[Mapping[str, float]] = {"inference": 10.0, "training": 3.0}
ABOUT: Final = 2.0  # within this factor, a rate is about another
NOT_THE_LIMIT: Final = 0.5  # of the time: the rest takes more
HOLDING_MIN: Final = 0.9  # of the tenants: our own bar for a cloud that serves them
SPAN: Final = f"{(simulation.SETTLED_S + MEASURED_S) / 60:g} virtual minutes"
LIMIT: Final = "the limit was simulation capacity rather than the matching engine"
SMALL_CLOUD: Final = f"decided at {PAPER_NODES:,} nodes, which the quick version does not have"
PANEL_IN: Final = 0.95
SIZE_IN: Final = 0.38
# parts that have their figure inside
WRITTEN_IN: Final = ("adapters", "models of the applications")
LEGIBLE: Final = 5.0  # percent: a narrower part has no room for it
PALE: Final = "#f6dfa6"
# parts of the time, with their field, fill and hatch; the market is last, where its figure is
# written beside it
PARTS: Final = (
    ("adapters", "adapter_share", PALE, ""),
    ("models of the applications", "world_share", "#cccccc", ""),
    ("simulator", "simulator_share", "#ffffff", "////"),
    ("market", "market_share", ACCENT, ""),
)
ROW_FIELDS: Final = ("nodes", "tenants", "demand", "leased", "holding", "waiting", "speed")


class CloudScale(Experiment):
    name = "cloud-scale"
    title = "A cloud of 10,000 nodes and 1,000 tenants"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return size_cells(plan, this_machine())

    def findings(self, plan: Plan, results: Results) -> Findings:
        machine = this_machine()
        rows: list[simulation.Row] = [results[cell] for cell in size_cells(plan, machine)]
        return Findings(
            claims=_claims(rows[-1]),
            text=_text(machine, rows[-1]),
            rows=[_flat(row) for row in rows],
            draw=lambda: _drawn(rows),
        )


def size_cells(plan: Plan, machine: Machine) -> list[SimulationSpeed]:
    kinds, minutes = tuple(PAPER_ASKS), MEASURED_S / 60
    return [
        SimulationSpeed(machine=machine, nodes=nodes, tenants=tenants, kinds=kinds, minutes=minutes)
        for nodes, tenants in (QUICK_SIZES if plan.quick else SIZES)
    ]


def paper_asks(row: simulation.Row) -> float:
    """Requests/s if every tenant asked as often as the paper's."""
    return sum(of.tenants * PAPER_ASKS[kind] for kind, of in row.kinds.items())


def share_at_the_papers_rates(row: simulation.Row) -> float:
    """The market's share of the time, if it had as much more to do and nothing else took longer:
    tenants would also have to decide more often."""
    market = row.market_share * paper_asks(row) / row.asked_per_second
    return market / (market + 1 - row.market_share)


def _claim(
    row: simulation.Row,
    claim: str,
    paper: float | str,
    measured: float,
    holds: bool,
    unit: str,
    note: str = "",
) -> Claim:
    """A claim that only the largest cloud decides."""
    decides = row.nodes >= PAPER_NODES
    return Claim(
        claim=claim,
        paper=paper,
        measured=measured,
        holds=holds if decides else None,
        unit=unit,
        note=note if decides else SMALL_CLOUD,
    )


def _claims(row: simulation.Row) -> list[Claim]:
    share, asks = share_at_the_papers_rates(row), paper_asks(row)
    served, asked, more = row.market_per_second, row.asked_per_second, asks / row.asked_per_second
    return [
        # the paper states neither the time, nor the condition for a tenant to count as supported
        _claim(
            row,
            f"{row.nodes:,} nodes and {row.tenants:,} training and inference tenants are run for"
            f" {SPAN}; in the end {HOLDING_MIN * PERCENT:.0f} % of them or more hold GPUs",
            f"about {PAPER_NODES:,} nodes, more than {PAPER_TENANTS:,} tenants",
            row.holding / row.tenants * PERCENT,
            row.tenants > PAPER_TENANTS and row.holding >= HOLDING_MIN * row.tenants,
            "%",
            f"{row.holding:,} hold GPUs, {row.waiting:,} wait with their orders; {row.leased:,}"
            f" GPUs are leased, and all tenants together need {row.demand:.2f} times what there is."
            f" The span and the {HOLDING_MIN * PERCENT:.0f} % are our choice",
        ),
        _claim(
            row,
            "simulating the tenants takes the time, not the market: its share is below one half",
            LIMIT,
            row.market_share * PERCENT,
            row.market_share < NOT_THE_LIMIT,
            "%",
        ),
        _claim(
            row,
            "nor would the market take the time if these tenants asked as often as the paper's: its"
            " share is below one half",
            LIMIT,
            share * PERCENT,
            share < NOT_THE_LIMIT,
            "%",
            f"reckoned: {more:.1f} times the market's own time, everything else as measured, though"
            " asking more often takes the tenants' time too",
        ),
        # compared with the paper's tenants, who ask more often than ours
        _claim(
            row,
            "the market serves more requests/s than these tenants ask of it, even if they asked as"
            " often as the paper's",
            "sufficient",
            served / max(asks, asked),
            served > max(asks, asked),
            "x",
            f"{served:,.0f}/s of its own time; asked are {asked:,.0f}/s, or {asks:,.0f}/s",
        ),
        *(_asks(kind, row) for kind in PAPER_ASKS),
    ]


def _asks(kind: str, row: simulation.Row) -> Claim:
    each, paper = row.kinds[kind].each_per_second, PAPER_ASKS[kind]
    pace_s = InferenceTable().plan_seconds if kind == "inference" else TenantsTable().decide_seconds
    return _claim(
        row,
        f"requests/s that one {kind} tenant submits",
        paper,
        each,
        paper / ABOUT <= each <= paper * ABOUT,
        "requests/s",
        f"here it decides every {pace_s:g} s, and when it gains or loses a GPU",
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
            f"{of.each_per_second:.2f} by each {kind} tenant" for kind, of in row.kinds.items()
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


def _flat(row: simulation.Row) -> Row:
    return {
        **{field: getattr(row, field) for field in ROW_FIELDS},
        "asked_per_virtual_second": row.asked_per_second,
        "at_the_papers_rates": paper_asks(row),
        "served_per_real_second": row.requests_per_second,
        "served_per_market_second": row.market_per_second,
        "market_share": row.market_share,
        "market_share_at_the_papers_rates": share_at_the_papers_rates(row),
        "adapter_share": row.adapter_share,
        "world_share": row.world_share,
        "simulator_share": row.simulator_share,
        **{f"{kind}_asks_per_second": of.each_per_second for kind, of in sorted(row.kinds.items())},
    }


def _drawn(rows: Sequence[simulation.Row]) -> Figure:
    """The parts of the time by size, and the requests made of the market beside those that it could
    serve."""
    figure = new_figure(2 * (PANEL_IN + SIZE_IN * len(rows)))
    shares, rates = figure.subplots(2, 1)
    _shares(shares, rows)
    _rates(rates, rows)
    names = [f"{row.nodes:,} nodes\n{row.tenants:,} tenants" for row in rows]
    for axes, top in ((shares, -0.5), (rates, -0.95)):
        axes.set_yticks(range(len(rows)), names)
        axes.set_ylim(len(rows) - 0.5, top)
    return figure


def _shares(axes: Axes, rows: Sequence[simulation.Row]) -> None:
    dress(axes, None)
    axes.set_title("a  where the time of a simulation goes", pad=20)
    left = [0.0 for _ in rows]
    for name, field, fill, hatch in PARTS:
        shares = [getattr(row, field) * PERCENT for row in rows]
        looks: Looks = {"color": fill, "hatch": hatch, "edgecolor": INK, "linewidth": 0.6}
        axes.barh(range(len(rows)), shares, 0.5, left, label=name, **looks)
        for at, share in enumerate(shares):
            if name in WRITTEN_IN and share >= LEGIBLE:
                middle: Looks = {"ha": "center", "va": "center", "fontsize": SMALL}
                axes.text(left[at] + share / 2, at, f"{share:.0f} %", **middle)
            left[at] += share
    points: Looks = {"textcoords": "offset points", "fontsize": 8.5}
    for at, row in enumerate(rows):
        share = f"market {row.market_share * PERCENT:.1f} %"
        speed = f"{row.speed:,.{0 if row.speed >= 10 else 1}f}x real time"
        strong: Looks = {"va": "bottom", "fontweight": "bold", "color": ACCENT}
        beside(axes, share, at, xytext=(0, 1), **points, **strong)
        beside(axes, speed, at, xytext=(0, -1), va="top", **points)
    axes.set_xlim(0, PERCENT)
    axes.set_xlabel("percent of real time")
    axes.legend(
        ncols=len(PARTS),
        loc="lower left",
        bbox_to_anchor=(0, 0.93),
        frameon=False,
        fontsize=SMALL,
        handlelength=1.2,
        columnspacing=1.4,
        borderpad=0,
    )


def _rates(axes: Axes, rows: Sequence[simulation.Row]) -> None:
    dress(axes, "x")
    axes.set_title("b  requests per second, asked of the market and what it could serve")
    for at, row in enumerate(rows):
        asked, served = row.asked_per_second, row.market_per_second
        axes.plot([asked, served], [at, at], color=SOFT, linewidth=1, zorder=1)
        for value, marker, fill, name in (
            (asked, "o", "white", "asked"),
            (paper_asks(row), "D", PALE, "at the paper's rates"),
            (served, "o", ACCENT, "could be served"),
        ):
            looks: Looks = {"markerfacecolor": fill, "markeredgecolor": INK}
            axes.plot([value], [at], marker, markersize=6, **looks, zorder=2)
            text = f"{value:,.0f}" if at else f"{name}\n{value:,.0f}"
            above = {"ha": "center", "va": "bottom", "linespacing": 1.1}
            near(axes, text, (value, at), (0, 6), fontsize=SMALL, **above)
    axes.set_xscale("log")
    axes.margins(x=0.12)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xticks([], minor=True)
    axes.set_xlabel(
        "requests/s (asked: of virtual time; could be served: of the market's own time)"
    )
