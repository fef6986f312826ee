"""Translates between the API's texts and ids and the policies' numbers."""

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
    """Numbers for the orders and leases of one tenant, whose ids policies do not know."""

    def __init__(self) -> None:
        self._orders: dict[int, str] = {}
        self._leases: dict[int, str] = {}
        self._last = 0  # numbers are never reused
        self._amended: dict[int, int] = {}  # by order: the time of the last amendment

    def held(self, leases: tuple[views.Lease, ...]) -> tuple[Held, ...]:
        """Leases with their numbers. Ended ones are forgotten."""
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
        """Open orders with their numbers. Others are forgotten."""
        self._orders = self._numbered(self._orders, [order.id for order in orders])
        self._amended = {
            number: at for number, at in self._amended.items() if number in self._orders
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
        placed_at = self._amended.get(number, parse_time(order.placed_at))
        return Resting(number, placed_at, read_alternatives(order.alternatives))

    def request(self, command: commands.TenantCommand, now: int) -> Sent:
        """The request for a command."""
        match command:
            case commands.PlaceOrder():
                return requests.PlaceOrder(alternatives=alternatives_text(command.alternatives))
            case commands.AmendOrder():
                self._amended[command.order] = now
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
    """A command in words and dollars per hour. `leaves` are the leaves of the leases, by number."""
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
