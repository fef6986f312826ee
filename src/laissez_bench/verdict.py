"""The verdict on the service under load: its failures, and the checks that could not be made."""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, TypeVar

import msgspec

# refusals that a market gives
EXPECTED = frozenset(
    {"already_filled", "not_your_lease", "not_your_order", "too_many_orders", "overloaded"}
)
R = TypeVar("R")


class Judged(msgspec.Struct, kw_only=True):
    failures: list[str] = []
    not_judged: list[str] = []

    def expect(self, holds: bool, failure: str) -> None:
        if not holds:
            self.failures.append(failure)

    def expect_at_most(self, what: str, most: float, found: float, form: str, of: str = "") -> None:
        """`form` writes both numbers, and `of` says more about the bound."""
        failure = f"{what}: expected at most {form.format(most)}{of}, found {form.format(found)}"
        self.expect(found <= most, failure)

    def expect_answers(
        self, where: str, problems: dict[str, int], expected: Collection[str] = EXPECTED
    ) -> None:
        for code, count in sorted(problems.items()):
            self.expect(code in expected, f"{where}: {count:,} answers were {code}")


class Verdict(Judged, Generic[R]):
    rows: list[R]
