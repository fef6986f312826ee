"""The commands of the benchmark's tenants: training renegotiates 3 times a second, inference 10
times, as in the paper's evaluation.

A training tenant mostly moves the limits of its leases, as its checkpoints age; an inference tenant
follows its demand with orders. Prices are drawn so that most orders wait and a few change hands.

The generator shares the machine with the server, so a message must cost little: kinds, prices and
scopes are drawn and encoded beforehand, and a message is joined from such pieces.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from laissez_bench.cluster import HOLD_LIMITS, WAITING_BIDS, Held

# percent
TRAINING = {"place_order": 5, "amend_order": 25, "cancel_order": 5, "set_limit": 45, "quote": 20}
INFERENCE = {"place_order": 18, "amend_order": 27, "cancel_order": 18, "set_limit": 17, "quote": 20}
EAGER = 0.02  # the share of orders that bid above many holders' limits, so that leases change hands
POOL = 1_024  # alternatives and limits to draw from
QUOTED = "h100"


class Drawn(NamedTuple):
    kind: str
    id: str
    subject: str  # the order or the lease
    choice: int  # of the pool


class Event(msgspec.Struct, gc=False):
    type: str
    order: str | None = None
    lease: str | None = None


class Pool:
    """The prices and scopes that all tenants draw from."""

    def __init__(self, scopes: Sequence[str], seed: int) -> None:
        draw = random.Random(f"{seed}/pool")

        def price(between: tuple[int, int]) -> str:
            return f"{draw.randint(*between) / 1_000_000:.6f}"

        self.alternatives = [
            [
                {
                    "scope": draw.choice(scopes),
                    "limit": price(HOLD_LIMITS if draw.random() < EAGER else WAITING_BIDS),
                }
            ]
            for _ in range(POOL)
        ]
        self.limits = [price(HOLD_LIMITS) for _ in range(POOL)]


class Tenant:
    """Draws one tenant's commands, and learns its orders and leases from the answers."""

    def __init__(self, number: int, held: Held, seed: int, reads: bool = True) -> None:
        self._draw = random.Random(f"{seed}/{number}").random
        self._made = 0
        self.key = held.key
        self.prefix = f"{seed:x}-{number:x}-"
        self.orders = held.orders.copy()
        self.leases = held.leases.copy()
        mixture = TRAINING if number % 2 else INFERENCE
        self._kinds = [
            kind
            for kind, percent in mixture.items()
            for _ in range(percent)
            if reads or kind != "quote"
        ]

    def next(self) -> Drawn:
        self._made += 1
        draw = self._draw
        kind, subject = self._kinds[int(draw() * len(self._kinds))], ""
        if kind == "set_limit" and self.leases:
            subject = self.leases[int(draw() * len(self.leases))]
        elif kind == "amend_order" and self.orders:
            subject = self.orders[int(draw() * len(self.orders))]
        elif kind == "cancel_order" and len(self.orders) >= 3:
            subject = self.orders.pop(int(draw() * len(self.orders)))
        elif kind != "quote":
            kind = "place_order"
        return Drawn(kind, f"{self.prefix}{self._made:08}", subject, int(draw() * POOL))

    def heard(self, event: Event) -> None:
        kind, order, lease = event.type, event.order, event.lease
        if kind == "order.placed" and order is not None:
            self.orders.append(order)
        elif kind == "lease.started" and lease is not None:
            self.leases.append(lease)
            if order in self.orders:
                self.orders.remove(order)
        elif kind == "lease.ended" and lease in self.leases:
            self.leases.remove(lease)

    def lost(self, subject: str) -> None:
        """The order or the lease is gone."""
        for mine in (self.orders, self.leases):
            if subject in mine:
                mine.remove(subject)


class Codec:
    """Joins messages from pieces that were encoded once."""

    def __init__(self, pool: Pool, packed: bool) -> None:
        self._packed = packed
        self._encode: Callable[[Any], bytes] = (
            msgspec.msgpack.Encoder().encode if packed else msgspec.json.Encoder().encode
        )
        self._type = {kind: self._piece("type", kind) for kind in TRAINING}
        self._scope = self._piece("scope", QUOTED)
        self._alternatives = [self._piece("alternatives", one) for one in pool.alternatives]
        self._limits = [self._piece("limit", one) for one in pool.limits]

    def message(self, drawn: Drawn) -> bytes:
        kind = drawn.kind
        return self._object(self._type[kind], self._piece("id", drawn.id), *self._rest(drawn))

    def body(self, drawn: Drawn) -> bytes:
        """What a REST request says beside its path."""
        if drawn.kind in ("quote", "cancel_order"):
            return b""
        return self._object(self._rest(drawn)[-1])

    def array(self, messages: list[bytes]) -> bytes:
        if self._packed:  # with the shortest header, as MessagePack encoders write it
            size = len(messages)
            header = bytes((0x90 | size,)) if size < 16 else b"\xdc" + size.to_bytes(2, "big")
            return header + b"".join(messages)
        return b"[" + b",".join(messages) + b"]"

    def _rest(self, drawn: Drawn) -> tuple[bytes, ...]:
        kind, _, subject, choice = drawn
        if kind == "place_order":
            return (self._alternatives[choice],)
        if kind == "set_limit":
            return self._piece("lease", subject), self._limits[choice]
        if kind == "amend_order":
            return self._piece("order", subject), self._alternatives[choice]
        return (self._scope,) if kind == "quote" else (self._piece("order", subject),)

    def _piece(self, name: str, value: object) -> bytes:
        encode = self._encode
        return encode(name) + (b"" if self._packed else b":") + encode(value)

    def _object(self, *pieces: bytes) -> bytes:
        if self._packed:
            return bytes((0x80 | len(pieces),)) + b"".join(pieces)
        return b"{" + b",".join(pieces) + b"}"
