"""A data folder to tamper with: three days that are over and have digests, and a fourth that is not
over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from laissez.exchange.commands import OPERATOR, SERVICE, Request
from laissez.journal import Entry, Journal
from laissez.market import Market, Topology
from laissez.market.commands import SetFloor
from laissez.server.audit.digests import DigestFile
from laissez.server.audit.log import DAY_US, FOLDER, RefusalFiles, day_of, start
from laissez.server.audit.refusals import Noted
from laissez.server.data_folder import Replaying

BEGAN = 20_000 * DAY_US
DAYS = [day_of(BEGAN + day * DAY_US) for day in range(4)]
GENESIS = Market(Topology.of(["h100/gpu0"]), 10).snapshot()


def noted(at: int) -> Noted:
    return Noted(at, "forbidden", 403, "listTenants", "ann", "key_1", address="10.0.0.1")


def entries(first_floor: int = 1, key: str = SERVICE) -> list[Entry]:
    """Two of each day, carried out one after the other: floors that rise. `key` is that of the
    last two."""
    replaying, made = Replaying.begin(GENESIS), []
    for number in range(8):
        at = BEGAN + number // 2 * DAY_US + number % 2 * 5
        floor = SetFloor("h100", first_floor if number == 0 else 10 + number)
        asked = Request(OPERATOR, key if number >= 6 else SERVICE, "", b"", floor)
        request = replaying.codec.pack_request(asked)
        outcome, _ = replaying.apply(at, request)
        made.append(Entry(at, request, outcome))
    return made


def made(folder: Path) -> Path:
    """Two entries and three refusals each day."""
    with Journal.create(folder, GENESIS) as journal:
        with journal.reader() as reader:
            beginning = start(reader.identity)
        written = entries()
        for day in range(4):
            at = BEGAN + day * DAY_US
            journal.append(written[day * 2 : day * 2 + 2])
            RefusalFiles(folder / FOLDER, beginning, at).append(
                [noted(at + number) for number in range(3)]
            )
        with journal.reader() as reader:
            assert DAYS[:3] == [
                one.date for one in DigestFile(folder / FOLDER, beginning).bring_up(reader, DAYS[3])
            ]
    return folder


def change(path: Path, by: Callable[[list[bytes]], list[bytes]]) -> None:
    path.write_bytes(b"".join(by(path.read_bytes().splitlines(keepends=True))))
