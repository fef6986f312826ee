"""What all operations of one server share."""

from __future__ import annotations

from functools import lru_cache

from laissez.server.figures import MarketSamples
from laissez.server.gateway import Gateway
from laissez.server.inframaps import Board
from laissez.server.levels import Feed
from laissez.server.metrics import Metrics
from laissez.server.preview import Previews
from laissez.server.rate_limits import StreamQuota
from laissez.server.settings import Settings
from laissez.server.signins import SignIns
from laissez.server.statements import FiledStatements
from laissez.server.webhooks.dispatcher import Webhooks


class Site:
    def __init__(
        self,
        gateway: Gateway,
        settings: Settings,
        metrics: Metrics,
        places: StreamQuota,
        signins: SignIns,
        webhooks: Webhooks,
    ) -> None:
        self.gateway = gateway
        self.settings = settings
        self.metrics = metrics
        self.places = places
        self.signins = signins
        self.webhooks = webhooks
        self.inframaps = Board()
        self.levels = Feed(gateway)
        self.previews = Previews(gateway)
        self.statements = FiledStatements(gateway)
        # of nodes, some of which have very many
        self.children = lru_cache(1_000)(gateway.exchange.market.topology.children)
        self.samples = MarketSamples(gateway, metrics)
        self.openapi = b""
        self.docs = b""
        self.count = metrics.answered
