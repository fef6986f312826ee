"""What a lease was charged, piece by piece, as long as the books know it: the newest pieces, and
all before them as one without a rate."""

from __future__ import annotations

from typing import TypeAlias

from laissez.market.money import dollars
from laissez.server.accounts import LeaseRecord
from laissez.server.exchange import Exchange
from laissez.server.telling import optional_price
from laissez.server.views import reached
from laissez.wire.limits import PRICE_PIECES_MAX
from laissez.wire.times import format_time
from laissez.wire.views import PriceSegment

Piece: TypeAlias = tuple[int, int, int | None, int]  # start, end, rate, exact charge


def price_pieces(exchange: Exchange, tenant: str, lease: LeaseRecord, at: int) -> list[Piece]:
    """Until `at`: nothing has changed since the market's last command, so the last piece goes on,
    or one more does that this began."""
    market = exchange.market
    pieces = [
        (piece.start, piece.end, piece.rate, piece.charge)
        for piece in market.price_history(tenant, lease.number, PRICE_PIECES_MAX - 1)
    ]
    end = reached(exchange, at)
    view = market.lease(tenant, lease.number)
    if view is not None and view.end is None and end > market.now:
        _go_on(pieces, market.now, end, view.charged)
    return pieces


def _go_on(pieces: list[Piece], start: int, end: int, rate: int) -> None:
    charge = rate * (end - start)
    if pieces and pieces[-1][2] == rate:
        start, _, _, before = pieces.pop()
        charge += before
    pieces.append((start, end, rate, charge))


def in_words(pieces: list[Piece]) -> tuple[PriceSegment, ...]:
    return tuple(
        [
            PriceSegment(
                format_time(start), format_time(end), optional_price(rate), dollars(charge)
            )
            for start, end, rate, charge in pieces
        ]
    )
