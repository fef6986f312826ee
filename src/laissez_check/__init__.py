"""Checks that do not trust what they check.

For the market: the oracle, random histories, small worlds and invariants, here at the top. They
find out whether `laissez.market` keeps the rules of `docs/reference/market.md`, and make a failure
small enough to read. The oracle is written from that page and shares only the vocabulary with the
market: nothing of it may import the market's workings.

For the service, a folder each: `simulated` worlds on a disk, a network and a clock decided by a
seed; `crashes` of a real server; `damage` to its files; the `wire`; `access`; `bills` worked out
again from the journal. `event_audit` works out owners and bills from events alone, `disk` is a disk
with faults. Unit tests of single functions do not belong here.
"""
