"""Hooks of MkDocs: the site also shows the pages in the root of the repository.

`make docs` uses them (`mkdocs.yml`). Links between the root and `docs/` are written for the
repository; on the site the root pages lie beside `index.md`, so these links lose one level.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT_PAGES = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")


def on_files(files: Any, config: Any) -> Any:
    root = Path(config.docs_dir).parent
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, content=(root / name).read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    path: str = page.file.src_uri
    if path in ROOT_PAGES:
        return markdown.replace("](docs/", "](")
    up = "../" * path.count("/")
    return markdown.replace(f"](../{up}", f"]({up}")
