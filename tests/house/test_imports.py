"""Allowed imports. The arrows of the architecture, written as a table and compared with the
sources.

Imports only for the type checker count too: knowing a type is a dependency.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from support.paths import SOURCES

pytestmark = pytest.mark.once


# The vocabulary of the market: plain data, which may travel anywhere.
TYPES = (
    "laissez.market.commands",
    "laissez.market.events",
    "laissez.market.reasons",
    "laissez.market.answers",
)

# The product. `laissez.cli` stands on top of it.
PROGRAM = (
    "laissez.units",
    "laissez.config",
    "laissez.market",
    "laissez.exchange",
    "laissez.journal",
    "laissez.wire",
    "laissez.server",
    "laissez.client",
    "laissez.tenants",
    "laissez.operators",
    "laissez.live",
    "laissez.sim",
    "laissez.workers",
)

# package: the packages of ours that it may import, beside itself. A name includes everything below
# it.
ARROWS: dict[str, tuple[str, ...]] = {
    "laissez": ("laissez._form",),
    "laissez._form": (),
    "laissez.units": ("laissez.market.commands",),
    "laissez.config": ("laissez.market.commands", "laissez.units"),
    "laissez.market": (),
    "laissez.exchange": ("laissez.market", "laissez.units"),
    "laissez.journal": ("laissez.exchange.events",),
    "laissez.wire": ("laissez.exchange", "laissez.market", "laissez.units"),
    "laissez.server": (
        "laissez.config",
        "laissez.exchange",
        "laissez.journal",
        "laissez.market",
        "laissez.units",
        "laissez.wire",
    ),
    "laissez.client": ("laissez.wire", *TYPES),
    "laissez.tenants": ("laissez.config", "laissez.units", *TYPES),
    "laissez.operators": ("laissez.config", "laissez.units", *TYPES),
    "laissez.live": (
        "laissez.client",
        "laissez.wire",
        "laissez.tenants",
        "laissez.operators",
        "laissez.sim",
        "laissez.units",
        *TYPES,
    ),
    "laissez.workers": (),
    "laissez.sim": (
        "laissez.config",
        "laissez.market",
        "laissez.units",
        "laissez.tenants",
        "laissez.operators",
        "laissez.workers",
    ),
    "laissez.cli": PROGRAM,
    "laissez_check": (*PROGRAM, "laissez.cli"),
    "laissez_bench": (*PROGRAM, "laissez.cli", "laissez_check"),
    "laissez_experiments": (*PROGRAM, "laissez.cli", "laissez_check.integration", "laissez_bench"),
}

# The oracle shares no code with the market, so it gets only the vocabulary.
ORACLE = ("laissez_check.oracle", *TYPES)

# External modules that the market and the exchange may import. None of these does I/O, reads a
# clock, draws random numbers or logs.
PURE = frozenset(
    {
        "__future__",
        "abc",
        "array",
        "base64",
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
IS_PURE = ("laissez.market", "laissez.exchange")
IMPURE_CALLS = frozenset({"open", "print", "input", "breakpoint", "exec", "eval", "__import__"})


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCES.glob("laissez*/**/*.py"))}


def imports(module: str, tree: ast.AST, is_package: bool) -> Iterator[str]:
    """The full names of all imports of `module`: for our packages the module itself, otherwise the
    module that an object comes from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                parents = module.split(".")[
                    : None if is_package and node.level == 1 else -node.level + is_package
                ]
                origin = ".".join([*parents, origin] if origin else parents)
            for alias in node.names:
                name = f"{origin}.{alias.name}"
                yield name if name in MODULES else origin


def is_below(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def package_of(module: str) -> str:
    """The package in `ARROWS` that a module of ours belongs to: `laissez.NAME`, or one beside
    `laissez`."""
    top, _, rest = module.partition(".")
    return f"laissez.{rest.partition('.')[0]}" if top == "laissez" and rest else top


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in {name.partition(".")[0] for name in MODULES}


def is_oracle(module: str) -> bool:
    return module.startswith("laissez_check.oracle")


def allowed(module: str, imported: str) -> bool:
    """Whether our `module` may import `imported`."""
    package = package_of(module)
    if not is_ours(imported):
        return package not in IS_PURE or imported.partition(".")[0] in PURE
    if is_oracle(module):
        return is_oracle(imported) or imported in ORACLE or imported == "laissez_check"
    if imported == "laissez":
        return package not in (*IS_PURE, "laissez._form")
    return any(is_below(imported, other) for other in (package, *ARROWS[package]))


def forbidden(module: str, source: str, is_package: bool = False) -> list[str]:
    return [
        name for name in imports(module, ast.parse(source), is_package) if not allowed(module, name)
    ]


def impure_calls(source: str) -> list[str]:
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [call.id for call in calls if isinstance(call, ast.Name) and call.id in IMPURE_CALLS]


def arrows_in_the_sources() -> dict[str, set[str]]:
    """For each package, the packages that it imports. `laissez` itself, which only holds the
    version, is left out."""
    found: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        named = imports(module, ast.parse(path.read_text()), path.name == "__init__.py")
        found.setdefault(package_of(module), set()).update(map(package_of, filter(is_ours, named)))
    return {package: others - {package, "laissez"} for package, others in found.items()}


def cycle(arrows: dict[str, set[str]]) -> list[str]:
    """Packages that import each other in a cycle, if any."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_package_is_in_the_table_of_arrows() -> None:
    assert {package_of(module) for module in MODULES} == set(ARROWS)


def test_packages_do_not_import_in_a_cycle() -> None:
    assert [] == cycle(arrows_in_the_sources())


def test_a_cycle_is_found() -> None:
    assert {"a", "b"} == set(cycle({"a": {"b"}, "b": {"a", "c"}, "c": set()}))


def test_the_product_does_not_import_its_checks() -> None:
    product = {
        package: others
        for package, others in arrows_in_the_sources().items()
        if is_below(package, "laissez")
    }
    assert [] == [
        (package, other)
        for package, others in product.items()
        for other in others
        if not is_below(other, "laissez")
    ]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_its_arrows_allow(module: str) -> None:
    path = MODULES[module]
    assert [] == forbidden(module, path.read_text(), path.name == "__init__.py")


@pytest.mark.parametrize("module", [module for module in MODULES if package_of(module) in IS_PURE])
def test_the_market_and_the_exchange_do_no_io(module: str) -> None:
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
        (
            "laissez.market.book",
            (
                "from heapq import heappush\nfrom laissez.market.commands import Alternative\nfrom"
                " . import reasons"
            ),
            [],
        ),
        ("laissez.exchange.caps", "import time\nfrom laissez.market import Market", ["time"]),
        ("laissez.exchange.caps", "from laissez.wire import texts", ["laissez.wire.texts"]),
        ("laissez.journal.log", "from laissez.exchange.events import Document", []),
        ("laissez.journal.log", "from laissez.exchange import caps", ["laissez.exchange.caps"]),
        ("laissez.client.http", "from laissez.market.commands import Command\nimport socket", []),
        ("laissez.client.http", "from laissez.market import Market", ["laissez.market"]),
        ("laissez.sim.cloud", "from laissez.server import app", ["laissez.server"]),
        ("laissez.tenants.dynamo", "from laissez.client import Client", ["laissez.client"]),
        (
            "laissez_check.oracle",
            "from laissez.market.reasons import Reason\nfrom laissez_check import oracle_bills",
            [],
        ),
        (
            "laissez_check.oracle_bills",
            "from laissez.units import dollars",
            ["laissez.units"],
        ),
        (
            "laissez_check.oracle_bills",
            "from laissez_check.compare import same",
            ["laissez_check.compare"],
        ),
        ("laissez_check.compare", "from laissez.units import dollars", []),
        (
            "laissez_check.compare",
            "from laissez_bench.generator import Plan",
            ["laissez_bench.generator"],
        ),
        (
            "laissez.cli.audit",
            "from laissez_check.bills.audit import Finding",
            ["laissez_check.bills.audit"],
        ),
        (
            "laissez_experiments.integration",
            "from laissez_check.integration import count_all\nfrom laissez_check import oracle",
            ["laissez_check.oracle"],
        ),
        ("laissez._form", "import laissez.market", ["laissez.market"]),
    ],
)
def test_the_search_for_imports_finds_planted_ones(
    module: str, source: str, found: list[str]
) -> None:
    assert found == forbidden(module, source)


def test_the_search_for_calls_finds_planted_ones() -> None:
    assert ["print", "open"] == impure_calls("def f() -> None:\n    print(open('x'))")
