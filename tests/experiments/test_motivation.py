"""Two tasks on three machines: what a task loses and when, the course on each cloud, and the claims
that follow from it."""

from __future__ import annotations

import msgspec
import pytest

from laissez.units import HOUR_US, SECOND_US
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.plan import Plan
from laissez_experiments.motivation.experiment import Motivation
from laissez_experiments.motivation.run import HOURS, PRICES, Finished, MotivationRun, Quote, Story
from laissez_experiments.motivation.task import Piece, Task, TaskWorld

pytestmark = pytest.mark.once

PLAN = Plan(seeds=1, quick=True)
SAVED_S = 100.0


@pytest.fixture(scope="module")
def results() -> dict[Cell, Story]:
    return {cell: cell.run() for cell in Motivation().cells(PLAN)}


def verdicts(results: dict[Cell, Story]) -> dict[str, bool | None]:
    return {claim.claim: claim.holds for claim in Motivation().findings(PLAN, results).claims}


def notes(results: dict[Cell, Story]) -> dict[str, str]:
    return {claim.claim: claim.note for claim in Motivation().findings(PLAN, results).claims}


def world(checkpoint_s: float = SAVED_S) -> TaskWorld:
    """An hour of work on `slow`, half an hour on `fast`; a restart takes ten seconds."""
    return TaskWorld(
        Task(
            {"slow": 1.0, "fast": 0.5},
            ("slow", "fast"),
            1.0,
            checkpoint_s=checkpoint_s,
            restart_s=10.0,
        ),
        0,
    )


def at(seconds: float) -> int:
    return round(seconds * SECOND_US)


def test_prices_give_back_every_cost_of_the_papers_table() -> None:
    costs = {
        task: {machine: round(PRICES[machine] * hours, 2) for machine, hours in table.items()}
        for task, table in HOURS.items()
    }
    assert {"A": {"hw1": 0.21, "hw2": 0.25, "hw3": 0.24}, "B": {"hw1": 0.14, "hw2": 0.15}} == costs


def test_a_machine_that_goes_takes_the_work_since_the_checkpoint_along() -> None:
    one = world()
    one.gain("slow/1", 0)
    one.lose("slow/1", at(150), voluntary=False)
    assert pytest.approx(100 / 3600) == one.app.done
    assert (at(100), at(50)) == (one.node_time.useful, one.node_time.lost)
    assert [("slow", at(100))] == one.checkpoints
    assert [
        Piece("slow", 0, at(150), "works"),
        Piece("slow", at(100), at(150), "lost"),
    ] == one.pieces


def test_a_task_without_checkpoints_writes_as_it_goes_and_loses_nothing() -> None:
    one = world(checkpoint_s=0.0)
    one.gain("slow/1", 0)
    one.lose("slow/1", at(150), voluntary=False)
    assert pytest.approx(150 / 3600) == one.app.done
    assert 0 == one.node_time.lost


def test_it_changes_to_a_faster_machine_at_its_checkpoint_and_restarts_there() -> None:
    one = world()
    one.gain("slow/1", 0)
    one.gain("fast/1", at(50))
    one.advance(at(120))
    assert [
        ("slow", 0, 100, "works"),
        ("fast", 100, 110, "restarts"),
        ("fast", 110, 120, "works"),
    ] == [
        (piece.machine, piece.start / SECOND_US, piece.end / SECOND_US, piece.what)
        for piece in one.pieces
    ]
    assert pytest.approx((100 + 2 * 10) / 3600) == one.app.done
    assert 0 == one.node_time.lost


def test_the_story_of_the_paper_comes_out_of_bids_and_limits(results: dict[Cell, Story]) -> None:
    found = verdicts(results)
    assert ["market: B pays less than on fcfs-p"] == [
        claim for claim, holds in found.items() if not holds
    ]
    assert 9 == len(found)
    told = {
        cloud: [lease[:2] for lease in results[MotivationRun(cloud=cloud)].leases]
        for cloud in ("fcfs", "fcfs-p", "market")
    }
    assert [("A", "hw1"), ("B", "hw2"), ("B", "hw1")] == told["fcfs"]
    assert [("A", "hw1"), ("B", "hw1"), ("A", "hw3")] == told["fcfs-p"]
    assert {("A", "hw1"), ("B", "hw2"), ("B", "hw1"), ("A", "hw3")} == set(told["market"])


def test_a_machine_that_is_lost_before_its_checkpoint_breaks_the_claims_about_the_market(
    results: dict[Cell, Story],
) -> None:
    """The market's course is that of fcfs-p, at twice its price, and B never bids."""
    preempted = results[MotivationRun(cloud="fcfs-p")]
    dear = {
        task: msgspec.structs.replace(one, cost=2 * one.cost)
        for task, one in preempted.tasks.items()
    }
    market = msgspec.structs.replace(preempted, tasks=dear, quotes=(Quote(0, 0.6, 1.0, None),))
    found = verdicts({**results, MotivationRun(cloud="market"): market})
    assert {
        "market: A keeps HW1 until its checkpoint, then B gets it",
        "market: no work is wasted",
        "market: B raises its bid for HW1 while it waits on HW2",
        "market: A pays less than on fcfs-p",
        "market: B pays less than on fcfs-p",
        "market: both together pay less than on fcfs-p",
    } == {claim for claim, holds in found.items() if not holds}


def test_claims_about_the_other_clouds_can_fail_too(results: dict[Cell, Story]) -> None:
    """On fcfs and fcfs-p A waits for B to be done with HW1, which it has from the start."""
    late = Finished(
        at=HOUR_US,
        cost=1.0,
        lost_us=0,
        pieces=(Piece("hw1", HOUR_US // 2, HOUR_US, "works"),),
        checkpoints=(),
    )
    soon = Finished(
        at=HOUR_US // 4,
        cost=1.0,
        lost_us=0,
        pieces=(Piece("hw1", 0, HOUR_US // 4, "works"),),
        checkpoints=(),
    )
    leases = (
        ("B", "hw1", 0, HOUR_US // 4, "relinquished"),
        ("A", "hw1", HOUR_US // 2, HOUR_US, "relinquished"),
    )
    other = Story(tasks={"A": late, "B": soon}, leases=leases)
    found = verdicts(
        {**results, MotivationRun(cloud="fcfs"): other, MotivationRun(cloud="fcfs-p"): other}
    )
    assert {
        "fcfs: A has HW1 until it is done, and B has to begin on HW2, its second choice",
        "fcfs-p: B takes HW1 between two checkpoints of A, and work is wasted",
        "market: B is done sooner than on fcfs",
    } == {claim for claim, holds in found.items() if not holds}


def test_on_fcfs_p_lost_work_is_not_enough_if_b_does_not_take_over(
    results: dict[Cell, Story],
) -> None:
    preempted = results[MotivationRun(cloud="fcfs-p")]
    later = tuple(
        (task, machine, start + HOUR_US * (task == "B"), end + HOUR_US * (task == "B"), why)
        for task, machine, start, end, why in preempted.leases
    )
    found = verdicts(
        {**results, MotivationRun(cloud="fcfs-p"): msgspec.structs.replace(preempted, leases=later)}
    )
    assert not found["fcfs-p: B takes HW1 between two checkpoints of A, and work is wasted"]


def test_why_b_does_not_pay_less_is_told_only_where_it_is_so(results: dict[Cell, Story]) -> None:
    """B has HW1, its cheapest, throughout on fcfs-p; if it had been on HW2 first, another reason
    would have to be found."""
    claim = "market: B pays less than on fcfs-p"
    assert "cheapest machine" in notes(results)[claim]
    preempted = results[MotivationRun(cloud="fcfs-p")]
    moved = msgspec.structs.replace(
        preempted, leases=(("B", "hw2", 0, 1, "relinquished"), *preempted.leases)
    )
    assert "" == notes({**results, MotivationRun(cloud="fcfs-p"): moved})[claim]


def test_the_text_counts_the_variations_in_which_b_has_hw1_at_once(
    results: dict[Cell, Story],
) -> None:
    """Every variation becomes the market's own course, or that of fcfs-p."""
    ours, preempted = results[MotivationRun(cloud="market")], results[MotivationRun(cloud="fcfs-p")]
    varied = [
        cell
        for cell in results
        if cell not in [MotivationRun(cloud=cloud) for cloud in ("fcfs", "fcfs-p", "market")]
    ]
    assert (
        "in 0 B begins on HW1."
        in Motivation().findings(PLAN, {**results, **dict.fromkeys(varied, ours)}).text
    )
    all_at_once = Motivation().findings(PLAN, {**results, **dict.fromkeys(varied, preempted)}).text
    assert f"in {len(varied)} B begins on HW1, and 0.10 hours of work are wasted" in all_at_once


def test_the_figure_and_its_rows_are_drawn_from_the_stories(results: dict[Cell, Story]) -> None:
    found = Motivation().findings(PLAN, results)
    assert found.draw is not None
    assert 4 == len(found.draw().axes)
    assert sum(
        len(one.pieces)
        for cloud in ("fcfs", "fcfs-p", "market")
        for one in results[MotivationRun(cloud=cloud)].tasks.values()
    ) == len(found.rows)
    assert len(found.rows) == len(found.tips)
