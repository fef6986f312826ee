"""The plan of a reproduction: the number of seeds, the size, and the real files to use."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from laissez.sim.statistics import SEEDS_MIN

SEEDS: Final = 20
QUICK_SEEDS: Final = 2


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Seeds are 0, 1, 2, ...: fixed before anything was run. `traces` are of requests to inference
    services, `power` of a row's power; real files, for the experiments that can use them. `quick`
    makes everything small: it shows that all works, and its findings mean nothing.
    """

    seeds: int = SEEDS
    quick: bool = False
    traces: tuple[Path, ...] = ()
    power: tuple[Path, ...] = ()

    def halved(self) -> Plan:
        """The first half of the seeds, unless that would be too few for an interval."""
        if self.seeds < 2 * SEEDS_MIN:
            return self
        return msgspec.structs.replace(self, seeds=self.seeds // 2)

    @property
    def all_seeds(self) -> tuple[int, ...]:
        return tuple(range(self.seeds))
