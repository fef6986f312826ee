"""What all operations of one server share."""

from __future__ import annotations

from laissez.service.desk import Desk
from laissez.service.metrics import Metrics
from laissez.service.places import Places
from laissez.service.settings import Settings


class Site:
    def __init__(self, desk: Desk, settings: Settings, metrics: Metrics, places: Places) -> None:
        self.desk = desk
        self.settings = settings
        self.metrics = metrics
        self.places = places
        self.openapi = b""
        self.docs = b""
        self.count = metrics.answered
