"""`laissez doctor`: one line for each thing that must be in place, and what to do where it is
not."""

from __future__ import annotations

import os
import platform
import stat
import sys
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
import msgspec
import typer

import laissez
from laissez.cli.connection import InsecureOption, KeyFileOption, ProfileOption, UrlOption
from laissez.cli.exits import EXIT_FAILED
from laissez.cli.output import Format, FormatOption
from laissez.cli.profiles import ConfigError, Target, config_path, target
from laissez.cli.tables import show_json
from laissez.client import ApiError, Client, ConnectionFailed, LaissezError, UsageError

TIMEOUT_S = 5.0
CLOCK_OFF_S_MAX = 5.0  # the server's clock is told in whole seconds, so much less would be noise
PYTHONS = ((3, 11), (3, 13))


class Check(msgspec.Struct, frozen=True):
    """One thing looked at; `do` says what to do if it is not `ok`."""

    name: str
    ok: bool
    found: str
    do: str = ""


def doctor(
    url: UrlOption = None,
    profile: ProfileOption = None,
    key_file: KeyFileOption = None,
    insecure: InsecureOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Check Python, the market, your configuration, the server and your key; ends with 1 if
    anything is wrong."""
    checks = []
    for check in examination(url, profile, key_file, insecure):
        checks.append(check)
        if output is Format.TABLE:
            typer.echo(
                f"{'ok  ' if check.ok else 'FAIL'}  {check.name:<12} "
                f" {check.found}{'' if check.ok else f'. {check.do}'}"
            )
    if output is Format.JSON:
        show_json(checks)
    if not all(check.ok for check in checks):
        raise typer.Exit(EXIT_FAILED)


def examination(
    url: str | None, profile: str | None, key_file: Path | None, insecure: bool
) -> Iterator[Check]:
    """The checks, each as soon as it is done. What rests on something that is missing is not looked
    at."""
    yield python()
    yield market()
    yield config(config_path(os.environ))
    try:
        where = target(url, profile, key_file, insecure)
        yield key(where)
        noted = Noted()
        client = Client(
            where.url,
            where.key,
            timeout=TIMEOUT_S,
            retries=0,
            insecure=where.insecure,
            transport=noted,
        )
    except (ConfigError, UsageError) as error:
        yield Check("connection", False, str(error), "Mend it, then ask again")
        return
    with client:
        yield (answers := server(client, where.url))
        if answers.ok:
            yield clock(noted)
            yield ready(client, noted)
            if where.key is not None:
                yield permission(client)


class Noted(httpx.HTTPTransport):
    """Notes of the latest answer what the client does not tell: its status, the server's time, and
    when it was."""

    status = 0
    date: str | None = None
    asked_at = answered_at = 0.0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked_at = time.time()
        answer = super().handle_request(request)
        self.answered_at = time.time()
        self.status, self.date = answer.status_code, answer.headers.get("date")
        return answer


def python() -> Check:
    oldest, newest = (".".join(map(str, version)) for version in PYTHONS)
    fits = PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]
    return Check(
        "python",
        fits,
        f"{platform.python_implementation()} {platform.python_version()}",
        f"Use Python {oldest} to {newest}",
    )


def market() -> Check:
    try:
        form = laissez.market_form()
    except laissez.FormError as error:
        return Check("market", False, str(error), "Set LAISSEZ_MARKET to auto, or unset it")
    return Check(
        "market",
        True,
        (
            form
            if form == "compiled"
            else f"{form}: right, but slower than compiled; matters only where the service runs"
        ),
    )


def config(path: Path) -> Check:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return Check("config", True, f"none at {path}, so the defaults hold")
    except OSError as error:
        return Check("config", False, f"{path}: {error.strerror}", "Make it readable for you")
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        return Check(
            "config",
            False,
            f"{path} can be written by others ({stat.filemode(mode)})",
            f"Run: chmod go-w {path}",
        )
    return Check("config", True, str(path))


def key(where: Target) -> Check:
    if where.withheld is not None:
        return Check("key", False, f"none: {where.withheld}", "Or leave out --url and LAISSEZ_URL")
    if where.key is None:
        return Check(
            "key",
            False,
            "none",
            "Set LAISSEZ_KEY_FILE, or key_file in a profile; the operator issues keys: laissez"
            " tenants issue-key",
        )
    if where.key_file is None:
        return Check("key", True, f"from {where.key_from}")
    mode = where.key_file.stat().st_mode
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Check(
            "key",
            False,
            f"{where.key_file} is open to others ({stat.filemode(mode)})",
            f"Run: chmod 600 {where.key_file}",
        )
    return Check("key", True, f"{where.key_file}, named by {where.key_from}")


def server(client: Client, url: str) -> Check:
    try:
        client.health()
    except ConnectionFailed as error:
        return Check(
            "server",
            False,
            str(error),
            "Check the address, and that the service runs: laissez serve",
        )
    except LaissezError as error:
        return Check(
            "server",
            False,
            f"{url}: {error}",
            "Check that this is the address of a LaissezCloud service",
        )
    return Check("server", True, f"{url} answers")


def clock(noted: Noted) -> Check:
    """The server told its whole second, and may have meant any moment of it between question and
    answer."""
    if noted.date is None:
        return Check("clock", True, "the server does not tell its time")
    second = parsedate_to_datetime(noted.date).timestamp()
    ahead, behind = second - noted.answered_at, noted.asked_at - (second + 1)
    if max(ahead, behind) <= CLOCK_OFF_S_MAX:
        return Check("clock", True, "agrees with the server's")
    found = (
        f"the server's is {ahead:.0f} s ahead"
        if ahead > 0
        else f"the server's is {behind:.0f} s behind"
    )
    return Check(
        "clock",
        False,
        found,
        "Set both by a time server; until then the periods of bills are off by as much",
    )


def ready(client: Client, noted: Noted) -> Check:
    try:
        health = client.ready()
    except LaissezError as error:
        return Check("ready", False, str(error), "Ask again; then read the server's log")
    return Check(
        "ready",
        noted.status == httpx.codes.OK,
        health.detail or health.status,
        "Wait while it starts or stops; then read its log",
    )


def permission(client: Client) -> Check:
    try:
        me = client.me()
    except ApiError as error:
        return Check(
            "permission",
            False,
            error.detail,
            "Ask the operator for a new key, and check that it is for this server",
        )
    except LaissezError as error:
        return Check("permission", False, str(error), "Ask again")
    return Check("permission", True, f"{me.holder}, may {', '.join(me.scopes)} ({me.key})")
