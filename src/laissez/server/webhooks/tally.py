"""Counted since the start of the process, for the metrics."""

from __future__ import annotations


class Tally:
    def __init__(self) -> None:
        self.delivered = 0  # deliveries, each with one event or more
        self.failed = 0
        self.given_up = 0  # events
        self.retrying = 0  # webhooks whose last attempt failed
