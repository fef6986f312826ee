"""The console's files: a page, its styles and its modules, read once at the start and sent from
memory.

The files hold no data, so they need no key. Only files found at the start have an address, so no
path can escape the folder.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from laissez.server.auth import NOBODY
from laissez.server.http.endpoint import answer_at_pace
from laissez.server.http.messages import Request, lines, status_line

if TYPE_CHECKING:
    from laissez.server.http.app import Site

FOLDER = Path(__file__).parents[1] / "console"
FIRST = "index.html"  # the page, which is at /
FILES = "/files"  # rate limited separately: a page loads a hundred of them
NAME = "getConsole"  # the operation in the metrics
MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src"
    " 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'"
)
PERMISSIONS = (
    "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(),"
    " magnetometer=(), microphone=(), midi=(), payment=(), usb=()"
)
# Headers of a page that needs no browser features and that no other site may embed or inspect.
ALONE = {
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": PERMISSIONS,
}
EVERY = {
    # cached, but revalidated each time: the page and its modules must have one version
    "cache-control": "no-cache",
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    **ALONE,
}


class File:
    def __init__(self, path: Path, site: Site) -> None:
        self._body = path.read_bytes()
        self._site = site
        self._tag = f'"{hashlib.sha256(self._body).hexdigest()[:32]}"'
        headers = {"etag": self._tag, **EVERY}
        content = {"content-type": MEDIA[path.suffix], "content-length": str(len(self._body))}
        self._unchanged = status_line(304) + lines(headers)
        self._head = status_line(200) + lines(content | headers)

    def serve(self, request: Request) -> None:
        status, head, body = 200, self._head, self._body
        if self._is_known(request):
            status, head, body = 304, self._unchanged, b""
        self._site.count(NAME, status)
        answer_at_pace(self._site, NOBODY, request, head, body, FILES)

    def _is_known(self, request: Request) -> bool:
        """Whether the browser has this version of the file."""
        known = request.all_of(b"if-none-match").decode("latin-1").split(",")
        tags = [tag.strip().removeprefix("W/") for tag in known]
        return self._tag in tags or "*" in tags


def console_files(folder: Path, site: Site) -> dict[str, File]:
    """The files by path: the page at /, all others below /console."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in MEDIA and path.is_file())
    files = {f"/console/{path.relative_to(folder).as_posix()}": File(path, site) for path in found}
    page = files.pop(f"/console/{FIRST}", None)
    return files if page is None else {"/": page, **files}
