"""What a question is answered with when it has no answer. Commands are never answered with an
exception: they are refused."""

from __future__ import annotations


class MarketError(Exception):
    """Base of everything the market raises on purpose."""


class UnknownScope(MarketError, LookupError):
    """No such node, or none that the asker may see: the two cannot be told apart (M12)."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"no scope {path!r} in your pricing domain; expected a root, or a node above a leaf"
            " you own"
        )
        self.path = path


class UnknownNode(MarketError, LookupError):
    """No such node, or not of the kind that was asked for. Only the operator's questions are
    answered like this."""

    def __init__(self, path: str, expected: str) -> None:
        super().__init__(f"there is no {expected} {path!r}")
        self.path = path


class UnknownLease(MarketError, LookupError):
    """The tenant has no lease of this number, or none that the books still hold."""

    def __init__(self, tenant: str, id: int) -> None:
        super().__init__(f"no lease {id} of {tenant!r} in the open books")
        self.tenant = tenant
        self.id = id


class TimeNotReached(MarketError, ValueError):
    """A bill cannot end in the future: what will be charged then is not known."""

    def __init__(self, asked: int, now: int) -> None:
        super().__init__(
            f"a bill can end at {now} at the latest, asked for {asked}; apply AdvanceTime first"
        )


class EmptyPeriod(MarketError, ValueError):
    """A bill cannot end before it begins, nor begin before time does."""

    def __init__(self, since: int, until: int) -> None:
        super().__init__(
            f"no bill begins at {since} and ends at {until}; expected a beginning of 0 or later,"
            " and an end not before it"
        )


class BooksAreClosed(MarketError, ValueError):
    """The detail behind a period that begins before the books were closed is gone."""

    def __init__(self, asked: int, closed_before: int) -> None:
        super().__init__(f"the books are closed before {closed_before}, asked for {asked}")


class SnapshotError(MarketError, ValueError):
    """These bytes are not a snapshot of this format, or they are damaged."""
