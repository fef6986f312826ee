"""Requests and outcomes as the journal stores them: MessagePack arrays of numbers.

    request   [command, who, key, id, digest, of_session, field ...]
    outcome   [first, [[event, n, before, field ...] ...]]          events, or none
              [first, [...], [reason, subject, number ...]]         a refusal

`command`, `event` and `reason` are indexes into the lists of this package. Nodes are indexes into
the topology, holders and keys are numbered by age. Names that do not exist, as in a refused
command, are text. `before` is how long before its entry an event happened, nearly always 0. `n` is
the number in the tenant's own stream. An event that repeats the alternatives of its request has
null in their place.

An entry refers only to older names and to the name that its own request creates. So a reader must
`learn` the name of a request before it reads the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import astuple

from laissez.exchange import commands
from laissez.exchange.commands import Action, Caps, Request
from laissez.exchange.events import CODES, EVENTS, Applied, Event
from laissez.exchange.names import Names, Numbering
from laissez.exchange.refusals import REASONS, Refusal
from laissez.market import commands as market_commands
from laissez.market.commands import Alternative, Band
from laissez.market.reasons import EndReason

# The journal stores these indexes: add new commands at the end.
COMMANDS: tuple[type, ...] = (
    market_commands.PlaceOrder,
    market_commands.AmendOrder,
    market_commands.CancelOrder,
    market_commands.SetLimit,
    market_commands.Relinquish,
    commands.SetBudget,
    commands.SetOwnCaps,
    commands.CreateWebhook,
    commands.DeleteWebhook,
    commands.RotateWebhookSecret,
    commands.RestartWebhook,
    commands.CreateTenant,
    commands.SetCaps,
    commands.IssueKey,
    commands.RevokeKey,
    market_commands.SetFloor,
    market_commands.SetControls,
    market_commands.TakeOffline,
    market_commands.BringOnline,
    market_commands.AdvanceTime,
    market_commands.CloseBooks,
)
COMMAND_CODES: Final = {kind: code for code, kind in enumerate(COMMANDS)}
REASON_CODES: Final = {reason: code for code, reason in REASONS.items()}
_NAMING: Final = frozenset((COMMAND_CODES[commands.CreateTenant], COMMAND_CODES[commands.IssueKey]))
_ACCEPTED = 2  # the length of an outcome without a refusal
END_REASONS = tuple(EndReason)
END_CODES = {reason: code for code, reason in enumerate(END_REASONS)}

_OF_TENANT: Final = frozenset(COMMANDS[:5])  # their first field is the tenant
# where the fields of a command and of an event begin in their rows
_COMMAND: Final = 6
_EVENT: Final = 2

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[Any]).decode

Convert: TypeAlias = Callable[[Any], Any]


def _pack_band(band: Band | None) -> tuple[int, int] | None:
    return None if band is None else (band.fraction_ppm, band.interval_us)


def _unpack_band(packed: Sequence[int] | None) -> Band | None:
    return None if packed is None else Band(*packed)


def _unpack_action(packed: int | None) -> Action | None:
    return None if packed is None else Action(packed)


def _unpack_tuple(packed: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if packed is None else tuple(packed)


# how to pack and unpack fields other than numbers, names and alternatives
_CONVERSIONS: dict[str, tuple[Convert, Convert]] = {
    "rise": (_pack_band, _unpack_band),
    "fall": (_pack_band, _unpack_band),
    "reason": (END_CODES.__getitem__, END_REASONS.__getitem__),
    "action": (lambda action: action, _unpack_action),
    "caps": (astuple, lambda packed: Caps(*packed)),
    "types": (lambda types: types, _unpack_tuple),
    "scopes": (lambda scopes: scopes, _unpack_tuple),
}


class _Kind:
    """How one kind of command or event is stored: places in its row are converted."""

    def __init__(self, kind: type, code: int, begin: int, names: Names) -> None:
        self.kind = kind
        self.code = code
        # The tenant of a command is left out: it is the holder that sent the request.
        self.left_out = 1 if begin == _COMMAND and kind in _OF_TENANT else 0
        self.alternatives = 0  # their place, if there are any
        self.names: list[tuple[int, Numbering]] = []
        self.others: list[tuple[int, Convert, Convert]] = []
        fields: tuple[str, ...] = kind.__struct_fields__  # type: ignore[attr-defined]
        for place, name in enumerate(fields[self.left_out :], begin):
            if name in ("scope", "node", "leaf"):
                self.names.append((place, names.nodes))
            elif name in ("tenant", "holder"):
                self.names.append((place, names.holders))
            elif name == "key" and kind is not commands.IssueKey:
                self.names.append((place, names.keys))
            elif name == "alternatives":
                self.alternatives = place
            elif name in _CONVERSIONS:
                self.others.append((place, *_CONVERSIONS[name]))

    def pack(self, row: list[Any]) -> None:
        for place, numbering in self.names:
            row[place] = _pack_name(numbering, row[place])
        for place, convert, _ in self.others:
            row[place] = convert(row[place])

    def unpack(self, row: list[Any]) -> None:
        for place, numbering in self.names:
            row[place] = _unpack_name(numbering, row[place])
        for place, _, convert in self.others:
            row[place] = convert(row[place])


class Codec:
    """Reads and writes the entries of one exchange's journal. It must not read entries later than
    the exchange's state, because their names are not yet known."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._commands = [_Kind(kind, code, _COMMAND, names) for code, kind in enumerate(COMMANDS)]
        self._events = [_Kind(kind, code, _EVENT, names) for code, kind in enumerate(EVENTS)]

    # -- requests

    def pack_request(self, request: Request) -> bytes:
        command = request.command
        kind = self._commands[COMMAND_CODES[type(command)]]
        row: list[Any] = [kind.code, *astuple(request)]  # the command, then `of_session`
        row[1] = _pack_name(self._names.holders, row[1])
        row[2] = _pack_name(self._names.keys, row[2])
        row[5] = row.pop()
        row += astuple(command)[kind.left_out :]
        kind.pack(row)
        if kind.alternatives:
            row[kind.alternatives] = self._pack_alternatives(row[kind.alternatives])
        return _encode(row)

    def unpack_request(self, packed: bytes) -> Request:
        row = _decode(packed)
        kind = self._commands[row[0]]
        who = _unpack_name(self._names.holders, row[1])
        kind.unpack(row)
        if kind.alternatives:
            row[kind.alternatives] = self._unpack_alternatives(row[kind.alternatives])
        fields = row[_COMMAND:]
        command = kind.kind(who, *fields) if kind.left_out else kind.kind(*fields)
        key = _unpack_name(self._names.keys, row[2])
        return Request(who, key, row[3], row[4], command, row[5])

    def learn(self, request: bytes, outcome: bytes) -> None:
        """Note the name that an entry created, for a reader without an exchange."""
        if _decode(request)[0] in _NAMING and len(_decode(outcome)) == _ACCEPTED:
            command = self.unpack_request(request).command
            if isinstance(command, commands.CreateTenant):
                self._names.holders.add(command.name)
            else:
                assert isinstance(command, commands.IssueKey)
                self._names.keys.add(command.key)

    # -- outcomes

    def pack_outcome(self, at: int, request: Request, applied: Applied) -> bytes:
        """`request` is the one that was applied."""
        numbers = applied.numbers
        rows: list[Any] = []
        for place, event in enumerate(applied.events):
            kind = self._events[CODES[type(event)]]
            row: list[Any] = [kind.code, numbers[place], *astuple(event)]
            row[_EVENT] = at - row[_EVENT]
            kind.pack(row)
            if kind.alternatives:
                given = row[kind.alternatives]
                is_asked = given is request.command.alternatives  # type: ignore[union-attr]
                row[kind.alternatives] = None if is_asked else self._pack_alternatives(given)
            rows.append(row)
        refusal = applied.refusal
        if refusal is None:
            return _encode((applied.first, rows))
        subject = _pack_name(self._names.nodes, refusal.subject)
        reason = REASON_CODES[refusal.reason]
        return _encode((applied.first, rows, (reason, subject, *refusal.numbers)))

    def unpack_outcome(self, at: int, request: Request, packed: bytes) -> Applied:
        """`request` is that of the same entry."""
        first, rows, *refused = _decode(packed)
        events: list[Event] = []
        tenants: list[str | None] = []
        numbers: list[int] = []
        for row in rows:
            n: int = row[1]
            kind = self._events[row[0]]
            # The tenant or holder of an event follows the time.
            tenants.append(_unpack_name(self._names.holders, row[3]) if n else None)
            numbers.append(n)
            row[_EVENT] = at - row[_EVENT]
            kind.unpack(row)
            if kind.alternatives:
                given = row[kind.alternatives]
                row[kind.alternatives] = (
                    request.command.alternatives  # type: ignore[union-attr]
                    if given is None
                    else self._unpack_alternatives(given)
                )
            events.append(kind.kind(*row[_EVENT:]))
        return Applied(first, tuple(events), tuple(tenants), tuple(numbers), self._refusal(refused))

    def _refusal(self, refused: Sequence[Any]) -> Refusal | None:
        if not refused:
            return None
        reason, subject, *numbers = refused[0]
        return Refusal(REASONS[reason], _unpack_name(self._names.nodes, subject), tuple(numbers))

    def indexed(
        self, request: bytes, outcome: bytes
    ) -> tuple[str, str, int, tuple[str | None, ...]]:
        """The part of an entry that the event log keeps: the holder that made the request, its
        idempotency key, the operator's number of the first event (or of the next one if there is
        none), and the tenant of each event."""
        asked, done = _decode(request), _decode(outcome)
        holders = self._names.holders
        tenants = [_unpack_name(holders, event[3]) if event[1] else None for event in done[1]]
        return _unpack_name(holders, asked[1]), asked[3], done[0], tuple(tenants)

    # -- alternatives

    def _pack_alternatives(self, alternatives: Sequence[Alternative]) -> list[Any]:
        """Flat list of scope, bid and limit; a bid equal to its limit becomes None."""
        flat: list[Any] = []
        for one in alternatives:
            scope, bid, limit = astuple(one)
            flat.append(_pack_name(self._names.nodes, scope))
            flat.append(None if bid == limit else bid)
            flat.append(limit)
        return flat

    def _unpack_alternatives(self, flat: Sequence[Any]) -> tuple[Alternative, ...]:
        nodes = self._names.nodes
        return tuple(
            [
                Alternative(
                    _unpack_name(nodes, flat[place]),
                    flat[place + 2] if flat[place + 1] is None else flat[place + 1],
                    flat[place + 2],
                )
                for place in range(0, len(flat), 3)
            ]
        )


def _pack_name(numbering: Numbering, name: str) -> int | str:
    return numbering.numbers.get(name, name)


def _unpack_name(numbering: Numbering, packed: int | str) -> str:
    return packed if isinstance(packed, str) else numbering.names[packed]
