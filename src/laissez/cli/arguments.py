"""The arguments that users type, checked before anything is sent or simulated: prices, times,
alternatives, bands, and files to write."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, TypeAlias, TypeVar

import typer

from laissez.cli.output import opt
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

T = TypeVar("T")

MANY = 1_000_000_000  # more rows than anybody reads
_BAND = re.compile(r"([0-9]+(?:\.[0-9]+)?)(%?)/(.+)")


def checked(check: Callable[[T], object], value: T, *errors: type[Exception]) -> T:
    """The value, unless `check` raises one of the errors, which is then about an argument."""
    try:
        check(value)
    except errors as error:
        raise typer.BadParameter(str(error)) from None
    return value


def price(text: str) -> str:
    """Dollars per hour."""
    return checked(parse_price, text, MoneyError)


def amount(text: str) -> str:
    """Dollars; the server knows the largest possible amount."""
    return checked(parse_amount, text, MoneyError)


def or_none(parse: Callable[[str], str]) -> Callable[[str], str]:
    """The same, or "none" as text, since Typer takes a parsed None for a missing argument."""
    return lambda text: text if text == "none" else parse(text)


def moment(text: str) -> str:
    """A time with its zone, or a day, which begins at midnight UTC."""
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            text = f"{date.fromisoformat(text)}T00:00:00Z"
        return format_time(parse_time(text))
    except TimeError as error:
        problem = str(error)
    except ValueError:
        problem = f"expected a day such as 2026-11-15, found {text!r}"
    except OverflowError:  # because of its zone
        problem = f"expected a time that in UTC is in the years 1 to 9999, found {text!r}"
    raise typer.BadParameter(problem)


def seconds(text: str) -> float:
    """Seconds, or a number with a unit: 90, 90s, 15m, 2h, 1d."""
    try:
        return parse_duration(text if text[-1:].isalpha() else f"{text}s") / SECOND_US
    except TimeError:
        raise typer.BadParameter(
            f"expected a duration such as 90s, 15m, 2h or 1d, found {text!r}"
        ) from None


def alternative(text: str) -> Alternative:
    """`h100/rack1@3.50` bids 3.50; `h100/rack1@2:3.50` bids 2 and follows up to 3.50."""
    scope, at, prices = text.rpartition("@")
    if not at or not scope:
        raise typer.BadParameter(f"expected SCOPE@PRICE or SCOPE@BID:LIMIT, found {text!r}")
    bid, colon, limit = prices.rpartition(":")
    return Alternative(scope, price(limit), price(bid) if colon else None)


def band(text: str) -> BandSetting:
    """`10%/1h` or `0.1/1h`: at most a tenth within an hour."""
    match = _BAND.fullmatch(text)
    if match is None:
        raise typer.BadParameter(
            f"expected FRACTION/DURATION such as 10%/1h or 0.1/1h, found {text!r}"
        )
    fraction = f"{Decimal(match[1]).scaleb(-2):f}" if match[2] else match[1]
    return BandSetting(fraction, seconds(match[3]))


# Files to write. They are checked before hours of simulation and not after them.


def new_file(path: Path | None) -> Path | None:
    if path is not None and (reason := why_not_writable(path)):
        raise typer.BadParameter(
            f"expected a file in a folder that can be written to, found {str(path)!r}: {reason}"
        )
    return path


def out_folder(path: Path | None) -> Path | None:
    if path is not None:
        try:
            path.mkdir(parents=True, exist_ok=True)
            _write_there(path)
        except OSError as error:
            raise typer.BadParameter(
                "expected a folder that can be written to, or a place for one, found"
                f" {str(path)!r}: {error.strerror}"
            ) from None
    return path


def own_folder(path: Path, mark: str) -> Path:
    """A folder that is new, empty, or filled by an earlier run, which left a folder `mark`."""
    is_readable = path.is_dir() and os.access(path, os.R_OK)
    if is_readable and any(path.iterdir()) and not (path / mark).is_dir():
        raise typer.BadParameter(
            f"expected a new folder, an empty one, or one of an earlier run, found {str(path)!r}"
            " with other things in it"
        )
    out_folder(path)
    return path


def why_not_writable(file: Path) -> str | None:
    """The reason why a file of that name cannot be written, or None if it can."""
    try:
        if file.is_dir():
            return "it is a folder"
        if not file.parent.is_dir():
            return f"there is no folder {str(file.parent)!r}"
        if file.exists():
            return None if os.access(file, os.W_OK) else "it exists and cannot be written to"
        _write_there(file.parent)
    except OSError as error:
        return error.strerror
    return None


def _write_there(folder: Path) -> None:
    """Make a file, because permissions prove nothing: even root cannot write to /sys."""
    TemporaryFile(dir=folder).close()


TenantOption: TypeAlias = Annotated[str | None, opt("Only this tenant's (operator).")]
SinceOption: TypeAlias = Annotated[
    str | None, opt("From this time or day on (UTC).", parser=moment, metavar="TIME")
]
UntilOption: TypeAlias = Annotated[
    str | None, opt("Before this time or day (UTC).", parser=moment, metavar="TIME")
]
