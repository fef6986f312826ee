"""`laissez serve` runs the service; `laissez up` runs it with a small sample market, for a first
look."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from laissez.exchange.commands import OPERATOR
from laissez.server import data_folder, first_start
from laissez.server.gateway import Gateway
from laissez.server.serve import CannotListen, listen
from laissez.server.serve import serve as run_service
from laissez.server.settings import read_settings

SAMPLE_PORT = 8340

ConfigOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--config", help="A TOML file of settings (docs/laissez.toml shows them all)."),
]
HostOption: TypeAlias = Annotated[
    str | None, typer.Option("--host", help="The address to listen on.")
]
PortOption: TypeAlias = Annotated[
    int | None, typer.Option("--port", help="The port to listen on; 0 takes any that is free.")
]


def serve(
    config: ConfigOption = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="The folder that holds the market.")
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(
            "--topology", help="The cluster, for a data folder that is new (TOML, YAML or JSON)."
        ),
    ] = None,
    host: HostOption = None,
    port: PortOption = None,
) -> None:
    """Run the service until Ctrl-C or SIGTERM. A new data folder gets a market over the topology,
    and a first key for the operator."""
    flags: dict[str, dict[str, object]] = {
        "server": {"host": host, "port": port},
        "data": {"folder": data and str(data), "topology": topology and str(topology)},
    }
    settings = read_settings(config, flags=flags)
    folder = Path(settings.data.folder)
    first_start.create_if_new(settings)

    async def ready(gateway: Gateway, address: str) -> None:
        key = await first_start.issue_first_key(gateway, folder, OPERATOR)
        if key is not None:
            print(f"The operator's first key is in {key}", flush=True)
        print(f"Console at {address}/ (sign in with a key)")
        print(f"Serving at {address}", flush=True)

    sys.exit(run_service(settings, ready))


def up(
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            help="The folder that holds the sample market; a second start goes on with it.",
        ),
    ] = Path("laissez-sample"),
    port: PortOption = None,
    still: Annotated[
        bool, typer.Option("--still", help="Nobody trades by itself: no sample tenants, no maps.")
    ] = False,
) -> None:
    """Start a sample market on this machine: 96 H100s and 64 A100s, tenants that trade by
    themselves, and racks whose power presses on prices.

    It stays up until Ctrl-C.
    """
    port = free_port() if port is None else port
    settings = read_settings(
        flags={
            "server": {"port": port, "metrics_open": True, "log_level": "warning"},
            "data": {"folder": str(data)},
        }
    )
    new = not first_start.has_market(data)
    if new:
        data_folder.create(data, first_start.SAMPLE_TOPOLOGY, settings.limits.open_orders_max)

    life: list[subprocess.Popen[bytes]] = []

    async def ready(gateway: Gateway, address: str) -> None:
        await first_start.set_up_sample(gateway, data)
        if not still:
            life.append(start_life(address, data / first_start.KEYS))
        print(welcome(address, data, new, still), flush=True)

    status = run_service(settings, ready)
    for process in life:
        process.terminate()
        process.wait()
    sys.exit(status)


def start_life(address: str, keys: Path) -> subprocess.Popen[bytes]:
    """The sample's tenants and its maps, in a process of their own. It ends with us however we end:
    its standard input does."""
    return subprocess.Popen(
        [sys.executable, "-m", "laissez.live.sample", address, str(keys)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )


def free_port() -> int:
    """The usual port, or another one where that is taken."""
    try:
        listen("127.0.0.1", SAMPLE_PORT).close()
    except CannotListen:
        return 0
    return SAMPLE_PORT


def welcome(address: str, data: Path, new: bool, still: bool) -> str:
    command = shlex.quote(str(Path(sys.argv[0])))

    def key(holder: str) -> Path:
        return data / first_start.KEYS / f"{holder}.key"

    def line(holder: str, rest: str) -> str:
        return f"  LAISSEZ_KEY_FILE={shlex.quote(str(key(holder)))} {command} {rest}"

    usual = "" if address.endswith(f":{SAMPLE_PORT}") else f"  export LAISSEZ_URL={address}\n"
    return "\n".join(
        (
            (
                f"{'A new sample market' if new else 'The sample market, where it was left,'} is up"
                f" at {address} (its data is in {data})."
            ),
            (
                "Nobody trades by itself."
                if still
                else (
                    "The tenants dynamo, sailor and parabricks trade by themselves; racks take"
                    " turns at being short of power."
                )
            ),
            "",
            (
                f"  {address}/          the console: sign in with the key in {key('operator')} or"
                f" {key('training' if still else 'dynamo')}"
            ),
            (
                f"  {address}/docs      the API, readable      {address}/metrics   figures for"
                " Prometheus"
            ),
            "",
            "In another terminal, in this folder:",
            "",
            usual + line("training" if still else "dynamo", "leases"),
            line("training", "quote h100"),
            line("inference", f"run --type h100 --count 2 --max-price {'3.50' if still else '25'}"),
            line("inference" if still else "dynamo", "events -f"),
            line("batch", "bill"),
            line("operator", "market" if still else "market --watch"),
            line("operator", "floor set h100 2.50" if still else "floor --watch"),
            line("operator", "tenants"),
            "",
            "Ctrl-C stops it; nothing is lost.",
        )
    )
