"""The parameters of a world, drawn from its seed: its size, its clients, its limits, and how often
each fault happens. In half of all worlds a fault never happens."""

from __future__ import annotations

from random import Random

import msgspec

from laissez.journal.wal import CHECKPOINT_PAGES
from laissez.server.settings import Books, Data, Journal, Limits, Settings, Stream, Webhooks
from laissez_check.clients.holder import Habits
from laissez_check.clients.requests import PRICES
from laissez_check.simulated.network import Weather
from laissez_check.worlds import draw_world

TENANTS_MAX = 5
# Kept for resuming. A world has more, so that clients ask for events that are gone.
FEW_EVENTS = 40


class Mix(Habits, frozen=True, kw_only=True):
    """The habits of the clients, the service's settings, and the faults."""

    settings: Settings
    weather: Weather
    crashes: int  # at most
    crash_within: tuple[int, ...]  # operations of the disk, after a start
    power: float  # share of crashes that are power failures
    io_errors: float  # per start: the disk fails, and the machine goes on
    full: float  # per start: the disk fills up
    stops: float  # per start: a planned stop
    slow_disk: float
    wrong_clock: float
    standstill: float  # the whole machine stands still for a while
    streams: bool  # a tenant reads server-sent events
    webhooks: bool  # a tenant has a webhook
    checkpoint_pages: int  # of SQLite's log, after which it moves into the database


def draw_mix(draw: Random, folder: str) -> Mix:
    forest = draw_world(draw)
    tenants = draw.choice((2, 2, 2, 3)) if draw.random() < 0.9 else TENANTS_MAX
    forest = msgspec.structs.replace(forest, tenants=forest.tenants[:tenants])

    def rate(*rates: float) -> float:
        """Half of the time 0."""
        return draw.choice((0.0,) * len(rates) + rates)

    settings = _settings(draw, folder, forest.orders_per_tenant_max)
    return Mix(
        forest=forest,
        settings=settings,
        page_max=settings.limits.page_max,
        weather=Weather(
            refuse=rate(0.02, 0.2),
            reset=rate(0.03, 0.15),
            silent=rate(0.03, 0.1),
            pieces=rate(0.1, 0.5),
            late=rate(0.02, 0.2),
            deaf=rate(0.05, 0.2),
        ),
        prices=draw.choice((PRICES, PRICES[1:4], PRICES)),
        requests=draw.choice((2, 3, 5, 9)),
        pause_s=draw.choice((0.0, 0.02, 0.1, 0.3)),
        crashes=draw.choice((0, 1, 1, 2, 3)),
        crash_within=draw.choice(((30,), (120,), (12, 60, 120))),
        power=draw.choice((0.0, 0.5, 1.0)),
        io_errors=rate(0.3, 0.5),
        full=rate(0.2, 0.4),
        stops=rate(0.2, 0.5),
        slow_disk=draw.choice((0.1, 0.5, 0.9)),
        wrong_clock=rate(0.5, 0.8),
        standstill=rate(0.05, 0.2),
        restarts=rate(0.03, 0.1),
        forgetful=draw.choice((0.0, 0.5)),
        doubles=rate(0.05, 0.2),
        streams=draw.random() < 0.4,
        webhooks=draw.random() < 0.4 and settings.limits.history_events_max > FEW_EVENTS,
        holds=draw.random() < 0.4,
        checkpoint_pages=draw.choice((4, CHECKPOINT_PAGES)),
    )


def _settings(draw: Random, folder: str, orders_max: int) -> Settings:
    limits = Limits(
        open_orders_max=orders_max,
        commands_per_second=draw.choice((1_000_000, 1_000_000, 1_000_000, 50)),
        commands_burst=draw.choice((1_000_000, 1_000_000, 20)),
        sessions_max=draw.choice((8, 8, 3)),
        heartbeat_s=draw.choice((0.5, 1.0, 2.0)),
        dead_after_s=4.0,
        outbound_messages_max=draw.choice((1_000, 1_000, 5)),
        outbound_bytes_max=draw.choice((1 << 20, 1 << 20, 1024)),
        history_events_max=draw.choice((1_000_000, 1_000_000, 1_000_000, FEW_EVENTS)),
        batch_commands_max=8,
        instances_per_request_max=4,
        pending_commands_max=draw.choice((20_000, 20_000, 8)),
        page_max=draw.choice((1000, 1000, 50)),
        page_default=5,
    )
    return Settings(
        data=Data(folder=folder),
        journal=Journal(
            snapshot_every_s=draw.choice((0.2, 1.0, 5.0, 86_400.0)),
            snapshots_kept=draw.choice((1, 2)),
        ),
        books=Books(
            keep_hours=draw.choice((24.0, 0.001)),
            close_after_commands=draw.choice((10, 40, 1_000_000)),
        ),
        limits=limits,
        stream=Stream(rate_every_s=draw.choice((0.5, 2.0))),
        webhooks=Webhooks(allow_http=True, allow_addresses=("127.0.0.0/8",), timeout_s=1.0),
    )
