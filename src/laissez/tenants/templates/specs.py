"""The `market` section of a task: the template that it uses, and the template's numbers.

Every template takes `template`, `budget` (dollars in all) and `max_price` (dollars per hour for a
node; nothing is bid or kept above it). The class of each template adds its own fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from laissez.config import ConfigError, Instant
from laissez.market.commands import ORDERS_PER_TENANT_MAX, PRICE_MAX
from laissez.tenants.hooks import Wish
from laissez.tenants.paths import tree_of
from laissez.tenants.settings import AdapterSettings
from laissez.tenants.templates import slo
from laissez.tenants.templates.deadline import COLD_START_S, MARGIN, DeadlineJob
from laissez.tenants.templates.fields import (
    Factor,
    Hours,
    Interval,
    Money,
    Price,
    Replicas,
    Seconds,
)
from laissez.tenants.templates.fixed import OnDemand, Spot
from laissez.tenants.templates.slo import SloService
from laissez.tenants.templates.template import Template
from laissez.units import MICRO_PER_DOLLAR, SECOND_US, TimeError, format_price, format_time


class TemplateSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that all templates share."""

    moves_max: ClassVar[int] = 1  # nodes exchanged for better ones at a time

    budget: Money | None = None
    max_price: Price | None = None

    @property
    def settings(self) -> AdapterSettings:
        price_max = PRICE_MAX if self.max_price is None else int(self.max_price)
        return AdapterSettings(price_max=price_max, budget=self.budget, moves_max=self.moves_max)

    def mistakes(self, scopes: Wish, nodes: int) -> Iterator[str]:
        """Invalid combinations of valid fields, as "field: expected ..., found ..."."""
        yield from ()

    def build(self, scopes: Wish, nodes: int, start: int) -> Template:
        """The application of a task that starts at `start`, or a `ConfigError`."""
        raise NotImplementedError


class OnDemandSpec(TemplateSpec, frozen=True, kw_only=True):
    """Asks and keeps at `max_price`."""

    # a fixed number of nodes says nothing about restarts, so nodes are left where they are
    moves_max: ClassVar[int] = 0

    max_price: Price

    def build(self, scopes: Wish, nodes: int, start: int) -> Template:
        return OnDemand(scopes, nodes, self.max_price / MICRO_PER_DOLLAR, start)


class SpotSpec(TemplateSpec, frozen=True, kw_only=True):
    """Takes `limit`, or `share_of_on_demand` of `on_demand_price`, and the margin of `Spot`."""

    moves_max: ClassVar[int] = 0

    limit: Price | None = None
    share_of_on_demand: Annotated[float, Meta(gt=0, le=1)] | None = None
    on_demand_price: Price | None = None
    give_up_below_limit: Annotated[float, Meta(ge=0, lt=1)] = 0.0

    def mistakes(self, scopes: Wish, nodes: int) -> Iterator[str]:
        yield from _exclusive(self, "limit", "share_of_on_demand", "on_demand_price")
        if self.limit is None and self.share_of_on_demand is None:
            yield (
                "limit: expected a price in dollars per hour, or share_of_on_demand and"
                " on_demand_price, found neither"
            )
        if self.share_of_on_demand is not None and self.on_demand_price is None:
            yield (
                "on_demand_price: expected the price that share_of_on_demand is a share of, in"
                " dollars per hour, found nothing"
            )
        most = self.settings.price_max
        if self.limit is not None and self.limit > most:
            yield (
                f"limit: expected at most market.max_price, {format_price(most)}, found"
                f" {format_price(self.limit)}"
            )

    def build(self, scopes: Wish, nodes: int, start: int) -> Template:
        margin = self.give_up_below_limit
        if self.limit is not None:
            return Spot(scopes, nodes, self.limit / MICRO_PER_DOLLAR, margin, start)
        assert self.on_demand_price is not None and self.share_of_on_demand is not None
        on_demand = self.on_demand_price / MICRO_PER_DOLLAR
        return Spot(scopes, nodes, on_demand * self.share_of_on_demand, margin, start)


class Due(int):
    """A deadline: a time in microseconds since 1970 or, if negative, a duration after the start."""

    expected: ClassVar = (
        "a time with its zone such as 2026-11-20T18:00:00Z, or a duration with its unit such as 6h"
    )

    @classmethod
    def of(cls, text: object) -> Due:
        try:
            return cls(-round(Interval.of(text) * SECOND_US))
        except TimeError:
            pass
        try:
            return cls(Instant.of(text))
        except ConfigError:
            raise ConfigError(f"expected {cls.expected}") from None

    def for_start(self, start: int) -> int:
        return start - self if self < 0 else int(self)


class DeadlineSpec(TemplateSpec, frozen=True, kw_only=True):
    """Takes `value`, or `on_demand_price` and perhaps `margin`; `speeds` are needed for several
    types. `num_nodes` is the most nodes at once."""

    work_hours: Hours
    deadline: Due
    speeds: Mapping[str, Factor] | None = None
    value: Money | None = None
    on_demand_price: Price | None = None
    margin: Factor | None = None
    checkpoint_interval: Interval | None = None
    cold_start: Seconds = Seconds(COLD_START_S)
    finish_late: bool = True

    def mistakes(self, scopes: Wish, nodes: int) -> Iterator[str]:
        yield from _exclusive(self, "value", "on_demand_price", "margin")
        if self.value is None and self.on_demand_price is None:
            yield (
                "on_demand_price: expected the on-demand price of a node of speed 1 in dollars per"
                " hour, or value, found neither"
            )
        kinds, speeds = _kinds(scopes), self._speeds(scopes)
        given = {kinds[0]: 1.0} if self.speeds is None else self.speeds
        if speeds.keys() != set(kinds) or len(speeds) != len(given):
            found = "nothing" if self.speeds is None else ", ".join(given) or "none"
            yield f"speeds: expected one speed for each of {', '.join(kinds)}, found {found}"

    def build(self, scopes: Wish, nodes: int, start: int) -> Template:
        due = self.deadline.for_start(start)
        if due <= start:
            raise ConfigError(
                f"deadline: expected a time after the start of the task at {format_time(start)},"
                f" found {format_time(due)}"
            )
        return DeadlineJob(
            scopes,
            nodes,
            start=start,
            due=due,
            work_hours=self.work_hours,
            speeds=self._speeds(scopes),
            value=self._value(),
            checkpoint_s=self.checkpoint_interval,
            cold_s=self.cold_start,
            finish_late=self.finish_late,
        )

    def _speeds(self, scopes: Wish) -> dict[str, float]:
        kinds = _kinds(scopes)
        if self.speeds is None:
            return {kinds[0]: 1.0}
        return {
            name.lower() if name.lower() in kinds else name: speed
            for name, speed in self.speeds.items()
        }

    def _value(self) -> float:
        if self.value is not None:
            return self.value / MICRO_PER_DOLLAR
        margin = MARGIN if self.margin is None else self.margin
        return (self.on_demand_price or 0) / MICRO_PER_DOLLAR * self.work_hours * margin


class SloSpec(TemplateSpec, frozen=True, kw_only=True):
    """Needs `num_nodes` until the probe says otherwise."""

    penalty_per_hour: Money
    replicas_min: Replicas | None = None
    replicas_max: Replicas | None = None
    spare_replicas: Replicas = 0
    cold_start: Seconds = Seconds(slo.COLD_START_S)

    def mistakes(self, scopes: Wish, nodes: int) -> Iterator[str]:
        most = nodes if self.replicas_max is None else self.replicas_max
        for field, low, high in (
            ("replicas_min", 0, nodes),
            ("replicas_max", nodes, ORDERS_PER_TENANT_MAX),
            ("spare_replicas", 0, max(0, ORDERS_PER_TENANT_MAX - most)),
        ):
            found = getattr(self, field)
            if found is not None and not low <= found <= high:
                yield f"{field}: expected an integer from {low} up to {high:,}, found {found}"

    def build(self, scopes: Wish, nodes: int, start: int) -> Template:
        return SloService(
            scopes,
            nodes,
            penalty=self.penalty_per_hour / MICRO_PER_DOLLAR,
            least=min(1, nodes) if self.replicas_min is None else self.replicas_min,
            most=nodes if self.replicas_max is None else self.replicas_max,
            spares=self.spare_replicas,
            cold_s=self.cold_start,
            start=start,
        )


TEMPLATES: Final[Mapping[str, type[TemplateSpec]]] = {
    "on_demand": OnDemandSpec,
    "spot": SpotSpec,
    "deadline": DeadlineSpec,
    "slo": SloSpec,
}


def _kinds(scopes: Wish) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(tree_of, scopes)))


def _exclusive(spec: TemplateSpec, kept: str, *others: str) -> Iterator[str]:
    """Refuse fields that say the same as `kept` in another way."""
    for other in others:
        if getattr(spec, kept) is not None and getattr(spec, other) is not None:
            yield (
                f"{other}: cannot stand beside market.{kept}, which says it all; keep one of the"
                " two"
            )
