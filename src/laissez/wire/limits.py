"""Limits that the server and its clients share. Most are promises of the API; some are defaults of
`laissez.server.settings`."""

from __future__ import annotations

from typing import Final

# request line and headers; a browser's cookies, including those of other sites, take a few KiB
HEAD_BYTES_MAX: Final = 64 * 1024
BODY_BYTES_MAX: Final = 16 * 1024  # 16 alternatives, the most in one request, take a few KiB
BATCH_BYTES_MAX: Final = 256 * 1024
BATCH_COMMANDS_MAX: Final = 500  # other tenants' commands are interleaved
PREVIEW_COMMANDS_MAX: Final = 1_000  # they run in a forked process and delay no trading
INSTANCES_PER_REQUEST_MAX: Final = 100
OPEN_ORDERS_MAX: Final = 1_000  # per tenant; the market's own bound
DEAD_AFTER_S: Final = 60  # a peer that misses four heartbeats is gone
OUTBOUND_BYTES_MAX: Final = 1024 * 1024
PAGE_DEFAULT: Final = 100
PAGE_MAX: Final = 1_000
PRICE_PIECES_MAX: Final = 2_000  # per price history, the newest; about 20 ms of work
CLIENT_ID_MAX: Final = 64  # characters of an idempotency key or a message's id
WEBHOOK_URL_MAX: Final = 2_048  # characters
WEBHOOK_EVENTS_MAX: Final = 100  # per delivery
WEBHOOK_BYTES_MAX: Final = 256 * 1024  # per delivery; one event always fits
# Per tenant, including skipped pages of events: at about 2 ms each, 4 % of a core.
WEBHOOK_DELIVERIES_PER_SECOND: Final = 20
WEBHOOK_DELIVERIES_BURST: Final = 100  # per tenant
DEAD_LETTERS_MAX: Final = 1_000  # per webhook; the oldest are dropped, and counted
