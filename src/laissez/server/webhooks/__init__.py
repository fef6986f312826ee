"""Webhooks: a holder's events, sent to an address of its own.

Which webhooks there are is part of the journaled state (`registry`); where each of them stands is a
small file beside the journal (`keeping`), written after a delivery, so that a crash may repeat one
and never skips one. `dispatcher` decides whose turn it is, `delivery` what is sent, `sending` sends
it, and `addresses` sees to it that it goes nowhere inside.
"""
