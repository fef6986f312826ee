"""Batches of genomes, one after the other: any hardware will do, and there is time to wait for
cheap hours."""

from __future__ import annotations

from typing import Final

from laissez.tenants import Deadline, Leaves
from laissez.tenants.parabricks import Batch, Parabricks
from laissez.units import HOUR_US

LENGTH_H: Final = 5
SAMPLES: Final = 90
VALUE: Final = 700.0
NODES_MAX: Final = 64
COLD_S: Final = 240.0


class BatchWorld:
    """A node works once its cold start is over; one that is lost takes what it did since the
    checkpoint with it."""

    def __init__(self, now: int) -> None:
        self._begin(now)

    def _begin(self, now: int) -> None:
        batch = Batch([1.0] * SAMPLES, ("h100", "a100"), now=now, nodes_max=NODES_MAX)
        self.app = Parabricks(batch, Deadline(now, now + LENGTH_H * HOUR_US, VALUE), COLD_S)
        self._since: dict[str, int] = {}

    def live(self, held: Leaves, now: int) -> None:
        batch = self.app.batch
        if batch.done >= 1:
            self._begin(now)
            return
        warm = tuple(
            leaf for leaf, since in self._since.items() if now - since >= COLD_S * 1_000_000
        )
        for leaf in [leaf for leaf in warm if leaf not in held]:
            batch.lost(leaf, warm, now)
            warm = tuple(other for other in warm if other != leaf)
        batch.advance(warm, now)
        self._since = {leaf: self._since.get(leaf, now) for leaf in held}
