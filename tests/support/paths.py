"""Paths in the repository. Public data beside it is used if it exists."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
TESTS = ROOT / "tests"
DOCS = ROOT / "docs"
TUTORIAL = DOCS / "tutorial"
GUIDES = DOCS / "guides"
REFERENCE = DOCS / "reference"
INTERNALS = DOCS / "internals"
EXAMPLES = DOCS / "examples"
PUBLIC_DATA = ROOT.parent / "shared" / "data"
