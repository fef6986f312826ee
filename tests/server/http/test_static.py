"""The console's files: their headers, and that no other file is served."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Awaitable, Callable
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path
from tomllib import loads
from urllib.parse import quote

import httpx
import pytest

from laissez.server.http.app import App, make_app
from laissez.server.http.static import FOLDER, MEDIA
from laissez_check.in_process import Exchange, head_of
from support.in_process import InProcess
from support.paths import ROOT
from support.service_world import World, with_service

pytestmark = pytest.mark.once

PAGE = "<!doctype html><title>x</title>"
Ask = Callable[..., Awaitable[httpx.Response]]


def with_files(folder: Path, story: Callable[[World, Ask], Awaitable[None]]) -> None:
    """A small console of three files, beside unrelated ones."""
    files = folder / "console"
    (files / "js" / "views").mkdir(parents=True)
    for name, text in {
        "index.html": PAGE,
        "js/main.js": "export {};",
        "js/views/a.js": "// a",
        "notes.md": "not served",
        "js/main.py": "not served",
    }.items():
        (files / name).write_text(text)
    (folder / "secret.js").write_text("not served")

    async def told(world: World) -> None:
        app = make_app(world.gateway, world.app.site.settings, world.quota, files=files)
        async with httpx.AsyncClient(transport=InProcess(app), base_url="http://test") as http:
            await story(world, http.request)

    with_service(folder / "data", told)


def test_the_page_is_at_the_root_and_its_files_below_it_without_a_key(tmp_path: Path) -> None:
    async def story(world: World, ask: Ask) -> None:
        for path, text, media in (
            ("/", PAGE, "text/html; charset=utf-8"),
            ("/console/js/main.js", "export {};", "text/javascript; charset=utf-8"),
            ("/console/js/views/a.js", "// a", "text/javascript; charset=utf-8"),
        ):
            answer, head = await ask("GET", path), await ask("HEAD", path)
            assert (200, text, media, str(len(text))) == (
                answer.status_code,
                answer.text,
                *map(answer.headers.get, ("content-type", "content-length")),
            )
            assert (200, b"", dict(answer.headers)) == (
                head.status_code,
                head.content,
                dict(head.headers),
            )

    with_files(tmp_path, story)


def test_the_page_may_load_only_own_content_and_cannot_be_framed(tmp_path: Path) -> None:
    async def story(world: World, ask: Ask) -> None:
        known = (await ask("GET", "/")).headers["etag"]
        for answer in (
            await ask("GET", "/"),
            await ask("GET", "/console/js/main.js"),
            await ask("GET", "/", headers={"If-None-Match": known}),
        ):
            policy = _policy(answer)
            assert {
                "default-src": "'none'",
                "script-src": "'self'",
                "style-src": "'self'",
                "img-src": "'self' data:",
                "connect-src": "'self'",
                "manifest-src": "'self'",
                "base-uri": "'none'",
                "form-action": "'none'",
                "frame-ancestors": "'none'",
                "require-trusted-types-for": "'script'",
            } == policy
            expected = {
                "x-content-type-options": "nosniff",
                "referrer-policy": "no-referrer",
                "cross-origin-opener-policy": "same-origin",
                "cross-origin-resource-policy": "same-origin",
                "cache-control": "no-cache",
            }
            assert expected.items() <= dict(answer.headers).items()
            assert set(re.findall(r"=(\S+?)(?:,|$)", answer.headers["permissions-policy"])) == {
                "()"
            }
            assert "set-cookie" not in answer.headers

    with_files(tmp_path, story)


def _policy(answer: httpx.Response) -> dict[str, str]:
    return dict(
        one.strip().split(" ", 1) for one in answer.headers["content-security-policy"].split(";")
    )


def test_a_cached_file_is_not_sent_again(tmp_path: Path) -> None:
    async def story(world: World, ask: Ask) -> None:
        tag, other = [
            (await ask("GET", path)).headers["etag"] for path in ("/", "/console/js/main.js")
        ]
        assert tag != other and re.fullmatch(r'"[0-9a-f]{32}"', tag)
        for known in (tag, f"W/{tag}", f'"x", {tag}', "*"):
            for method in ("GET", "HEAD"):
                answer = await ask(method, "/", headers={"If-None-Match": known})
                assert (304, b"", tag) == (
                    answer.status_code,
                    answer.content,
                    answer.headers["etag"],
                )
                assert "content-length" not in answer.headers
        for known in (other, tag.strip('"'), "", '"x"'):
            assert 200 == (await ask("GET", "/", headers={"If-None-Match": known})).status_code

    with_files(tmp_path, story)


ELSEWHERE = (
    "/console",
    "/console/",
    "/console/index.html",
    "/index.html",
    "/console/notes.md",
    "/console/js",
    "/console/js/",
    "/console/js/main.py",
    "/console/js/main.js/",
    "/console//js/main.js",
    "//console/js/main.js",
    "/console/JS/main.js",
    "/console/../secret.js",
    "/console/js/../../../secret.js",
    "/console/./js/main.js",
    "/console/js\\main.js",
    "/console/js/main.js\x00",
    "/console//etc/passwd",
    "/../secret.js",
)


def test_only_files_found_at_the_start_are_served(tmp_path: Path) -> None:
    async def story(world: World, ask: Ask) -> None:
        app = make_app(
            world.gateway, world.app.site.settings, world.quota, files=tmp_path / "console"
        )
        for path in ELSEWHERE:
            answer = await _raw(app, path)
            assert 404 == answer.status, path
            assert (b"content-type", b"application/problem+json") in answer.headers
        assert 200 == (await _raw(app, "/console/js/main.js")).status

    with_files(tmp_path, story)


async def _raw(app: App, path: str) -> Exchange:
    """A request for the path as it is, which a client would normalise."""
    asked = Exchange(app, head_of("GET", quote(path), [(b"host", b"test")]))
    await asked.ended()
    return asked


def test_files_are_read_only(tmp_path: Path) -> None:
    async def story(world: World, ask: Ask) -> None:
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            answer = await ask(method, "/console/js/main.js", content=b"x")
            assert (405, "method_not_allowed", "GET, HEAD, OPTIONS") == (
                answer.status_code,
                answer.json()["code"],
                answer.headers["allow"],
            )
        options = await ask("OPTIONS", "/")
        assert (200, b"", "GET, HEAD, OPTIONS") == (
            options.status_code,
            options.content,
            options.headers["allow"],
        )

    with_files(tmp_path, story)


def test_files_are_read_once_and_counted_in_the_metrics(tmp_path: Path) -> None:
    async def story(world: World, ask: Ask) -> None:
        (tmp_path / "console" / "js" / "main.js").unlink()
        assert "export {};" == (await ask("GET", "/console/js/main.js")).text
        figures = (
            await ask(
                "GET", "/metrics", headers={"Authorization": f"Bearer {world.secrets['operator']}"}
            )
        ).text
        assert 'laissez_http_answers_total{operation="getConsole",status="200"} 1.0' in figures

    with_files(tmp_path, story)


# -- the files of the package


def test_every_file_of_the_console_is_served_and_every_named_one_exists(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        page = await world.ask(
            None, "GET", "/", headers={"Accept": "text/html", "Sec-Fetch-Site": "cross-site"}
        )
        assert 200 == page.status_code and _policy(page)["default-src"] == "'none'"
        names = re.findall(r'(?:href|src)="([^"#]+)"', page.text)
        # the policy would forbid them
        assert names and not re.search(
            r"<style|\bstyle=|\bon\w+=|<script(?![^>]*\bsrc=)", page.text
        )
        for name in names:
            assert 200 == (await world.ask(None, "GET", name)).status_code, name
        for path in FOLDER.rglob("*.*"):
            if path.name != "index.html":
                assert path.suffix in MEDIA, path
                served = await world.ask(
                    None, "GET", f"/console/{path.relative_to(FOLDER).as_posix()}"
                )
                assert path.read_bytes() == served.content

    with_service(tmp_path / "data", story)


def test_every_file_of_the_console_is_part_of_the_package() -> None:
    globs = loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"][
        "laissez"
    ]
    package = ROOT / "src" / "laissez"
    packed = {path for pattern in globs for path in package.glob(pattern)}
    assert {path for path in FOLDER.rglob("*") if path.suffix in MEDIA} <= packed
    assert not any(fnmatch("server/console/notes.md", pattern) for pattern in globs)


def test_the_docs_page_may_load_only_its_own_style(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        page = await world.ask(None, "GET", "/docs")
        (style,) = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
        digest = b64encode(sha256(style.encode()).digest()).decode()
        policy = _policy(page)
        assert ("'none'", f"'sha256-{digest}'", "'none'") == (
            policy["default-src"],
            policy["style-src"],
            policy["frame-ancestors"],
        )
        assert "script-src" not in policy and " style=" not in page.text
        assert ("nosniff", "no-referrer") == (
            page.headers["x-content-type-options"],
            page.headers["referrer-policy"],
        )
        assert 'href="/"' in page.text

    with_service(tmp_path / "data", story)
