"""What all operations of one server share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laissez.service.desk import Desk
from laissez.service.places import Places
from laissez.service.settings import Settings

if TYPE_CHECKING:
    from laissez.service.http.events import Streams
    from laissez.service.metrics import Metrics


class Site:
    def __init__(self, desk: Desk, settings: Settings, metrics: Metrics, places: Places, streams: Streams) -> None:
        self.desk = desk
        self.settings = settings
        self.metrics = metrics
        self.places = places
        self.streams = streams
        self.openapi = b""
        self.docs = b""

    def count(self, operation: str, status: int) -> None:
        """One more answer."""
        self.metrics.answered(operation, status)
