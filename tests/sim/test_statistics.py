"""Statistics over many runs, where the answer is known."""

from __future__ import annotations

import math

import pytest

from laissez.sim.boxplot import text_box
from laissez.sim.statistics import Bootstrap, Estimate, Spread, quantile, spread

pytestmark = pytest.mark.once

OURS = [0.9, 0.8, 0.7, 0.95, 0.85, 0.6, 0.75, 0.9]
THEIRS = [0.8, 0.7, 0.6, 0.85, 0.75, 0.5, 0.65, 0.8]  # a tenth less in every seed


def test_values_that_are_all_the_same_have_an_interval_of_no_width() -> None:
    assert Estimate(0.5, 0.5, 0.5) == Bootstrap(5).mean([0.5] * 5)


def test_the_interval_of_a_mean_is_about_two_standard_errors_either_side() -> None:
    values = [float(value) for value in range(100)]
    error = math.sqrt(sum((value - 49.5) ** 2 for value in values) / 100 / 100)
    # ends of an interval from 10,000 draws have a standard error of 0.08 here: four of them are
    # allowed
    found = Bootstrap(100).mean(values)
    assert found.low is not None and found.high is not None
    assert 49.5 == found.value
    assert pytest.approx(49.5 - 1.96 * error, abs=0.3) == found.low
    assert pytest.approx(49.5 + 1.96 * error, abs=0.3) == found.high


def test_a_difference_is_taken_seed_by_seed() -> None:
    """The seeds differ far more than the clouds do, and that must not blur the difference."""
    found = Bootstrap(8).difference(OURS, THEIRS)
    assert (0.1, 0.1, 0.1) == pytest.approx((found.value, found.low, found.high))
    assert found.excludes_zero


@pytest.mark.parametrize(
    ("low", "high", "excluded"),
    [(0.1, 0.2, True), (-0.2, -0.1, True), (-0.1, 0.1, False), (None, None, False)],
)
def test_an_interval_excludes_zero_only_on_one_side_of_it(
    low: float | None, high: float | None, excluded: bool
) -> None:
    assert excluded == Estimate(0.1, low, high).excludes_zero


def test_a_reduction_is_of_the_mean_degradation() -> None:
    """Half the degradation in every seed is a reduction by half, whatever is drawn."""
    theirs = [1 - 2 * (1 - ours) for ours in OURS]
    found = Bootstrap(8).reduction(OURS, theirs)
    assert found is not None
    assert (0.5, 0.5, 0.5) == pytest.approx((found.value, found.low, found.high))


def test_a_reduction_weighs_seeds_by_their_degradation() -> None:
    found = Bootstrap(2).reduction([0.9, 0.5], [0.8, 0.1])
    assert found is not None
    assert pytest.approx(1 - 0.6 / 1.1) == found.value


def test_there_is_no_reduction_without_degradation() -> None:
    assert Bootstrap(2).reduction([0.9, 0.9], [1.0, 1.0]) is None
    # a draw of the first three leaves nothing
    assert Bootstrap(5).reduction([0.9] * 5, [1.0, 1.0, 1.0, 0.9, 0.9]) is None


def test_few_seeds_have_no_interval() -> None:
    assert Estimate(0.9) == Bootstrap(1).mean([0.9])
    assert Estimate(0.5) == Bootstrap(1).reduction([0.5], [0.0])
    assert Estimate(0.5) == Bootstrap(4).mean([0.0, 1.0, 0.0, 1.0])
    assert Estimate(0.6, 0.2, 1.0) == Bootstrap(5).mean([1.0, 1.0, 1.0, 0.0, 0.0])


def test_the_draw_is_always_the_same() -> None:
    assert Bootstrap(8).mean(OURS) == Bootstrap(8).mean(OURS)


def test_too_few_values_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 8 values, one for each seed, found 7"):
        Bootstrap(8).difference(OURS, THEIRS[:-1])


def test_quantiles_lie_between_values_in_proportion() -> None:
    assert [1.0, 1.5, 3.0, 5.0] == [
        quantile([1.0, 2.0, 3.0, 4.0, 5.0], share) for share in (0.0, 0.125, 0.5, 1.0)
    ]


def test_a_spread_has_the_figures_of_a_box_plot() -> None:
    found = spread([float(value) for value in range(100, -1, -1)])
    assert Spread(5.0, 25.0, 50.0, 75.0, 95.0, 50.0, 101) == found
    assert 50.0 == found.quartile_range


def test_a_box_in_text() -> None:
    assert " ├─▒◆▒┃▒─┤ " == text_box(Spread(0.1, 0.3, 0.6, 0.7, 0.9, 0.4, 9), 11)
    assert "          ◆" == text_box(Spread(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9), 11)
    assert "◆         ┃" == text_box(Spread(1.2, 1.2, 1.2, 1.2, 1.2, -0.1, 9), 11)


def test_the_part_of_the_way_is_computed_from_means_and_missing_without_a_gap() -> None:
    bootstrap = Bootstrap(6)
    found = bootstrap.part_of_the_way([0.8] * 6, [0.6] * 6, [1.0] * 6)
    assert found is not None and (0.5, 0.5, 0.5) == pytest.approx(
        (found.value, found.low, found.high)
    )
    assert bootstrap.part_of_the_way([0.8] * 6, [0.9] * 6, [0.9] * 6) is None
