"""An operator, ready to run: the maps, and the sources that feed them. `read` is all the I/O there
is; `decide` is pure.

view = OperatorView(now=now, readings=operator.read(now), places=..., floors=..., memory=memory,
...) decision = operator.decide(view)
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from laissez.operators.composition import Composition, Decision
from laissez.operators.reading import Missing, Reading
from laissez.operators.sources.source import Source
from laissez.operators.view import OperatorView

AT_ONCE_MAX: Final = 16  # remote sources that are asked at the same time


class Operator:
    """`sources` are by the name of their signal."""

    def __init__(self, composition: Composition, sources: Mapping[str, Source]) -> None:
        self.composition = composition
        self.sources = dict(sources)

    def read(self, now: int) -> dict[str, Reading | Missing]:
        """One reading of every source. Remote ones are asked together: a monitoring system that
        hangs costs one timeout, not one for each signal."""
        remote = {name: source for name, source in self.sources.items() if source.is_remote}
        readings = {
            name: source.read(now) for name, source in self.sources.items() if not source.is_remote
        }
        if remote:
            with ThreadPoolExecutor(min(AT_ONCE_MAX, len(remote))) as pool:
                readings |= zip(
                    remote, pool.map(lambda source: source.read(now), remote.values()), strict=True
                )
        return readings

    def decide(self, view: OperatorView) -> Decision:
        return self.composition.decide(view)

    def close(self) -> None:
        """Give up the connections of all sources."""
        for source in self.sources.values():
            source.close()
