"""Two tasks, three machines, three contracts: the paper's example of why a cloud should let its
tenants trade (its sections 2.2 and 3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import Final

from laissez.units import HOUR_US
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import PERCENT, Claim, Findings
from laissez_experiments.lab.plan import Plan
from laissez_experiments.motivation.figure import draw, tips
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
# what the paper leaves open, otherwise
WORTHS: Final = (0.40, 0.60, 0.80, 1.00)
CHECKPOINTS_H: Final = (0.11, 0.15, 0.19)
DECISION_H: Final = 0.003  # of work: what is done between two decisions

Stories = Mapping[str, Story]


class Motivation(Experiment):
    name = "motivation"
    title = "Two tasks, three machines, three contracts"

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return [*(MotivationRun(cloud=cloud) for cloud in CLOUDS), *_variations()]

    def findings(self, plan: Plan, results: Results) -> Findings:
        stories: Stories = {cloud: results[MotivationRun(cloud=cloud)] for cloud in CLOUDS}
        claims = [
            _forced(stories),
            _preempted(stories),
            _kept(stories),
            _nothing_wasted(stories),
            _raised(stories),
            *_costs(stories),
            _sooner(stories),
        ]
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
            claims=claims,
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


def held(story: Story, task: str) -> list[str]:
    """The machines that a task had, one after the other."""
    return [machine for tenant, machine, *_ in story.leases if tenant == task]


def had(story: Story, task: str, machine: str) -> tuple[float, float] | None:
    """From when to when, in hours; None if never."""
    spans = [
        (start / HOUR_US, end / HOUR_US)
        for tenant, leased, start, end, _ in story.leases
        if (tenant, leased) == (task, machine)
    ]
    return (spans[0][0], spans[-1][1]) if spans else None


def done_at(story: Story, task: str) -> float:
    return story.tasks[task].at / HOUR_US


def wasted(story: Story) -> float:
    """Hours of work that had to be done again."""
    return sum(one.lost_us for one in story.tasks.values()) / HOUR_US


def kept_until_checkpoint(story: Story) -> bool:
    """Whether A had HW1 until a checkpoint, and B has it from then on."""
    ours = had(story, "A", CONTESTED)
    saved = [at / HOUR_US for machine, at in story.tasks["A"].checkpoints if machine == CONTESTED]
    if ours is None or not saved or done_at(story, "A") <= ours[1]:
        return False
    return saved[-1] <= ours[1] <= saved[-1] + SOON_H and takes_over(story)


def takes_over(story: Story) -> bool:
    """Whether B has HW1 from the instant on at which A no longer has it."""
    ours, theirs = had(story, "A", CONTESTED), had(story, "B", CONTESTED)
    return ours is not None and theirs is not None and abs(ours[1] - theirs[0]) <= SOON_H


def _claim(
    claim: str,
    paper: str,
    measured: float | str | None,
    holds: bool,
    unit: str = "",
    note: str = "",
) -> Claim:
    return Claim(
        figure=Motivation.name,
        claim=claim,
        paper=paper,
        measured=measured,
        holds=holds,
        unit=unit,
        note=note,
    )


def _forced(stories: Stories) -> Claim:
    story = stories["fcfs"]
    later = had(story, "B", CONTESTED)
    forced = (
        held(story, "A") == [CONTESTED]
        and held(story, "B")[:1] == ["hw2"]
        and (later is None or later[0] >= done_at(story, "A"))
    )
    measured = "; ".join(f"{task}: {', '.join(held(story, task))}" for task in story.tasks)
    paper = "forcing App B to take its second-ranked hardware"
    return _claim(
        "fcfs: A has HW1 until it is done, and B has to begin on HW2, its second choice",
        paper,
        measured,
        forced,
    )


def _preempted(stories: Stories) -> Claim:
    story, paper = (
        stories["fcfs-p"],
        "App B preempts App A, interrupting an epoch between checkpoints",
    )
    lost = wasted(story)
    claim = "fcfs-p: B takes HW1 between two checkpoints of A, and work is wasted"
    return _claim(claim, paper, lost, lost > NOTHING_H and takes_over(story), "h")


def _kept(stories: Stories) -> Claim:
    story = stories["market"]
    ours, theirs = had(story, "A", CONTESTED), had(story, "B", CONTESTED)
    saved = ", ".join(
        f"{at / HOUR_US:.3f}"
        for machine, at in story.tasks["A"].checkpoints
        if machine == CONTESTED
    )
    measured = (
        f"A until {_shown(ours, 1)} (checkpoints: {saved or 'none'}), B from {_shown(theirs, 0)}"
    )
    paper = "lets App A retain HW1 until a checkpoint makes migration cheap"
    return _claim(
        "market: A keeps HW1 until its checkpoint, then B gets it",
        paper,
        measured,
        kept_until_checkpoint(story),
        "h",
    )


def _shown(span: tuple[float, float] | None, end: int) -> str:
    return "never" if span is None else f"{span[end]:.3f}"


def _nothing_wasted(stories: Stories) -> Claim:
    lost = wasted(stories["market"])
    return _claim("market: no work is wasted", "avoiding wasted work", lost, lost < NOTHING_H, "h")


def _raised(stories: Stories) -> Claim:
    bids = [
        quote.bid
        for quote in stories["market"].quotes
        if quote.bid is not None and quote.limit is not None
    ]
    rise = (bids[-1] / bids[0] - 1) * PERCENT if bids else None
    paper = "B raises its willingness to pay for HW1 over time"
    return _claim(
        "market: B raises its bid for HW1 while it waits on HW2",
        paper,
        rise,
        rise is not None and rise > 0,
        "%",
    )


def _costs(stories: Stories) -> list[Claim]:
    """What each pays on the market, and both together, against fcfs-p; the paper speaks of both
    together."""
    paper = "FCFS-P: wasting work and raising overall cost"
    cost = {
        cloud: {task: one.cost for task, one in story.tasks.items()}
        for cloud, story in stories.items()
    }
    total = {cloud: sum(costs.values()) for cloud, costs in cost.items()}
    found = []
    for who, ours, theirs in (
        ("A pays", cost["market"]["A"], cost["fcfs-p"]["A"]),
        ("B pays", cost["market"]["B"], cost["fcfs-p"]["B"]),
        ("both together pay", total["market"], total["fcfs-p"]),
    ):
        note = _why_not_less(stories["fcfs-p"]) if who == "B pays" and ours >= theirs else ""
        found.append(
            _claim(
                f"market: {who} less than on fcfs-p",
                paper,
                (1 - ours / theirs) * PERCENT,
                ours < theirs,
                "%",
                note,
            )
        )
    return found


def _why_not_less(preemptive: Story) -> str:
    cheapest = min(HOURS["B"], key=lambda machine: PRICES[machine] * HOURS["B"][machine])
    if held(preemptive, "B") != [cheapest]:
        return ""
    return (
        "at the same prices nobody can pay less than B on fcfs-p: it has its cheapest machine from"
        " the start"
    )


def _sooner(stories: Stories) -> Claim:
    sooner = done_at(stories["fcfs"], "B") - done_at(stories["market"], "B")
    return _claim(
        "market: B is done sooner than on fcfs",
        "FCFS: B is left with HW2 at higher cost and lower performance",
        sooner,
        sooner > 0,
        "h",
    )


def _told(cloud: str, story: Story) -> str:
    tasks = " and ".join(
        f"{task} runs on {', then '.join(map(str.upper, held(story, task)))} and is done at"
        f" {done_at(story, task):.2f} hours for ${one.cost:.3f}"
        for task, one in story.tasks.items()
    )
    lost = wasted(story)
    return (
        f"On {'the ' if cloud == 'market' else ''}{cloud} {tasks};"
        f" {f'{lost:.2f} hours of work are' if lost >= NOTHING_H else 'no work is'} wasted."
    )


def _varied(results: Results) -> str:
    """How much of this hangs on what the paper leaves open."""
    stories = [results[cell] for cell in _variations()]
    spared = sum(wasted(story) < DECISION_H for story in stories)
    at_once = [wasted(story) for story in stories if held(story, "B")[:1] == [CONTESTED]]
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


def _rows(stories: Stories) -> list[dict[str, float | str | None]]:
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
