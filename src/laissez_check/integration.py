"""How much code it takes to bring an application or a signal into the market, counted from the
sources beside the paper's table.

The paper does not say how it counts. Here logical lines are counted: a statement that is wrapped
counts once, so that the figure does not depend on the width of a line. Blank lines, comments,
docstrings and imports do not count. *Profiling* says what hardware does for an application,
*pricing* what that is worth. What an autoscaler has anyway (planner, performance model, progress)
is not part of the integration, nor is the framework that all share.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import tokenize
from pathlib import Path
from typing import Final, NamedTuple

SILENT: Final = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
        tokenize.ENCODING,
    }
)


class Part(NamedTuple):
    """Where a piece of integration code is: a module, one class of it, or one function or field of
    a class (`Class.name`)."""

    module: str
    name: str | None = None


class Integration(NamedTuple):
    """One system, and how many lines the paper needed for it."""

    system: str
    pricing: Part
    profiling: Part
    paper_pricing: int
    paper_profiling: int


INTEGRATIONS: Final = (
    Integration(
        "Dynamo inference",
        Part("laissez.tenants.dynamo.pricing"),
        Part("laissez.tenants.dynamo.profiling"),
        17,
        55,
    ),
    Integration(
        "Sailor training",
        Part("laissez.tenants.sailor.pricing"),
        Part("laissez.tenants.sailor.profiling"),
        23,
        34,
    ),
    Integration(
        "Parabricks batch",
        Part("laissez.tenants.parabricks.pricing"),
        Part("laissez.tenants.parabricks.profiling"),
        12,
        17,
    ),
    Integration(
        "Power InfraMap",
        Part("laissez.operators.power", "Power"),
        Part("laissez.operators.power", "PowerTelemetry"),
        8,
        5,
    ),
)
HEADROOM_TO_PRICE: Final = (
    Part("laissez.operators.power", "Power.comfortable"),
    Part("laissez.operators.power", "Power.pressure_at"),
)
# "three lines of code map power headroom to a proportional price adjustment"
PAPER_HEADROOM_TO_PRICE: Final = 3


class Count(NamedTuple):
    """Lines of one system, ours and the paper's."""

    system: str
    pricing: int
    profiling: int
    paper_pricing: int
    paper_profiling: int

    @property
    def holds(self) -> bool:
        return self.pricing <= self.paper_pricing and self.profiling <= self.paper_profiling


def count_all() -> list[Count]:
    return [
        Count(
            one.system,
            lines_of(one.pricing),
            lines_of(one.profiling),
            one.paper_pricing,
            one.paper_profiling,
        )
        for one in INTEGRATIONS
    ]


def headroom_to_price() -> int:
    """The function that makes a pressure of the headroom, and its parameter. What all maps share
    turns any pressure into a price."""
    return sum(map(lines_of, HEADROOM_TO_PRICE))


def lines_of(part: Part) -> int:
    """The lines of code of a module or a part of it, which is found but not run."""
    found = importlib.util.find_spec(part.module)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(part.module)
    return count_lines(Path(found.origin).read_text(), part.name)


def count_lines(source: str, name: str | None = None) -> int:
    tree = ast.parse(source)
    scope: ast.Module | ast.stmt = tree
    for each in name.split(".") if name else ():
        scope = next(node for node in getattr(scope, "body", []) if each == _name(node))
    inside = (
        set(range(1, source.count("\n") + 2)) if isinstance(scope, ast.Module) else _span(scope)
    )
    return len((inside & _logical_lines(source)) - _docstrings_and_imports(scope))


def _name(node: ast.stmt) -> str | None:
    """What a statement defines; None if nothing that is counted by itself."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name
    return (
        node.target.id
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        else None
    )


def _logical_lines(source: str) -> set[int]:
    """The first line of every logical line: of code that ends with a NEWLINE token."""
    first, begin = set(), 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NEWLINE:
            first.add(begin)
            begin = 0
        elif token.type not in SILENT:
            begin = begin or token.start[0]
    return first


def _docstrings_and_imports(scope: ast.AST) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines |= _span(node)
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            lines |= _span(node.body[0])
    return lines


def _span(node: ast.stmt) -> set[int]:
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
    return set(range(first, (node.end_lineno or node.lineno) + 1))
