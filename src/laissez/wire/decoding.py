"""Decode the structs of the API into commands: text becomes whole numbers, or a clear refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from laissez.exchange import commands
from laissez.exchange.caps import PER_HOUR_MAX
from laissez.exchange.commands import Action
from laissez.market import commands as to_market
from laissez.market.reasons import Reason
from laissez.market.topology import DEPTH_MAX, NODE_NAME_MAX
from laissez.units import (
    SECOND_US,
    MoneyError,
    TimeError,
    format_time,
    parse_amount,
    parse_price,
    parse_time,
)
from laissez.wire import requests as wire
from laissez.wire.ids import LEASE, ORDER, WEBHOOK, number_of, tag_of
from laissez.wire.limits import CLIENT_ID_MAX
from laissez.wire.problems import Code, ProblemError
from laissez.wire.texts import EXPECTED_RATE, no_lease, no_open_order, no_webhook

# The length of the longest path. Refused names are stored too, so they must be bounded.
NAME_MAX: Final = DEPTH_MAX * (NODE_NAME_MAX + 1)

ACTIONS = {action.name.lower(): action for action in Action}


def unreadable(error: Exception) -> str:
    """Explain a decoding error. Add the expected value where msgspec omits it."""
    words = str(error)
    if words == "Input data was truncated":
        return f"expected more data, found the end ({words[:1].lower()}{words[1:]})"
    if words.startswith("Invalid value "):
        return f"{words}: expected one of the values that /docs lists"
    return words


def read_price(text: str, field: str) -> int:
    try:
        return parse_price(text)
    except MoneyError as error:
        raise ProblemError(Code.BAD_REQUEST, f"{field}: {error}") from None


def read_amount(text: str, field: str) -> int:
    """Dollars as millionths. The exchange checks the range."""
    try:
        return parse_amount(text)
    except MoneyError as error:
        raise ProblemError(Code.BAD_REQUEST, f"{field}: {error}") from None


def read_cap(text: str | None, field: str) -> int | None:
    """Dollars per hour as millionths."""
    if text is None:
        return None
    try:
        return parse_amount(text, PER_HOUR_MAX)
    except MoneyError:
        raise ProblemError(
            Code.BAD_REQUEST, f"{field}: expected {EXPECTED_RATE}, found {text[:40]!r}"
        ) from None


def read_caps(asked: wire.Caps) -> commands.Caps:
    return commands.Caps(
        asked.open_orders,
        asked.commands_per_second,
        asked.commands_burst,
        asked.sessions,
        read_cap(asked.rate, "caps.rate"),
        read_cap(asked.worst_rate, "caps.worst_rate"),
    )


def read_action(text: str) -> Action:
    found = ACTIONS.get(text)
    if found is None:
        raise ProblemError(
            Code.BAD_REQUEST,
            f"action: expected one of {', '.join(ACTIONS)}, found {text[:40]!r}",
        )
    return found


def read_order(holder: str, id: str) -> int:
    """The number in the id of an order. Another holder's id must answer exactly like an id that
    does not exist."""
    number = number_of(ORDER, tag_of(holder), read_name(id, "order"))
    if number is None:
        raise ProblemError(Reason.NOT_YOUR_ORDER, no_open_order(id))
    return number


def read_lease(holder: str, id: str) -> int:
    number = number_of(LEASE, tag_of(holder), read_name(id, "lease"))
    if number is None:
        raise ProblemError(Reason.NOT_YOUR_LEASE, no_lease(id))
    return number


def read_webhook(holder: str, id: str) -> int:
    number = number_of(WEBHOOK, tag_of(holder), read_name(id, "id"))
    if number is None:
        raise ProblemError(Code.NOT_FOUND, no_webhook(id))
    return number


def read_time(text: str, field: str) -> int:
    """Microseconds since 1970, within the market's range."""
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
    """Bound the length of an id or a path, which need not exist."""
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
            limit = parse_price(one.limit)
            alternatives.append(
                to_market.Alternative(
                    one.scope, limit if one.bid is None else parse_price(one.bid), limit
                )
            )
        except MoneyError as error:
            raise ProblemError(Code.BAD_REQUEST, f"alternatives[{index}]: {error}") from None
    return tuple(alternatives)


def read_duration(value: float | None, field: str) -> int | None:
    """Seconds as microseconds."""
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
    """A fraction as millionths. It is written like a price: digits with at most six decimals."""
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


def read_controls(asked: wire.SetControls) -> to_market.SetControls:
    return to_market.SetControls(
        asked.node,
        read_band(asked.rise, "rise"),
        read_band(asked.fall, "fall"),
        read_duration(asked.hold_s, "hold_s"),
        read_duration(asked.flash_s, "flash_s"),
    )


COMMANDS: Final[dict[type, Callable[[str, Any], commands.Command]]] = {
    wire.PlaceOrder: lambda holder, asked: to_market.PlaceOrder(
        holder, read_alternatives(asked.alternatives)
    ),
    wire.AmendOrder: lambda holder, asked: to_market.AmendOrder(
        holder, read_order(holder, asked.order), read_alternatives(asked.alternatives)
    ),
    wire.CancelOrder: lambda holder, asked: to_market.CancelOrder(
        holder, read_order(holder, asked.order)
    ),
    wire.SetLimit: lambda holder, asked: to_market.SetLimit(
        holder,
        read_lease(holder, asked.lease),
        None if asked.limit is None else read_price(asked.limit, "limit"),
    ),
    wire.Relinquish: lambda holder, asked: to_market.Relinquish(
        holder, read_lease(holder, asked.lease), asked.budget_spent
    ),
    wire.SetFloor: lambda _, asked: to_market.SetFloor(
        asked.node, None if asked.price is None else read_price(asked.price, "price")
    ),
    wire.SetControls: lambda _, asked: read_controls(asked),
    wire.TakeOffline: lambda _, asked: to_market.TakeOffline(asked.leaf),
    wire.BringOnline: lambda _, asked: to_market.BringOnline(asked.leaf),
    wire.CreateTenant: lambda _, asked: commands.CreateTenant(asked.name, read_caps(asked.caps)),
    wire.SetCaps: lambda _, asked: commands.SetCaps(asked.name, read_caps(asked.caps)),
}

TENANT_COMMANDS = frozenset(
    {wire.PlaceOrder, wire.AmendOrder, wire.CancelOrder, wire.SetLimit, wire.Relinquish}
)
SCOPE_OF: Final = {kind: "trade" if kind in TENANT_COMMANDS else "operate" for kind in COMMANDS}


def read_command(
    holder: str, asked: wire.TenantCommand | wire.OperatorCommand | wire.CreateTenant | wire.SetCaps
) -> commands.Command:
    return COMMANDS[type(asked)](holder, asked)


def check_id(id: str) -> str:
    if not 1 <= len(id) <= CLIENT_ID_MAX or not id.isascii() or not id.isprintable():
        raise ProblemError(
            Code.BAD_REQUEST,
            f"id: expected 1 to {CLIENT_ID_MAX} printable ASCII characters, found"
            f" {id[:CLIENT_ID_MAX]!r}",
        )
    return id
