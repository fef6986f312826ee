"""Webhooks: events of a tenant or the operator, sent to a URL of their choice.

The webhooks themselves are part of the journaled state. Their cursors are in `beside.db`
(`cursors`) and are written after a delivery, so that a crash may repeat a delivery but never skips
one. `dispatcher` is the fair queue, `delivery` chooses the events, `signing` signs them, `sender`
sends them, and `addresses` blocks the operator's own network.
"""
