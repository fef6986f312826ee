"""Which requests were made under which client's id, so that one sent again is answered as the first
time and not carried out twice.

Only the place in the journal is kept; the answer is read from there. Bounded by age and by count
over all tenants; the oldest go first.
"""

from __future__ import annotations

from collections import deque


class IdempotencyKeys:
    def __init__(self, ids_max: int, age_max_us: int) -> None:
        self._ids_max = ids_max
        self._age_max_us = age_max_us
        self._by_holder: dict[str, dict[str, int]] = {}
        self._oldest: deque[tuple[int, str, str]] = deque()

    def find(self, holder: str, id: str) -> int | None:
        """The sequence number of the request made under this id."""
        ids = self._by_holder.get(holder)
        return None if ids is None else ids.get(id)

    def add(self, at: int, holder: str, id: str, seq: int) -> None:
        ids = self._by_holder.get(holder)
        if ids is None:
            ids = self._by_holder[holder] = {}
        ids[id] = seq
        self._oldest.append((at, holder, id))
        self.forget(at)

    def forget(self, now: int) -> None:
        """What is too old or too many. Also when none is added: else an old id that is sent again
        would tell whether others did anything."""
        while self._oldest and (
            len(self._oldest) > self._ids_max or self._oldest[0][0] < now - self._age_max_us
        ):
            self._forget(*self._oldest.popleft())

    def add_older(self, at: int, holder: str, id: str, seq: int) -> bool:
        """Put one before all others, as when the journal is read backwards; False if there is no
        room."""
        if len(self._oldest) >= self._ids_max:
            return False
        ids = self._by_holder.setdefault(holder, {})
        # else it was forgotten once and used again: the later request is what it stands for
        if id not in ids:
            ids[id] = seq
            self._oldest.appendleft((at, holder, id))
        return True

    def __len__(self) -> int:
        return len(self._oldest)

    def _forget(self, at: int, holder: str, id: str) -> None:
        ids = self._by_holder[holder]
        del ids[id]
        if not ids:
            del self._by_holder[holder]
