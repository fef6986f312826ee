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
        if lease.end is not None and lease.end <= before:
            state.carried[lease.tenant] = state.carried.get(lease.tenant, 0) + lease_charge(
                lease, 0, before
            )
            del state.leases_on_books[lease.tenant, lease.id]
        elif lease.start < before:
            lease.carried = PriceSegment(lease.start, before, None, lease_charge(lease, 0, before))
            lease.charges = [
                (max(start, before), end, rate)
                for start, end, rate in lease.charges
                if end > before
            ]
    for fee in state.fees_on_books:
        if fee.end <= before:
            state.carried[fee.tenant] = state.carried.get(fee.tenant, 0) + fee.rate * (
                fee.end - fee.start
            )
    state.fees_on_books = [fee for fee in state.fees_on_books if fee.end > before]


def lease_charge(lease: Lease, since: int, until: int) -> int:
    """What a lease was charged within a period; a carried amount counts for a period that holds all
    of it."""
    carried = (
        lease.carried.charge if lease.carried is not None and since <= lease.carried.start else 0
    )
    return carried + sum(
        rate * overlap(start, end, since, until) for start, end, rate in lease.charges
    )


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
        FeeLine(fee.order, fee.scope, fee.rate, fee.start, fee.end, fee_charge(fee, since, until))
        for fee in state.fees_on_books
        if fee.tenant == tenant and fee.start < until and fee.end > since
    )
    carried = state.carried.get(tenant, 0) if whole else 0
    total = sum(line.charge for line in leases) + sum(line.charge for line in fees) + carried
    return Bill(tenant, since, until, leases, fees, carried, total)


def fee_charge(fee: Fee, since: int, until: int) -> int:
    return fee.rate * overlap(fee.start, fee.end, since, until)


def price_history(lease: Lease) -> tuple[PriceSegment, ...]:
    """The stretches a lease was charged for, after what closed books hold of it."""
    carried = () if lease.carried is None else (lease.carried,)
    return (
        *carried,
        *(
            PriceSegment(start, end, rate, rate * (end - start))
            for start, end, rate in lease.charges
        ),
    )
