"""Two worlds that differ only in hidden facts give a tenant the same bytes: the second part of
`laissez check access`.

A pair is drawn (`pairs.py`), each of its worlds is played through the real service
(`pair_service.py`), and the tenant does the same in both (`pair_tenant.py`). Its two transcripts,
heads and bodies, must be equal byte for byte. Timing is not compared.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

from laissez.server.auth import NewKey, new_key
from laissez_check.access.pair_service import Service
from laissez_check.access.pair_tenant import Tenant
from laissez_check.access.pairs import Pair, draw_pair
from laissez_check.campaign import play_all
from laissez_check.finding import Outcome

SUFFIXES = ("", "-by-another-name")
SHOWN_BEFORE, SHOWN = 100, 400  # bytes around the first difference


def run(pairs: int, seed: int, tell: Callable[[int], None] = lambda done: None) -> Outcome:
    """Play pairs, and stop at the first whose transcripts differ."""
    return play_all(range(seed, seed + pairs), _play_pair, tell=tell)


def _play_pair(seed: int) -> Outcome:
    pair = draw_pair(seed)
    first, second = transcripts(pair)
    counted = {
        "pairs": 1,
        "hidden commands": pair.hidden,
        "answers": len(first),
        "budgets spent": sum(moment.spends is not None for moment in pair.moments),
    }
    difference = compare(first, second)
    again = f"again: laissez check access --pairs 1 --seed {seed}"
    return Outcome(counted, None if difference is None else f"{difference}\n{again}")


def compare(first: list[bytes], second: list[bytes]) -> str | None:
    for index, (one, other) in enumerate(zip_longest(first, second)):
        if one is None or other is None:
            return f"a tenant is told more in one world: {one or other!r}"
        if one != other:
            same = next(
                at
                for at in range(max(len(one), len(other)))
                if one[at : at + 1] != other[at : at + 1]
            )
            shown = slice(max(0, same - SHOWN_BEFORE), same - SHOWN_BEFORE + SHOWN)
            asked = one.partition(b" (")[0][:SHOWN].decode(errors="replace")
            return (
                "a tenant is told different bytes where it may see no difference, at line"
                f" {index} of its transcript ({asked}):\n  {one[shown]!r}\n  {other[shown]!r}"
            )
    return None


def transcripts(pair: Pair) -> tuple[list[bytes], list[bytes]]:
    key = new_key()
    logging.disable(logging.WARNING)  # a day that passes at once makes dead letters
    try:
        first, second = (asyncio.run(_play(pair, side, key)) for side in (0, 1))
    finally:
        logging.disable(logging.NOTSET)
    return first, second


async def _play(pair: Pair, side: int, key: NewKey) -> list[bytes]:
    with tempfile.TemporaryDirectory(prefix="laissez-pair-") as folder:
        service = Service(Path(folder), pair, key, SUFFIXES[side])
        try:
            return await Tenant(service, pair, side, key.secret).live()
        finally:
            service.close()
