"""Prices that follow power: the stretch of power, the record of a run, and claims that follow from
it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from laissez.cli.errors import is_ours
from laissez.operators import TraceError
from laissez_experiments.lab.experiment import Results
from laissez_experiments.lab.findings import TOO_FEW, Claim
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.writing import write_findings
from laissez_experiments.power.experiment import (
    Power,
    Seed,
    exchanged,
    leased,
    left,
    migrated,
    more_paid,
    more_worth,
    price,
    stayed,
)
from laissez_experiments.power.figure import Stretch, short, stretches
from laissez_experiments.power.run import (
    BEFORE,
    NODES,
    ROWS,
    SAMPLE_S,
    SCENARIO,
    Change,
    Course,
    PowerRun,
    Tenancy,
)
from laissez_experiments.power.series import (
    AFTER,
    COMFORTABLE,
    QUICK_AFTER,
    PowerSeriesError,
    two_rows,
)

pytestmark = pytest.mark.once

PLAN = Plan(seeds=5)  # the fewest that give an interval
JUMP_S, END_S = 1500, 5100
FIRST, OTHER = ([f"{row}/host{at}" for at in range(NODES)] for row in ROWS)
LONG = BEFORE + AFTER


def power_file(path: Path, values: Sequence[float]) -> Path:
    lines = [
        f"{600_000_000 + at * SAMPLE_S * 1_000_000},{value}\n" for at, value in enumerate(values)
    ]
    path.write_text("time,measured_power_util\n" + "".join(lines))
    return path


def course(
    begin: Sequence[Change],
    later: Sequence[Change] = (),
    floor_rose_s: float | None = 1503.0,
    reason: str = "relinquished",
) -> Course:
    """All nodes are free at first, for 5 dollars. The limits of leases are 10 dollars, 11 and so
    on; `reason` is why they end, if they do."""
    free = [Change(0, node, "", 5.0) for node in (*FIRST, *OTHER)]
    ends = {
        change.node: change.at_s for change in later if change.node in FIRST and not change.tenant
    }
    held = {
        change.node: Tenancy(
            tenant=change.tenant,
            limit=10.0 + at,
            end_s=ends.get(change.node, END_S),
            reason=reason if change.node in ends else "lasting",
        )
        for at, change in enumerate(begin)
        if change.node in FIRST
    }
    return Course(
        jump_s=JUMP_S,
        floor_rose_s=floor_rose_s,
        end_s=END_S,
        changes=(*free, *begin, *later),
        held=held,
    )


FULL = [Change(60, node, f"batch-{at}", 5.0) for at, node in enumerate(FIRST)]
DEAR = [Change(JUMP_S + 3, node, f"batch-{at}", 8.0) for at, node in enumerate(FIRST)]
GONE = [Change(JUMP_S + 60, node, "", 8.0) for node in FIRST[:2]]
CAME = [Change(JUMP_S + 60, node, f"batch-{at}", 6.0) for at, node in enumerate(OTHER[:2])]
STEERED, CALM = course(FULL, [*DEAR, *GONE, *CAME]), course(FULL, floor_rose_s=None)


def results(jumped: Course, plan: Plan = PLAN) -> Results:
    pressed = two_rows(plan).pressed
    return {
        cell: jumped if isinstance(cell, PowerRun) and cell.powers[0] == pressed else CALM
        for cell in Power().cells(plan)
    }


def claims(jumped: Course, plan: Plan = PLAN) -> list[Claim]:
    return list(Power().findings(plan, results(jumped, plan)).claims)


def test_power_that_is_made_up_jumps_out_of_comfort_in_one_row_alone() -> None:
    rows = two_rows(Plan())
    assert "made up" in rows.source
    assert (
        max(*rows.pressed[:BEFORE], *rows.other, *rows.calm)
        <= COMFORTABLE
        < min(rows.pressed[BEFORE:])
    )
    assert len(rows.pressed) == len(rows.other) == len(rows.calm) == LONG
    assert len(two_rows(Plan(quick=True)).pressed) == BEFORE + QUICK_AFTER


def test_the_largest_jump_of_the_first_file_decides_which_stretch_of_both_is_taken(
    tmp_path: Path,
) -> None:
    small, large = [0.7] * 8 + [0.73] * 20, [0.6] * 8 + [0.78] * 20
    first = power_file(tmp_path / "first.csv", [*small, *large])
    second = power_file(tmp_path / "second.csv", [at / 1000 for at in range(56)])
    rows = two_rows(Plan(power=(first, second)))
    assert rows.pressed == (0.6,) * BEFORE + (0.78,) * AFTER
    assert rows.other == tuple(at / 1000 for at in range(36 - BEFORE, 36 + AFTER))
    assert rows.source == "first.csv and second.csv, around the largest jump"


def test_without_a_second_file_the_quietest_stretch_is_the_other_row(tmp_path: Path) -> None:
    first = power_file(tmp_path / "first.csv", [0.5] * 30 + [0.7] * 8 + [0.78] * 20)
    rows = two_rows(Plan(power=(first,)))
    assert (rows.pressed, rows.other) == ((0.7,) * BEFORE + (0.78,) * AFTER, (0.5,) * LONG)


def test_files_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    good, flat = (
        power_file(tmp_path / "good.csv", [0.7] * 8 + [0.78] * 20),
        power_file(tmp_path / "flat.csv", [0.7] * 40),
    )
    brief = power_file(tmp_path / "brief.csv", [0.7] * 10)
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("time,measured_power_util\n0,much\n")
    for files, told in (
        ((good, flat, brief), "expected one or two files of power, one for each row, found 3"),
        (
            (flat,),
            (
                "expected a jump, 5 samples of power up to 0.72 and then 12 that begin above it,"
                " found none in 40 samples"
            ),
        ),
        ((good, brief), "expected at least 20 samples, as far as the jump in good.csv, found 10"),
    ):
        with pytest.raises(PowerSeriesError, match=told) as error:
            Power().cells(Plan(power=files))
        assert is_ours(error.value)
    with pytest.raises(
        TraceError, match="line 2: measured_power_util: expected a finite number, found 'much'"
    ):
        Power().cells(Plan(power=(wrong,)))


def test_every_seed_is_run_with_the_jump_and_without_it() -> None:
    rows = two_rows(PLAN)
    cells = [cell for cell in Power().cells(PLAN) if isinstance(cell, PowerRun)]
    assert [(cell.seed, cell.powers) for cell in cells] == [
        (seed, (first, rows.other))
        for seed in PLAN.all_seeds
        for first in (rows.pressed, rows.calm)
    ]


def test_a_course_is_measured_around_the_jump() -> None:
    assert leased(STEERED, ROWS[0], (-600, 0)) == 1.0
    assert (leased(STEERED, ROWS[0], (600, 1800)), leased(STEERED, ROWS[1], (600, 1800))) == (
        0.5,
        0.5,
    )
    assert (
        price(STEERED, ROWS[0], 0),
        price(STEERED, ROWS[0], 11),
        price(STEERED, ROWS[1], 11),
    ) == (5.0, 8.0, 5.0)
    assert list(stayed(STEERED).values()) == [False, False, True, True]
    assert (left(STEERED, of_own_will=True), left(STEERED, of_own_will=False)) == (FIRST[:2], [])
    assert (more_worth(STEERED), more_paid(STEERED)) == (2.0, 2.0)
    # no tenant left, and the other row is empty
    assert (more_worth(CALM), more_paid(CALM)) == (None, None)


def test_who_comes_to_the_row_after_the_jump_has_not_stayed() -> None:
    newcomers = [Change(JUMP_S + 120, node, "batch-9", 20.0) for node in FIRST[:2]]
    assert more_paid(course(FULL, [*DEAR, *GONE, *newcomers, *CAME])) == 2.0


def test_a_lease_that_is_taken_away_proves_nothing_about_urgency() -> None:
    evicted = course(FULL, [*DEAR, *GONE, *CAME], reason="floor_raised")
    assert (left(evicted, of_own_will=True), left(evicted, of_own_will=False)) == ([], FIRST[:2])
    assert (more_worth(evicted), more_worth(evicted, of_own_will=False)) == (None, 2.0)
    urgent = claims(evicted)[5]
    assert (urgent.measured, urgent.holds) == (None, None)
    assert "0 of 5 seeds" in urgent.note
    assert "10 more were ended by a floor or a bid above their limit" in urgent.note


def test_migration_is_what_leavers_gain_in_the_other_row_beyond_their_usual_share() -> None:
    assert (migrated(Seed(jumped=STEERED, calm=CALM)), exchanged(STEERED)) == (2, 2)
    others = [Change(JUMP_S + 60, node, "batch-3", 6.0) for node in OTHER[:2]]  # of one who stays
    assert (
        migrated(Seed(jumped=course(FULL, [*DEAR, *GONE, *others]), calm=CALM)),
        exchanged(course(FULL, [*GONE, *others])),
    ) == (0, 0)
    anyhow = course(FULL, CAME, floor_rose_s=None)
    assert migrated(Seed(jumped=STEERED, calm=anyhow)) == 0


def test_claims_hold_where_tenants_are_steered() -> None:
    found = claims(STEERED)
    assert [claim.measured for claim in found] == [
        3.0,
        pytest.approx(60.0),
        -50.0,
        2.0,
        50.0,
        2.0,
        2.0,
    ]
    assert [claim.holds for claim in found] == [True] * 7
    assert (
        "without the jump 0 % of it is leased, so there is room for 100 % points" in found[4].note
    )


def test_claims_fail_where_nothing_happens() -> None:
    found = claims(CALM)
    assert [claim.holds for claim in found] == [False, False, False, False, False, None, None]
    assert "it did not rise under 5 of 5 seeds" in found[0].note
    assert "0 of 5 seeds" in found[6].note
    # a decision too late
    assert claims(course(FULL, DEAR, floor_rose_s=JUMP_S + 12.0))[0].holds is False


def test_two_seeds_decide_little_and_can_be_drawn(tmp_path: Path) -> None:
    plan = Plan(seeds=2, quick=True)
    findings = Power().findings(plan, results(STEERED, plan))
    assert all(
        claim.holds is None and claim.note.startswith(TOO_FEW) for claim in findings.claims[1:]
    )
    assert "4 of the 8 nodes leased in row 1 at the jump" in findings.text
    assert (
        "worth 1 times the price on demand, where other experiments have 4 times" in findings.text
    )
    write_findings(Power.name, findings, tmp_path)
    assert (tmp_path / "power.svg").stat().st_size > 0
    assert len((tmp_path / "power.csv").read_text().splitlines()) == 1 + 2 * 2 * len(ROWS)


def test_a_nodes_time_is_told_by_who_had_it() -> None:
    mine = [one for one in stretches(STEERED) if one.node == FIRST[0]]
    assert mine == [
        Stretch(FIRST[0], "", 0.0, 1.0),
        Stretch(FIRST[0], "batch-0", 1.0, 26.0),
        Stretch(FIRST[0], "", 26.0, 85.0),
    ]
    assert short("inference-3") == "I3"


def test_a_run_writes_down_eight_nodes_and_a_floor_that_rises_with_the_next_decision() -> None:
    rows = two_rows(Plan(quick=True))
    found = PowerRun(powers=(rows.pressed, rows.other), tenants=3, seed=1000).run()
    assert [sum(node.startswith(row) for node in found.at(0)) for row in ROWS] == [NODES, NODES]
    assert found.floor_rose_s is not None
    assert 0 < found.floor_rose_s - found.jump_s <= SCENARIO.maps_seconds + 1
    floor = SCENARIO.prices.h100 * SCENARIO.prices.floor
    assert all(
        one.price > floor
        for one in found.at(found.end_s - 1).values()
        if one.node.startswith(ROWS[0])
    )
    assert min(one.price for one in found.at(0).values()) == pytest.approx(floor)
    at_jump, at_end = found.at(found.jump_s), found.at(found.end_s)
    assert {node: one.tenant for node, one in found.held.items()} == {
        node: at_jump[node].tenant for node in at_jump if node in found.held
    }
    assert all(
        found.jump_s < one.end_s <= found.end_s + 1 and one.limit > 0 for one in found.held.values()
    )
    assert all(
        at_end[node].tenant == one.tenant
        for node, one in found.held.items()
        if one.reason == "lasting"
    )
