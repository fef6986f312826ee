"""The console's files: a page, its styles and its modules, read once at the start and sent from
memory.

They hold no data, so they need no key. Only what was found at the start has an address, so no
address leads elsewhere.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from laissez.server.http.call import NOBODY
from laissez.server.http.endpoint import keep_pace, refuse
from laissez.server.http.request import Request
from laissez.server.http.response import Headers, lines, status_line
from laissez.server.http.site import Site
from laissez.wire.problems import Code, ProblemError

FOLDER = Path(__file__).parents[1] / "console"
FIRST = "index.html"  # the page, which is at /
FILES = "/files"  # paced apart: a page is a hundred of them
NAME = "getConsole"  # among the answers that are counted
ALLOW = b"GET, HEAD, OPTIONS"
MEDIA = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".json": b"application/json",
    ".webmanifest": b"application/manifest+json",
}
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src"
    b" 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    b" require-trusted-types-for 'script'"
)
PERMISSIONS = (
    b"accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(),"
    b" magnetometer=(), microphone=(), midi=(), payment=(), usb=()"
)
# Of a page that needs nothing of what a browser could give it, and that no other site may look
# into.
ALONE: Headers = [
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", PERMISSIONS),
]
EVERY: Headers = [
    # kept, but asked for each time: the page and its modules must be of one version
    (b"cache-control", b"no-cache"),
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    *ALONE,
]
ALLOWED = status_line(200) + lines([(b"allow", ALLOW), (b"content-length", b"0")])


class File:
    def __init__(self, path: Path, site: Site) -> None:
        self._body = path.read_bytes()
        self._site = site
        self._tag = b'"%b"' % hashlib.sha256(self._body).hexdigest()[:32].encode()
        headers = [(b"etag", self._tag), *EVERY]
        self._unchanged = status_line(304) + lines(headers)
        size = (b"content-length", b"%d" % len(self._body))
        self._head = status_line(200) + lines(
            [(b"content-type", MEDIA[path.suffix]), size, *headers]
        )

    async def serve(self, request: Request) -> None:
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            words = f"expected {ALLOW.decode()}, found {request.method[:20]}"
            problem = ProblemError(Code.METHOD_NOT_ALLOWED, words)
            self._site.count(NAME, problem.status)
            await refuse(self._site, problem, request, [(b"allow", ALLOW)])
            return
        await keep_pace(self._site, NOBODY, request, FILES)
        status, head, body = 200, self._head, self._body
        if request.method == "OPTIONS":
            head, body = ALLOWED, b""
        elif self._is_known(request):
            status, head, body = 304, self._unchanged, b""
        self._site.count(NAME, status)
        request.answer(head, body)

    def _is_known(self, request: Request) -> bool:
        """Whether the browser says that it has this very file."""
        known = b",".join(value for name, value in request.headers if name == b"if-none-match")
        tags = [tag.strip().removeprefix(b"W/") for tag in known.split(b",")]
        return self._tag in tags or b"*" in tags


def console(folder: Path, site: Site) -> dict[str, File]:
    """The files by their address: the page at /, all else below /console by its name."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in MEDIA and path.is_file())
    files = {f"/console/{path.relative_to(folder).as_posix()}": File(path, site) for path in found}
    page = files.pop(f"/console/{FIRST}", None)
    return files if page is None else {"/": page, **files}
