"""Random requests of tenants and the operator: everything that they may send, over few leaves and
with prices from a coarse grid.

A request is written as a message of a session; `as_rest` turns it into one of REST.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from laissez.exchange.commands import OPERATOR
from laissez.wire.ids import order_id, tag_of
from laissez_check.clients.ledger import Asked, Holdings, Json
from laissez_check.worlds import World

PRICES = ("0", "1", "2", "2.000001", "3.333333", "4", "7", "10.5")
ORDERS_MANY = 12
OF_REST = frozenset({"batch", "run", "stop"})
UNUSUAL_PRICE = "9999.999999"

# By kind: method, path, and the field whose value ends the path.
REST = {
    "place_order": ("POST", "/v1/orders", ""),
    "amend_order": ("PUT", "/v1/orders/", "order"),
    "cancel_order": ("DELETE", "/v1/orders/", "order"),
    "set_limit": ("PATCH", "/v1/leases/", "lease"),
    "relinquish": ("DELETE", "/v1/leases/", "lease"),
    "batch": ("POST", "/v1/batch", ""),
    "run": ("POST", "/v1/instances", ""),
    "stop": ("DELETE", "/v1/instances/", "instance"),
    "set_floor": ("PUT", "/v1/floors/", "node"),
    "set_controls": ("PUT", "/v1/controls/", "node"),
    "take_offline": ("PATCH", "/v1/resources/", "leaf"),
    "bring_online": ("PATCH", "/v1/resources/", "leaf"),
}


class Drawer:
    """Draws the requests of one run."""

    def __init__(self, draw: random.Random, forest: World, prices: Sequence[str]) -> None:
        self.draw = draw
        self._scopes = forest.nodes()
        self._leaves = forest.leaves
        self._prices = prices
        self._trees = tuple(scope for scope in self._scopes if "/" not in scope)
        self._count: Counter[str] = Counter()

    def asked(self, holder: str, command: Json, of_session: bool = False) -> Asked:
        """The command under an id that other holders use for other commands."""
        self._count[holder] += 1
        goes_with_session = of_session and command["type"] == "place_order"
        return Asked(holder, f"r{self._count[holder]}", command, goes_with_session)

    # -- tenants

    def for_tenant(self, has: Holdings) -> Json:
        chance = self.draw.random()
        if chance < 0.06:
            commands = [self._command(has) for _ in range(self.draw.choice((1, 2, 3, 8)))]
            return {"type": "batch", "commands": commands}
        if chance < 0.12:
            return self._run(has)
        if chance < 0.18 and (has.orders or has.leases):
            orders = [*has.orders, *has.leases.values()]
            return {"type": "stop", "instance": self.draw.choice(orders).replace("ord_", "ins_")}
        return self._command(has)

    def _command(self, has: Holdings) -> Json:
        pick, chance = self.draw.choice, self.draw.random()
        orders, leases = list(has.orders), list(has.leases)
        if leases and chance < 0.15:
            return {"type": "relinquish", "lease": pick(leases)}
        if leases and chance < 0.32:
            return {
                "type": "set_limit",
                "lease": pick(leases),
                "limit": pick((None, *self._prices)),
            }
        if orders and chance < 0.48:
            order = pick(orders)
            return {"type": "amend_order", "order": order, "alternatives": self._alternatives()}
        if orders and chance < (0.9 if len(orders) > ORDERS_MANY else 0.6):
            return {"type": "cancel_order", "order": pick(orders)}
        return {"type": "place_order", "alternatives": self._alternatives()}

    def _alternatives(self) -> list[Json]:
        count = min(len(self._scopes), self.draw.choice((1, 1, 1, 2, 3)))
        return [self._alternative(scope) for scope in self.draw.sample(self._scopes, count)]

    def _alternative(self, scope: str) -> Json:
        prices = (self.draw.choice(self._prices), self.draw.choice(self._prices))
        bid, limit = sorted(prices, key=float)
        if self.draw.random() < 0.3:
            return {"scope": scope, "limit": limit}
        return {"scope": scope, "bid": bid, "limit": limit}

    def _run(self, has: Holdings) -> Json:
        count, price = self.draw.choice((1, 1, 2, 4)), self.draw.choice(self._prices)
        command: Json = {"type": "run", "count": count, "max_price": price}
        leases = list(has.leases)
        if leases and self.draw.random() < 0.4:
            return {**command, "near": self.draw.choice(leases), "level": self.draw.choice((0, 1))}
        if self.draw.random() < 0.5:
            return {**command, "scope": self.draw.choice(self._scopes)}
        return {**command, "tree": self.draw.choice(self._trees)}

    # -- the operator

    def for_operator(self) -> Json:
        chance = self.draw.random()
        node = self.draw.choice(self._scopes)
        if chance < 0.35:
            price = self.draw.choice((None, *self._prices[:6]))
            return {"type": "set_floor", "node": node, "price": price}
        if chance < 0.6:
            return {"type": "set_controls", "node": node, **self._controls()}
        kind = "take_offline" if chance < 0.72 else "bring_online"
        return {"type": kind, "leaf": self.draw.choice(self._leaves)}

    def _controls(self) -> Json:
        """Holds and fees of tenths of a second: they end while the server runs or is down."""
        pick = self.draw.choice
        settings: Json = {}
        if self.draw.random() < 0.35:
            settings["hold_s"] = pick((0.05, 0.2, 0.7, 1.5))
        if self.draw.random() < 0.4:
            settings["flash_s"] = pick((0.1, 0.5, 1.0))
        for band in ("rise", "fall"):
            if self.draw.random() < 0.3:
                settings[band] = {"fraction": pick(("0.1", "0.5")), "seconds": pick((0.1, 0.5))}
        return settings


def never_placed(holder: str) -> str:
    """The id of an order that the holder never placed. Requests with it reach the market."""
    return order_id(tag_of(holder), 10**9)


def another(holder: str, command: Json) -> Json:
    """Another request: under the same id it must conflict."""
    if holder == OPERATOR:
        return {"type": "set_floor", "node": "gpu", "price": UNUSUAL_PRICE}
    cancels = {"type": "cancel_order", "order": never_placed(holder)}
    if command["type"] == "batch":
        return {"type": "batch", "commands": [*command["commands"][1:], cancels]}
    if command["type"] == "run":
        return {**command, "max_price": UNUSUAL_PRICE}
    if command["type"] == "cancel_order":
        return {"type": "cancel_order", "order": command["order"] + "0"}
    return cancels


def as_rest(command: Json) -> tuple[str, str, Json | None]:
    """Method, path and body."""
    body = dict(command)
    kind = body.pop("type")
    method, path, subject = REST[kind]
    if subject:
        path += body.pop(subject)
    if kind == "set_floor" and body["price"] is None:
        method = "DELETE"
    if kind in ("take_offline", "bring_online"):
        body = {"online": kind == "bring_online"}
    if "tree" in body:
        body["type"] = body.pop("tree")
    return method, path, None if method == "DELETE" else body
