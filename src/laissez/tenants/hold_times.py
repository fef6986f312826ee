"""Estimates how long a node will be kept from how long nodes were kept: the time they were held,
divided by the number that were lost.

That is the maximum-likelihood estimate for leases that end at a constant rate, those that still
last included. It starts from one imagined lease of an hour. Where nodes come and go every few
minutes, an application should not restart for one more.
"""

from __future__ import annotations

from typing import Final

from laissez.tenants.view import TenantView
from laissez.units import SECOND_US

EXPECTED_S_MIN: Final = 60.0  # costs are divided by the estimate
COLD_STARTS: Final = 5.0  # a node is first expected to stay for at least this many cold starts


class HoldTimes:
    """Sees every view in turn. Seeing the same view twice changes nothing."""

    def __init__(self, expected_s: float) -> None:
        self._expected_s = expected_s
        self._since: dict[str, int] = {}
        self._at = 0
        self._ended = 0
        self._ended_us = 0
        self._lasting_us = 0

    def see(self, view: TenantView) -> None:
        held = {lease.leaf: lease.since for lease in view.leases}
        for leaf, since in self._since.items():
            if held.get(leaf) != since:
                self._ended += 1
                self._ended_us += self._at - since
        self._since, self._at = held, view.now
        # the server's clock may be a little ahead of the view's
        self._lasting_us = sum([view.now - since for since in held.values() if since < view.now])

    def expected_s(self, cold_s: float = 0.0) -> float:
        """The expected time for which a node that needs `cold_s` to start is kept."""
        first_s = max(self._expected_s, COLD_STARTS * cold_s)
        return max(
            EXPECTED_S_MIN,
            (first_s + (self._ended_us + self._lasting_us) / SECOND_US) / (1 + self._ended),
        )
