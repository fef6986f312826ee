"""One batch through a price rise: from an H100 to a cheaper A100, a pause once it is ahead, and an
H100 again (the paper's figure of live prices)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from laissez.sim.boxplot import INK, SOFT
from laissez.sim.scenario import PricesTable
from laissez.units import HOUR_US, MICRO_PER_DOLLAR
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import PERCENT, Claim, Findings, Row
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.style import (
    ACCENT,
    EDGE,
    LOOKS,
    THIRD,
    Looks,
    dress,
    near,
    new_figure,
    with_tips,
)
from laissez_experiments.trade_down.run import (
    CHEAP_H100,
    DUE_H,
    PRICES,
    RISE_H,
    RISE_PRICE,
    WORK_H,
    WORTH,
    Course,
    TradeDownRun,
)
from laissez_experiments.trade_down.states import (
    PAUSED,
    WITHOUT,
    Span,
    done_by,
    hourly,
    on_schedule,
    pieces,
    sequence,
    spans,
    spent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Fill(msgspec.Struct, frozen=True):
    """The look of a state's band and of its name on the band."""

    colour: str
    ink: str
    outline: str = "-"


WORTHS: Final = (1.0, 1.1, 1.2, 1.3, 1.5)
EXPECTED: Final = ("h100", "a100", PAUSED, "h100")
# behind a text that lines cross
CLEAR: Final[Looks] = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
LINES: Final = {"h100": (ACCENT, "-"), "a100": (LOOKS["fcfs"].line, "--")}
FILLS: Final = {
    "h100": Fill(ACCENT, "white"),
    "a100": Fill("#f3d08a", INK),
    PAUSED: Fill("white", SOFT, "--"),
    WITHOUT: Fill("white", SOFT, ":"),
}


class TradeDown(Experiment):
    name = "trade-down"
    title = "A batch follows live prices"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        varied = (TradeDownRun(worth=worth) for worth in WORTHS)
        return [TradeDownRun(), TradeDownRun(stays=True), *varied]

    def findings(self, plan: Plan, results: Results) -> Findings:
        trades, stays = results[TradeDownRun()], results[TradeDownRun(stays=True)]
        courses = {worth: results[TradeDownRun(worth=worth)] for worth in WORTHS}
        states, cost, cost_staying = spans(trades), trades.cost, stays.cost
        text = (
            f"One batch of genomes, {WORK_H:g} hours of work for an H100, is due after {DUE_H:g}"
            " hours and may use an H100 or an A100, through the Parabricks adapter on the real"
            f" market. Idle H100s are offered at ${PRICES.h100 * PRICES.floor:.2f} per hour, A100s"
            f" at ${PRICES.a100 * PRICES.floor:.2f}. At hour {RISE_H[0]:g} others come for both"
            f" H100s at up to ${RISE_PRICE:.2f}; when they leave, at hour {RISE_H[1]:g}, the"
            f" operator lowers its floor to ${CHEAP_H100:.2f}. The list price of H100s"
            f" (${PRICES.h100:.2f}, elsewhere ${PricesTable().h100:.2f}), that floor and the worth"
            f" of the work ({WORTH:g} times its cost on demand) were chosen so that the paper's"
            " sequence comes about. The batch is "
            + ", then ".join(
                f"{_called(one.state)} ({one.begins:.2f} to {one.ends:.2f} h)" for one in states
            )
            + f".{_ahead(trades, states)} It is {_ending(trades)} and pays ${cost:.2f}; with one"
            f" H100 at any price it would pay ${cost_staying:.2f}. {_varied(courses)}"
        )
        return Findings(
            claims=_claims(trades, states, courses, cost_staying),
            text=text,
            rows=_rows(trades, states),
            draw=lambda: _draw(trades, states),
            tips=_tips(trades, states),
        )


def _claims(
    course: Course, states: Sequence[Span], others: Mapping[float, Course], cost_staying: float
) -> list[Claim]:
    found = tuple(one.state for one in states)
    as_expected = [worth for worth, other in others.items() if sequence(other) == EXPECTED]
    done_h = None if course.done_at is None else _hours(course.done_at)
    return [
        # the sequence alone would not do: the H100 at the end has to be cheaper than the first
        Claim(
            claim=(
                "a price rise sends a batch from an H100 to an A100, it pauses once ahead, and"
                " resumes on a cheaper H100"
            ),
            paper=(
                "moving to a cheaper A100, pausing once it is sufficiently ahead of schedule, and"
                " later resuming on a cheaper H100"
            ),
            measured=", ".join(found),
            holds=found == EXPECTED and hourly(course, states[-1]) < hourly(course, states[0]),
            note=f"this sequence with {len(as_expected)} of {len(others)} worths of the work",
        ),
        Claim(
            claim=f"it is done before its deadline, after {DUE_H:g} hours",
            paper=None,
            measured=done_h,
            holds=done_h is not None and done_h <= DUE_H,
            unit="h",
            note=""
            if done_h is not None
            else f"{course.samples[-1].done:.0%} of the work was done then",
        ),
        Claim(
            claim="it pays less than with one H100 throughout",
            paper="shift to cheaper allocations when urgency is low",
            measured=(1 - course.cost / cost_staying) * PERCENT,
            holds=course.cost < cost_staying,
            unit="%",
        ),
    ]


def _called(state: str) -> str:
    return f"on an {state.upper()}" if state in LINES else state


def _varied(courses: Mapping[float, Course]) -> str:
    """The effect of the worth of the work."""
    worths: dict[tuple[str, ...], list[float]] = {}
    for worth, course in courses.items():
        worths.setdefault(sequence(course), []).append(worth)
    in_time = sum(course.done_at is not None for course in courses.values())
    costs = [course.cost for course in courses.values()]
    expected = worths.pop(EXPECTED, [])
    which = f"{len(expected)} ({_listed(expected)})" if expected else "none"
    others = "".join(
        f"; with {_listed(those)} it goes {', '.join(map(_label, states))}"
        for states, those in worths.items()
    )
    return (
        f"It hangs on the worth of the work: of {len(WORTHS)} worths ({_listed(WORTHS)}) {which}"
        f" give exactly the sequence {', '.join(map(_label, EXPECTED))}{others}. It is in time with"
        f" {in_time} of the {len(WORTHS)} and pays ${min(costs):.2f} to ${max(costs):.2f}."
    )


def _listed(worths: Sequence[float]) -> str:
    return ", ".join(f"{worth:g}" for worth in worths)


def _ahead(course: Course, states: Sequence[Span]) -> str:
    """Its lead over uniform progress at the first pause."""
    pause = next((one.start for one in states if one.state == PAUSED), None)
    if pause is None:
        return ""
    return (
        f" It pauses with {done_by(course, pause):.0%} of the work done, where"
        f" {on_schedule(pause):.0%} would be on schedule."
    )


def _ending(course: Course) -> str:
    return (
        "not done in time"
        if course.done_at is None
        else f"done after {_hours(course.done_at):.2f} hours"
    )


def _hours(at: int) -> float:
    return at / HOUR_US


def _tips(course: Course, states: Sequence[Span]) -> dict[str, list[str]]:
    return {
        f"{one.start}": [
            (
                f"{_label(one.state)}, {one.begins:.2f} to {one.ends:.2f} h: "
                f"${spent(course.leases, one.end) - spent(course.leases, one.start):.2f}"
            )
        ]
        for one in states
    }


def _rows(course: Course, states: Sequence[Span]) -> list[Row]:
    return [
        {
            "hours": _hours(sample.at),
            "price_h100": sample.prices.get("h100"),
            "price_a100": sample.prices.get("a100"),
            "state": next(
                (one.state for one in states if one.start <= sample.at < one.end), "done"
            ),
            "done": sample.done,
            "uniform": on_schedule(sample.at),
            "spent": spent(course.leases, sample.at),
        }
        for sample in course.samples
    ]


def _draw(course: Course, states: Sequence[Span]) -> Figure:
    figure = new_figure(4.6)
    prices, band, progress = figure.subplots(3, 1, sharex=True, height_ratios=(5, 1.1, 5))
    _prices(prices, course)
    _states(band, states)
    _progress(progress, course)
    for axes in (prices, progress):
        for one in states[1:]:
            axes.axvline(one.begins, color=EDGE, linewidth=0.8, zorder=1)
    progress.set_xlim(0, DUE_H * 1.002)
    progress.set_xlabel("hours after the batch was submitted")
    return figure


def _prices(axes: Axes, course: Course) -> None:
    """The price of one more GPU of each type, and beneath it, broad, the rate of the batch."""
    dress(axes)
    broad: Looks = {"linewidth": 7, "solid_capstyle": "butt", "zorder": 2}
    for lease in course.leases:
        for start, end, rate in pieces(lease):
            paid = (rate / MICRO_PER_DOLLAR,) * 2
            axes.plot((_hours(start), _hours(end)), paid, color=EDGE, **broad)
    hours = [_hours(sample.at) for sample in course.samples]
    for tree, (colour, dash) in LINES.items():
        quoted = [sample.prices[tree] for sample in course.samples]
        looks: Looks = {"color": colour, "linestyle": dash, "linewidth": 1.6, "zorder": 3}
        axes.step(hours, quoted, where="post", **looks)
    top = sum(RISE_H) / 2, RISE_PRICE
    near(axes, "H100", top, (0, -4), ha="center", va="top", color=LINES["h100"][0])
    axes.annotate("A100", (DUE_H, 2.2), ha="right", va="top", color=LINES["a100"][0], bbox=CLEAR)
    axes.set_title("price of one more GPU; grey: what the batch pays")
    axes.set_ylim(0, RISE_PRICE * 1.12)
    axes.set_ylabel("$ per GPU-hour")


def _states(axes: Axes, states: Sequence[Span]) -> None:
    dress(axes, None)
    axes.spines["bottom"].set_visible(False)
    for one in states:
        fill, length = FILLS[one.state], one.ends - one.begins
        looks: Looks = {"facecolor": fill.colour, "linestyle": fill.outline}
        edge: Looks = {"edgecolor": INK, "linewidth": 0.8}
        bar = axes.barh(0, length, left=one.begins, height=0.9, **looks, **edge)
        with_tips(f"{one.start}", bar[0])
        middle = (one.begins + one.ends) / 2, 0
        axes.annotate(_label(one.state), middle, ha="center", va="center", color=fill.ink)
    axes.set_title("what it runs on")
    axes.set_yticks([])
    axes.set_ylim(-0.6, 0.6)


def _progress(axes: Axes, course: Course) -> None:
    dress(axes)
    axes.plot((0, DUE_H), (0, PERCENT), color=THIRD, linestyle=":", linewidth=1.4, zorder=2)
    at = DUE_H * 0.62, PERCENT * 0.62
    near(axes, "uniform progress", at, (6, -6), va="top", color=THIRD, bbox=CLEAR)
    until = course.samples[-1].at if course.done_at is None else course.done_at + HOUR_US // 60
    shown = [sample for sample in course.samples if sample.at <= until]
    hours = [_hours(sample.at) for sample in shown]
    done = [sample.done * PERCENT for sample in shown]
    axes.plot(hours, done, color=ACCENT, linewidth=1.8, zorder=3)
    axes.plot(hours[-1], done[-1], color=ACCENT, marker="o", markersize=5, zorder=4)
    ending = f"{_ending(course)}, for ${course.cost:.2f}"
    near(axes, ending, (hours[-1], done[-1]), (-6, 4), ha="right", bbox=CLEAR)
    axes.set_title("how much of the work is done")
    axes.set_ylim(0, PERCENT * 1.2)
    axes.set_yticks(range(0, 101, 25))
    axes.set_ylabel("% of the work")


def _label(state: str) -> str:
    return state.upper() if state in LINES else state
