"""Requests and outcomes as the journal stores them: MessagePack arrays of numbers.

    request   [command, who, key, id, digest, of_session, field ...]
    outcome   [first, [[event, n, before, field ...] ...]]          events, or none
              [first, [...], [reason, subject, number ...]]         a refusal

`command`, `event` and `reason` are indexes into the lists of this package. Nodes are indexes into
the topology, holders and keys are numbered by age. Names that do not exist, as in a refused
command, are text. `before` is how long before its entry an event happened, nearly always 0. `n` is
the number in the tenant's own stream.

An entry refers only to older names and to the name that its own request creates. So a reader must
`learn` the name of a request before it reads the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from laissez.exchange import commands
from laissez.exchange.commands import Action, Caps, Request
from laissez.exchange.events import CODES, EVENTS, Applied, Event, tenant_of
from laissez.exchange.names import Names
from laissez.exchange.refusals import REASONS, Refusal
from laissez.market import commands as market_commands
from laissez.market.commands import Alternative, Band
from laissez.market.events import LimitSet, OrderAmended, OrderPlaced
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
COMMAND_CODES = {kind: code for code, kind in enumerate(COMMANDS)}
REASON_CODES = {reason: code for code, reason in REASONS.items()}
_NAMING = frozenset((COMMAND_CODES[commands.CreateTenant], COMMAND_CODES[commands.IssueKey]))
_ACCEPTED = 2  # the length of an outcome without a refusal
END_REASONS = tuple(EndReason)
END_CODES = {reason: code for code, reason in enumerate(END_REASONS)}

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Any]).decode


class _Fields(NamedTuple):
    """How the fields of one struct are written and read."""

    names: tuple[str, ...]
    pack: tuple[Callable[[Any], Any] | None, ...]
    unpack: tuple[Callable[[Any], Any] | None, ...]


class Codec:
    """Reads and writes the entries of one exchange's journal. It must not read entries later than
    the exchange's state, because their names are not yet known."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._paths = names.paths
        self._path_numbers = {path: number for number, path in enumerate(names.paths)}
        self._holder_numbers: dict[str, int] = {}
        self._key_numbers: dict[str, int] = {}
        self._commands = [self._fields_of(kind, ("tenant",)) for kind in COMMANDS]
        self._events = [self._fields_of(kind, ("at", "tenant")) for kind in EVENTS]

    # -- requests

    def pack_request(self, request: Request) -> bytes:
        command = request.command
        code = COMMAND_CODES[type(command)]
        row: list[Any] = [
            code,
            self._pack_holder(request.who),
            self._pack_key(request.key),
            request.id,
            request.digest,
            request.of_session,
        ]
        # A fast path for the most frequent commands.
        if isinstance(command, market_commands.AmendOrder):
            row += (command.order, self._pack_alternatives(command.alternatives))
        elif isinstance(command, market_commands.SetLimit):
            row += (command.lease, command.limit)
        elif isinstance(command, market_commands.PlaceOrder):
            row.append(self._pack_alternatives(command.alternatives))
        else:
            self._pack_fields(row, self._commands[code], command)
        return _encode(row)

    def unpack_request(self, packed: bytes) -> Request:
        code, holder, key, id, digest, of_session, *values = _decode(packed)
        who = self._unpack_holder(holder)
        kind = COMMANDS[code]
        fields = [
            value if unpack is None else unpack(value)
            for unpack, value in zip(self._commands[code].unpack, values, strict=True)
        ]
        # The tenant of a command is its first field.
        command = kind(who, *fields) if kind in _OF_TENANT else kind(*fields)
        return Request(who, self._unpack_key(key), id, digest, command, of_session)

    def who_and_id(self, packed: bytes) -> tuple[str, str]:
        """The holder that made a request, and its idempotency key."""
        row = _decode(packed)
        return self._unpack_holder(row[1]), row[3]

    def learn(self, request: bytes, outcome: bytes) -> None:
        """Note the name that an entry created, for a reader without an exchange."""
        if _decode(request)[0] in _NAMING and len(_decode(outcome)) == _ACCEPTED:
            command = self.unpack_request(request).command
            if isinstance(command, commands.CreateTenant):
                self._names.holders.append(command.name)
            else:
                assert isinstance(command, commands.IssueKey)
                self._names.keys.append(command.key)

    # -- outcomes

    def pack_outcome(self, at: int, applied: Applied) -> bytes:
        numbers = applied.numbers
        rows: list[Any] = [
            self._row(at, numbers[place], event) for place, event in enumerate(applied.events)
        ]
        refusal = applied.refusal
        if refusal is None:
            return _encode((applied.first, rows))
        subject = self._path_numbers.get(refusal.subject, refusal.subject)
        reason = REASON_CODES[refusal.reason]
        return _encode((applied.first, rows, (reason, subject, *refusal.numbers)))

    def _row(self, at: int, n: int, event: Event) -> Sequence[Any]:
        code = CODES[type(event)]
        before = at - event.at
        # A fast path for the most frequent events.
        if isinstance(event, OrderAmended | OrderPlaced):
            alternatives = self._pack_alternatives(event.alternatives)
            holder = self._pack_holder(event.tenant)
            return code, n, before, holder, event.order, alternatives, event.clipped
        if isinstance(event, LimitSet):
            holder, leaf = self._pack_holder(event.tenant), self._pack_path(event.leaf)
            return code, n, before, holder, event.lease, leaf, event.limit
        row: list[Any] = [code, n, before]
        if n and code in _TENANT_CODES:
            row.append(self._pack_holder(tenant_of(event) or ""))
        self._pack_fields(row, self._events[code], event)
        return row

    def unpack_outcome(self, at: int, packed: bytes) -> Applied:
        first, rows, *refused = _decode(packed)
        events: list[Event] = []
        tenants: list[str | None] = []
        numbers: list[int] = []
        for code, n, before, *values in rows:
            has_tenant = n and code in _TENANT_CODES
            # Webhook events start with their holder, as tenants' events do with their tenant.
            tenant = self._unpack_holder(values[0]) if n else None
            fields = self._unpack_fields(self._events[code], values[1:] if has_tenant else values)
            fields["at"] = at - before
            if has_tenant:
                fields["tenant"] = tenant
            events.append(EVENTS[code](**fields))
            tenants.append(tenant)
            numbers.append(n)
        return Applied(first, tuple(events), tuple(tenants), tuple(numbers), self._refusal(refused))

    def _refusal(self, refused: Sequence[Any]) -> Refusal | None:
        if not refused:
            return None
        reason, subject, *numbers = refused[0]
        return Refusal(REASONS[reason], self._unpack_path(subject), tuple(numbers))

    def tenants_in(self, packed: bytes) -> tuple[int, tuple[str | None, ...]]:
        """The operator's number of an outcome's first event, and the tenant of each event."""
        row = _decode(packed)
        return row[0], tuple(
            [self._unpack_holder(event[3]) if event[1] else None for event in row[1]]
        )

    # -- fields

    def _fields_of(self, kind: type, without: tuple[str, ...]) -> _Fields:
        of_tenant = kind in _OF_TENANT or kind in CODES
        names = tuple(
            name
            for name in kind.__struct_fields__  # type: ignore[attr-defined]
            if not (of_tenant and name in without)
        )
        pairs = [self._pair(kind, name) for name in names]
        return _Fields(names, tuple(one for one, _ in pairs), tuple(other for _, other in pairs))

    def _pair(
        self, kind: type, name: str
    ) -> tuple[Callable[[Any], Any] | None, Callable[[Any], Any] | None]:
        if name in ("scope", "node", "leaf"):
            return self._pack_path, self._unpack_path
        if name in ("tenant", "holder"):
            return self._pack_holder, self._unpack_holder
        if name == "key" and kind is not commands.IssueKey:
            return self._pack_key, self._unpack_key
        if name == "alternatives":
            return self._pack_alternatives, self._unpack_alternatives
        if name in ("rise", "fall"):
            return _pack_band, _unpack_band
        if name == "reason":
            return END_CODES.__getitem__, END_REASONS.__getitem__
        if name == "action":
            return int, Action
        if name == "caps":
            return msgspec.structs.astuple, lambda packed: Caps(*packed)
        if name in ("types", "scopes"):
            return None, _unpack_tuple
        return None, None

    def _pack_fields(self, row: list[Any], fields: _Fields, struct: Any) -> None:
        for name, pack in zip(fields.names, fields.pack, strict=True):
            value = getattr(struct, name)
            row.append(value if pack is None else pack(value))

    def _unpack_fields(self, fields: _Fields, values: Sequence[Any]) -> dict[str, Any]:
        return {
            name: value if unpack is None else unpack(value)
            for name, unpack, value in zip(fields.names, fields.unpack, values, strict=True)
        }

    def _pack_path(self, path: str) -> int | str:
        return self._path_numbers.get(path, path)

    def _unpack_path(self, packed: int | str) -> str:
        return packed if isinstance(packed, str) else self._paths[packed]

    def _pack_holder(self, holder: str) -> int | str:
        return _number(self._holder_numbers, self._names.holders, holder)

    def _unpack_holder(self, packed: int | str) -> str:
        return packed if isinstance(packed, str) else self._names.holders[packed]

    def _pack_key(self, key: str) -> int | str:
        return _number(self._key_numbers, self._names.keys, key)

    def _unpack_key(self, packed: int | str) -> str:
        return packed if isinstance(packed, str) else self._names.keys[packed]

    def _pack_alternatives(self, alternatives: Sequence[Alternative]) -> list[Any]:
        """A flat list of scope, bid and limit. A bid that equals its limit is None."""
        flat: list[Any] = []
        for one in alternatives:
            bid = None if one.bid == one.limit else one.bid
            flat += (self._pack_path(one.scope), bid, one.limit)
        return flat

    def _unpack_alternatives(self, flat: Sequence[Any]) -> tuple[Alternative, ...]:
        return tuple(
            [
                Alternative(self._unpack_path(scope), limit if bid is None else bid, limit)
                for scope, bid, limit in zip(flat[::3], flat[1::3], flat[2::3], strict=True)
            ]
        )


_OF_TENANT = frozenset(
    (
        market_commands.PlaceOrder,
        market_commands.AmendOrder,
        market_commands.CancelOrder,
        market_commands.SetLimit,
        market_commands.Relinquish,
    )
)
_TENANT_CODES = frozenset(
    code
    for code, kind in enumerate(EVENTS)
    if "tenant" in kind.__struct_fields__  # type: ignore[attr-defined]
)


def _number(numbers: dict[str, int], by_age: list[str], name: str) -> int | str:
    """Look up a name's number. Names are only ever added, so a missing name extends the table."""
    number = numbers.get(name)
    if number is None:
        for place in range(len(numbers), len(by_age)):
            numbers[by_age[place]] = place
        number = numbers.get(name)
    return name if number is None else number


def _pack_band(band: Band | None) -> tuple[int, int] | None:
    return None if band is None else (band.fraction_ppm, band.interval_us)


def _unpack_band(packed: Sequence[int] | None) -> Band | None:
    return None if packed is None else Band(*packed)


def _unpack_tuple(packed: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if packed is None else tuple(packed)
