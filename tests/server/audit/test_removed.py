"""Missing old refusals: removed by the service, as a line of its log says, or by an attacker who
forged that line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from laissez.cli.audit import app
from laissez.server.audit.log import REMOVED, encode_line
from laissez.server.audit.refusals import DAY_US, Line
from laissez.server.audit.verify import Verdict, verify
from laissez.units import format_time
from support.audit_world import BEGAN, DAYS, append, change, lines, made, noted
from support.audit_world import remove as remove_lines

pytestmark = pytest.mark.once

LAST = 9  # the last line of a day with a digest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path / "data")


def remove(folder: Path, day: int, keep_days: int) -> None:
    """Remove lines as the service or a forger does, with a line of the given day in a valid
    chain."""
    at = BEGAN + day * DAY_US
    removal = Line(0, format_time(at), REMOVED, until=LAST, keep_days=keep_days)
    append(folder, [noted(at), removal])
    remove_lines(folder, *range(1, LAST + 1))


def removed(verdict: Verdict) -> tuple[int, str, str, int]:
    return (
        verdict.removed_lines,
        verdict.removed_from,
        verdict.removed_until,
        verdict.removed_after_days,
    )


def too_young(keep_days: int, *days: str) -> list[str]:
    why = (
        f"though line 14, which tells of their removal, was written before they were {keep_days}"
        " days old"
    )
    gone = "the log of refusals had 3 lines of that day, and they are gone,"
    return [f"digests, {date}: {gone} {why}" for date in days]


def test_removed_old_days_are_accepted_and_listed_in_the_verdict(folder: Path) -> None:
    remove(folder, day=93, keep_days=90)
    verdict = verify(folder)
    assert ([], (9, DAYS[0], DAYS[2], 90)) == (verdict.problems, removed(verdict))


def test_days_that_were_not_removed_are_not_listed(folder: Path) -> None:
    assert (0, "", "", 0) == removed(verify(folder))


@pytest.mark.parametrize(("day", "young"), [(3, DAYS[:3]), (91, DAYS[1:3]), (92, DAYS[2:3])])
def test_removed_recent_days_are_a_problem_despite_a_line_about_them(
    folder: Path, day: int, young: list[str]
) -> None:
    """An attacker with access to the folder can add such a line. A bug once accepted any of
    them."""
    remove(folder, day=day, keep_days=90)
    verdict = verify(folder)
    assert (too_young(90, *young), 9 - 3 * len(young)) == (verdict.problems, verdict.removed_lines)


def test_a_known_retention_overrides_that_in_a_line(folder: Path) -> None:
    remove(folder, day=4, keep_days=1)
    assert ([], 1) == (verify(folder).problems, verify(folder).removed_after_days)
    assert too_young(90, *DAYS[:3]) == verify(folder, keep_days=90).problems
    assert verify(folder, keep_days=1).ok


@pytest.mark.parametrize("keep_days", [0, -1_000])
def test_a_line_without_a_retention_is_accepted_only_for_very_old_days(
    folder: Path, keep_days: int
) -> None:
    remove(folder, day=3, keep_days=keep_days)
    young = too_young(90, *DAYS[:3]) if keep_days == 0 else too_young(1, DAYS[2])
    assert young == verify(folder).problems


def test_a_line_dated_in_the_future_makes_nothing_older(folder: Path) -> None:
    remove(folder, day=400, keep_days=90)
    assert verify(folder).ok
    assert too_young(90, *DAYS[:3]) == verify(folder, now=BEGAN + 3 * DAY_US).problems
    assert verify(folder, now=BEGAN + 400 * DAY_US).ok


def test_clocks_may_differ_a_little(folder: Path) -> None:
    """Days are removed as soon as they are old enough, right after midnight."""
    remove(folder, day=93, keep_days=90)
    assert verify(folder, now=BEGAN + 93 * DAY_US - 60_000_000).ok


def test_a_line_with_an_invalid_time_proves_no_removal(folder: Path) -> None:
    remove(folder, day=93, keep_days=90)
    before, last = lines(folder)[-2:]
    date = last.at[:10]
    forged, _ = encode_line(
        Line(14, f"{date}T99:00:00.000000Z", REMOVED, until=LAST, keep_days=90), before.chain
    )
    change(folder, "refusals", lambda rows: {**rows, 14: forged})
    broken, *gone = verify(folder).problems
    assert broken.startswith("refusals, line 14: expected a time such as")
    assert ["though no line tells of their removal"] * 3 == [
        one.rpartition(", ")[2] for one in gone
    ]


def test_the_command_shows_removed_days_and_takes_the_retention(folder: Path) -> None:
    remove(folder, day=4, keep_days=1)

    def run(*arguments: str, **environment: str) -> tuple[int, str]:
        done = CliRunner().invoke(
            app, ["verify", "--data", str(folder), *arguments], env=environment
        )
        return done.exit_code, done.stdout

    code, shown = run("-o", "json")
    told = json.loads(shown)
    assert (0, 9, DAYS[0], DAYS[2], 1) == (
        code,
        *(told[f"removed_{name}"] for name in ("lines", "from", "until", "after_days")),
    )
    code, shown = run()
    assert (
        0 == code
        and f"removed_from        {DAYS[0]}\nremoved_until       {DAYS[2]}\nremoved_after_days  1\n"
        in shown
    )
    assert (1, 1) == (run("--keep-days", "90")[0], run(LAISSEZ_AUDIT__KEEP_DAYS="90")[0])
    assert (2, 2) == (run("--keep-days", "0")[0], run(LAISSEZ_AUDIT__KEEP_DAYS="ever")[0])
