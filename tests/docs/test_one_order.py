"""`docs/internals/one-order.md` is true: real orders call the functions that it names, in its
order, and pass through a bounded number of files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from support.order_trace import JOURNAL, LOOP, Calls
from support.paths import INTERNALS, TESTS

PAGE = (INTERNALS / "one-order.md").read_text()
WITHIN_S = 120
# The sections of the page that each way of sending an order passes through in the event loop. A
# batch is a REST request until its key is known.
WAYS = {
    "session": ["In, over a session", "One path", "Out", "Out, over a session"],
    "rest": ["In, over REST", "One path", "The answer, over REST", "Out", "Out, over REST"],
    "batch": ["In, in a batch", "One path", "Out", "Out, over REST"],
}
BATCH_JOINS = 5  # steps that a batch shares with REST before its own
# files of laissez, the market's 11 among them
FILES_MAX = {"session": 34, "rest": 38, "batch": 39}

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def traces() -> dict[str, Calls]:
    """Traces of another process, because only a new process can run the market interpreted."""
    done = subprocess.run(
        [sys.executable, "-m", "support.order_trace"],
        cwd=TESTS,
        env={**os.environ, "LAISSEZ_MARKET": "interpreted"},
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {
        way: {thread: [(file, name) for file, name in calls[thread]] for thread in calls}
        for way, calls in json.loads(done.stdout).items()
    }


def steps(section: str) -> list[tuple[str, str]]:
    """The files and functions that a section of the page names, in its order."""
    text = re.split(r"^## ", PAGE.partition(f"\n## {section}\n")[2], flags=re.MULTILINE)[0]
    found = re.findall(r"^(\d+)\. `([\w/]+\.py)` `([\w.]+)`: ", text, re.MULTILINE)
    assert [int(number) for number, _, _ in found] == list(range(1, len(found) + 1))
    assert found, section
    return [(file, name) for _, file, name in found]


def missing(expected: list[tuple[str, str]], called: list[tuple[str, str]]) -> str:
    """The first step that was not called after the previous one."""
    rest = iter(called)
    for step in expected:
        if step not in rest:
            return " ".join(step)
    return ""


@pytest.mark.parametrize("way", WAYS)
def test_an_order_takes_the_steps_of_the_page(traces: dict[str, Calls], way: str) -> None:
    expected = [step for section in WAYS[way] for step in steps(section)]
    if way == "batch":
        expected = steps("In, over REST")[:BATCH_JOINS] + expected
    assert missing(expected, traces[way][LOOP]) == ""
    assert missing(steps("In the journal's thread"), traces[way][JOURNAL]) == ""


def test_steps_in_another_order_are_noticed(traces: dict[str, Calls]) -> None:
    expected = steps("One path")
    expected[2], expected[3] = expected[3], expected[2]
    assert missing(expected, traces["rest"][LOOP]) == " ".join(expected[3])


@pytest.mark.parametrize("way", WAYS)
def test_an_order_passes_through_a_bounded_number_of_files(
    traces: dict[str, Calls], way: str
) -> None:
    files = {file for calls in traces[way].values() for file, _ in calls}
    assert len(files) <= FILES_MAX[way], sorted(files)


def test_every_section_with_steps_is_checked() -> None:
    sections = set(re.findall(r"^## (.+)$", PAGE, re.MULTILINE))
    assert sections == {one for way in WAYS.values() for one in way} | {"In the journal's thread"}
