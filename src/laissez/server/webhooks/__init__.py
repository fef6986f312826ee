"""Webhooks: a holder's events, sent to an address of its own.

The webhooks themselves are part of the journaled state; how far each got is in `beside.db`
(`cursors`), written after a delivery, so that a crash may repeat one and never skips one.
`dispatcher` is the fair queue, `delivery` decides what is sent, `sender` sends it, `signing` signs
it, and `addresses` keeps it from leading inside.
"""
