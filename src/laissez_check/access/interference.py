"""Two worlds that differ only in what a tenant may not see give it the same bytes: the second part
of `laissez check access`.

A pair is drawn (`pairs.py`), each of its worlds is played through the real service
(`pair_service.py`), and the tenant does the same in both: it trades by REST and in a session,
follows a stream, has a webhook, sets budgets and caps, and asks for everything there is to ask for.
Its two transcripts, heads and bodies, must be equal byte for byte. Timing is not compared.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from laissez.server.auth import NewKey, new_key
from laissez_check.access.pair_service import Service
from laissez_check.access.pair_tenant import Tenant
from laissez_check.access.pairs import Pair, draw_pair

SUFFIXES = ("", "-by-another-name")
SHOWN_BEFORE, SHOWN = 100, 400  # bytes around the first difference


class Outcome(msgspec.Struct, frozen=True):
    counted: dict[str, int]
    failure: str | None


def run(pairs: int, seed: int, tell: Callable[[int], None] = lambda done: None) -> Outcome:
    """So many pairs; stops at the first whose transcripts differ."""
    counted = {"pairs": 0, "hidden commands": 0, "answers": 0, "budgets spent": 0}
    for drawn in range(seed, seed + pairs):
        pair = draw_pair(drawn)
        first, second = transcripts(pair)
        counted = {
            "pairs": counted["pairs"] + 1,
            "hidden commands": counted["hidden commands"] + pair.hidden,
            "answers": counted["answers"] + len(first),
            "budgets spent": (
                counted["budgets spent"] + sum(moment.spends is not None for moment in pair.moments)
            ),
        }
        difference = compare(first, second)
        if difference is not None:
            return Outcome(
                counted, f"{difference}\nagain: laissez check access --pairs 1 --seed {drawn}"
            )
        tell(counted["pairs"])
    return Outcome(counted, None)


def compare(first: list[bytes], second: list[bytes]) -> str | None:
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            at = max(
                0,
                next(
                    (
                        at
                        for at, (this, that) in enumerate(zip(one, other, strict=False))
                        if this != that
                    ),
                    0,
                )
                - SHOWN_BEFORE,
            )
            shown = [line[at : at + SHOWN] for line in (one, other)]
            asked = one.partition(b" (")[0][:SHOWN].decode(errors="replace")
            words = (
                f"a tenant is told two things where it may see no difference, at line {index} of"
                f" its transcript ({asked}):"
            )
            return f"{words}\n  {shown[0]!r}\n  {shown[1]!r}"
    longer = first if len(first) > len(second) else second
    return (
        None
        if len(first) == len(second)
        else f"a tenant is told more in one world: {longer[min(len(first), len(second))]!r}"
    )


def transcripts(pair: Pair) -> tuple[list[bytes], list[bytes]]:
    key = new_key()
    # a day that passes at once gives up what a receiver did not take
    logging.disable(logging.WARNING)
    try:
        first, second = (asyncio.run(_played(pair, side, key)) for side in (0, 1))
    finally:
        logging.disable(logging.NOTSET)
    return first, second


async def _played(pair: Pair, side: int, key: NewKey) -> list[bytes]:
    with tempfile.TemporaryDirectory(prefix="laissez-pair-") as folder:
        service = Service(Path(folder), pair, key, SUFFIXES[side])
        try:
            return await Tenant(service, pair, side, key.secret).live()
        finally:
            service.close()
