"""One batch follows live prices: its states come from its leases, and the claims from its
states."""

from __future__ import annotations

import pytest

from laissez.sim.clouds.cloud import Lease
from laissez.units import HOUR_US, MICRO_PER_DOLLAR
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.findings import Findings
from laissez_experiments.lab.plan import Plan
from laissez_experiments.trade_down.experiment import EXPECTED, WORTHS, TradeDown
from laissez_experiments.trade_down.run import COLD_S, Course, Sample, TradeDownRun
from laissez_experiments.trade_down.states import PAUSED, WITHOUT, sequence, spans, spent

pytestmark = pytest.mark.once

PLAN = Plan(seeds=1, quick=True)


def lease(tree: str, start: float, end: float, *prices: tuple[float, float]) -> Lease:
    """From hour to hour; $1 an hour unless other prices are given, each from its hour on."""
    pieces = tuple(
        (round(at * HOUR_US), round(rate * MICRO_PER_DOLLAR))
        for at, rate in prices or ((start, 1.0),)
    )
    ends = [at for at, _ in pieces[1:]] + [round(end * HOUR_US)]
    charge = sum(rate * (until - at) for (at, rate), until in zip(pieces, ends, strict=True))
    return Lease(
        f"{tree}/gpu0",
        "batch",
        round(start * HOUR_US),
        round(end * HOUR_US),
        "relinquished",
        charge,
        pieces,
    )


def course(*leases: Lease, done_at_h: float | None = 3.0, pace: float = 1 / 3) -> Course:
    """`pace` is the share of the work that is done in an hour, whatever it runs on; on schedule it
    is a fourth."""
    samples = tuple(
        Sample(half * HOUR_US // 2, {"h100": 2.0, "a100": 1.0}, min(1.0, half / 2 * pace))
        for half in range(9)
    )
    return Course(
        leases=leases,
        samples=samples,
        done_at=None if done_at_h is None else round(done_at_h * HOUR_US),
    )


DOWN = (lease("h100", 0.0, 1.0, (0.0, 1.2)), lease("a100", 1.0, 2.0))
BACK = lease("h100", 2.5, 3.0)
STAYS = course(lease("h100", 0.0, 3.0, (0.0, 1.2)))


def found(trades: Course, stays: Course = STAYS, others: Course | None = None) -> Findings:
    """`others` is what the batch does if its work is worth the most."""
    made_up: dict[Cell, Course] = dict.fromkeys(TradeDown().cells(PLAN), trades)
    most = TradeDownRun(worth=WORTHS[-1])
    return TradeDown().findings(
        PLAN, {**made_up, TradeDownRun(stays=True): stays, most: others or trades}
    )


def claims(trades: Course, stays: Course = STAYS) -> list[bool | None]:
    return [claim.holds for claim in found(trades, stays).claims]


def hours(trades: Course) -> list[tuple[str, float, float]]:
    return [(one.state, one.start / HOUR_US, one.end / HOUR_US) for one in spans(trades)]


def test_between_two_leases_the_batch_is_paused_and_in_a_move_it_is_on_the_newer_one() -> None:
    trades = course(lease("a100", 2.0, 3.0), lease("h100", 0.0, 1.1), lease("a100", 1.0, 1.5))
    assert hours(trades) == [
        ("h100", 0.0, 1.0),
        ("a100", 1.0, 1.5),
        (PAUSED, 1.5, 2.0),
        ("a100", 2.0, 3.0),
    ]


def test_a_gap_as_short_as_a_cold_start_is_a_hand_off() -> None:
    cold = COLD_S / 3600
    trades = course(
        lease("h100", 0.0, 1.0), lease("a100", 1.0 + cold, 2.0), lease("a100", 2.0 + cold, 3.0)
    )
    assert hours(trades) == [
        ("h100", 0.0, pytest.approx(1.0 + cold)),
        ("a100", pytest.approx(1.0 + cold), 3.0),
    ]
    longer = course(lease("h100", 0.0, 1.0), lease("a100", 1.001 + cold, 2.0))
    assert sequence(longer) == ("h100", PAUSED, "a100")


def test_whoever_is_not_ahead_of_schedule_does_not_pause() -> None:
    assert sequence(course(*DOWN, BACK, pace=0.25)) == ("h100", "a100", WITHOUT, "h100")
    assert sequence(course(*DOWN, BACK, pace=0.26)) == EXPECTED


def test_a_move_that_is_given_up_leaves_no_gap() -> None:
    assert sequence(
        course(lease("h100", 0.0, 3.0), lease("a100", 1.0, 1.2), lease("h100", 2.5, 4.0))
    ) == ("h100", "a100", "h100")


def test_what_was_spent_counts_every_price_for_as_long_as_it_was_charged() -> None:
    leases = [lease("h100", 0.0, 2.0, (0.0, 3.0), (1.0, 5.0)), lease("a100", 3.0, 4.0)]
    assert [0.0, 3.0, 5.5, 8.0, 8.5, 9.0] == [
        pytest.approx(spent(leases, round(hour * HOUR_US))) for hour in (0, 1, 1.5, 3, 3.5, 5)
    ]


def test_claims_hold_only_for_the_papers_sequence_in_time_and_for_less() -> None:
    assert [True, True, True] == claims(course(*DOWN, BACK))
    assert [False, True, True] == claims(course(*DOWN, lease("a100", 2.5, 3.0)))
    assert [False, True, True] == claims(course(*DOWN, BACK, pace=0.2))
    assert [False, True, False] == claims(STAYS)
    assert [True, False, True] == claims(course(*DOWN, BACK, done_at_h=None))
    assert [False, True, True] == claims(course(*DOWN, lease("h100", 2.5, 3.0, (2.5, 1.3))))


def test_the_text_counts_the_worths_that_give_the_sequence_and_tells_what_the_others_give() -> None:
    every = found(course(*DOWN, BACK))
    assert every.claims[0].note == "this sequence with 5 of 5 worths of the work"
    assert (
        "5 (1, 1.1, 1.2, 1.3, 1.5) give exactly the sequence H100, A100, paused, H100. It is in"
        " time with 5 of the 5" in every.text
    )
    but_one = found(course(*DOWN, BACK), others=course(lease("h100", 0.0, 3.0)))
    assert but_one.claims[0].note == "this sequence with 4 of 5 worths of the work"
    assert (
        "4 (1, 1.1, 1.2, 1.3) give exactly the sequence H100, A100, paused, H100; with 1.5 it goes"
        " H100. It is in time with 5" in but_one.text
    )
    assert " none give exactly the sequence" in found(STAYS).text


def test_the_batch_trades_down_pauses_and_resumes_by_its_own_prices() -> None:
    results = {cell: cell.run() for cell in TradeDown().cells(PLAN)}
    shown = TradeDown().findings(PLAN, results)
    assert [True, True, True] == [claim.holds for claim in shown.claims]
    assert [claim.measured for claim in shown.claims[:1]] == ["h100, a100, paused, h100"]
    assert len({frozenset(row) for row in shown.rows}) == 1
    assert shown.rows[-1]["done"] == 1.0
    assert shown.draw is not None
    shown.draw()


def test_a_batch_without_a_gpu_is_drawn_too() -> None:
    draw = found(course(*DOWN, BACK, pace=0.2)).draw
    assert draw is not None
    assert WITHOUT in {text.get_text() for text in draw().axes[1].texts}
