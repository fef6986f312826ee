"""What one seed makes of a world: how large it is, who lives in it, what is scarce, and what goes
wrong how often. Some of it never does."""

from __future__ import annotations

from random import Random

import msgspec

from laissez.server.settings import Books, Data, Journal, Limits, Settings, Stream, Webhooks
from laissez_check.simulated.network import Weather
from laissez_check.worlds import World, draw_world

TENANTS_MAX = 5
# kept for resuming: fewer than a world has, so that some are gone when they are asked for
FEW_EVENTS = 40
PRICES = ("0", "1", "2", "2.000001", "3.333333", "4", "7", "10.5")


class Mix(msgspec.Struct, frozen=True):
    forest: World
    settings: Settings
    weather: Weather
    prices: tuple[str, ...]
    requests: int  # of each holder, in the first phase
    pause_s: float  # between two of them
    crashes: int  # at most
    crash_within: tuple[int, ...]  # operations of the disk, after a start
    power: float  # how likely it is the power that fails, rather than the process
    io_errors: float  # how likely the disk fails while the machine goes on, per start
    full: float
    stops: float  # how likely a planned stop comes first, per start
    slow_disk: float
    wrong_clock: float
    standstill: float  # the whole machine stands still for a while
    restarts: float  # of clients, per request
    forgetful: float  # how likely a client that starts again has not kept its ids
    doubles: float  # requests that are sent twice at once
    streams: bool  # somebody reads server-sent events
    webhooks: bool  # somebody has events sent
    holds: bool  # the operator begins with a hold on everything


def draw_mix(draw: Random, folder: str) -> Mix:
    forest = draw_world(draw)
    tenants = draw.choice((2, 2, 2, 3)) if draw.random() < 0.9 else TENANTS_MAX
    forest = msgspec.structs.replace(forest, tenants=forest.tenants[:tenants])

    def rate(*rates: float) -> float:
        """None, half of the time."""
        return draw.choice((0.0,) * len(rates) + rates)

    settings = _settings(draw, folder, forest.orders_per_tenant_max)
    return Mix(
        forest,
        settings,
        Weather(
            refuse=rate(0.02, 0.2),
            reset=rate(0.03, 0.15),
            silent=rate(0.03, 0.1),
            pieces=rate(0.1, 0.5),
            late=rate(0.02, 0.2),
            deaf=rate(0.05, 0.2),
        ),
        draw.choice((PRICES, PRICES[1:4], PRICES)),
        draw.choice((2, 3, 5, 9)),
        draw.choice((0.0, 0.02, 0.1, 0.3)),
        draw.choice((0, 1, 1, 2, 3)),
        draw.choice(((30,), (120,), (12, 60, 120))),
        draw.choice((0.0, 0.5, 1.0)),
        rate(0.3, 0.5),
        rate(0.2, 0.4),
        rate(0.2, 0.5),
        draw.choice((0.1, 0.5, 0.9)),
        rate(0.5, 0.8),
        rate(0.05, 0.2),
        rate(0.03, 0.1),
        draw.choice((0.0, 0.5)),
        rate(0.05, 0.2),
        draw.random() < 0.4,
        draw.random() < 0.4 and settings.limits.history_events_max > FEW_EVENTS,
        draw.random() < 0.4,
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
