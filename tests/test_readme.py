"""What the README shows is what happens."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_first_order_prints_what_the_readme_says() -> None:
    (code,), (shown,) = blocks("python"), blocks("text")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert shown == printed.getvalue()


def test_every_file_the_readme_names_is_there() -> None:
    named = re.findall(r"`((?:src|docs|tests)/?[\w./-]*)`|\]\(([\w./-]+)\)", README)
    assert [] == [path for pair in named for path in pair if path and not (ROOT / path).exists()]
