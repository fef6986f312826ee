"""`laissez serve` runs the service, `laissez up` a small sample market for a first look."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated, TypeAlias

from laissez.cli.output import opt
from laissez.exchange.commands import OPERATOR
from laissez.server import data_folder, first_start
from laissez.server.gateway import Gateway
from laissez.server.serve import CannotListen, listen
from laissez.server.serve import serve as run_service
from laissez.server.settings import read_settings

SAMPLE_PORT = 8340

PortOption: TypeAlias = Annotated[int | None, opt("The port to listen on; 0 takes any free one.")]


def serve(
    config: Annotated[Path | None, opt("A TOML file of settings.")] = None,
    data: Annotated[Path | None, opt("The folder that holds the market.")] = None,
    topology: Annotated[Path | None, opt("A new folder's cluster (TOML, YAML or JSON).")] = None,
    host: Annotated[str | None, opt("The address to listen on.")] = None,
    port: PortOption = None,
) -> None:
    """Run the service until Ctrl-C or SIGTERM. A new data folder gets an operator's key."""
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
    data: Annotated[Path, opt("The folder for the sample market; a restart continues it.")] = Path(
        "laissez-sample"
    ),
    port: PortOption = None,
    still: Annotated[bool, opt("Without sample tenants and maps.", "--still")] = False,
) -> None:
    """Start a sample market until Ctrl-C: 96 H100s and 64 A100s, tenants that trade by themselves,
    and racks whose power draw raises prices."""
    settings = read_settings(
        flags={
            "server": {
                "port": free_port() if port is None else port,
                "metrics_open": True,
                "log_level": "warning",
            },
            "data": {"folder": str(data)},
        }
    )
    is_new = not first_start.has_market(data)
    if is_new:
        data_folder.create(data, first_start.SAMPLE_TOPOLOGY, settings.limits.open_orders_max)

    traders: list[subprocess.Popen[bytes]] = []

    async def ready(gateway: Gateway, address: str) -> None:
        await first_start.set_up_sample(gateway, data)
        if not still:
            traders.append(start_traders(address, data / first_start.KEYS))
        print(welcome(address, data, is_new, still), flush=True)

    status = run_service(settings, ready)
    for process in traders:
        process.terminate()
        process.wait()
    sys.exit(status)


def start_traders(address: str, keys: Path) -> subprocess.Popen[bytes]:
    """The sample's tenants and its maps, in a process of their own. It ends when we do, even if we
    are killed, because its standard input is closed then."""
    return subprocess.Popen(
        [sys.executable, "-m", "laissez.live.sample", address, str(keys)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )


def free_port() -> int:
    """The usual port, or 0 for any other if it is taken."""
    try:
        listen("127.0.0.1", SAMPLE_PORT).close()
    except CannotListen:
        return 0
    return SAMPLE_PORT


WELCOME = """\
{beginning} is up at {address} (its data is in {data}).
{traders}

  {address}/          the console: sign in with the key in {operator_key} or {tenant_key}
  {address}/docs      the API, readable      {address}/metrics   figures for Prometheus

In another terminal, in this folder:

{commands}

Ctrl-C stops it; nothing is lost."""
TRADERS = (
    "The tenants dynamo, sailor and parabricks trade by themselves; racks take turns at being short"
    " of power."
)


def welcome(address: str, data: Path, is_new: bool, still: bool) -> str:
    program, keys = shlex.quote(str(Path(sys.argv[0]))), data / first_start.KEYS
    tenant = "training" if still else "dynamo"
    examples = (
        (tenant, "leases"),
        ("training", "quote h100"),
        ("inference", f"run --type h100 --count 2 --max-price {'3.50' if still else '25'}"),
        ("inference" if still else "dynamo", "events -f"),
        ("batch", "bill"),
        ("operator", "market" if still else "market --watch"),
        ("operator", "floor set h100 2.50" if still else "floor --watch"),
        ("operator", "tenants"),
    )
    commands = [
        f"  LAISSEZ_KEY_FILE={shlex.quote(str(keys / f'{holder}.key'))} {program} {command}"
        for holder, command in examples
    ]
    if not address.endswith(f":{SAMPLE_PORT}"):
        commands.insert(0, f"  export LAISSEZ_URL={address}")
    return WELCOME.format(
        beginning="A new sample market" if is_new else "The sample market, where it was left,",
        address=address,
        data=data,
        traders="Nobody trades by itself." if still else TRADERS,
        operator_key=keys / "operator.key",
        tenant_key=keys / f"{tenant}.key",
        commands="\n".join(commands),
    )
