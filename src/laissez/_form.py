"""Choose the form of the market that runs: compiled, or the Python sources it was compiled from.

Both lie side by side in `laissez/market` and behave the same; Python would always import the
compiled one. `LAISSEZ_MARKET` chooses:

    auto          the default: compiled if it exists and, in a source checkout, is no older than
                  its sources
    compiled      compiled, or an ImportError
    interpreted   the sources

The choice is made once, when `laissez` is imported. A form that is missing is refused only when
the market is first imported, so that `laissez version` can still report the problem.
"""

from __future__ import annotations

import os
import sys
from glob import glob
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

VARIABLE = "LAISSEZ_MARKET"
FORMS = ("auto", "compiled", "interpreted")
PACKAGE = "laissez.market"
FOLDER = os.path.dirname(os.path.abspath(__file__))
# named in setup.py; it holds every compiled module
LIBRARY_SOURCE = "compiled__mypyc.py"  # does not exist
LIBRARY = os.path.join(FOLDER, "compiled__mypyc" + EXTENSION_SUFFIXES[0])
CHECKOUT = os.path.dirname(os.path.dirname(FOLDER))

MarketForm: TypeAlias = Literal["compiled", "interpreted"]


class FormError(ImportError):
    """The form of the market that `LAISSEZ_MARKET` asks for does not exist here."""


class SourcesOnly:
    """Finds the modules of this package as if nothing were compiled."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("laissez."):
            return None
        for folder in path or ():
            spec = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(name, target)
            if spec is not None:
                return spec
        return None


class Refused:
    """Refuses to import the market, and says why."""

    def __init__(self, why: str) -> None:
        self.why = why

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        if name == PACKAGE:
            raise FormError(self.why, name=name)


def prepare() -> None:
    """Make `import laissez.market` import the form that `LAISSEZ_MARKET` asks for."""
    try:
        form, warning = choose()
    except FormError as error:
        sys.meta_path.insert(0, Refused(str(error)))
        return
    if form == "interpreted":
        sys.meta_path.insert(0, SourcesOnly)
    if warning:
        print(f"laissez: warning: {warning}", file=sys.stderr)


def market_form() -> MarketForm:
    """The form of the market that this process runs. Raises `FormError` if the form that
    `LAISSEZ_MARKET` asks for does not exist."""
    for finder in sys.meta_path:
        if finder is SourcesOnly:
            return "interpreted"
        if isinstance(finder, Refused):
            raise FormError(finder.why)
    return "compiled"


def choose() -> tuple[MarketForm, str]:
    """The form to run, and a warning if the compiled one is out of date."""
    if not __debug__:
        raise FormError("the market's assertions must stay on: run Python without -O")
    asked = os.environ.get(VARIABLE) or "auto"
    if asked not in FORMS:
        raise FormError(f"{VARIABLE} must be one of {', '.join(FORMS)}; it is {asked!r}")
    if asked == "interpreted":
        return "interpreted", ""
    if not os.path.exists(LIBRARY):
        if asked == "auto":
            return "interpreted", ""
        raise FormError(
            f"{VARIABLE} is 'compiled', but the market is not compiled for this Python:"
            f" {how_to_compile()}, or unset {VARIABLE}"
        )
    newer = newer_sources()
    if not newer:
        return "compiled", ""
    stale = f"the compiled market is older than {', '.join(newer)}"
    again = "run 'make build' to compile it again"
    if asked == "auto":
        return "interpreted", f"{stale}, so the Python sources run; {again}"
    return "compiled", f"{stale}, and runs all the same because {VARIABLE} is 'compiled'; {again}"


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
    """Sources changed after the market was compiled. Only a checkout is examined: the file times of
    an installed package mean nothing."""
    if not in_checkout():
        return []
    compiled = os.stat(LIBRARY).st_mtime_ns
    modules = glob("**/*" + EXTENSION_SUFFIXES[0], root_dir=FOLDER, recursive=True)
    sources = {module.removesuffix(EXTENSION_SUFFIXES[0]) + ".py" for module in modules}
    sources -= {LIBRARY_SOURCE}
    # Definitions in these packages are compiled into the other modules.
    sources.update(glob("market/*.py", root_dir=FOLDER), glob("exchange/*.py", root_dir=FOLDER))
    return sorted(
        file for file in sources if os.stat(os.path.join(FOLDER, file)).st_mtime_ns > compiled
    )
