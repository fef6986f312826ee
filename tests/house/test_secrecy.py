"""Secrets and other tenants' prices do not leak, and the watch over the whole run (`conftest.py`)
finds leaks."""

from __future__ import annotations

import logging
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from laissez.server.auth import new_key
from laissez.wire.problems import Code, ProblemError
from laissez_check.access.client import spellings
from support.secrecy import WATCH, Watch
from support.service_world import World, with_service

pytestmark = pytest.mark.once


# -- the watch


def test_secrets_are_known_once_they_are_drawn() -> None:
    made = new_key()
    assert made.secret.partition("_")[2].partition("_")[2] in WATCH.drawn
    assert secrets.token_urlsafe(32) in WATCH.drawn


@pytest.mark.parametrize(
    "form", ["{}", "Bearer {}", "{{'authorization': b'Bearer {}'}}", "GET /v1/me?key={} HTTP/1.1"]
)
def test_a_secret_in_the_log_is_found(form: str) -> None:
    watch = Watch()
    secret = watch.remembering(secrets.token_urlsafe)(32)
    log = logging.getLogger("planted")
    log.addHandler(watch)
    log.propagate = False
    log.warning("nothing to see: %s", "x" * 60)
    assert [] == watch.new_findings()
    log.warning("a request", extra={"asked": form.format(f"lz_0123456789abcdef_{secret}")})
    log.warning(secret)
    assert 2 == len(watch.new_findings())


def test_a_secret_in_the_trace_of_an_error_is_found() -> None:
    watch = Watch()
    secret = watch.remembering(secrets.token_urlsafe)(32)
    log = logging.getLogger("planted.error")
    log.addHandler(watch)
    log.propagate = False
    try:
        raise ValueError(f"not understood: {secret}")
    except ValueError:
        log.exception("a bug")
    assert any("ValueError: not understood" in finding for finding in watch.new_findings())


def test_a_key_written_by_a_process_is_found_even_if_its_log_is_deleted(tmp_path: Path) -> None:
    watch = Watch()
    path = tmp_path / "log"
    with path.open("ab") as log:
        watch.note_file(log)
        watch.note_file(log)
        program = "import sys; sys.stderr.write('key ' + 'lz_' + '0' * 16 + '_' + 'k' * 43)"
        assert (
            0
            == subprocess.run(
                [sys.executable, "-S", "-c", program],
                stdout=subprocess.DEVNULL,
                stderr=log,
                check=True,
            ).returncode
        )
    path.unlink()
    watch.look_into_files()
    assert 1 == len(watch.new_findings())
    WATCH.look_into_files()
    assert 1 == len(WATCH.new_findings())  # the watch over the whole run found it too


def test_standard_error_of_a_process_is_watched() -> None:
    program = "import sys; sys.stderr.write('cookie laissez_signin_8340=' + 'k' * 43)"
    subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, check=True)
    assert 1 == len(WATCH.new_findings())


PRICED = (
    "PlaceOrder(bid=1250000, limit=1250000)",
    "body={'max_price': '3.5'}",
    'rate="2"',
    "floor: $7",
)
UNPRICED = (
    "limit: expected 1 to 1000",
    "rate_every_s=1.0",
    "connections_max=5",
    "serving at http://127.0.0.1:8340",
)


def test_a_price_in_the_log_of_a_service_is_found_without_false_alarms() -> None:
    watch = Watch()
    log = logging.getLogger("laissez.planted")
    log.addHandler(watch)
    log.propagate = False
    for said in UNPRICED:
        log.warning(said)
    assert [] == watch.new_findings()
    for said in PRICED:
        log.warning("applied", extra={"command": said})
        watch.look(
            f"2026-11-15T08:30:00.000000Z info    laissez.gateway: applied {said}",
            "the log of a process",
        )
        watch.look(
            f'{{"at":"2026-11-15T08:30:00Z","level":"info","logger":"laissez.gateway","message":"{said}"}}',
            "the log of a process",
        )
        watch.look(f"your order: {said}", "what a tenant's own program says")
        watch.look(
            f"2026-11-15T08:30:00.000000Z debug   laissez.sample: {said}", "the log of a process"
        )
        assert 3 == len(watch.new_findings()), said


def test_a_secret_in_a_problem_or_a_metric_is_found(tmp_path: Path) -> None:
    ProblemError(Code.NOT_FOUND, f"there is no order {secrets.token_urlsafe(32)}")
    assert ["a problem, not_found"] == [
        finding.partition(":")[0] for finding in WATCH.new_findings()
    ]

    async def story(world: World) -> None:
        world.app.site.metrics.answered(secrets.token_urlsafe(32), 200)
        await world.ask("operator", "GET", "/metrics")
        assert {"the figures"} == {finding.partition(":")[0] for finding in WATCH.new_findings()}

    with_service(tmp_path, story)


def test_a_server_with_an_unwatched_log_is_found() -> None:
    subprocess.run([sys.executable, "-S", "-c", "", "serve"], stderr=subprocess.DEVNULL, check=True)
    assert ["nobody watches the log of"] == [finding[:25] for finding in WATCH.new_findings()]


# -- prices and names


PRICES = ("1234.567891", "2345.678912", "3456.789123")
NAMES = ("carol-the-unmistakable", "dave-the-unmistakable")


def test_other_tenants_prices_and_names_are_in_no_error_log_or_metric(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A tenant may see the prices of its own leases. Here it has none, and other tenants lease
    everything."""
    caplog.set_level(logging.DEBUG, "laissez")

    async def story(world: World) -> None:
        others = {}
        for name in NAMES:
            await world.ask("operator", "POST", "/v1/tenants", {"name": name})
            others[name] = world.new_secret(name, "read", "trade")
        carol, dave = others.values()
        for _ in range(9):
            await world.place(carol, "h100", PRICES[0])
        for _ in range(9):
            await world.place(dave, "h100", PRICES[1], PRICES[0])
        leases = (await world.ask(carol, "GET", "/v1/leases")).json()["data"]
        await world.ask(carol, "PATCH", f"/v1/leases/{leases[0]['id']}", {"limit": PRICES[2]})
        await world.ask("operator", "PUT", "/v1/floors/h100/east/rack1", {"price": PRICES[0]})
        heard = "".join(
            [
                await errors_of(world, leases[0]),
                caplog.text,
                (await world.ask("operator", "GET", "/metrics")).text,
            ]
        )
        hidden = [*(form for price in PRICES for form in spellings(price)), *NAMES]
        assert [] == [word for word in hidden if word in heard]
        assert "laissez_leases 8" in heard and '"status":404' in heard

    with_service(tmp_path, story)


async def errors_of(world: World, lease: dict[str, Any]) -> str:
    """All the errors that a tenant meets in a full market."""
    asks: list[tuple[str, str, Any]] = [
        ("GET", f"/v1/leases/{lease['id']}", None),
        ("GET", f"/v1/leases/{lease['id']}/prices", None),
        ("PATCH", f"/v1/leases/{lease['id']}", {"limit": "1"}),
        ("DELETE", f"/v1/leases/{lease['id']}", None),
        ("DELETE", f"/v1/orders/{lease['order']}", None),
        (
            "PUT",
            f"/v1/orders/{lease['order']}",
            {"alternatives": [{"scope": "h100", "limit": "1"}]},
        ),
        ("POST", "/v1/orders", {"alternatives": [{"scope": "h100", "limit": "1", "bid": "2"}]}),
        ("POST", "/v1/orders", {"alternatives": [{"scope": "h100/east", "limit": "1"}]}),
        ("POST", "/v1/orders", {"alternatives": [{"scope": "h100/north", "limit": "1"}]}),
        ("POST", "/v1/orders", {"alternatives": [{"scope": "h100", "limit": "20000"}]}),
        ("POST", "/v1/instances", {"near": lease["id"], "level": "rack", "max_price": "1"}),
        ("POST", "/v1/instances", {"type": "h100", "max_price": "1"}),
        ("GET", "/v1/prices?scope=h100/east", None),
        ("GET", "/v1/prices?scope=h100/east/rack1/gpu1", None),
        ("GET", f"/v1/orders?tenant={NAMES[0][:5]}", None),
        ("GET", "/v1/bills", None),
        ("GET", "/v1/events", None),
        ("GET", "/v1/orders", None),
        ("GET", "/v1/leases", None),
        ("PUT", "/v1/floors/h100", {"price": "1"}),
        ("GET", "/v1/tenants", None),
        ("GET", "/metrics", None),
    ]
    return "".join(
        [(await world.ask("ann", method, path, body)).text for method, path, body in asks]
    )
