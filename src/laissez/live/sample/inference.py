"""A service whose load swings like a day in a few minutes, with a burst now and then."""

from __future__ import annotations

import math
from typing import Final

from laissez.tenants import Leaves
from laissez.tenants.dynamo import Dynamo, Observation, Serving, Sla, built_in

SWING_S: Final = 3 * 3600.0  # of the application's time: three minutes of ours
BURST_EVERY_S, BURST_S = 2400.0, 300.0
# at its mean; conversations as in Azure's trace of 2023, mean lengths
REQUESTS_PER_S: Final = 800.0
ISL, OSL = 1155.0, 211.0
REVENUE_PER_HOUR: Final = 600.0


class InferenceWorld:
    """Observes its own load; the latencies are those that the profile promises, so nothing has to
    be corrected."""

    def __init__(self, now: int) -> None:
        profiles = built_in("llama-3.1-8b", 1)
        self._serving = Serving(profiles, Sla(2048, 256, 200, 20), correct=False)
        self.app = Dynamo(self._serving, ("h100", "a100"), REVENUE_PER_HOUR, REQUESTS_PER_S)
        self._start = self._at = now

    def live(self, held: Leaves, now: int) -> None:
        """Time passed, with `held`."""
        interval_s = (now - self._at) / 1_000_000
        if interval_s <= 0:
            return
        requests = self._load((now - self._start) / 1_000_000) * interval_s
        self.app.observe(
            Observation(
                requests,
                ISL,
                OSL,
                ttft_ms=50.0,
                itl_ms=12.0,
                request_duration_s=3.0,
                interval_s=interval_s,
            ),
            held,
        )
        self._at = now

    def _load(self, at_s: float) -> float:
        burst = 1.5 if at_s % BURST_EVERY_S < BURST_S else 1.0
        return REQUESTS_PER_S * (1 + 0.7 * math.sin(2 * math.pi * at_s / SWING_S)) * burst
