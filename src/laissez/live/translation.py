"""Between the words of the API and those of the market: prices as text and as numbers, orders by
name and by number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from laissez.market import commands
from laissez.tenants import Held, Resting
from laissez.units import format_price, parse_price, parse_time
from laissez.wire import requests, views
from laissez.wire.decoding import read_alternatives
from laissez.wire.rendering import alternatives_text

Sent: TypeAlias = requests.TenantCommand | requests.OperatorCommand


class Names:
    """Numbers for the orders and leases of one tenant: policies speak of numbers, the API of
    ids."""

    def __init__(self) -> None:
        self._orders: dict[int, str] = {}
        self._leases: dict[int, str] = {}
        self._last = 0  # a number is never used again
        self._touched: dict[int, int] = {}  # when an order was last amended from here

    def held(self, leases: tuple[views.Lease, ...]) -> tuple[Held, ...]:
        """Leases with their numbers; those that are gone are forgotten."""
        self._leases = self._numbered(self._leases, [lease.id for lease in leases])
        return tuple(
            Held(
                number,
                lease.leaf,
                parse_time(lease.started_at),
                parse_price(lease.charged),
                None if lease.limit is None else parse_price(lease.limit),
            )
            for number, lease in zip(self._leases, leases, strict=True)
        )

    def resting(self, orders: tuple[views.Order, ...]) -> tuple[Resting, ...]:
        """Orders with their numbers; those that are gone are forgotten."""
        self._orders = self._numbered(self._orders, [order.id for order in orders])
        self._touched = {
            number: at for number, at in self._touched.items() if number in self._orders
        }
        return tuple(
            self._resting(number, order) for number, order in zip(self._orders, orders, strict=True)
        )

    def _numbered(self, known: dict[int, str], ids: list[str]) -> dict[int, str]:
        numbers = {id: number for number, id in known.items()}
        return {numbers.get(id) or self._next(): id for id in ids}

    def _next(self) -> int:
        self._last += 1
        return self._last

    def _resting(self, number: int, order: views.Order) -> Resting:
        placed_at = self._touched.get(number, parse_time(order.placed_at))
        return Resting(number, placed_at, read_alternatives(order.alternatives))

    def request(self, command: commands.TenantCommand, now: int) -> Sent:
        """The command as the API takes it."""
        match command:
            case commands.PlaceOrder():
                return requests.PlaceOrder(alternatives=alternatives_text(command.alternatives))
            case commands.AmendOrder():
                self._touched[command.order] = now
                return requests.AmendOrder(
                    order=self._orders[command.order],
                    alternatives=alternatives_text(command.alternatives),
                )
            case commands.CancelOrder():
                return requests.CancelOrder(order=self._orders[command.order])
            case commands.SetLimit():
                return requests.SetLimit(
                    lease=self._leases[command.lease],
                    limit=None if command.limit is None else format_price(command.limit),
                )
            case commands.Relinquish():
                return requests.Relinquish(
                    lease=self._leases[command.lease], budget_spent=command.budget_spent
                )


def described(command: commands.TenantCommand, leaves: Mapping[int, str]) -> dict[str, str]:
    """What a command asks for, in words and dollars per hour. `leaves` are those of the leases, by
    number."""
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
                "leaf": leaves[command.lease],
                "limit": "none" if command.limit is None else format_price(command.limit),
            }
        case commands.Relinquish():
            return {
                "leaf": leaves[command.lease],
                **({"why": "budget spent"} if command.budget_spent else {}),
            }
