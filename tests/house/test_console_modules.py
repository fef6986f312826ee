"""The console's modules fit together: imports exist, exports are used, and no code turns text into
markup."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest

import laissez.server

pytestmark = pytest.mark.once

CONSOLE = Path(laissez.server.__file__).parent / "console"
MODULES = {
    path.relative_to(CONSOLE).as_posix(): path.read_text()
    for path in sorted(CONSOLE.glob("js/**/*.js"))
}
STYLES = "".join(path.read_text() for path in sorted(CONSOLE.glob("css/*.css")))
IMPORT = re.compile(r'import \{([^}]*)\} from "([^"]+)"')
LATER = re.compile(r'import\("([^"]+)"\)')
EXPORT = re.compile(r"^export (?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)
DANGEROUS = re.compile(
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new"
    r" Function|DOMParser|setAttribute\(\"style)"
)


def names(listed: str) -> set[str]:
    return {name.split(" as ")[0].strip() for name in listed.split(",") if name.strip()}


def imported(module: str, source: str) -> dict[str, set[str]]:
    """The names that a module imports, by module."""
    found: dict[str, set[str]] = {}
    for listed, place in IMPORT.findall(source):
        found.setdefault(resolved(module, place), set()).update(names(listed))
    return found


def resolved(module: str, place: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(module).parent / place).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


@pytest.mark.parametrize("module", MODULES)
def test_imports_of_a_module_exist(module: str) -> None:
    for other, wanted in imported(module, MODULES[module]).items():
        assert other in MODULES, f"{module} imports {other}"
        assert set() == wanted - set(EXPORT.findall(MODULES[other])), (
            f"{module} imports from {other}"
        )


def test_every_export_is_imported() -> None:
    taken: dict[str, set[str]] = {}
    for module, source in MODULES.items():
        for other, wanted in imported(module, source).items():
            taken.setdefault(other, set()).update(wanted)
        for place in LATER.findall(source):
            taken.setdefault(resolved(module, place), set()).add("pages")
    assert [] == [
        (module, name)
        for module, source in MODULES.items()
        for name in EXPORT.findall(source)
        if name not in taken.get(module, set())
    ]


def test_files_named_by_the_page_exist() -> None:
    named = re.findall(r'(?:href|src)="/console/([^"]+)"', (CONSOLE / "index.html").read_text())
    assert len(named) > 3 and [] == [name for name in named if not (CONSOLE / name).is_file()]


@pytest.mark.parametrize("module", MODULES)
def test_no_module_turns_text_into_markup_or_code(module: str) -> None:
    assert [] == DANGEROUS.findall(MODULES[module])


def test_search_for_markup_finds_planted_code() -> None:
    assert ["innerHTML", "eval("] == DANGEROUS.findall("a.innerHTML = b; eval(c)")


def test_both_themes_set_the_same_colours() -> None:
    light, dark = (
        set(re.findall(r"(--[\w-]+): #", block))
        for block in re.findall(r":root[^{]*\{([^}]*)\}", STYLES)[:2]
    )
    assert len(light) > 20 and light == dark
