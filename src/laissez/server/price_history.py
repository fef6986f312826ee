"""What a lease was charged, piece by piece, as long as the books know it: the newest pieces, and
all before them as one without a rate."""

from __future__ import annotations

from typing import TypeAlias

from laissez.exchange.exchange import Exchange
from laissez.market.answers import LeaseView
from laissez.server.views import reached
from laissez.units import dollars, format_time
from laissez.wire.limits import PRICE_PIECES_MAX
from laissez.wire.rendering import optional_price
from laissez.wire.views import PriceSegment

Piece: TypeAlias = tuple[int, int, int | None, int]  # start, end, rate, exact charge


def price_pieces(exchange: Exchange, lease: LeaseView, at: int) -> list[Piece]:
    """Until `at`: nothing has changed since the market's last command, so the last piece goes on,
    or one more does that this began."""
    market = exchange.market
    pieces = [
        (piece.start, piece.end, piece.rate, piece.charge)
        for piece in market.price_history(lease.tenant, lease.lease, PRICE_PIECES_MAX - 1)
    ]
    end = reached(exchange, at)
    if lease.end is None and end > market.now:
        _go_on(pieces, market.now, end, lease.charged)
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
