"""The first start: a data folder with a market over the operator's topology, the first keys, and a
sample market for a first look.

Keys are random and shown once. The first keys are written into files that only their owner can
read, because no key exists yet to request them with.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from laissez.exchange.commands import (
    OPERATOR,
    SERVICE,
    Caps,
    Command,
    CreateTenant,
    IssueKey,
    SetBudget,
)
from laissez.exchange.keys import scopes_of
from laissez.journal.disk import fsync, make_folder, write_atomically
from laissez.market import Alternative, Topology, TopologyError, parse_topology
from laissez.market.commands import PlaceOrder, SetFloor
from laissez.server import data_folder
from laissez.server.auth import new_key
from laissez.server.gateway import Gateway
from laissez.server.settings import Settings
from laissez.wire.texts import problem_of

KEYS = "keys"  # the folder of first keys, inside the data folder
FORMATS: dict[str, Literal["toml", "yaml", "json"]] = {
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
}


class CannotCreate(Exception):
    """A new market cannot be created."""


def has_market(folder: Path) -> bool:
    """Whether the folder holds a market. An interrupted first start leaves only a lock and a file
    with the name of a new journal, which is no market yet."""
    names = [path.name for path in folder.glob("journal.*")]
    return (
        any(name != "journal.lock" and not name.startswith("journal.db.new") for name in names)
        or (folder / "snapshots").exists()
    )


def create_if_new(settings: Settings) -> None:
    """Create the data folder from the topology in the settings, unless it exists."""
    folder = Path(settings.data.folder)
    if not has_market(folder):
        topology = read_topology(Path(settings.data.topology))
        data_folder.create(folder, topology, settings.limits.open_orders_max)


def read_topology(path: Path) -> Topology:
    if path.suffix not in FORMATS:
        raise CannotCreate(
            f"data.topology: expected a file whose name ends with {', '.join(FORMATS)}, found"
            f" {path}"
        )
    try:
        return parse_topology(path.read_text(encoding="utf-8"), FORMATS[path.suffix])
    except OSError as error:
        raise CannotCreate(
            f"a new market needs a topology, and {path} cannot be read: {error.strerror}. Name one"
            " with data.topology or --topology."
        ) from None
    except (TopologyError, UnicodeDecodeError) as error:
        raise CannotCreate(f"{path}: {error}") from None


async def issue_first_key(gateway: Gateway, folder: Path, holder: str) -> Path | None:
    """Issue the first key of a holder and write it into a file; None if the holder has had a key
    already."""
    if any(key.holder == holder for key in gateway.exchange.keys.values()):
        return None
    path = folder / KEYS / f"{holder}.key"
    make_folder(path.parent)
    key = new_key()
    # The file first: the holder could not replace a valid key without knowing it.
    write_atomically(path, f"{key.secret}\n".encode())
    fsync(folder)
    _enter(gateway, OPERATOR, IssueKey(holder, key.id, key.digest, scopes_of(holder), "first"))
    await gateway.all_durable()
    return path


def _enter(gateway: Gateway, who: str, command: Command) -> None:
    refusal = gateway.enter(who, SERVICE, "", command).refusal
    if refusal is not None:
        raise problem_of(refusal, who)


# -- the sample market: H100s and A100s in two zones, floors, and three tenants with leases and
# orders; `laissez.live.sample` runs three more

LEVELS = ["type", "zone", "rack", "host", "gpu"]
SAMPLE_TOPOLOGY = Topology.from_mapping(
    {
        "h100": {
            "levels": LEVELS,
            "tree": {
                "zone-a": {"rack[1-2]": {"host[1-4]": ["gpu[0-7]"]}},
                "zone-b": {"rack1": {"host[1-4]": ["gpu[0-7]"]}},
            },
        },
        "a100": {"levels": LEVELS, "tree": {"zone-a": {"rack[3-4]": {"host[1-4]": ["gpu[0-7]"]}}}},
    }
)
FLOORS = {"h100": 2_000_000, "a100": 1_100_000}  # dollars per hour, in millionths

# tenant: its first orders, as (count, scope, bid, limit)
TENANTS: dict[str, tuple[tuple[int, str, int, int], ...]] = {
    "training": (
        (8, "h100/zone-a/rack1/host1", 3_000_000, 4_500_000),
        (2, "h100/zone-a/rack1", 2_400_000, 4_000_000),
    ),
    "inference": (
        (4, "h100/zone-b", 2_600_000, 6_000_000),
        (1, "h100/zone-a/rack1/host1", 3_200_000, 3_900_000),
    ),
    "batch": ((12, "a100", 1_200_000, 1_500_000),),
    "dynamo": (),
    "sailor": (),
    "parabricks": (),
}
# dollars, in millionths: enough for some hours
BUDGETS = {"dynamo": 2_000_000_000, "sailor": 1_500_000_000, "parabricks": 500_000_000}


async def set_up_sample(gateway: Gateway, folder: Path) -> None:
    """Create whatever is missing; a second start changes nothing."""
    await issue_first_key(gateway, folder, OPERATOR)
    if not gateway.exchange.accounts:
        for node, price in FLOORS.items():
            _enter(gateway, OPERATOR, SetFloor(node, price))
    for tenant, orders in TENANTS.items():
        if tenant not in gateway.exchange.accounts:
            _enter(gateway, OPERATOR, CreateTenant(tenant, Caps()))
            for count, scope, bid, limit in orders:
                for _ in range(count):
                    _enter(gateway, tenant, PlaceOrder(tenant, (Alternative(scope, bid, limit),)))
            if tenant in BUDGETS:
                _enter(gateway, tenant, SetBudget(BUDGETS[tenant]))
        await issue_first_key(gateway, folder, tenant)
