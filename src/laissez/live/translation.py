"""Between the words of the API and those of the market: prices as text and as numbers, orders by
name and by number."""

from __future__ import annotations

from typing import TypeAlias

from laissez.market import commands
from laissez.market.commands import Alternative
from laissez.market.money import format_price, parse_price
from laissez.tenants import Held, Resting
from laissez.wire import requests, views
from laissez.wire.times import parse_time

Sent: TypeAlias = requests.TenantCommand | requests.OperatorCommand


class Names:
    """Numbers for the orders of one tenant, and the leases by their leaves: policies speak of
    numbers and leaves, the API of ids."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._last = 0  # a number is never used again
        self._orders: dict[int, str] = {}
        self._leases: dict[str, str] = {}
        self._touched: dict[int, int] = {}  # when an order was last amended from here

    def held(self, leases: tuple[views.Lease, ...]) -> tuple[Held, ...]:
        self._leases = {lease.leaf: lease.id for lease in leases}
        return tuple(
            Held(
                lease.leaf,
                parse_time(lease.started_at),
                parse_price(lease.charged),
                None if lease.limit is None else parse_price(lease.limit),
            )
            for lease in leases
        )

    def resting(self, orders: tuple[views.Order, ...]) -> tuple[Resting, ...]:
        """Orders with their numbers; those that are gone are forgotten."""
        self._numbers = {order.id: self._numbers.get(order.id) or self._next() for order in orders}
        self._orders = {number: id for id, number in self._numbers.items()}
        self._touched = {
            number: at for number, at in self._touched.items() if number in self._orders
        }
        return tuple(self._resting(self._numbers[order.id], order) for order in orders)

    def _next(self) -> int:
        self._last += 1
        return self._last

    def _resting(self, number: int, order: views.Order) -> Resting:
        alternatives = tuple(
            Alternative(one.scope, parse_price(one.bid), parse_price(one.limit))
            for one in order.alternatives
        )
        return Resting(number, self._touched.get(number, parse_time(order.placed_at)), alternatives)

    def request(self, command: commands.TenantCommand, now: int) -> Sent:
        """The command as the API takes it."""
        match command:
            case commands.PlaceOrder():
                return requests.PlaceOrder(alternatives=_written(command.alternatives))
            case commands.AmendOrder():
                self._touched[command.order] = now
                return requests.AmendOrder(
                    order=self._orders[command.order], alternatives=_written(command.alternatives)
                )
            case commands.CancelOrder():
                return requests.CancelOrder(order=self._orders[command.order])
            case commands.SetLimit():
                return requests.SetLimit(
                    lease=self._leases[command.leaf],
                    limit=None if command.limit is None else format_price(command.limit),
                )
            case commands.Relinquish():
                return requests.Relinquish(
                    lease=self._leases[command.leaf], budget_spent=command.budget_spent
                )


def _written(alternatives: tuple[Alternative, ...]) -> tuple[requests.Alternative, ...]:
    return tuple(
        requests.Alternative(one.scope, format_price(one.limit), format_price(one.bid))
        for one in alternatives
    )


def described(command: commands.TenantCommand) -> dict[str, str]:
    """What a command asks for, in words and dollars per hour."""
    match command:
        case commands.PlaceOrder() | commands.AmendOrder():
            return {
                "for": " or ".join(
                    f"{one.scope}@{format_price(one.limit)}" for one in command.alternatives
                )
            }
        case commands.CancelOrder():
            return {}
        case commands.SetLimit():
            return {
                "leaf": command.leaf,
                "limit": "none" if command.limit is None else format_price(command.limit),
            }
        case commands.Relinquish():
            return {
                "leaf": command.leaf,
                **({"why": "budget spent"} if command.budget_spent else {}),
            }
