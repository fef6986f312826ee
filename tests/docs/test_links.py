"""Every name in the specification and the promises exists, and every link has a target."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from laissez.cli import app
from support.paths import REFERENCE, ROOT, SOURCES, TESTS

SPECIFICATION = (REFERENCE / "market.md").read_text()
PAGES = {
    path.relative_to(ROOT): path.read_text()
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
}
PAGE_NAME = re.compile(r"docs/[\w./-]+|\b[\w-]+\.md\b")
TEST_FILES = sorted(TESTS.rglob("test_*.py"))


def test_each_rule_of_the_specification_has_tests_that_cite_it() -> None:
    rules = re.findall(r"^\*\*M(\d+)", SPECIFICATION, re.MULTILINE)
    assert [str(number) for number in range(1, 19)] == rules
    named = {
        rule for path in TEST_FILES for rule in re.findall(r"def test_m(\d+)_", path.read_text())
    }
    assert set(rules) == named


def test_every_command_and_page_named_by_the_promises_exists() -> None:
    promises = (ROOT / "SECURITY.md").read_text()
    commands = {
        tuple(found.split()) for found in re.findall(r"`laissez ((?:[a-z][a-z-]* ?)+)", promises)
    }
    assert {("check", "crashes"), ("check", "access"), ("audit", "verify")} <= commands
    assert [] == [
        command
        for command in sorted(commands)
        if CliRunner().invoke(app, [*command, "--help"]).exit_code
    ]
    assert [] == [
        path
        for path in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", promises)
        if not (ROOT / path).exists()
    ]


def anchors(page: str) -> set[str]:
    """The anchors of a page: its headings as GitHub spells them."""
    headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}


def is_broken(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = ROOT / page.parent / path if path else ROOT / page
    return not target.exists() or bool(anchor and anchor not in anchors(target.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_has_a_target(page: Path) -> None:
    links = re.findall(r"\]\(((?!https?:)[^)\s]+)\)", PAGES[page])
    assert [] == [link for link in links if is_broken(page, link)]


def test_the_index_lists_every_page() -> None:
    index = PAGES[Path("docs/index.md")]
    names = (path.relative_to("docs") for path in PAGES if path.parts[0] == "docs")
    assert ["index.md"] == [str(name) for name in names if f"]({name})" not in index]


def texts_of(module: Path) -> Iterator[str]:
    """The strings of a module except docstrings."""
    tree = ast.parse(module.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in docstrings:
                yield node.value


def test_no_text_of_the_product_names_a_docs_page() -> None:
    """The pages are not in the wheel."""
    product = SOURCES / "laissez"
    named = [
        (path.name, text)
        for path in product.rglob("*.py")
        for text in texts_of(path)
        if PAGE_NAME.search(text)
    ]
    named += [
        (path.name, line)
        for path in (product / "server" / "console").rglob("*.js")
        for line in path.read_text().splitlines()
        if PAGE_NAME.search(line) and not line.lstrip().startswith(("//", "*", "/*"))
    ]
    assert [] == named
