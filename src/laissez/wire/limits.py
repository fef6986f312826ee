"""Bounds that the server and its clients know, each with the reason for it. Most are promises of
the API; some are defaults of `laissez.server.settings`."""

from __future__ import annotations

from typing import Final

# address and headers; a browser's cookies, those of others included, are a few KiB
HEAD_BYTES_MAX: Final = 64 * 1024
BODY_BYTES_MAX: Final = 16 * 1024  # one request names at most 16 alternatives: a few KiB
BATCH_BYTES_MAX: Final = 256 * 1024
# bounds what one request asks for; others have their turn in between
BATCH_COMMANDS_MAX: Final = 500
PREVIEW_COMMANDS_MAX: Final = 1_000  # carried out aside, so they keep nobody waiting
INSTANCES_PER_REQUEST_MAX: Final = 100
OPEN_ORDERS_MAX: Final = 1_000  # per tenant; the market's own bound
DEAD_AFTER_S: Final = 60  # a peer that has not been heard of for four heartbeats is gone
OUTBOUND_BYTES_MAX: Final = 1024 * 1024
PAGE_DEFAULT: Final = 100
PAGE_MAX: Final = 1_000
PRICE_PIECES_MAX: Final = 2_000  # of one history of prices, the newest; some 20 ms of work
CLIENT_ID_MAX: Final = 64  # characters of an idempotency key or a message's id
KEYS_LIVE_MAX: Final = 2  # of one name: the one in use and its successor
KEY_NAMES_MAX: Final = 8  # per tenant
WEBHOOKS_MAX: Final = 8  # per holder
WEBHOOK_URL_MAX: Final = 2_048  # characters
WEBHOOK_EVENTS_MAX: Final = 100  # in one delivery
WEBHOOK_BYTES_MAX: Final = 256 * 1024  # of one delivery; one event always fits
# per tenant, on average, pages that are passed over too: at 2 ms or so, 4 % of a core
WEBHOOK_DELIVERIES_PER_SECOND: Final = 20
WEBHOOK_DELIVERIES_BURST: Final = 100  # per tenant, at once
DEAD_LETTERS_MAX: Final = 1_000  # kept per webhook; the oldest are dropped, and counted
