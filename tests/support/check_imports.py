"""The imports of the audits, which must share no code with the service."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

BILLS = {f"laissez_check.bills.{name}" for name in ("amounts", "journal", "prices")}


def imports_of(module: ModuleType) -> set[str]:
    """Our modules that a module imports."""
    tree = ast.parse(Path(str(module.__file__)).read_text())
    found = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    plain = [node.names for node in ast.walk(tree) if isinstance(node, ast.Import)]
    found |= {alias.name for names in plain for alias in names}
    return {name for name in found if name.startswith("laissez")}
