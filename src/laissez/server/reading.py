"""From what a caller sent to the command that the journal keeps: price texts become whole numbers,
or a clear refusal."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from laissez.market import commands as to_market
from laissez.market.money import MoneyError, parse_price
from laissez.market.reasons import Reason
from laissez.market.topology import DEPTH_MAX, NODE_NAME_MAX
from laissez.server import commands
from laissez.wire import requests as wire
from laissez.wire.limits import CLIENT_ID_MAX
from laissez.wire.problems import Code, ProblemError
from laissez.wire.times import SECOND_US, TimeError, format_time, parse_time

# characters: of the longest path. What is refused is stored too, so nobody may send names at will
NAME_MAX = DEPTH_MAX * (NODE_NAME_MAX + 1)

# what is refused is stored too, and must fit 64 bits
_AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?", re.ASCII)

price = parse_price


def unreadable(error: Exception) -> str:
    """Why something cannot be read, with what was expected where the reader itself does not say."""
    words = str(error)
    if words == "Input data was truncated":
        return f"expected more of it, found its end ({words[:1].lower()}{words[1:]})"
    if words.startswith("Invalid value "):
        return f"{words}: expected one of those that /docs lists"
    return words


def read_price(text: str, field: str) -> int:
    try:
        return price(text)
    except MoneyError as error:
        raise ProblemError(Code.BAD_REQUEST, f"{field}: {error}") from None


def read_amount(text: str, field: str) -> int:
    """Millionths of a dollar from dollars. Whether so much is possible is the exchange's to say."""
    if _AMOUNT.fullmatch(text) is None:
        raise ProblemError(
            Code.BAD_REQUEST,
            f'{field}: expected dollars, digits with at most six decimals such as "250.50", found'
            f" {text[:40]!r}",
        )
    whole, _, decimals = text.partition(".")
    return int(whole + decimals.ljust(6, "0"))


def read_time(text: str, field: str) -> int:
    """Whole microseconds since 1970, of those that the market knows."""
    try:
        at = parse_time(text)
    except TimeError as error:
        raise ProblemError(Code.BAD_REQUEST, f"{field}: {error}") from None
    if not 0 <= at <= to_market.TIME_MAX_US:
        expected = f"a time from {format_time(0)} to {format_time(to_market.TIME_MAX_US)}"
        raise ProblemError(
            Reason.TIME_OUT_OF_RANGE, f"{field}: expected {expected}, found {text!r}"
        )
    return at


def read_name(text: str, field: str) -> str:
    """An id or a path, which need not exist."""
    if len(text) > NAME_MAX:
        raise ProblemError(
            Code.BAD_REQUEST, f"{field}: expected at most {NAME_MAX} characters, found {len(text)}"
        )
    return text


def read_alternatives(asked: tuple[wire.Alternative, ...]) -> tuple[to_market.Alternative, ...]:
    alternatives = []
    for index, one in enumerate(asked):
        read_name(one.scope, "scope")
        try:
            limit = price(one.limit)
            alternatives.append(
                to_market.Alternative(
                    one.scope, limit if one.bid is None else price(one.bid), limit
                )
            )
        except MoneyError as error:
            raise ProblemError(Code.BAD_REQUEST, f"alternatives[{index}]: {error}") from None
    return tuple(alternatives)


def read_duration(value: float | None, field: str) -> int | None:
    """Microseconds from seconds."""
    if value is None:
        return None
    if not 0 < value * SECOND_US <= to_market.DURATION_MAX_US:
        raise ProblemError(
            Code.BAD_REQUEST,
            f"{field}: expected more than 0 and at most {to_market.DURATION_MAX_US // SECOND_US}"
            f" seconds, found {value}",
        )
    return round(value * SECOND_US)


def read_fraction(text: str, field: str) -> int:
    """Millionths. A fraction is written like a price: digits with at most six decimals."""
    try:
        return parse_price(text)
    except MoneyError:
        raise ProblemError(
            Code.BAD_REQUEST,
            f'{field}: expected digits with at most six decimals such as "0.1", found'
            f" {text[:40]!r}",
        ) from None


def read_band(band: wire.BandSetting | None, field: str) -> to_market.Band | None:
    if band is None:
        return None
    interval = read_duration(band.seconds, f"{field}.seconds")
    assert interval is not None
    return to_market.Band(read_fraction(band.fraction, f"{field}.fraction"), interval)


def read_controls(asked: wire.SetControls | wire.ControlsBody, node: str) -> to_market.SetControls:
    return to_market.SetControls(
        node,
        read_band(asked.rise, "rise"),
        read_band(asked.fall, "fall"),
        read_duration(asked.hold_s, "hold_s"),
        read_duration(asked.flash_s, "flash_s"),
    )


COMMANDS: dict[type, Callable[[Any], commands.Command]] = {
    wire.PlaceOrder: lambda asked: commands.PlaceOrder(read_alternatives(asked.alternatives)),
    wire.AmendOrder: lambda asked: commands.AmendOrder(
        read_name(asked.order, "order"), read_alternatives(asked.alternatives)
    ),
    wire.CancelOrder: lambda asked: commands.CancelOrder(read_name(asked.order, "order")),
    wire.SetLimit: lambda asked: commands.SetLimit(
        read_name(asked.lease, "lease"),
        None if asked.limit is None else read_price(asked.limit, "limit"),
    ),
    wire.Relinquish: lambda asked: commands.Relinquish(
        read_name(asked.lease, "lease"), asked.budget_spent
    ),
    wire.SetFloor: lambda asked: to_market.SetFloor(
        asked.node, None if asked.price is None else read_price(asked.price, "price")
    ),
    wire.SetControls: lambda asked: read_controls(asked, asked.node),
    wire.TakeOffline: lambda asked: to_market.TakeOffline(asked.leaf),
    wire.BringOnline: lambda asked: to_market.BringOnline(asked.leaf),
}

TENANT_COMMANDS = frozenset(
    {wire.PlaceOrder, wire.AmendOrder, wire.CancelOrder, wire.SetLimit, wire.Relinquish}
)
SCOPE_OF = {kind: "trade" if kind in TENANT_COMMANDS else "operate" for kind in COMMANDS}


def read_command(asked: wire.TenantCommand | wire.OperatorCommand) -> commands.Command:
    return COMMANDS[type(asked)](asked)


def check_id(id: str) -> str:
    if not 1 <= len(id) <= CLIENT_ID_MAX or not id.isascii() or not id.isprintable():
        raise ProblemError(
            Code.BAD_REQUEST,
            f"id: expected 1 to {CLIENT_ID_MAX} printable ASCII characters, found"
            f" {id[:CLIENT_ID_MAX]!r}",
        )
    return id
