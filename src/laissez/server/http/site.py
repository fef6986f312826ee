"""What all operations of one server share."""

from __future__ import annotations

from functools import lru_cache

from laissez.server.desk import Desk
from laissez.server.filed import FiledStatements
from laissez.server.inframaps import Board
from laissez.server.levels import Feed
from laissez.server.market_samples import MarketSamples
from laissez.server.metrics import Metrics
from laissez.server.places import Places
from laissez.server.preview import Previews
from laissez.server.settings import Settings
from laissez.server.signins import SignIns
from laissez.server.webhooks.dispatcher import Webhooks


class Site:
    def __init__(
        self,
        desk: Desk,
        settings: Settings,
        metrics: Metrics,
        places: Places,
        signins: SignIns,
        webhooks: Webhooks,
    ) -> None:
        self.desk = desk
        self.settings = settings
        self.metrics = metrics
        self.places = places
        self.signins = signins
        self.webhooks = webhooks
        self.inframaps = Board()
        self.levels = Feed(desk)
        self.previews = Previews(desk)
        self.statements = FiledStatements(desk)
        # of nodes, some of which have very many
        self.children = lru_cache(1_000)(desk.exchange.market.topology.children)
        self.samples = MarketSamples(desk, metrics)
        self.openapi = b""
        self.docs = b""
        self.count = metrics.answered
