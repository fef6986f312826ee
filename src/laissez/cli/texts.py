"""Values of the API as text that several commands print."""

from __future__ import annotations

import msgspec

from laissez.cli.tables import money
from laissez.wire.events import Band, Event, Notice
from laissez.wire.requests import Alternative, Caps


def alternative_text(alternative: Alternative) -> str:
    """An alternative as users type it: h100/rack1@2.00:3.50."""
    limit = money(alternative.limit)
    bid = limit if alternative.bid is None else money(alternative.bid)
    return f"{alternative.scope}@{limit}" if bid == limit else f"{alternative.scope}@{bid}:{limit}"


def band_text(band: Band | None) -> str | None:
    return None if band is None else f"{band.fraction}/{band.seconds:g}s"


def event_text(event: Event | Notice, *hidden: str) -> str:
    """The fields of an event, but for its time and the `hidden` ones."""
    return " ".join(
        f"{field}={_field_text(getattr(event, field))}"
        for field in event.__struct_fields__
        if field not in ("at", *hidden)
    )


def _field_text(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case Alternative():
            return alternative_text(value)
        case Band():
            return str(band_text(value))
        case Caps():
            caps = msgspec.structs.asdict(value).items()
            return ",".join(f"{name}:{cap}" for name, cap in caps if cap is not None) or "default"
        case tuple():
            return ",".join(map(_field_text, value))
        case _:
            return str(value)
