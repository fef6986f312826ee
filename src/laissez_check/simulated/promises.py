"""The promises that worlds check, by the numbers in failures and in
`docs/internals/reliability.md`."""

from __future__ import annotations

import re
from typing import NamedTuple

_NUMBERED = re.compile(r"[A-Z][0-9]: ")


class Promise(NamedTuple):
    text: str
    signs: tuple[str, ...] = ()  # parts of its findings that have no number yet


PROMISES: dict[str, Promise] = {
    "I1": Promise(
        "A request is carried out at most once. Sent again under its id, it gets the status, the"
        " code and the events of its first answer.",
        ("carried out twice", "was answered first with"),
    ),
    "I2": Promise("An id that was used for something else is a conflict."),
    "D2": Promise(
        "The journal, replayed from its beginning, gives the state that the service had, to the"
        " byte."
    ),
    "A1": Promise(
        "Owners, rates, quotes and bills are what the operator's events make them, to the millionth"
        " of a dollar; budgets act within a second.",
        (
            "is billed",
            "the revenue is",
            "contradict themselves",
            "is shown as",
            "was quoted",
            "leaves, online",
        ),
    ),
    "A2": Promise(
        "Every statement and running bill is what the journal makes it, worked out again by code"
        " that shares nothing with the market."
    ),
    "D3": Promise(
        "The record of what was done and refused is whole: journal, log of refusals and digests"
        " follow from one another."
    ),
    "S1": Promise(
        "Events are numbered 1, 2, 3, ... in the journal, in pages, streams and sessions, and each"
        " is told the same way every time.",
        (
            "is next",
            "told event",
            "was told first as",
            "speaks of event",
            "was welcomed after",
            "are not those of the journal",
        ),
    ),
    "V1": Promise("A tenant is told its own events, all of them, and nobody else's."),
    "K1": Promise(
        "A key that was revoked opens nothing, and who came in with it is not listened to any more."
    ),
    "G1": Promise(
        "What goes with a session goes when it ends: its place, and the orders that were to."
    ),
    "T1": Promise(
        "What is over by itself, a hold or a budget, ends within a second, though nobody asks."
    ),
    "W1": Promise("What is delivered to a webhook is signed with its secret."),
    "W2": Promise(
        "A webhook is sent its events in order, none left out, and none of anybody else."
    ),
    "W3": Promise("Once nothing goes wrong any more, everything is delivered."),
    "R1": Promise("Whatever a crash leaves behind, the service starts."),
    "R2": Promise("A planned stop comes to its end."),
    "L1": Promise(
        "Once nothing goes wrong any more, every request is answered and every session comes back."
    ),
    "B1": Promise("Nobody meets a bug of the service.", ("was answered with (",)),
    "D1": Promise(
        "Everything that anybody was told is in the journal, unchanged.", ("the journal", "journal")
    ),
}


def numbered(finding: str) -> str:
    """The finding, with the number of the broken promise in front."""
    if _NUMBERED.match(finding):
        return finding
    broken = next(
        (
            number
            for number, promise in PROMISES.items()
            if any(sign in finding for sign in promise.signs)
        ),
        "D1",
    )
    return f"{broken}: {finding}"
