"""The lines of code that bring an application or a signal into the market, beside the paper's
table.

The paper does not say how it counts. Here logical lines are counted: a statement that is wrapped
counts once, so that the figure does not depend on the width of a line. Blank lines, comments,
docstrings and imports do not count. *Profiling* is about the effect of hardware on an application,
*pricing* about its value. Parts that an autoscaler has anyway (planner, performance model,
progress) are no part of the integration, and neither is the common framework.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import tokenize
from pathlib import Path
from typing import Final, NamedTuple

# The system, its code for pricing and for profiling (a module, or `module:Class`), and how many
# lines of each the paper needed.
SYSTEMS: Final = (
    ("Dynamo inference", "tenants.dynamo.pricing", "tenants.dynamo.profiling", 17, 55),
    ("Sailor training", "tenants.sailor.pricing", "tenants.sailor.profiling", 23, 34),
    ("Parabricks batch", "tenants.parabricks.pricing", "tenants.parabricks.profiling", 12, 17),
    ("Power InfraMap", "operators.maps:Power", "operators.maps:PowerTelemetry", 8, 5),
)
# The function that makes a pressure of the headroom, and its parameter. Code that all maps share
# turns any pressure into a price.
HEADROOM_TO_PRICE: Final = (
    "operators.maps:Power.comfortable",
    "operators.maps:Power.pressure_at",
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
        Count(system, lines_of(pricing), lines_of(profiling), *paper)
        for system, pricing, profiling, *paper in SYSTEMS
    ]


def headroom_to_price() -> int:
    return sum(map(lines_of, HEADROOM_TO_PRICE))


def lines_of(part: str) -> int:
    """The lines of code of a module or a part of it, which is found but not run."""
    module, _, name = part.partition(":")
    found = importlib.util.find_spec(f"laissez.{module}")
    if found is None or found.origin is None:
        raise ModuleNotFoundError(module)
    return count_lines(Path(found.origin).read_text(), name)


def count_lines(source: str, name: str = "") -> int:
    """Count the lines of a module, a class in it, or a function or field of one (`Class.name`)."""
    scope: ast.Module | ast.stmt = ast.parse(source)
    for part in name.split(".") if name else ():
        scope = next(node for node in getattr(scope, "body", []) if part == _name(node))
    inside = _logical_lines(source)
    if not isinstance(scope, ast.Module):
        inside &= _span(scope)
    return len(inside - _docstrings_and_imports(scope))


def _name(node: ast.stmt) -> str | None:
    """The name that a statement defines, if it can be counted by itself."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return None


def _logical_lines(source: str) -> set[int]:
    """The first line of every logical line: of code that ends with a NEWLINE token."""
    first, begin = set(), 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NEWLINE:
            first.add(begin)
            begin = 0
        elif token.type != tokenize.COMMENT and token.string.strip():
            begin = begin or token.start[0]
    return first


def _docstrings_and_imports(scope: ast.AST) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines |= _span(node)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            lines |= _span(node.body[0]) if ast.get_docstring(node, clean=False) else set()
    return lines


def _span(node: ast.stmt) -> set[int]:
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
    return set(range(first, (node.end_lineno or node.lineno) + 1))
