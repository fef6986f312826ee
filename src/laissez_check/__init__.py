"""Checks of every promise, by code that does not trust the product.

For the market: the oracle, random histories, small worlds and invariants, at the top. They compare
`laissez.market` with the rules of `docs/reference/market.md`, and shrink failures until they can be
read. The oracle is written from that page and shares only the vocabulary with the market: it may
import nothing of the market's workings.

For the service: `simulated` worlds on a disk, a network and a clock that a seed controls; `crashes`
of a real server; `clients` of both; `damage` to data folders; the `wire`; `access`; `bills`
computed again from the journal. `event_audit` computes owners and bills from events alone, and
`disk` is a disk with faults. Unit tests of single functions do not belong here.
"""
