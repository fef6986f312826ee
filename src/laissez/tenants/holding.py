"""How long a node is likely to be kept, from how long nodes were: the time they were held over how
often one went.

That is the maximum-likelihood estimate for leases that end at a constant rate, those that still
last included. It begins with one lease of an hour in mind and learns from there: where nodes come
and go every few minutes, nobody should restart for one more, nor be thrown out for little.
"""

from __future__ import annotations

from typing import Final

from laissez.tenants.view import TenantView
from laissez.units import SECOND_US

EXPECTED_S_MIN: Final = 60.0
STARTS: Final = 5.0  # a start may take one part in so many of the time, before anything is known


class Holding:
    """Told every view in turn; the same view twice changes nothing."""

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
        # clocks may disagree a little
        self._lasting_us = sum([view.now - since for since in held.values() if since < view.now])

    def expected_s(self, cold_s: float = 0.0) -> float:
        """Never less than a minute: what is spread over next to nothing has no bound. Who needs
        `cold_s` to start means to stay for longer."""
        first_s = max(self._expected_s, STARTS * cold_s)
        return max(
            EXPECTED_S_MIN,
            (first_s + (self._ended_us + self._lasting_us) / SECOND_US) / (1 + self._ended),
        )
