"""`laissez doctor`: check the setup, one line for each part, with a remedy for each fault."""

from __future__ import annotations

import os
import platform
import stat
import sys
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec
import typer

import laissez
from laissez.cli.commands import InsecureOption, KeyFileOption, ProfileOption, UrlOption
from laissez.cli.errors import EXIT_FAILED
from laissez.cli.output import Format, FormatOption
from laissez.cli.profiles import ConfigError, Target, config_path, find_target
from laissez.cli.tables import show_json
from laissez.client import ApiError, Client, ConnectionFailed, LaissezError, UsageError

TIMEOUT_S = 5.0
CLOCK_OFF_S_MAX = 5.0  # the server tells whole seconds, so much less would be noise
PYTHONS = ((3, 11), (3, 13))


class Check(msgspec.Struct, frozen=True):
    """One checked part; `do` is the remedy if it is not `ok`."""

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
    """Check your setup, the server and your key. Exit status 1 if anything is wrong."""
    checks = []
    for check in run_checks(url, profile, key_file, insecure):
        checks.append(check)
        if output is Format.TABLE:
            verdict, remedy = ("ok  ", "") if check.ok else ("FAIL", f". {check.do}")
            typer.echo(f"{verdict}  {check.name:<12}  {check.found}{remedy}")
    if output is Format.JSON:
        show_json(checks)
    if not all(check.ok for check in checks):
        raise typer.Exit(EXIT_FAILED)


def run_checks(
    url: str | None, profile: str | None, key_file: Path | None, insecure: bool
) -> Iterator[Check]:
    """Yield each check as soon as it is done. Checks that rest on a failed one are left out."""
    yield check_python()
    yield check_market()
    yield check_config(config_path(os.environ))
    transport = RecordingTransport()
    try:
        target = find_target(url, profile, key_file, insecure)
        yield check_key(target)
        settings: dict[str, Any] = {"timeout": TIMEOUT_S, "retries": 0, "transport": transport}
        client = Client(target.url, target.key, insecure=target.insecure, **settings)
    except (ConfigError, UsageError) as error:
        yield Check("connection", False, str(error), "Correct it, then run the doctor again")
        return
    with client:
        yield (answers := check_server(client, target.url))
        if answers.ok:
            yield check_clock(transport)
            yield check_ready(client, transport)
            if target.key is not None:
                yield check_permission(client)


class RecordingTransport(httpx.HTTPTransport):
    """Records the status and the date of the latest answer, which the client does not return."""

    status = 0
    date: str | None = None
    asked_at = answered_at = 0.0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked_at = time.time()
        answer = super().handle_request(request)
        self.answered_at = time.time()
        self.status, self.date = answer.status_code, answer.headers.get("date")
        return answer


def check_python() -> Check:
    oldest, newest = (".".join(map(str, version)) for version in PYTHONS)
    fits = PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]
    found = f"{platform.python_implementation()} {platform.python_version()}"
    return Check("python", fits, found, f"Use Python {oldest} to {newest}")


def check_market() -> Check:
    try:
        form = laissez.market_form()
    except laissez.FormError as error:
        return Check("market", False, str(error), "Set LAISSEZ_MARKET to auto, or unset it")
    slower = ": correct, but slower than compiled; matters only where the service runs"
    return Check("market", True, form if form == "compiled" else form + slower)


def check_config(path: Path) -> Check:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return Check("config", True, f"none at {path}, so the defaults hold")
    except OSError as error:
        return Check("config", False, f"{path}: {error.strerror}", "Make it readable for you")
    if not mode & (stat.S_IWGRP | stat.S_IWOTH):
        return Check("config", True, str(path))
    found = f"{path} can be written by others ({stat.filemode(mode)})"
    return Check("config", False, found, f"Run: chmod go-w {path}")


def check_key(target: Target) -> Check:
    if target.withheld is not None:
        return Check("key", False, f"none: {target.withheld}", "Or leave out --url and LAISSEZ_URL")
    if target.key is None:
        remedy = "Set LAISSEZ_KEY_FILE, or key_file in a profile; the operator issues keys"
        return Check("key", False, "none", remedy)
    path = target.key_file
    if path is None:
        return Check("key", True, f"from {target.key_from}")
    mode = path.stat().st_mode
    if not mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Check("key", True, f"{path}, named by {target.key_from}")
    found = f"{path} is open to others ({stat.filemode(mode)})"
    return Check("key", False, found, f"Run: chmod 600 {path}")


def check_server(client: Client, url: str) -> Check:
    try:
        client.health()
    except ConnectionFailed as error:
        remedy = "Check the address, and that the service runs: laissez serve"
        return Check("server", False, str(error), remedy)
    except LaissezError as error:
        remedy = "Check that this is the address of a LaissezCloud service"
        return Check("server", False, f"{url}: {error}", remedy)
    return Check("server", True, f"{url} answers")


def check_clock(transport: RecordingTransport) -> Check:
    """Compare the clocks. The server's whole second lies between question and answer."""
    if transport.date is None:
        return Check("clock", True, "the server does not tell its time")
    second = parsedate_to_datetime(transport.date).timestamp()
    ahead, behind = second - transport.answered_at, transport.asked_at - (second + 1)
    if max(ahead, behind) <= CLOCK_OFF_S_MAX:
        return Check("clock", True, "agrees with the server's")
    difference = f"{ahead:.0f} s ahead" if ahead > 0 else f"{behind:.0f} s behind"
    remedy = "Set both by a time server; until then the periods of bills are off by as much"
    return Check("clock", False, f"the server's is {difference}", remedy)


def check_ready(client: Client, transport: RecordingTransport) -> Check:
    try:
        health = client.ready()
    except LaissezError as error:
        return Check("ready", False, str(error), "Try again; then read the server's log")
    is_ready, found = transport.status == httpx.codes.OK, health.detail or health.status
    return Check("ready", is_ready, found, "Wait while it starts or stops; then read its log")


def check_permission(client: Client) -> Check:
    try:
        me = client.me()
    except ApiError as error:
        remedy = "Ask the operator for a new key, and check that it is for this server"
        return Check("permission", False, error.detail, remedy)
    except LaissezError as error:
        return Check("permission", False, str(error), "Try again")
    return Check("permission", True, f"{me.holder}, may {', '.join(me.scopes)} ({me.key})")
