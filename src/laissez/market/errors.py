"""Errors of questions that have no answer. Commands never raise: they are refused."""

from __future__ import annotations


class MarketError(Exception):
    """Base of all errors that the market raises on purpose."""


class UnknownScope(MarketError, LookupError):
    """No such node, or one that the tenant may not see: both get the same answer (M12)."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"no scope {path!r} in your pricing domain; expected a root, or a node above a leaf"
            " you own"
        )
        self.path = path


class UnknownNode(MarketError, LookupError):
    """No such node, or one of another kind. Only questions of the operator raise this."""

    def __init__(self, path: str, expected: str) -> None:
        super().__init__(f"there is no {expected} {path!r}")
        self.path = path


class UnknownLease(MarketError, LookupError):
    """The tenant has no lease of this number, or the books no longer hold it."""

    def __init__(self, tenant: str, id: int) -> None:
        super().__init__(f"no lease {id} of {tenant!r} in the open books")
        self.tenant = tenant
        self.id = id


class TimeNotReached(MarketError, ValueError):
    """A bill cannot end in the future."""

    def __init__(self, asked: int, now: int) -> None:
        super().__init__(
            f"a bill can end at {now} at the latest, asked for {asked}; apply AdvanceTime first"
        )


class EmptyPeriod(MarketError, ValueError):
    """A bill cannot end before it begins, nor begin before time 0."""

    def __init__(self, since: int, until: int) -> None:
        super().__init__(
            f"no bill begins at {since} and ends at {until}; expected a beginning of 0 or later,"
            " and an end not before it"
        )


class BooksAreClosed(MarketError, ValueError):
    """The detail of a period before the closing of the books is gone."""

    def __init__(self, asked: int, closed_before: int) -> None:
        super().__init__(f"the books are closed before {closed_before}, asked for {asked}")


class SnapshotError(MarketError, ValueError):
    """These bytes are not a snapshot of this format, or they are damaged."""
