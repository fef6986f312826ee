"""Commands with one thing wrong, so that every refusal is met: a wrong type, a number out of range,
a name that is not there."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec

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
WRONG_PRICES = (-1, PRICE_MAX + 1, 10**30, *WRONG_NUMBERS)
WRONG_DURATIONS = (0, -1, DURATION_MAX_US + 1, *WRONG_NUMBERS)


def spoil(rng: Random, command: Command, nodes: Sequence[str]) -> Command:
    """The command with one field replaced by something that is, nearly always, wrong."""
    if not command.__struct_fields__:
        return command
    name = rng.choice(command.__struct_fields__)
    return msgspec.structs.replace(
        command, **{name: spoiled_field(rng, name, getattr(command, name), nodes)}
    )


def spoiled_time(rng: Random, now: int) -> Any:
    """A wrong time; once in a while the last right one, after which all others are wrong."""
    if rng.random() < 0.03:
        return TIME_MAX_US
    return rng.choice((now - 1, -1, 0, TIME_MAX_US + 1, 10**30, float(now), True, None, "now"))


def spoiled_field(rng: Random, name: str, value: Any, nodes: Sequence[str]) -> Any:
    """What to put there instead. The longest name and the largest numbers that are still right are
    among them."""
    if name == "tenant":
        return rng.choice(
            (
                "",
                "operator",
                "Operator",
                "x" * TENANT_NAME_MAX,
                "x" * (TENANT_NAME_MAX + 1),
                "a\nb",
                "\x7f",
                "\x85",
                "a\u200bb",
                "\ud800",
                None,
                7,
                b"ann",
            )
        )
    if name in ("leaf", "node"):
        return rng.choice(
            (rng.choice(nodes), rng.choice(nodes), UNKNOWN_NODE, "", "\udc00", "x" * 300, 5, None)
        )
    if name in ("order", "lease"):
        return rng.choice((0, -1, 2**62 - 1, 2**62, -(2**62), None, *WRONG_NUMBERS))
    if name == "before":
        return rng.choice((-1, 10**18, None, *WRONG_NUMBERS))
    if name in ("limit", "price"):
        return rng.choice((PRICE_MAX, *WRONG_PRICES))
    if name in ("hold_us", "flash_us"):
        return rng.choice((DURATION_MAX_US, *WRONG_DURATIONS))
    if name in ("rise", "fall"):
        return spoiled_band(rng)
    if name == "budget_spent":
        return rng.choice((1, None, "yes"))
    assert name == "alternatives", name
    return spoiled_alternatives(rng, value, nodes)


def spoiled_band(rng: Random) -> Any:
    fraction: Any = rng.choice((FRACTION_MAX_PPM, -1, FRACTION_MAX_PPM + 1, 0.5, True))
    interval: Any = rng.choice((DURATION_MAX_US, 1, *WRONG_DURATIONS))
    return rng.choice((Band(fraction, 1), Band(0, interval), Band(fraction, interval), 5))


def spoiled_alternatives(
    rng: Random, alternatives: tuple[Alternative, ...], nodes: Sequence[str]
) -> Any:
    if rng.random() < 0.4:
        one = alternatives[0]
        return rng.choice(
            (
                (),
                (one,) * (ALTERNATIVES_MAX + 1),
                (one,) * ALTERNATIVES_MAX,
                (*alternatives, one),
                None,
                (1,),
            )
        )
    place = rng.randrange(len(alternatives))
    return (
        *alternatives[:place],
        spoiled_alternative(rng, alternatives[place]),
        *alternatives[place + 1 :],
    )


def spoiled_alternative(rng: Random, alternative: Alternative) -> Alternative:
    name = rng.choice(("scope", "bid", "limit", "both"))
    if name == "both":
        return Alternative(alternative.scope, alternative.limit + 1, alternative.limit)
    wrong = (
        rng.choice((UNKNOWN_NODE, "", 7, None))
        if name == "scope"
        else rng.choice((PRICE_MAX, *WRONG_PRICES, None))
    )
    return msgspec.structs.replace(alternative, **{name: wrong})
