"""The console's files: a page, its styles and its modules, read once at the start and sent from
memory.

They hold no data, so they need no key. Only what was found at the start has an address, so no
address leads elsewhere.
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
FILES = "/files"  # paced apart: a page is a hundred of them
NAME = "getConsole"  # among the answers that are counted
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
# Of a page that needs nothing of what a browser could give it, and that no other site may look
# into.
ALONE = {
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": PERMISSIONS,
}
EVERY = {
    # kept, but asked for each time: the page and its modules must be of one version
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
        """Whether the browser says that it has this very file."""
        known = request.all_of(b"if-none-match").decode("latin-1").split(",")
        tags = [tag.strip().removeprefix("W/") for tag in known]
        return self._tag in tags or "*" in tags


def console_files(folder: Path, site: Site) -> dict[str, File]:
    """The files by their address: the page at /, all else below /console by its name."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in MEDIA and path.is_file())
    files = {f"/console/{path.relative_to(folder).as_posix()}": File(path, site) for path in found}
    page = files.pop(f"/console/{FIRST}", None)
    return files if page is None else {"/": page, **files}
