"""How many sessions and streams each holder has open, and that nobody has more than it may."""

from __future__ import annotations

from laissez.wire.problems import Code, ProblemError

RETRY_AFTER_S = 1.0


class StreamQuota:
    def __init__(self) -> None:
        self.taken: dict[str, int] = {}

    def enter(self, holder: str, cap: int) -> None:
        taken = self.taken.get(holder, 0)
        if taken >= cap:
            raise ProblemError(
                Code.TOO_MANY_SESSIONS,
                f"you have {taken} sessions and streams open and may have {cap}: close one first",
                RETRY_AFTER_S,
            )
        self.taken[holder] = taken + 1

    def leave(self, holder: str) -> None:
        left = self.taken[holder] - 1
        if left:
            self.taken[holder] = left
        else:
            del self.taken[holder]

    def __len__(self) -> int:
        return sum(self.taken.values())
