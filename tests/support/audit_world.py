"""A data folder to tamper with: three past days with digests, and a fourth day that is not over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from laissez.exchange.commands import OPERATOR, SERVICE, Request
from laissez.journal import Entry, Journal, Reader
from laissez.market import Market, Topology
from laissez.market.commands import SetFloor
from laissez.server.audit import digests as days
from laissez.server.audit import log
from laissez.server.audit.log import Digest, End, day_of, decode_line, rows, start
from laissez.server.audit.refusals import DAY_US, Line
from laissez.server.beside import FILE, Beside, reading
from laissez.server.data_folder import Replaying
from laissez.units import format_time

BEGAN = 20_000 * DAY_US
DAYS = [day_of(BEGAN + day * DAY_US) for day in range(4)]
GENESIS = Market(Topology.of(["h100/gpu0"]), 10).snapshot()


def noted(at: int) -> Line:
    return Line(
        0, format_time(at), "forbidden", 403, "listTenants", "ann", "key_1", address="10.0.0.1"
    )


def entries(first_floor: int = 1, key: str = SERVICE) -> list[Entry]:
    """Two entries for each day, each a rising floor. `key` is the key of the last two."""
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
        written = entries()
        for day in range(4):
            at = BEGAN + day * DAY_US
            journal.append(written[day * 2 : day * 2 + 2])
            append(folder, [noted(at + number) for number in range(3)])
        assert DAYS[:3] == make_digests(folder)
    return folder


def identity_of(folder: Path) -> bytes:
    with Reader.of(folder) as reader:
        return reader.identity


def append(folder: Path, lines: Sequence[Line] = ()) -> End:
    """Append lines as the service does after a start."""
    identity = identity_of(folder)
    with closing(Beside(folder / FILE, identity)) as beside:
        return beside.transact(
            lambda c: log.append(c, log.end_of_log(c, days.logged(c, start(identity))), lines)
        )


def make_digests(folder: Path) -> list[str]:
    """Make the missing digests; returns their days."""
    with (
        Reader.of(folder) as reader,
        closing(Beside(folder / FILE, reader.identity)) as beside,
    ):
        return [
            one.date
            for one in beside.transact(
                lambda c: days.add_missing(c, start(reader.identity), reader, DAYS[3])
            )
        ]


def stored(folder: Path, table: str) -> dict[int, bytes]:
    with reading(folder / FILE, identity_of(folder)) as connection:
        return {n: line or b"" for n, line in rows(connection, table)}


def lines(folder: Path) -> list[Line]:
    return [decode_line(line, Line) for line in stored(folder, "refusals").values()]


def digests(folder: Path) -> list[Digest]:
    return [decode_line(line, Digest) for line in stored(folder, "digests").values()]


Rows = dict[int, bytes]


def change(folder: Path, table: str, by: Callable[[Rows], Rows]) -> None:
    """Change rows as an attacker with a database tool would."""
    changed = by(stored(folder, table))
    clear, add = f"DELETE FROM {table}", f"INSERT INTO {table} VALUES (?, ?)"  # noqa: S608
    with closing(Beside(folder / FILE, identity_of(folder))) as beside:
        beside.transact(lambda c: c.execute(clear))
        beside.transact(lambda c: c.executemany(add, changed.items()))


def remove(folder: Path, *numbers: int) -> None:
    """Remove lines of the log."""
    change(folder, "refusals", lambda rows: {n: rows[n] for n in rows if n not in numbers})


def keep(folder: Path, path: Path) -> Path:
    """Copy the digests elsewhere."""
    path.write_bytes(b"\n".join(stored(folder, "digests").values()))
    return path
