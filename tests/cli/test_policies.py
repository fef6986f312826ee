"""`laissez tenant`, `laissez operator` and the living sample of `laissez up`, as real processes
that are stopped, killed and started again."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.test_live import PROGRAM, WITHIN_S
from support.doc_shell import environment_of, until_it_serves

pytestmark = [pytest.mark.once, pytest.mark.slow]

TASK = """
name: job
resources: {scopes: [a100/zone-a/rack3/host1]}
market: {template: on_demand, max_price: "4"}
hooks:
  on_lease_start: echo start $LAISSEZ_LEASE >> told
  on_lease_end: echo end $LAISSEZ_LEASE $LAISSEZ_REASON $LAISSEZ_RATE >> told
"""
MAPS = """
[base.h100]
price = "2.40"
floor_max = "9"
[signals.zone-b]
source = "python"
call = "policy:power"
[maps.zone-b-power]
kind = "power"
nodes = ["h100/zone-b"]
signal = "zone-b"
"""


class Site:
    """A server of `laissez up` on a port that it keeps, and commands sent to it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        self.started: list[subprocess.Popen[str]] = []

    def serve(self, *flags: str) -> subprocess.Popen[str]:
        process = self.start(
            None,
            "up",
            *flags,
            "--data",
            str(self.home / "data"),
            "--port",
            self.url.rpartition(":")[2],
        )
        assert process.stdout is not None
        until_it_serves(process.stdout)
        return process

    def start(self, who: str | None, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=self.home,
            env=self.environment(who),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def run(self, who: str | None, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *arguments],
            cwd=self.home,
            env=self.environment(who),
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
        )

    def json(self, who: str, *arguments: str) -> Any:
        done = self.run(who, *arguments, "-o", "json")
        assert 0 == done.returncode, done.stderr
        return json.loads(done.stdout)

    def environment(self, who: str | None) -> dict[str, str]:
        found = environment_of(self.home)
        if who is not None:
            found |= {
                "LAISSEZ_URL": self.url,
                "LAISSEZ_KEY_FILE": str(self.home / "data" / "keys" / f"{who}.key"),
            }
        return found

    def told(self) -> list[str]:
        path = self.home / "told"
        return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []

    def until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not is_so():
            assert time.monotonic() < deadline, "it did not come to pass"
            time.sleep(0.02)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    yield site
    for process in site.started:
        process.kill()
        process.communicate()


def end(process: subprocess.Popen[str], number: signal.Signals) -> int:
    process.send_signal(number)
    process.communicate(timeout=WITHIN_S)
    return process.returncode


def test_a_task_survives_a_crash_of_the_server_and_of_its_own_runner(site: Site) -> None:
    (site.home / "job.yaml").write_text(TASK)
    server = site.serve("--still")
    runner = site.start("dynamo", "tenant", "run", "job.yaml", "--pace", "0.2")
    site.until(lambda: site.told() == ["start"])
    end(server, signal.SIGKILL)
    server = site.serve("--still")
    assert 0 == site.run("operator", "floor", "set", "a100", "4.50").returncode
    site.until(lambda: site.told() == ["start", "end"])
    end(runner, signal.SIGKILL)
    # the waiting order wins while no runner is there
    assert 0 == site.run("operator", "floor", "set", "a100", "1.00").returncode
    runner = site.start("dynamo", "tenant", "run", "job.yaml", "--pace", "0.2")
    site.until(lambda: site.told() == ["start", "end", "start"])
    assert 0 == end(runner, signal.SIGINT)
    assert 1 == len(site.json("dynamo", "leases"))  # left as it is
    assert 0 == site.run("dynamo", "tenant", "stop", "job.yaml").returncode
    assert [] == site.json("dynamo", "leases")
    assert ["start", "end", "start", "end"] == site.told()
    assert 0 == end(server, signal.SIGINT)


def test_maps_price_a_real_market_once_or_only_show_what_they_would_do(site: Site) -> None:
    (site.home / "maps.toml").write_text(MAPS)
    (site.home / "policy.py").write_text("def power(now: int) -> float:\n    return 0.8\n")
    site.serve("--still")
    shown = site.run("operator", "operator", "run", "maps.toml", "--dry-run")
    assert 0 == shown.returncode, shown.stderr
    assert "h100/zone-b" in shown.stdout and "would send" in shown.stdout
    floors = {floor["node"]: floor["own"] for floor in site.json("operator", "floor")}
    assert "2" == floors["h100"] and "h100/zone-b" not in floors
    assert [] == site.json("operator", "operator", "status")["runners"]
    assert 0 == site.run("operator", "operator", "run", "maps.toml", "--once").returncode
    (runner,) = site.json("operator", "operator", "status")["runners"]
    assert ("maps", ["zone-b-power"], "4.8") == (
        runner["runner"],
        [each["name"] for each in runner["maps"]],
        runner["floors"][1]["wanted"],
    )
    floors = {floor["node"]: floor["own"] for floor in site.json("operator", "floor")}
    assert {"h100": "2.4", "h100/zone-b": "4.8", "a100": "1.1"} == floors
    refused = site.run("dynamo", "operator", "run", "maps.toml", "--once")
    assert 3 == refused.returncode and "expected a key of the operator" in refused.stderr


def test_the_sample_moves_prices_and_ends_with_its_server(site: Site) -> None:
    server = site.serve()
    site.until(
        lambda: all(
            tenant["leases"]
            for tenant in site.json("operator", "tenants")
            if tenant["name"] in ("dynamo", "sailor", "parabricks")
        )
    )
    site.until(
        lambda: (
            len(
                {
                    floor["own"]
                    for floor in site.json("operator", "floor")
                    if floor["node"].startswith("h100")
                }
            )
            > 1
        )
    )
    (runner,) = site.json("operator", "operator", "status")["runners"]
    assert ("sample", {"power", "carbon", "maintenance"}) == (
        runner["runner"],
        {each["kind"] for each in runner["maps"]},
    )
    (life,) = [
        int(child)
        for child in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    ]
    end(server, signal.SIGKILL)
    site.until(lambda: not is_running(life))


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tenant", "run", "none.yaml"), "none.yaml"),
        (("tenant", "check", "bad.yaml"), "market.template"),
        (("operator", "run", "none.toml"), "none.toml"),
    ],
)
def test_unreadable_files_are_reported_with_their_place(
    site: Site, arguments: tuple[str, ...], said: str
) -> None:
    (site.home / "bad.yaml").write_text(
        "resources: {accelerators: H100}\nmarket: {template: cheap}\n"
    )
    done = site.run(None, *arguments)
    assert 2 == done.returncode and said in done.stderr and "Traceback" not in done.stderr
