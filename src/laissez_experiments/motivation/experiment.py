"""Two tasks, three machines, three contracts: the paper's example of why a cloud should let its
tenants trade (its sections 2.2 and 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from statistics import fmean
from typing import Final

from laissez.units import HOUR_US
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import PERCENT, Claim, Findings, Row
from laissez_experiments.lab.plan import Plan
from laissez_experiments.motivation.figure import Stories, draw, tips
from laissez_experiments.motivation.run import (
    CHECKPOINT_H,
    CLOUDS,
    CONTESTED,
    DISPATCHED_H,
    DUE_H,
    HOURS,
    PRICES,
    RESTART_H,
    WORTH_A,
    WORTH_B,
    MotivationRun,
    Story,
)

NOTHING_H: Final = 0.001  # of work: a hand-off takes less
SOON_H: Final = 0.001  # after something: by the next decisions
# the paper leaves these open; tried beside our choice
WORTHS: Final = (0.40, 0.60, 0.80, 1.00)
CHECKPOINTS_H: Final = (0.11, 0.15, 0.19)
DECISION_H: Final = 0.003  # of work between two decisions
DEAR: Final = "FCFS-P: wasting work and raising overall cost"


class Motivation(Experiment):
    name = "motivation"
    title = "Two tasks, three machines, three contracts"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return [*(MotivationRun(cloud=cloud) for cloud in CLOUDS), *_variations()]

    def findings(self, plan: Plan, results: Results) -> Findings:
        stories: Stories = {cloud: results[MotivationRun(cloud=cloud)] for cloud in CLOUDS}
        text = (
            "The paper's two tasks, with its times and costs, on the simulator's clouds: A trains,"
            f" B is a batch that comes at {DISPATCHED_H['B']:g} hours and is due at {DUE_H:g}."
            f" Chosen here: checkpoints of A every {CHECKPOINT_H:g} hours of work, restarts of"
            f" {RESTART_H:g} hours, and work worth ${WORTH_A:.2f} to A and ${WORTH_B:.2f} to B, so"
            " that the example shows well. The clouds differ in one more thing: on fcfs-p, where a"
            f" batch may preempt training, B asks for {CONTESTED.upper()} alone, elsewhere for HW2"
            " too. "
            + " ".join(_told(cloud, story) for cloud, story in stories.items())
            + f" {_varied(results)}"
        )
        return Findings(
            claims=_claims(*(stories[cloud] for cloud in ("fcfs", "fcfs-p", "market"))),
            text=text,
            rows=_rows(stories),
            draw=lambda: draw(stories),
            tips=tips(stories),
        )


def _variations() -> list[MotivationRun]:
    return [
        MotivationRun(cloud="market", worth=worth, checkpoint_h=hours)
        for worth, hours in product(WORTHS, CHECKPOINTS_H)
    ]


def _checkpoints(story: Story) -> list[float]:
    """The hours at which A was saved on HW1."""
    return [at / HOUR_US for machine, at in story.tasks["A"].checkpoints if machine == CONTESTED]


def _kept_until_checkpoint(story: Story) -> bool:
    """Whether A had HW1 until a checkpoint, and B has it from then on."""
    ours, saved = story.span("A", CONTESTED), _checkpoints(story)
    if ours is None or not saved or story.tasks["A"].hours <= ours[1]:
        return False
    return saved[-1] <= ours[1] <= saved[-1] + SOON_H and _takes_over(story)


def _takes_over(story: Story) -> bool:
    """Whether B has HW1 from the instant on at which A no longer has it."""
    ours, theirs = story.span("A", CONTESTED), story.span("B", CONTESTED)
    return ours is not None and theirs is not None and abs(ours[1] - theirs[0]) <= SOON_H


def _claim(
    claim: str,
    paper: str,
    measured: float | str | None,
    holds: bool,
    unit: str = "",
    note: str = "",
) -> Claim:
    return Claim(claim=claim, paper=paper, measured=measured, holds=holds, unit=unit, note=note)


def _claims(fcfs: Story, fcfs_p: Story, market: Story) -> list[Claim]:
    lost, sooner = market.wasted, fcfs.tasks["B"].hours - market.tasks["B"].hours
    return [
        _forced(fcfs),
        _claim(
            "fcfs-p: B takes HW1 between two checkpoints of A, and work is wasted",
            "App B preempts App A, interrupting an epoch between checkpoints",
            fcfs_p.wasted,
            fcfs_p.wasted > NOTHING_H and _takes_over(fcfs_p),
            "h",
        ),
        _kept(market),
        _claim("market: no work is wasted", "avoiding wasted work", lost, lost < NOTHING_H, "h"),
        _raised(market),
        *_costs(fcfs_p, market),
        _claim(
            "market: B is done sooner than on fcfs",
            "FCFS: B is left with HW2 at higher cost and lower performance",
            sooner,
            sooner > 0,
            "h",
        ),
    ]


def _forced(fcfs: Story) -> Claim:
    later = fcfs.span("B", CONTESTED)
    return _claim(
        "fcfs: A has HW1 until it is done, and B has to begin on HW2, its second choice",
        "forcing App B to take its second-ranked hardware",
        "; ".join(f"{task}: {', '.join(fcfs.machines(task))}" for task in fcfs.tasks),
        fcfs.machines("A") == [CONTESTED]
        and fcfs.machines("B")[:1] == ["hw2"]
        and (later is None or later[0] >= fcfs.tasks["A"].hours),
    )


def _kept(market: Story) -> Claim:
    def shown(task: str, end: int) -> str:
        span = market.span(task, CONTESTED)
        return "never" if span is None else f"{span[end]:.3f}"

    saved = ", ".join(f"{at:.3f}" for at in _checkpoints(market))
    return _claim(
        "market: A keeps HW1 until its checkpoint, then B gets it",
        "lets App A retain HW1 until a checkpoint makes migration cheap",
        f"A until {shown('A', 1)} (checkpoints: {saved or 'none'}), B from {shown('B', 0)}",
        _kept_until_checkpoint(market),
        "h",
    )


def _raised(market: Story) -> Claim:
    quotes = (quote for quote in market.quotes if quote.limit is not None)
    bids = [quote.bid for quote in quotes if quote.bid is not None]
    rise = (bids[-1] / bids[0] - 1) * PERCENT if bids else None
    return _claim(
        "market: B raises its bid for HW1 while it waits on HW2",
        "B raises its willingness to pay for HW1 over time",
        rise,
        rise is not None and rise > 0,
        "%",
    )


def _costs(fcfs_p: Story, market: Story) -> list[Claim]:
    """The cost of each on the market, and of both together, against fcfs-p; the paper speaks of
    both together."""
    found = []
    for who, tasks in (("A pays", "A"), ("B pays", "B"), ("both together pay", "AB")):
        ours, theirs = (sum(one.tasks[task].cost for task in tasks) for one in (market, fcfs_p))
        note = _why_not_less(fcfs_p) if tasks == "B" and ours >= theirs else ""
        claim, less = f"market: {who} less than on fcfs-p", (1 - ours / theirs) * PERCENT
        found.append(_claim(claim, DEAR, less, ours < theirs, "%", note))
    return found


def _why_not_less(preemptive: Story) -> str:
    cheapest = min(HOURS["B"], key=lambda machine: PRICES[machine] * HOURS["B"][machine])
    if preemptive.machines("B") != [cheapest]:
        return ""
    return (
        "at the same prices nobody can pay less than B on fcfs-p: it has its cheapest machine from"
        " the start"
    )


def _told(cloud: str, story: Story) -> str:
    tasks = " and ".join(
        f"{task} runs on {', then '.join(map(str.upper, story.machines(task)))} and is done at"
        f" {one.hours:.2f} hours for ${one.cost:.3f}"
        for task, one in story.tasks.items()
    )
    lost = story.wasted
    return (
        f"On {'the ' if cloud == 'market' else ''}{cloud} {tasks};"
        f" {f'{lost:.2f} hours of work are' if lost >= NOTHING_H else 'no work is'} wasted."
    )


def _varied(results: Results) -> str:
    """The effect of the choices that the paper leaves open."""
    stories = [results[cell] for cell in _variations()]
    spared = sum(story.wasted < DECISION_H for story in stories)
    at_once = [story.wasted for story in stories if story.machines("B")[:1] == [CONTESTED]]
    lost = (
        f", and {fmean(at_once):.2f} hours of work are wasted in the mean of these"
        if at_once
        else ""
    )
    return (
        f"With B's work worth ${WORTHS[0]:.2f} to ${WORTHS[-1]:.2f} and checkpoints every"
        f" {CHECKPOINTS_H[0]:g} to {CHECKPOINTS_H[-1]:g} hours, {spared} of {len(stories)} runs on"
        f" the market waste no more than what A does between two decisions, and in {len(at_once)} B"
        f" begins on {CONTESTED.upper()}{lost}."
    )


def _rows(stories: Stories) -> list[Row]:
    return [
        {
            "cloud": cloud,
            "task": task,
            "machine": piece.machine,
            "what": piece.what,
            "start_hours": piece.start / HOUR_US,
            "end_hours": piece.end / HOUR_US,
            "cost": one.cost,
            "done_hours": one.at / HOUR_US,
        }
        for cloud, story in stories.items()
        for task, one in story.tasks.items()
        for piece in one.pieces
    ]
