"""The first start: a data folder with a market over the operator's topology, and the operator's
first key.

Keys are random and shown once; the first ones are written into files that only their owner can
read, because nobody could ask for them yet.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from laissez.exchange.commands import OPERATOR, SERVICE, IssueKey
from laissez.exchange.keys import scopes_of
from laissez.journal.disk import keep, make_folder, write_whole
from laissez.market import Topology, TopologyError, parse_topology
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


class CannotFound(Exception):
    """A new market cannot be founded as asked."""


def is_founded(folder: Path) -> bool:
    """A lock and a file under the name of a new one are what is left where founding was cut short:
    nobody has been told of that market."""
    found = [path.name for path in folder.glob("journal.*")]
    return (
        any(name != "journal.lock" and not name.startswith("journal.db.new") for name in found)
        or (folder / "snapshots").exists()
    )


def found(settings: Settings) -> bool:
    """Make the data folder if there is none yet, from the topology that the settings name; says
    whether it did."""
    folder = Path(settings.data.folder)
    if is_founded(folder):
        return False
    data_folder.create(
        folder, read_topology(Path(settings.data.topology)), settings.limits.open_orders_max
    )
    return True


def read_topology(path: Path) -> Topology:
    if path.suffix not in FORMATS:
        raise CannotFound(
            f"data.topology: expected a file whose name ends with {', '.join(FORMATS)}, found"
            f" {path}"
        )
    try:
        return parse_topology(path.read_text(encoding="utf-8"), FORMATS[path.suffix])
    except OSError as error:
        raise CannotFound(
            f"a new market needs a topology, and {path} cannot be read: {error.strerror}. Name one"
            " with data.topology or --topology."
        ) from None
    except (TopologyError, UnicodeDecodeError) as error:
        raise CannotFound(f"{path}: {error}") from None


def has_key(gateway: Gateway, holder: str) -> bool:
    return any(key.holder == holder for key in gateway.exchange.keys.values())


async def issue_first_key(gateway: Gateway, folder: Path, holder: str) -> Path | None:
    """The first key of a holder, into a file of its own; None if it has had one already."""
    path = folder / KEYS / f"{holder}.key"
    if has_key(gateway, holder):
        return None
    make_folder(path.parent)
    key = new_key()
    # The file first: a key in force that nobody knows could not be replaced by whoever it belongs
    # to.
    write_whole(path, f"{key.secret}\n".encode())
    keep(folder)
    command = IssueKey(holder, key.id, key.digest, scopes_of(holder), "first")
    refusal = gateway.enter(OPERATOR, SERVICE, "", command).applied.refusal
    if refusal is not None:
        raise problem_of(refusal, OPERATOR)
    await gateway.all_durable()
    return path
