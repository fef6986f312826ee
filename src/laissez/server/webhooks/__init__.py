"""Webhooks: a holder's events, sent to an address of its own.

Which webhooks there are is part of the journaled state (`registry`); how far each got is in
`beside.db` (`cursors`), written after a delivery, so that a crash may repeat one and never skips
one. `dispatcher` decides whose turn it is, `delivery` what is sent, `sender` sends it, `signing`
signs it, and `addresses` keeps it from leading inside.
"""
