"""`market`: which template a task uses, and its numbers.

Every template takes `template`, `budget` (dollars in all) and `max_price` (dollars per hour for a
node, above which nothing is bid or kept), and:

- `on_demand`: `max_price` must be there, and is what it asks and keeps at.
- `spot`: `limit`, or `share_of_on_demand` (above 0, at most 1) with `on_demand_price`;
  `give_up_below_limit` is the margin of `Spot`.
- `deadline`: `work_hours`, `deadline` (a time, or a duration from the start of the task), `speeds`
  of the types (1 if there is only one); `value`, or `on_demand_price` and perhaps `margin`;
  `checkpoint_interval`, `cold_start`, `finish_late`. `num_nodes` is the most it uses.
- `slo`: `penalty_per_hour`, `replicas_min`, `replicas_max`, `spare_replicas`, `cold_start`.
  `num_nodes` are needed until the probe says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import msgspec

from laissez.market.commands import ORDERS_PER_TENANT_MAX, PRICE_MAX
from laissez.tenants.hooks import Wish
from laissez.tenants.paths import tree_of
from laissez.tenants.templates import deadline, slo, values
from laissez.tenants.templates.deadline import DeadlineJob
from laissez.tenants.templates.document import Field, Section
from laissez.tenants.templates.on_demand import OnDemand
from laissez.tenants.templates.slo import SloService
from laissez.tenants.templates.spot import Spot
from laissez.tenants.templates.template import Template
from laissez.tenants.terms import Terms
from laissez.tenants.units import SECOND_US

Build: TypeAlias = Callable[[int], Template]

COMMON: Final = ("template", "budget", "max_price")
FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "on_demand": (),
        "spot": ("limit", "share_of_on_demand", "on_demand_price", "give_up_below_limit"),
        "deadline": (
            "work_hours",
            "deadline",
            "speeds",
            "value",
            "on_demand_price",
            "margin",
            "checkpoint_interval",
            "cold_start",
            "finish_late",
        ),
        "slo": ("penalty_per_hour", "replicas_min", "replicas_max", "spare_replicas", "cold_start"),
    }
)
TEMPLATES: Final = tuple(FIELDS)


class Offer(msgspec.Struct, frozen=True):
    """What the market section asks for: a template, how to build it at a start, and the terms it
    trades on."""

    template: str
    build: Build
    terms: Terms


def read_offer(field: Field, scopes: Wish, nodes: int) -> Offer:
    every = tuple(dict.fromkeys((*COMMON, *(name for names in FIELDS.values() for name in names))))
    template = values.choice(
        field.section(every).need("template", f"one of {', '.join(TEMPLATES)}"), TEMPLATES
    )
    others = {
        name: f"the template {template} has no such field"
        for name in every
        if name not in (*COMMON, *FIELDS[template])
    }
    section = field.section((*COMMON, *FIELDS[template]), others)
    budget, most = section.get("budget"), section.get("max_price")
    price_max = PRICE_MAX if most is None else values.price(most)
    build = _READERS[template](section, scopes, nodes, price_max)
    # a fixed footprint says nothing about restarts, so it is left where it is
    moves = 0 if template in ("on_demand", "spot") else 1
    return Offer(
        template,
        build,
        Terms(
            price_max=price_max,
            budget=None if budget is None else values.money(budget),
            moves_max=moves,
        ),
    )


def _on_demand(section: Section, scopes: Wish, nodes: int, price_max: int) -> Build:
    section.need("max_price", "the most to pay for a node, in dollars per hour")
    return lambda start: OnDemand(scopes, nodes, values.dollars(price_max), start)


def _spot(section: Section, scopes: Wish, nodes: int, price_max: int) -> Build:
    given = section.get("give_up_below_limit")
    margin = 0.0 if given is None else values.margin(given)
    limit, share, list_price = (
        section.get("limit"),
        section.get("share_of_on_demand"),
        section.get("on_demand_price"),
    )
    if limit is not None:
        _alone(limit, share, list_price)
        price = values.price(limit)
        if price > price_max:
            raise limit.unlike(f"at most market.max_price, {values.dollars(price_max):g}")
        return lambda start: Spot(scopes, nodes, values.dollars(price), margin, start)
    if share is None:
        raise section.absent(
            "limit", "a price in dollars per hour, or share_of_on_demand and on_demand_price"
        )
    on_demand = values.price(
        section.need(
            "on_demand_price",
            "the price that share_of_on_demand is a share of, in dollars per hour",
        )
    )
    part = values.number(share, 1.0)
    return lambda start: Spot.below_on_demand(
        scopes, nodes, values.dollars(on_demand), part, margin, start
    )


def _deadline(section: Section, scopes: Wish, nodes: int, price_max: int) -> Build:
    work_hours = values.number(section.need("work_hours", "hours of work on a node of speed 1"))
    due = _due(
        section.need("deadline", "a time such as 2026-11-20T18:00:00Z, or a duration such as 6h")
    )
    speeds = _speeds(section, scopes)
    value = _value(section, work_hours)
    interval, cold, late = (
        section.get("checkpoint_interval"),
        section.get("cold_start"),
        section.get("finish_late"),
    )
    checkpoint_s = None if interval is None else values.duration_s(interval, 1)
    cold_s = deadline.COLD_START_S if cold is None else values.duration_s(cold)
    finish_late = True if late is None else values.flag(late)

    def build(start: int) -> Template:
        return DeadlineJob(
            scopes,
            nodes,
            start=start,
            due=due(start),
            work_hours=work_hours,
            speeds=speeds,
            value=value,
            checkpoint_s=checkpoint_s,
            cold_s=cold_s,
            finish_late=finish_late,
        )

    return build


def _due(field: Field) -> Callable[[int], int]:
    """The deadline of a task that starts at a given time."""
    at = values.moment(field)
    if at is None and field.scalar("timestamp") is not None:
        raise field.unlike(
            "a time with its zone such as 2026-11-20T18:00:00Z, or a duration such as 6h"
        )
    length = values.duration_us(field, SECOND_US) if at is None else 0

    def due(start: int) -> int:
        if at is not None and at <= start:
            raise field.unlike(f"a time after the start of the task at {values.shown_time(start)}")
        return start + length if at is None else at

    return due


def _speeds(section: Section, scopes: Wish) -> dict[str, float]:
    kinds = tuple(dict.fromkeys(map(tree_of, scopes)))
    field = section.get("speeds")
    if field is None:
        if len(kinds) > 1:
            raise section.absent(
                "speeds",
                f"how fast each type of hardware is, such as {{{kinds[0]}: 1, {kinds[1]}: 0.5}}",
            )
        return {kinds[0]: 1.0}
    by_name = field.fields()
    if by_name is None:
        raise field.unlike(f"a mapping from {', '.join(kinds)} to speeds")
    given = {
        name.lower() if name.lower() in kinds else name: speed for name, speed in by_name.items()
    }
    if len(given) != len(by_name) or given.keys() != set(kinds):
        raise field.error(
            f"expected one speed for each of {', '.join(kinds)}, found"
            f" {', '.join(by_name) or 'none'}"
        )
    return {name: values.number(speed, 1000.0) for name, speed in given.items()}


def _value(section: Section, work_hours: float) -> float:
    value, list_price, margin = (
        section.get("value"),
        section.get("on_demand_price"),
        section.get("margin"),
    )
    if value is not None:
        _alone(value, list_price, margin)
        return values.dollars(values.money(value))
    on_demand = values.price(
        section.need(
            "on_demand_price",
            "the on-demand price of a node of speed 1 in dollars per hour, or value",
        )
    )
    return deadline.worth(
        values.dollars(on_demand),
        work_hours,
        deadline.MARGIN if margin is None else values.number(margin, 1000.0),
    )


def _slo(section: Section, scopes: Wish, nodes: int, price_max: int) -> Build:
    penalty = values.dollars(
        values.money(
            section.need(
                "penalty_per_hour", "what it costs per hour to miss the objective, in dollars"
            )
        )
    )
    least = _count(section, "replicas_min", 0, min(1, nodes), nodes)
    most = _count(section, "replicas_max", nodes, nodes, ORDERS_PER_TENANT_MAX)
    spares = _count(section, "spare_replicas", 0, 0, ORDERS_PER_TENANT_MAX - most)
    cold = section.get("cold_start")
    cold_s = slo.COLD_START_S if cold is None else values.duration_s(cold)
    return lambda start: SloService(
        scopes,
        nodes,
        penalty=penalty,
        least=least,
        most=most,
        spares=spares,
        cold_s=cold_s,
        start=start,
    )


def _count(section: Section, name: str, least: int, default: int, most: int) -> int:
    field = section.get(name)
    return default if field is None else values.whole(field, least, most)


def _alone(kept: Field, *others: Field | None) -> None:
    """What says the same thing in another way must not stand beside it."""
    for other in others:
        if other is not None:
            raise other.error(
                f"cannot stand beside {kept.path}, which says it all; keep one of the two"
            )


_READERS: Final[Mapping[str, Callable[[Section, Wish, int, int], Build]]] = MappingProxyType(
    {"on_demand": _on_demand, "spot": _spot, "deadline": _deadline, "slo": _slo}
)
