"""Random requests of a crash test: everything a tenant or the operator may send, over few leaves
and with prices from a coarse grid.

A request is written as a session's message; `as_rest` says the same to REST.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count

from laissez.wire.ids import order_id, tag_of
from laissez_check.crashes.ledger import Asked, Holdings, Json
from laissez_check.started_server import LEAVES

PRICES = ("0", "100", "200", "200.000001", "333.333333", "400", "700", "1000.5")
SCOPES = ("gpu", "gpu/a", "gpu/a/r1", "gpu/a/r2", "gpu/b", "gpu/b/r3", "cpu", *LEAVES)
ORDERS_MANY = 12
OF_REST = frozenset({"batch", "run", "stop"})


class Drawer:
    """One per run; draws from its own source, so that the same seed sends the same kinds of
    requests."""

    def __init__(
        self,
        draw: random.Random,
        scopes: Sequence[str] = SCOPES,
        leaves: Sequence[str] = LEAVES,
        prices: Sequence[str] = PRICES,
    ) -> None:
        self.draw = draw
        self._scopes = scopes
        self._leaves = leaves
        self._prices = prices
        self._trees = tuple(scope for scope in scopes if "/" not in scope)
        self._counts: dict[str, Iterator[int]] = {}

    def asked(self, holder: str, command: Json, of_session: bool = False) -> Asked:
        """Under an id that others use as well, each for something of its own."""
        number = next(self._counts.setdefault(holder, count(1)))
        return Asked(holder, f"r{number}", command, of_session and command["type"] == "place_order")

    # -- tenants

    def for_tenant(self, has: Holdings) -> Json:
        chance = self.draw.random()
        if chance < 0.06:
            commands = [self._command(has) for _ in range(self.draw.choice((1, 2, 3, 8)))]
            return {"type": "batch", "commands": commands}
        if chance < 0.12:
            return self._run(has)
        if chance < 0.18 and (has.orders or has.leases):
            return self._stop(has)
        return self._command(has)

    def _command(self, has: Holdings) -> Json:
        chance = self.draw.random()
        orders, leases = list(has.orders), list(has.leases)
        if leases and chance < 0.15:
            return {"type": "relinquish", "lease": self.draw.choice(leases)}
        if leases and chance < 0.32:
            return {
                "type": "set_limit",
                "lease": self.draw.choice(leases),
                "limit": self.draw.choice((None, *self._prices)),
            }
        if orders and chance < 0.48:
            return {
                "type": "amend_order",
                "order": self.draw.choice(orders),
                "alternatives": self._alternatives(),
            }
        if orders and chance < (0.9 if len(orders) > ORDERS_MANY else 0.6):
            return {"type": "cancel_order", "order": self.draw.choice(orders)}
        return {"type": "place_order", "alternatives": self._alternatives()}

    def _alternatives(self) -> list[Json]:
        scopes = self.draw.sample(
            self._scopes, min(len(self._scopes), self.draw.choice((1, 1, 1, 2, 3)))
        )
        return [self._alternative(scope) for scope in scopes]

    def _alternative(self, scope: str) -> Json:
        bid, limit = sorted(
            (self.draw.choice(self._prices), self.draw.choice(self._prices)), key=float
        )
        return (
            {"scope": scope, "limit": limit}
            if self.draw.random() < 0.3
            else {"scope": scope, "bid": bid, "limit": limit}
        )

    def _run(self, has: Holdings) -> Json:
        command: Json = {
            "type": "run",
            "count": self.draw.choice((1, 1, 2, 4)),
            "max_price": self.draw.choice(self._prices),
        }
        leases = list(has.leases)
        if leases and self.draw.random() < 0.4:
            return {**command, "near": self.draw.choice(leases), "level": self.draw.choice((0, 1))}
        if self.draw.random() < 0.5:
            return {**command, "scope": self.draw.choice(self._scopes)}
        return {**command, "tree": self.draw.choice(self._trees)}

    def _stop(self, has: Holdings) -> Json:
        orders = [*has.orders, *has.leases.values()]
        return {"type": "stop", "instance": self.draw.choice(orders).replace("ord_", "ins_")}

    # -- the operator

    def for_operator(self) -> Json:
        chance = self.draw.random()
        node = self.draw.choice(self._scopes)
        if chance < 0.35:
            return {
                "type": "set_floor",
                "node": node,
                "price": self.draw.choice((None, *self._prices[:6])),
            }
        if chance < 0.6:
            return {"type": "set_controls", "node": node, **self._controls()}
        kind = "take_offline" if chance < 0.72 else "bring_online"
        return {"type": kind, "leaf": self.draw.choice(self._leaves)}

    def _controls(self) -> Json:
        """Holds and fees of a few tenths of a second, so that they end within a life of the server,
        or during its death."""
        settings: Json = {}
        if self.draw.random() < 0.35:
            settings["hold_s"] = self.draw.choice((0.05, 0.2, 0.7, 1.5))
        if self.draw.random() < 0.4:
            settings["flash_s"] = self.draw.choice((0.1, 0.5, 1.0))
        for band in ("rise", "fall"):
            if self.draw.random() < 0.3:
                settings[band] = {
                    "fraction": self.draw.choice(("0.1", "0.5")),
                    "seconds": self.draw.choice((0.1, 0.5)),
                }
        return settings


def never_placed(holder: str) -> str:
    """The id of an order that the holder could have and has not: it gets as far as the market."""
    return order_id(tag_of(holder), 10**9)


def another(holder: str, command: Json) -> Json:
    """A request that differs: under the same id it must conflict."""
    cancels = {"type": "cancel_order", "order": never_placed(holder)}
    if command["type"] == "batch":
        return {
            "type": "batch",
            "commands": [
                *command["commands"][1:],
                cancels,
            ],
        }
    if command["type"] == "run":
        return {**command, "max_price": "9999.999999"}
    if command["type"] == "cancel_order":
        return {"type": "cancel_order", "order": command["order"] + "0"}
    return cancels


def another_of_operator() -> Json:
    return {"type": "set_floor", "node": "gpu", "price": "9999.999999"}


def as_rest(command: Json) -> tuple[str, str, Json | None]:
    """Method, path and body."""
    kind = command["type"]
    rest = {name: value for name, value in command.items() if name != "type"}
    if kind == "place_order":
        return "POST", "/v1/orders", rest
    if kind == "amend_order":
        return "PUT", f"/v1/orders/{rest.pop('order')}", rest
    if kind == "cancel_order":
        return "DELETE", f"/v1/orders/{rest['order']}", None
    if kind == "set_limit":
        return "PATCH", f"/v1/leases/{rest.pop('lease')}", rest
    if kind == "relinquish":
        return "DELETE", f"/v1/leases/{rest['lease']}", None
    if kind == "batch":
        return "POST", "/v1/batch", rest
    if kind == "run":
        return (
            "POST",
            "/v1/instances",
            {"type" if name == "tree" else name: value for name, value in rest.items()},
        )
    if kind == "stop":
        return "DELETE", f"/v1/instances/{rest['instance']}", None
    return _operator_as_rest(kind, rest)


def _operator_as_rest(kind: str, rest: Json) -> tuple[str, str, Json | None]:
    if kind == "set_floor":
        path = f"/v1/floors/{rest.pop('node')}"
        return ("DELETE", path, None) if rest["price"] is None else ("PUT", path, rest)
    if kind == "set_controls":
        return "PUT", f"/v1/controls/{rest.pop('node')}", rest
    return "PATCH", f"/v1/resources/{rest['leaf']}", {"online": kind == "bring_online"}
