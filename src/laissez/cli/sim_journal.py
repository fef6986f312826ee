"""`laissez sim from-journal`: write a scenario that starts from the market of a real server. It
works beside a running server, and changes nothing there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from laissez.cli.arguments import why_not_writable
from laissez.cli.output import arg, opt
from laissez.cli.progress import counting
from laissez.journal import Reader
from laissez.journal.disk import write_atomically
from laissez.journal.snapshots import SnapshotFile
from laissez.market import AdvanceTime, Market
from laissez.server.data_folder import Replaying, exchange_after, last_entry
from laissez.units import TimeError, format_time, parse_time

MARKET: Final = ".market"
SNAPSHOT: Final = re.compile(r"[0-9]{16}")

Progress: TypeAlias = Callable[[int, int], None]

SCENARIO: Final = """\
# A what-if that starts from the market of {source}, {taken}:
# {leases} leases and {orders} resting orders of {tenants} tenants, who keep them up to their
# limits.
#
#   laissez sim run {file}

name = {name}
start = {start}
hours = 3.0

[tenants]
count = 0  # that arrive in addition to those

# [[actions]]  # of the operator
# at_minutes = 30
# floor = {{ node = "{node}", price = 4.00 }}
"""


class WhatIfError(Exception):
    """There is no such market. The message has the expectation and the value."""


def from_journal(
    source: Annotated[Path, arg("A server's data folder, or a snapshot file.", metavar="DATA")],
    out: Annotated[
        Path, opt("The scenario to write; the market goes beside it.", metavar="FILE.toml")
    ] = Path("what-if.toml"),
    at: Annotated[
        str | None,
        opt(
            'The market after this entry, or at this time ("2026-11-15T08:30:00Z"). Default:'
            " the latest.",
            metavar="SEQ|TIME",
        ),
    ] = None,
) -> None:
    """Write a scenario that starts from a real server's market, for what-if questions."""
    if out.suffix != ".toml":
        raise WhatIfError(f"--out: expected the name of a .toml file, found {out}")
    if reason := why_not_writable(out):
        raise WhatIfError(
            f"--out: expected a file in a folder that can be written to, found {str(out)!r}:"
            f" {reason}"
        )
    market_file = out.with_suffix(MARKET)
    for file in (out, market_file):
        if file.exists():
            raise WhatIfError(f"{file} exists. Move it away, or name another file with --out.")
    with counting("entries") as on_progress:
        market, taken = find_market(source, at, on_progress)
    # readable by its owner alone: it has the limits of all tenants
    write_atomically(market_file, market.snapshot())
    out.write_text(scenario_text(market, source, taken, out), encoding="utf-8")
    print(f"{out} starts from {source}, {taken}; the market is in {market_file}")


def find_market(source: Path, at: str | None, on_progress: Progress) -> tuple[Market, str]:
    """The market, and its time in words."""
    if source.is_file():
        if at is not None:
            raise WhatIfError(
                f"--at: expected a data folder to go with it, found the snapshot {source}, which is"
                " of one instant"
            )
        return _from_snapshot(source)
    if at is None or at.isdecimal():
        return _after_entry(source, None if at is None else int(at), on_progress)
    try:
        return _at_time(source, parse_time(at), on_progress)
    except TimeError as error:
        raise WhatIfError(f"--at: expected the number of an entry or a time: {error}") from None


def _from_snapshot(path: Path) -> tuple[Market, str]:
    if path.suffix != ".snapshot" or not SNAPSHOT.fullmatch(path.stem):
        raise WhatIfError(
            "expected a data folder, or a snapshot such as snapshots/0000000000000042.snapshot,"
            f" found {path}"
        )
    snapshot = SnapshotFile(int(path.stem), path).read()
    return Replaying.restore(snapshot.body).exchange.market, f"after entry {snapshot.seq}"


def _after_entry(folder: Path, seq: int | None, on_progress: Progress) -> tuple[Market, str]:
    with Reader.of(folder) as reader:
        last = reader.tail().last
        seq = last if seq is None else seq
        if seq > last:
            raise WhatIfError(
                f"--at: expected an entry up to {last}, the last of the journal in {folder}, found"
                f" {seq}"
            )
        market = exchange_after(reader, seq, on_progress).market
        return market, f"after entry {seq}, at {format_time(market.now)}"


def _at_time(folder: Path, time: int, on_progress: Progress) -> tuple[Market, str]:
    """After the last entry that is not later, with the holds expired that ended since."""
    with Reader.of(folder) as reader:
        tail, first = reader.tail(), reader.entry(1)
        if time > tail.last_at:
            raise WhatIfError(
                f"--at: expected a time up to {format_time(tail.last_at)}, that of the last entry,"
                f" found {format_time(time)}"
            )
        if first is not None and time < first.at:
            raise WhatIfError(
                f"--at: expected a time from {format_time(first.at)} on, that of the first entry,"
                f" found {format_time(time)}"
            )
        seq = last_entry(reader, time, tail.last)
        market = exchange_after(reader, seq, on_progress).market
        market.apply(AdvanceTime(), max(time, market.now))
        return market, f"after entry {seq}, at {format_time(market.now)}"


def scenario_text(market: Market, source: Path, taken: str, out: Path) -> str:
    """The scenario, with a question to ask of it as a comment."""
    leases, orders = market.leases(), market.orders()
    return SCENARIO.format(
        source=json.dumps(str(source)),
        taken=taken,
        file=json.dumps(str(out)),
        leases=len(leases),
        orders=len(orders),
        tenants=len({one.tenant for one in leases} | {one.tenant for one in orders}),
        name=json.dumps(out.stem),
        start=json.dumps(out.with_suffix(MARKET).name),
        node=market.topology.roots[0],
    )
