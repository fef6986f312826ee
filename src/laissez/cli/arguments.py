"""What people type: prices, times, alternatives and bands, checked before anything is sent."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, TypeAlias

import typer

from laissez.units import (
    SECOND_US,
    MoneyError,
    TimeError,
    format_time,
    parse_amount,
    parse_duration,
    parse_price,
    parse_time,
)
from laissez.wire.requests import Alternative, BandSetting

MANY = 1_000_000_000  # more than anybody reads
_BAND = re.compile(r"([0-9]+(?:\.[0-9]+)?)(%?)/(.+)")


def price(text: str) -> str:
    try:
        parse_price(text)
    except MoneyError as error:
        raise typer.BadParameter(str(error)) from None
    return text


def price_or_none(text: str) -> str:
    """A price, or the word `none`, which stays as it is: Typer takes a parsed `None` for an
    argument left out."""
    return text if text == "none" else price(text)


def amount(text: str) -> str:
    """Dollars; how much is possible is the server's to say."""
    try:
        parse_amount(text)
    except MoneyError as error:
        raise typer.BadParameter(str(error)) from None
    return text


def cap_per_hour(text: str) -> str:
    """Dollars per hour, or the word `none`, which stays as it is: Typer takes a parsed `None` for
    an option left out."""
    return text if text == "none" else amount(text)


def moment(text: str) -> str:
    """A time with its zone, or a day, which begins at midnight UTC."""
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            text = f"{date.fromisoformat(text)}T00:00:00Z"
        return format_time(parse_time(text))
    except TimeError as error:
        raise typer.BadParameter(str(error)) from None
    except ValueError:
        raise typer.BadParameter(f"expected a day such as 2026-11-15, found {text!r}") from None
    except OverflowError:  # its zone puts it there
        raise typer.BadParameter(
            f"expected a time that in UTC is in the years 1 to 9999, found {text!r}"
        ) from None


def alternative(text: str) -> Alternative:
    """`h100/rack1@3.50` bids 3.50; `h100/rack1@2:3.50` bids 2 and follows up to 3.50."""
    scope, at, prices = text.rpartition("@")
    if not at or not scope:
        raise typer.BadParameter(f"expected SCOPE@PRICE or SCOPE@BID:LIMIT, found {text!r}")
    bid, colon, limit = prices.rpartition(":")
    return Alternative(scope, price(limit), price(bid) if colon else None)


def seconds(text: str) -> float:
    """Seconds, or a number with a unit: 90, 90s, 15m, 2h, 1d."""
    try:
        return parse_duration(text if text[-1:].isalpha() else f"{text}s") / SECOND_US
    except TimeError:
        raise typer.BadParameter(
            f"expected a duration such as 90s, 15m, 2h or 1d, found {text!r}"
        ) from None


def band(text: str) -> BandSetting:
    """`10%/1h` or `0.1/1h`: at most a tenth within an hour."""
    match = _BAND.fullmatch(text)
    if match is None:
        raise typer.BadParameter(
            f"expected FRACTION/DURATION such as 10%/1h or 0.1/1h, found {text!r}"
        )
    return BandSetting(_hundredth(match[1]) if match[2] else match[1], seconds(match[3]))


def _hundredth(number: str) -> str:
    """The decimal text of a percentage's fraction, exactly: 12.5 is 0.125."""
    whole, _, decimals = number.partition(".")
    whole = whole.rjust(3, "0")
    return f"{whole[:-2]}.{whole[-2:]}{decimals}"


PriceOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--max-price",
        parser=price,
        metavar="PRICE",
        help="The most you will pay for each, in dollars per hour.",
    ),
]
AlternativesArgument: TypeAlias = Annotated[
    list[Alternative],
    typer.Argument(
        parser=alternative,
        metavar="SCOPE@PRICE...",
        help="SCOPE@PRICE, or SCOPE@BID:LIMIT to bid less than you would pay.",
    ),
]
AgainOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        help="Of an earlier attempt whose outcome is unknown: it is carried out at most once.",
    ),
]
TenantOption: TypeAlias = Annotated[
    str | None, typer.Option("--tenant", help="Only this tenant's; for the operator.")
]
SinceOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--since", parser=moment, metavar="TIME", help="From this time or day on (UTC)."),
]
UntilOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--until", parser=moment, metavar="TIME", help="Before this time or day (UTC)."),
]
