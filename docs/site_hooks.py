"""Hooks of MkDocs: the site also shows the pages in the root of the repository.

`make docs` uses them (`mkdocs.yml`). Links between the root and `docs/` are written for the
repository, so they lose one level here.
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
    if page.file.src_uri in ROOT_PAGES:
        return markdown.replace("](docs/", "](")
    return markdown.replace("](../", "](")
