"""Who may import whom. The arrows of the architecture, written down as a table and read off the sources.

Imports for the type checker alone count too: needing to know a type is depending on it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

SOURCES = Path(__file__).parents[1] / "src"

# The vocabulary of the market: plain data, which may travel anywhere.
TYPES = ("market.commands", "market.events", "market.reasons", "market.answers")

# What a package with commands of its own needs to print like all others.
PRINTING = ("cli.output", "cli.progress")

# All that does something for somebody: checked, measured, and run from the command line.
PROGRAM = ("market", "journal", "wire", "service", "client", "provision", "tenants", "operators", "live", "sim", "workers")

# package: what it may import of ours, beside itself. A name stands for everything below it.
ARROWS: dict[str, tuple[str, ...]] = {
    "market": (),
    "journal": ("market",),
    "wire": TYPES,
    "service": ("journal", "market", "wire"),
    "client": ("wire", *TYPES),
    "tenants": TYPES,
    "operators": TYPES,
    "live": ("client", "wire", "tenants", "operators", "market.money", *TYPES),
    "provision": TYPES,
    "workers": (),
    "sim": ("market", "tenants", "operators", "workers"),
    "experiments": ("sim", "workers", "market", "tenants", "operators", "bench", "check.integration"),
    "check": (*PROGRAM, *PRINTING),
    "bench": (*PROGRAM, "check", *PRINTING),
    "cli": (*PROGRAM, "experiments", "check", "bench"),
}

# The oracle shares no code with what it checks, so it gets the vocabulary and nothing else.
ORACLE = ("check.oracle", *TYPES)

# All that the market may import from outside. Each of these computes; none does I/O, reads a clock, draws random numbers or logs.
PURE = frozenset(
    {
        "__future__",
        "abc",
        "array",
        "bisect",
        "collections",
        "copy",
        "dataclasses",
        "enum",
        "functools",
        "hashlib",
        "heapq",
        "itertools",
        "json",
        "math",
        "msgspec",
        "operator",
        "re",
        "string",
        "struct",
        "tomllib",
        "types",
        "typing",
        "unicodedata",
        "yaml",
    }
)
IMPURE_CALLS = frozenset({"open", "print", "input", "breakpoint", "exec", "eval", "__import__"})


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCES.glob("laissez/**/*.py"))}


def imports(module: str, tree: ast.AST, is_package: bool) -> Iterator[str]:
    """The full name of everything that `module` imports: a module where it is one of ours, else the module it is taken from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                parents = module.split(".")[: None if is_package and node.level == 1 else -node.level + is_package]
                origin = ".".join([*parents, origin] if origin else parents)
            for alias in node.names:
                name = f"{origin}.{alias.name}"
                yield name if name in MODULES else origin


def is_below(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def allowed(module: str, imported: str) -> bool:
    """Whether `module`, one of ours, may import `imported`, anybody's."""
    ours = module.partition(".")[2]
    package = ours.partition(".")[0]
    if not is_below(imported, "laissez"):
        return package != "market" or imported.partition(".")[0] in PURE
    theirs = imported.partition(".")[2]
    if is_oracle(module):
        return is_oracle(imported) or theirs in ORACLE or imported == "laissez.check"
    if theirs in ("", "_form"):
        return package != "market"
    if package in ("", "_form"):
        return False
    return any(is_below(theirs, other) for other in (package, *ARROWS[package]))


def is_oracle(module: str) -> bool:
    return module.startswith("laissez.check.oracle")


def forbidden(module: str, source: str, is_package: bool = False) -> list[str]:
    return [name for name in imports(module, ast.parse(source), is_package) if not allowed(module, name)]


def impure_calls(source: str) -> list[str]:
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [call.id for call in calls if isinstance(call, ast.Name) and call.id in IMPURE_CALLS]


def test_every_package_has_its_arrows_written_down() -> None:
    packages = {name.split(".")[1] for name in MODULES if name.count(".") >= 1} - {"_form"}
    assert packages <= set(ARROWS)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_its_arrows_allow(module: str) -> None:
    path = MODULES[module]
    assert [] == forbidden(module, path.read_text(), path.name == "__init__.py")


@pytest.mark.parametrize("module", [module for module in MODULES if is_below(module, "laissez.market")])
def test_the_market_does_no_io_of_its_own(module: str) -> None:
    assert [] == impure_calls(MODULES[module].read_text())


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        ("laissez.market.book", "import time", ["time"]),
        ("laissez.market.book", "from os import path", ["os"]),
        ("laissez.market.book", "def f() -> None:\n    import random", ["random"]),
        ("laissez.market.book", "from laissez.journal.log import Log", ["laissez.journal.log"]),
        ("laissez.market.book", "import laissez", ["laissez"]),
        ("laissez.market.book", "from .. import cli", ["laissez.cli"]),
        ("laissez.market.book", "from heapq import heappush\nfrom laissez.market.commands import Alternative\nfrom . import reasons", []),
        ("laissez.client.http", "from laissez.market.commands import Command\nimport socket", []),
        ("laissez.client.http", "from laissez.market import Market", ["laissez.market"]),
        ("laissez.sim.cloud", "from laissez.service import app", ["laissez.service"]),
        ("laissez.tenants.dynamo", "from laissez.client import Client", ["laissez.client"]),
        ("laissez.check.oracle", "from laissez.market.reasons import Reason\nfrom laissez.check import oracle_bills", []),
        ("laissez.check.oracle_bills", "from laissez.market.money import dollars", ["laissez.market.money"]),
        ("laissez.check.oracle_bills", "from laissez.check.compare import same", ["laissez.check.compare"]),
        ("laissez.check.compare", "from laissez.market.money import dollars", []),
        ("laissez._form", "import laissez.market", ["laissez.market"]),
    ],
)
def test_the_reader_of_imports_finds_what_is_planted(module: str, source: str, found: list[str]) -> None:
    assert found == forbidden(module, source)


def test_the_reader_of_calls_finds_what_is_planted() -> None:
    assert ["print", "open"] == impure_calls("def f() -> None:\n    print(open('x'))")
