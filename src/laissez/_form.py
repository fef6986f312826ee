"""Which form of the market runs: the compiled one, or the Python sources it was compiled from.

Both lie side by side in `laissez/market` and behave the same; Python would always import the
compiled one. `LAISSEZ_MARKET` chooses:

    auto          the default: compiled where it is there and, in a source checkout, no older than
                  its sources
    compiled      compiled, or an ImportError
    interpreted   the sources

The choice is made once, when `laissez` is imported. What cannot be had is refused when the market
is first imported, not before, so that `laissez version` can still say what is wrong.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

VARIABLE = "LAISSEZ_MARKET"
FORMS = ("auto", "compiled", "interpreted")
PACKAGE = "laissez.market"
# the packages with compiled modules, and one module
UNITS = "laissez.units"
PACKAGES = ("laissez.market", "laissez.exchange", "laissez.wire")
FOLDER = os.path.dirname(os.path.abspath(__file__))
# named in setup.py; it holds every compiled module
LIBRARY = os.path.join(FOLDER, "compiled__mypyc" + EXTENSION_SUFFIXES[0])
CHECKOUT = os.path.dirname(os.path.dirname(FOLDER))

MarketForm: TypeAlias = Literal["compiled", "interpreted"]


class FormError(ImportError):
    """The form of the market that `LAISSEZ_MARKET` asks for cannot be had."""


class Choice(NamedTuple):
    form: MarketForm
    warning: str | None = None


class SourcesOnly:
    """Finds the modules of the market as if nothing were compiled."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != UNITS and not name.startswith(tuple(f"{one}." for one in PACKAGES)):
            return None
        for folder in path or ():
            spec = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(name, target)
            if spec is not None:
                return spec
        return None


class Refused:
    """Lets nobody import the market, and says why."""

    def __init__(self, why: str) -> None:
        self.why = why

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == PACKAGE:
            raise FormError(self.why, name=name)
        return None


def prepare() -> None:
    """Make `import laissez.market` give the form that is asked for."""
    if not __debug__:
        sys.meta_path.insert(
            0, Refused("the market's assertions must stay on: run Python without -O")
        )
        return
    try:
        form, warning = choice()
    except FormError as error:
        sys.meta_path.insert(0, Refused(str(error)))
        return
    if form == "interpreted":
        sys.meta_path.insert(0, SourcesOnly)
    if warning is not None:
        print(f"laissez: warning: {warning}", file=sys.stderr)


def market_form() -> MarketForm:
    """The form of the market that this process runs. Raises `FormError` where `LAISSEZ_MARKET` asks
    for one that cannot be had."""
    for finder in sys.meta_path:
        if finder is SourcesOnly:
            return "interpreted"
        if isinstance(finder, Refused):
            raise FormError(finder.why)
    return "compiled"


def choice() -> Choice:
    asked = os.environ.get(VARIABLE) or "auto"
    if asked not in FORMS:
        raise FormError(f"{VARIABLE} must be one of {', '.join(FORMS)}; it is {asked!r}")
    if asked == "interpreted":
        return Choice("interpreted")
    if not os.path.exists(LIBRARY):
        if asked == "compiled":
            raise FormError(
                f"{VARIABLE} is 'compiled', but the market is not compiled for this Python:"
                f" {how_to_compile()}, or unset {VARIABLE}"
            )
        return Choice("interpreted")
    newer = newer_sources()
    if not newer:
        return Choice("compiled")
    stale = f"the compiled market is older than {', '.join(newer)}"
    if asked == "compiled":
        return Choice(
            "compiled",
            f"{stale}, and runs all the same because {VARIABLE} is 'compiled'; run 'make build' to"
            " compile it again",
        )
    return Choice(
        "interpreted", f"{stale}, so the Python sources run; run 'make build' to compile it again"
    )


def in_checkout() -> bool:
    return os.path.exists(os.path.join(CHECKOUT, "pyproject.toml"))


def how_to_compile() -> str:
    if in_checkout():
        return "install a C compiler and run 'make build'"
    return (
        "install a C compiler, then 'LAISSEZ_BUILD=compiled pip install --force-reinstall"
        " --no-binary laissezcloud laissezcloud'"
    )


def newer_sources() -> list[str]:
    """Sources changed after the market was compiled. Only a checkout is asked: an installer may
    give the files of a package any time."""
    if not in_checkout():
        return []
    compiled = os.stat(LIBRARY).st_mtime_ns
    found: list[str] = []
    for folder in (FOLDER, *(os.path.join(FOLDER, name.rpartition(".")[2]) for name in PACKAGES)):
        if not os.path.isdir(folder):
            continue
        with os.scandir(folder) as entries:
            found += [
                os.path.relpath(entry.path, FOLDER)
                for entry in entries
                if entry.name.endswith(".py")
                and (folder != FOLDER or entry.name == "units.py")
                and entry.stat().st_mtime_ns > compiled
            ]
    return sorted(found)
