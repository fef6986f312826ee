"""`laissez journal`: inspect, verify, export or back up the journal in a data folder. It works
beside a running server, and changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
import typer

from laissez.cli.errors import EXIT_FAILED
from laissez.cli.output import Format, FormatOption, arg, group, opt
from laissez.cli.progress import counting
from laissez.cli.tables import Column, show, show_json
from laissez.exchange.codec import Codec
from laissez.exchange.events import tenant_of
from laissez.exchange.names import Names
from laissez.journal import Entry, Reader
from laissez.journal.backup import backup as copy_journal
from laissez.journal.format import archives
from laissez.journal.snapshots import newest_first
from laissez.journal.verify import verify as verify_folder
from laissez.market import Market
from laissez.server.audit.log import copy as copy_audit
from laissez.server.data_folder import Replaying
from laissez.units import format_time
from laissez.wire.rendering import render
from laissez.wire.texts import code_of, command_name, explain

app = group("Inspect, verify, export or back up a journal.")

FolderArgument: TypeAlias = Annotated[Path, arg("The data folder.")]
FirstOption: TypeAlias = Annotated[int | None, opt("The first entry to show.", "--from", min=1)]
LastOption: TypeAlias = Annotated[int | None, opt("The last entry, or the latest.", "--to", min=1)]


def summary(folder: Path) -> dict[str, Any]:
    with Reader(folder) as reader:
        tail = reader.tail()
        return {
            "folder": str(folder),
            "identity": reader.identity.hex(),
            "created_us": int(reader.created),
            "entries": tail.last,
            "last_at": tail.last_at,
            "head": tail.head.hex(),
            "genesis_bytes": len(reader.genesis),
            "file_bytes": sum(path.stat().st_size for path in folder.glob("journal.db*")),
            "live_after": reader.base().seq,  # entries up to here are in archives
            "archives": [path.name for path in archives(folder)],
            "snapshots": [file.seq for file in newest_first(folder)],
        }


def decoded_entries(
    folder: Path, first: int = 1, last: int | None = None
) -> Iterator[dict[str, Any]]:
    """The entries from `first` to `last`, readable. They refer to names by number, so all entries
    before the first are read, too."""
    with Reader.of(folder) as reader:
        codec = Codec(Names(Market.restore(reader.genesis).topology.nodes))
        for group in reader.groups(1, last):
            for seq, entry in enumerate(group.entries, group.first):
                if last is not None and seq > last:
                    return
                codec.learn(entry.request, entry.outcome)
                if seq >= first:
                    yield {
                        "seq": seq,
                        "at": entry.at,
                        "entry": _decoded(codec, entry),
                        "documents": [filed.name for filed in group.documents if filed.seq == seq],
                    }


def _decoded(codec: Codec, entry: Entry) -> dict[str, Any]:
    """A request and its outcome, without digests of keys."""
    request = codec.unpack_request(entry.request)
    applied = codec.unpack_outcome(entry.at, request, entry.outcome)
    command = msgspec.to_builtins(request.command)
    command.pop("digest", None)
    refusal = applied.refusal
    return {
        "at": format_time(entry.at),
        "who": request.who,
        "key": request.key,
        "id": request.id,
        "command": {"type": command_name(request.command), **command},
        "refused": refusal
        and {"code": code_of(refusal.reason), "detail": explain(refusal, request.who)},
        "events": [
            {"tenant": tenant_of(event), "n": n, "event": msgspec.to_builtins(render(event))}
            for n, event in zip(applied.numbers, applied.events, strict=True)
        ],
    }


@app.command()
def verify(folder: FolderArgument, output: FormatOption = Format.TABLE) -> None:
    """Replay a journal and verify every entry and snapshot. Exit status 1 if anything is wrong."""
    with counting("entries") as on_progress:
        report = verify_folder(folder, begin=Replaying.begin, on_progress=on_progress)
    facts = {
        "folder": str(report.folder),
        "identity": report.identity.hex(),
        "entries": report.entries,
        "groups": report.groups,
        "documents": report.documents,
        "first": report.first_at and format_time(report.first_at),
        "last": report.last_at and format_time(report.last_at),
        "head": report.head.hex(),
        "snapshots": report.snapshots,
    }
    show_report(facts, report.problems, {}, output)


def show_report(
    facts: dict[str, Any], problems: list[str], more: dict[str, Any], output: Format
) -> None:
    """Print the result of a verification. Problems exit with 1. JSON has `more` fields."""
    if output is Format.JSON:
        show_json({**facts, "problems": problems, **more})
    else:
        show_facts(facts)
        for problem in problems:
            print(f"problem: {problem}")
        if not problems:
            print("all is well")
    if problems:
        raise typer.Exit(EXIT_FAILED)


def show_facts(facts: dict[str, Any]) -> None:
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:{width}}  {value}")


@app.command("inspect")
def inspect_command(
    folder: FolderArgument,
    first: FirstOption = None,
    last: LastOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show a summary of a journal, or with --from or --to its entries in words."""
    if first is not None or last is not None:
        show(list(decoded_entries(folder, first or 1, last)), ENTRIES, output, "no such entries")
        return
    found = summary(folder)
    if output is Format.JSON:
        show_json(found)
        return
    found["created_us"] = format_time(found["created_us"])
    found["last_at"] = format_time(found["last_at"]) if found["entries"] else ""
    show_facts({name.removesuffix("_us"): value for name, value in found.items()})


def _outcome(row: dict[str, Any]) -> str:
    refused = row["entry"]["refused"]
    if refused:
        return f"refused: {refused['detail']}"
    return ", ".join(told["event"]["type"] for told in row["entry"]["events"])


ENTRIES: list[Column[dict[str, Any]]] = [
    Column("SEQ", lambda row: row["seq"], right=True),
    Column("AT", lambda row: row["entry"]["at"]),
    Column("WHO", lambda row: row["entry"]["who"]),
    Column("COMMAND", lambda row: row["entry"]["command"]["type"]),
    Column("OUTCOME", _outcome),
]


@app.command()
def export(folder: FolderArgument, first: FirstOption = None, last: LastOption = None) -> None:
    """Write entries to standard output, one JSON object per line."""
    encode = msgspec.json.Encoder(enc_hook=str).encode
    rows = decoded_entries(folder, first or 1, last)
    sys.stdout.buffer.writelines(encode(row) + b"\n" for row in rows)


@app.command()
def backup(
    folder: FolderArgument,
    target: Annotated[Path, arg("A new folder for the copy.")],
    output: FormatOption = Format.TABLE,
) -> None:
    """Copy a journal, even of a running server, to a folder that a service can start from."""
    entries = copy_journal(folder, target, copy_audit)
    if output is Format.JSON:
        show_json({"folder": str(target), "entries": entries})
    else:
        print(f"copied up to entry {entries} into {target}")
