"""The lines of integration code: how they are counted, and that there are no more of them than the
paper needed."""

from __future__ import annotations

import pytest

from laissez_check.integration import Count, count_all, count_lines

pytestmark = pytest.mark.once

SOURCE = '''"""What it is.

More about it.
"""

from __future__ import annotations

import math  # not counted

A = 1  # counted


# a comment
@property
class B:
    """A docstring."""

    def f(self) -> str:
        """Another
        of two lines."""
        return (
            "text"
        )


class C:
    x = """text
    of two lines"""
    y: int = 1

    def g(self) -> int:
        """A docstring."""
        return self.y
'''


def test_statements_are_counted_however_they_are_wrapped_and_nothing_else() -> None:
    assert 1 + 4 + 5 == count_lines(SOURCE)


def test_one_class_is_counted_by_itself() -> None:
    assert 4 == count_lines(SOURCE, "B")
    assert 5 == count_lines(SOURCE, "C")


def test_one_function_or_field_of_a_class_is_counted_by_itself() -> None:
    assert (2, 1) == (count_lines(SOURCE, "C.g"), count_lines(SOURCE, "C.y"))


@pytest.mark.parametrize("count", count_all(), ids=lambda count: count.system)
def test_no_integration_takes_more_lines_than_the_paper_needed(count: Count) -> None:
    assert 0 < count.pricing <= count.paper_pricing
    assert 0 < count.profiling <= count.paper_profiling
