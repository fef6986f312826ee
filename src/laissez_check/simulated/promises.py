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
    "I2": Promise("An id used for another request is a conflict."),
    "D2": Promise(
        "The journal, replayed from its beginning, gives the state of the service, to the byte."
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
        "The record is whole: journal, log of refusals and digests follow from one another."
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
    "V1": Promise("A tenant gets all of its own events and no others."),
    "K1": Promise("A revoked key opens nothing, and its sessions and streams end."),
    "G1": Promise("A session that ends frees its slot and cancels the orders tied to it."),
    "T1": Promise("A hold or a budget ends within a second of its time, without any request."),
    "W1": Promise("Every delivery to a webhook is signed with its secret."),
    "W2": Promise(
        "A webhook gets the events of its holder in order, none left out, and no others."
    ),
    "W3": Promise("Once the faults stop, every event is delivered."),
    "R1": Promise("The service starts after every crash."),
    "R2": Promise("A planned stop completes."),
    "L1": Promise("Once the faults stop, every request is answered and every session reconnects."),
    "B1": Promise("No client meets a bug of the service.", ("was answered with (",)),
    "D1": Promise(
        "Everything that a client was told is in the journal, unchanged.",
        ("the journal", "journal"),
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
