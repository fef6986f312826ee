"""Mistakes on purpose, to see that worlds find them: a check that never fails proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from laissez import market_form
from laissez_check.simulated.market_bugs import MARKET_BUGS, Replaced
from laissez_check.simulated.service_bugs import SERVICE_BUGS

BUGS: dict[str, Callable[[], list[Replaced]]] = {
    made.__name__.replace("_", "-"): made for made in (*SERVICE_BUGS, *MARKET_BUGS)
}


@contextmanager
def planted(bug: str | None) -> Iterator[None]:
    """The code with that mistake in it, for a while. Only sources can be replaced."""
    assert bug is None or market_form() == "interpreted", "set LAISSEZ_MARKET=interpreted"
    replaced = [] if bug is None else BUGS[bug]()
    usual = [(place, name, getattr(place, name)) for place, name, _ in replaced]
    try:
        for place, name, value in replaced:
            setattr(place, name, value)
        yield
    finally:
        for place, name, value in usual:
            setattr(place, name, value)
