"""Bills, integrated eagerly (M14): whenever time passes, every lease is charged for exactly that
stretch."""

from __future__ import annotations

from laissez.market.answers import Bill, FeeLine, LeaseLine, PriceSegment
from laissez_check.oracle_state import Fee, Lease, State


class BooksAreClosed(LookupError):
    """The period begins before the last closing."""


def overlap(start: int, end: int, since: int, until: int) -> int:
    return max(0, min(end, until) - max(start, since))


def let_pass(state: State, to: int) -> None:
    """Charge every lease and every running fee from now to then; nothing changes in between, so
    each rate is constant."""
    if to == state.now:
        return
    for lease in state.live_leases():
        rate = state.charged(lease)
        charge(lease, state.now, to, rate)
        state.revenue_so_far += rate * (to - state.now)
    for fee in state.fees_on_books:
        state.revenue_so_far += fee.rate * overlap(fee.start, fee.end, state.now, to)
    state.now = to


def charge(lease: Lease, start: int, end: int, rate: int) -> None:
    """One more stretch, joined to the last one if the rate is the same."""
    if lease.charges and lease.charges[-1][2] == rate:
        start = lease.charges.pop()[0]
    lease.charges.append((start, end, rate))


def close_books(state: State, before: int) -> None:
    """Forget what ended at or before then, into one amount per tenant; close the earlier part of
    what did not, into one amount per lease."""
    state.closed_before = before
    for lease in list(state.leases_on_books.values()):
        charged = lease_charge(lease, 0, before)
        if lease.end is not None and lease.end <= before:
            state.carried[lease.tenant] += charged
            del state.leases_on_books[lease.tenant, lease.id]
        elif lease.start < before:
            lease.carried = PriceSegment(lease.start, before, None, charged)
            later = [one for one in lease.charges if one[1] > before]
            lease.charges = [(max(start, before), end, rate) for start, end, rate in later]
    for fee in state.fees_on_books:
        if fee.end <= before:
            state.carried[fee.tenant] += fee.rate * (fee.end - fee.start)
    state.fees_on_books = [fee for fee in state.fees_on_books if fee.end > before]


def lease_charge(lease: Lease, since: int, until: int) -> int:
    """The charge of a lease within a period. A carried amount counts if the period contains all of
    it."""
    charged = sum(rate * overlap(start, end, since, until) for start, end, rate in lease.charges)
    if lease.carried is not None and since <= lease.carried.start:
        charged += lease.carried.charge
    return charged


def bill(state: State, tenant: str, since: int | None, until: int | None) -> Bill:
    """Everything until now, carried amounts included; or one period, which may not begin before the
    last closing."""
    whole = since is None and until is None
    since = 0 if since is None else since
    until = state.now if until is None else until
    if not whole and since < state.closed_before:
        raise BooksAreClosed(since)
    leases = tuple(
        LeaseLine(lease.id, lease.leaf, lease.start, lease.end, lease_charge(lease, since, until))
        for lease in sorted(state.leases_on_books.values(), key=lambda lease: lease.id)
        if lease.tenant == tenant
        and lease.start < until
        and (lease.end is None or lease.end > since)
    )
    fees = tuple(
        fee_line(fee, fee.rate * overlap(fee.start, fee.end, since, until))
        for fee in state.fees_on_books
        if fee.tenant == tenant and fee.start < until and fee.end > since
    )
    carried = state.carried[tenant] if whole else 0
    charged = sum(line.charge for line in leases) + sum(line.charge for line in fees)
    return Bill(tenant, since, until, leases, fees, carried, charged + carried)


def fee_line(fee: Fee, charge: int) -> FeeLine:
    return FeeLine(fee.order, fee.scope, fee.rate, fee.start, fee.end, charge)


def price_history(lease: Lease) -> tuple[PriceSegment, ...]:
    """The stretches a lease was charged for, after its part in closed books."""
    carried = () if lease.carried is None else (lease.carried,)
    pieces = [PriceSegment(*piece, piece[2] * (piece[1] - piece[0])) for piece in lease.charges]
    return (*carried, *pieces)
