"""What the specification and the promises name is there, and every link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from laissez.cli import app
from support.paths import ROOT, TESTS

SPECIFICATION = (ROOT / "docs" / "market.md").read_text()
PAGES = {
    path.relative_to(ROOT): path.read_text()
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
}
TEST_FILES = sorted(TESTS.rglob("test_*.py"))


@pytest.mark.parametrize("rule", range(1, 19))
def test_the_specification_names_the_tests_of_each_rule(rule: int) -> None:
    files = [
        f"`{path.relative_to(ROOT)}`"
        for path in TEST_FILES
        if f"def test_m{rule}_" in path.read_text()
    ]
    assert files
    assert f"*Tests: {', '.join(files)} (`pytest -k m{rule}_`).*" in SPECIFICATION


def test_every_command_and_page_that_the_promises_name_is_there() -> None:
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
    """What a link may name behind `#`: the headings as GitHub spells them."""
    headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}


def leads_nowhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = ROOT / page.parent / path if path else ROOT / page
    return not target.exists() or bool(anchor and anchor not in anchors(target.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(((?!https?:)[^)\s]+)\)", PAGES[page])
    assert [] == [link for link in links if leads_nowhere(page, link)]


def test_the_index_lists_every_page() -> None:
    index = PAGES[Path("docs/index.md")]
    names = (path.relative_to("docs") for path in PAGES if path.parts[0] == "docs")
    assert ["index.md"] == [str(name) for name in names if f"]({name})" not in index]
