"""Commands with one wrong field, so that every refusal is met: a wrong type, a number out of range,
an unknown name."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from laissez.market.commands import (
    ALTERNATIVES_MAX,
    DURATION_MAX_US,
    FRACTION_MAX_PPM,
    PRICE_MAX,
    TENANT_NAME_MAX,
    TIME_MAX_US,
    Alternative,
    Band,
    Command,
)

UNKNOWN_NODE = "no-such-tree/no-such-node"
WRONG_NUMBERS: tuple[Any, ...] = (1.0, 2.5, True, "3", b"3")
PRICES = (PRICE_MAX, -1, PRICE_MAX + 1, 10**30, *WRONG_NUMBERS)
WRONG_DURATIONS = (0, -1, DURATION_MAX_US + 1, *WRONG_NUMBERS)
DURATIONS = (DURATION_MAX_US, *WRONG_DURATIONS)
LONGEST = "x" * TENANT_NAME_MAX
ODD_NAMES = ("a\nb", "\x7f", "\x85", "a\u200bb", "\ud800")
TENANTS = ("", "operator", "Operator", LONGEST, LONGEST + "x", *ODD_NAMES, None, 7, b"ann")
NUMBERS = (0, -1, 2**62 - 1, 2**62, -(2**62), None, *WRONG_NUMBERS)

# By field. The longest name and the largest numbers that are still valid are among them.
VALUES: dict[str, tuple[Any, ...]] = {
    "tenant": TENANTS,
    "order": NUMBERS,
    "lease": NUMBERS,
    "before": (-1, 10**18, None, *WRONG_NUMBERS),
    "limit": PRICES,
    "price": PRICES,
    "hold_us": DURATIONS,
    "flash_us": DURATIONS,
    "budget_spent": (1, None, "yes"),
}


def spoil(rng: Random, command: Command, nodes: Sequence[str]) -> Command:
    """The command with one field replaced, nearly always by a wrong value."""
    if not command.__struct_fields__:
        return command
    name = rng.choice(command.__struct_fields__)
    value = spoiled_field(rng, name, getattr(command, name), nodes)
    return replace(command, **{name: value})


def spoiled_time(rng: Random, now: int) -> Any:
    """A wrong time. Now and then the last valid one, after which all others are wrong."""
    if rng.random() < 0.03:
        return TIME_MAX_US
    return rng.choice((now - 1, -1, 0, TIME_MAX_US + 1, 10**30, float(now), True, None, "now"))


def spoiled_field(rng: Random, name: str, value: Any, nodes: Sequence[str]) -> Any:
    if name in ("leaf", "node"):
        known = (rng.choice(nodes), rng.choice(nodes))
        return rng.choice((*known, UNKNOWN_NODE, "", "\udc00", "x" * 300, 5, None))
    if name in ("rise", "fall"):
        return spoiled_band(rng)
    if name == "alternatives":
        return spoiled_alternatives(rng, value)
    return rng.choice(VALUES[name])


def spoiled_band(rng: Random) -> Any:
    fraction: Any = rng.choice((FRACTION_MAX_PPM, -1, FRACTION_MAX_PPM + 1, 0.5, True))
    interval: Any = rng.choice((DURATION_MAX_US, 1, *WRONG_DURATIONS))
    return rng.choice((Band(fraction, 1), Band(0, interval), Band(fraction, interval), 5))


def spoiled_alternatives(rng: Random, alternatives: tuple[Alternative, ...]) -> Any:
    if rng.random() < 0.4:
        one, most = alternatives[0], ALTERNATIVES_MAX
        many = ((one,) * (most + 1), (one,) * most, (*alternatives, one))
        return rng.choice(((), *many, None, (1,)))
    place = rng.randrange(len(alternatives))
    spoiled = spoiled_alternative(rng, alternatives[place])
    return (*alternatives[:place], spoiled, *alternatives[place + 1 :])


def spoiled_alternative(rng: Random, alternative: Alternative) -> Alternative:
    name = rng.choice(("scope", "bid", "limit", "both"))
    if name == "both":
        return replace(alternative, bid=alternative.limit + 1)
    wrong = (UNKNOWN_NODE, "", 7, None) if name == "scope" else (*PRICES, None)
    return replace(alternative, **{name: rng.choice(wrong)})
