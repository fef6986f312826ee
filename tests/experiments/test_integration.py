"""The experiment about lines of integration code: its claims follow from the counts."""

from __future__ import annotations

import pytest

from laissez_check.integration import Count, count_all, headroom_to_price
from laissez_experiments.integration import Integration, found
from laissez_experiments.lab.plan import Plan

pytestmark = pytest.mark.once

ONE_MORE = Count("Some app", pricing=18, profiling=10, paper_pricing=17, paper_profiling=10)


def test_what_takes_more_lines_than_in_the_paper_does_not_hold() -> None:
    pricing, profiling, headroom = found([ONE_MORE], 4).claims
    assert (18, 17, False) == (pricing.measured, pricing.paper, pricing.holds)
    assert (10, 10, True) == (profiling.measured, profiling.paper, profiling.holds)
    assert (4, 3, False) == (headroom.measured, headroom.paper, headroom.holds)


def test_every_system_is_counted_from_the_sources() -> None:
    experiment = Integration()
    assert [] == experiment.cells(Plan())
    findings = experiment.findings(Plan(), {})
    counts = count_all()
    lines = [number for count in counts for number in (count.pricing, count.profiling)]
    assert [*lines, headroom_to_price()] == [claim.measured for claim in findings.claims]
    assert [count.system for count in counts] == [row["system"] for row in findings.rows]


def test_the_figure_has_a_bar_for_the_paper_and_one_for_here() -> None:
    findings = found([ONE_MORE], 3)
    assert findings.draw is not None
    pricing, profiling = findings.draw().axes
    assert ["paper 17", "here 18"] == [text.get_text() for text in pricing.texts]
    assert ["paper 10", "here 10"] == [text.get_text() for text in profiling.texts]
