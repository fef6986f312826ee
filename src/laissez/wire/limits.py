"""Every bound of the service with its default and the reason for it. Settings and per-tenant caps
can change most of them."""

from __future__ import annotations

from typing import Final

# address and headers; a browser's cookies, those of others included, are a few KiB
HEAD_BYTES_MAX: Final = 64 * 1024
# from the first byte of a head, or of a connection, to the last; a session's hello too
HEAD_WITHIN_S: Final = 10
# from the head to the end of the body: the largest comes at 9 KiB per second
BODY_WITHIN_S: Final = 30
# in all, sessions and streams included: as many files are open, and each costs 10 to 20 KiB
CONNECTIONS_MAX: Final = 10_000
BODY_BYTES_MAX: Final = 16 * 1024  # one request names at most 16 alternatives: a few KiB
BATCH_BYTES_MAX: Final = 256 * 1024
# bounds what one request asks for; others have their turn in between
BATCH_COMMANDS_MAX: Final = 500
PREVIEW_COMMANDS_MAX: Final = 1_000  # carried out aside, so they keep nobody waiting
INSTANCES_PER_REQUEST_MAX: Final = 100
OPEN_ORDERS_MAX: Final = 1_000  # per tenant; the market's own bound
COMMANDS_PER_SECOND: Final = 100  # per tenant, on average
COMMANDS_BURST: Final = 500  # per tenant, at once
# answered per tenant, and per address without a key in force; beyond it they come later. About 1 %
# of a core
REFUSALS_PER_SECOND: Final = 100
REFUSALS_BURST: Final = 500
WAIT_S_MAX: Final = 0.05  # in line, when everybody has waited so long for a while; then 503
SESSIONS_MAX: Final = 8  # per tenant, streams included
# of all who operate together: a console that is looked at takes two
OPERATOR_SESSIONS_MAX: Final = 64
HEARTBEAT_S: Final = 15
DEAD_AFTER_S: Final = 60  # a peer that has not been heard of for four heartbeats is gone
OUTBOUND_MESSAGES_MAX: Final = 1_000  # waiting for one session, then it is cut off and may resume
OUTBOUND_BYTES_MAX: Final = 1024 * 1024
IDEMPOTENCY_HOURS: Final = 24
IDEMPOTENCY_KEYS_MAX: Final = 1_000_000  # remembered over all tenants; about 250 bytes each
HISTORY_HOURS: Final = 24
HISTORY_EVENTS_MAX: Final = 1_000_000  # kept for resuming over all tenants; about 250 bytes each
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
# applied and not yet durable; beyond it new ones are turned away
PENDING_COMMANDS_MAX: Final = 20_000
