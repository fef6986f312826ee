"""Every bound of the service with its default and the reason for it. Settings and per-tenant caps can change most of them."""

from __future__ import annotations

from typing import Final

HEAD_BYTES_MAX: Final = 64 * 1024  # address and headers; a browser's cookies, those of others included, are a few KiB
BODY_BYTES_MAX: Final = 16 * 1024  # one request names at most 16 alternatives: a few KiB
BATCH_BYTES_MAX: Final = 256 * 1024
BATCH_COMMANDS_MAX: Final = 500  # bounds how long one request may keep the market to itself: a few milliseconds
PREVIEW_COMMANDS_MAX: Final = 1_000  # carried out aside, so they keep nobody waiting
INSTANCES_PER_REQUEST_MAX: Final = 100
OPEN_ORDERS_MAX: Final = 1_000  # per tenant; the market's own bound
COMMANDS_PER_SECOND: Final = 100  # per tenant, on average
COMMANDS_BURST: Final = 500  # per tenant, at once
SESSIONS_MAX: Final = 8  # per tenant, streams included
OPERATOR_SESSIONS_MAX: Final = 64  # of all who operate together: a console that is looked at takes two
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
CLIENT_ID_MAX: Final = 64  # characters of an idempotency key or a message's id
KEYS_LIVE_MAX: Final = 2  # of one name: the one in use and its successor
KEY_NAMES_MAX: Final = 8  # per tenant
PENDING_COMMANDS_MAX: Final = 20_000  # applied and not yet durable; beyond it new ones are turned away
