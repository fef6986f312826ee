"""`laissez journal`: look into a data folder's journal, check it, copy it. Works beside a running
server; changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
import typer

from laissez.cli.exits import EXIT_FAILED
from laissez.cli.output import Format, FormatOption
from laissez.cli.progress import progress
from laissez.cli.tables import Column, show, show_json
from laissez.exchange.codec import Codec
from laissez.exchange.events import tenant_of
from laissez.exchange.names import Names
from laissez.journal import Entry, Reader
from laissez.journal.backup import backup as copy_journal
from laissez.journal.format import archives
from laissez.journal.snapshots import newest_first
from laissez.journal.verify import Report
from laissez.journal.verify import verify as verify_folder
from laissez.market import Market
from laissez.server.audit.log import copy as copy_audit
from laissez.server.data_folder import Replaying
from laissez.units import format_time
from laissez.wire.rendering import render
from laissez.wire.texts import code_of, command_name, explain

app = typer.Typer(
    help="Look into a journal, and check it.", no_args_is_help=True, add_completion=False
)

FolderArgument: TypeAlias = Annotated[Path, typer.Argument(help="The data folder.")]
FirstOption: TypeAlias = Annotated[int, typer.Option("--from", min=1, help="The first entry.")]
LastOption: TypeAlias = Annotated[
    int | None, typer.Option("--to", min=1, help="The last entry; all that follow if left out.")
]


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


def described(folder: Path, first: int = 1, last: int | None = None) -> Iterator[dict[str, Any]]:
    """The entries from `first` to `last` in words. They refer to names by number, so all entries
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
                        "entry": _in_words(codec, entry),
                        "documents": [filed.name for filed in group.documents if filed.seq == seq],
                    }


def _in_words(codec: Codec, entry: Entry) -> dict[str, Any]:
    """Who asked for what, and what came of it. Digests of keys are left out."""
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
    """Check everything: the chain, the order, every outcome by carrying it out again, every
    snapshot. Exit status 1 if anything is wrong."""
    with progress() as bar:
        task = bar.add_task("entries", total=None)
        report = verify_folder(
            folder,
            begin=Replaying.begin,
            on_progress=lambda done, of: bar.update(task, completed=done, total=of),
        )
    if output is Format.JSON:
        show_json(verdict(report))
    else:
        print(
            "\n".join(
                f"{name:10} {value}"
                for name, value in verdict(report).items()
                if name != "problems"
            )
        )
        print("\n".join(f"problem    {problem}" for problem in report.problems) or "all is well")
    if not report.ok:
        raise typer.Exit(EXIT_FAILED)


def verdict(report: Report) -> dict[str, object]:
    return {
        "folder": str(report.folder),
        "identity": report.identity.hex(),
        "entries": report.entries,
        "groups": report.groups,
        "documents": report.documents,
        "first": report.first_at and format_time(report.first_at),
        "last": report.last_at and format_time(report.last_at),
        "head": report.head.hex(),
        "snapshots": report.snapshots,
        "problems": report.problems,
    }


@app.command("inspect")
def inspect_command(
    folder: FolderArgument,
    first: Annotated[
        int | None,
        typer.Option(
            "--from", min=1, help="Show entries from this one on, instead of the summary."
        ),
    ] = None,
    last: LastOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show what a journal holds: a summary, or entries in words."""
    if first is None and last is None:
        found = summary(folder)
        if output is Format.JSON:
            show_json(found)
        else:
            times = {
                "created_us": format_time(found["created_us"]),
                "last_at": format_time(found["last_at"]) if found["entries"] else "",
            }
            print(
                "\n".join(
                    f"{name.removesuffix('_us'):14} {value}"
                    for name, value in {**found, **times}.items()
                )
            )
        return
    show(
        list(described(folder, first or 1, last)),
        ENTRY_COLUMNS,
        output,
        "no such entries",
    )


def _outcome(row: dict[str, Any]) -> str:
    refused = row["entry"]["refused"]
    if refused:
        return f"refused: {refused['detail']}"
    return ", ".join(told["event"]["type"] for told in row["entry"]["events"])


ENTRY_COLUMNS: list[Column[dict[str, Any]]] = [
    Column("seq", lambda row: row["seq"], right=True),
    Column("at", lambda row: row["entry"]["at"]),
    Column("who", lambda row: row["entry"]["who"]),
    Column("command", lambda row: row["entry"]["command"]["type"]),
    Column("outcome", _outcome),
]


@app.command()
def export(folder: FolderArgument, first: FirstOption = 1, last: LastOption = None) -> None:
    """Write entries to standard output, one JSON object to a line."""
    encode = msgspec.json.Encoder(enc_hook=str).encode
    sys.stdout.buffer.writelines(encode(row) + b"\n" for row in described(folder, first, last))


@app.command()
def backup(
    folder: FolderArgument,
    target: Annotated[Path, typer.Argument(help="A new folder for the copy.")],
    output: FormatOption = Format.TABLE,
) -> None:
    """Copy a journal and its log of refusals, also those of a running server, into a folder from
    which the service can be started."""
    entries = copy_journal(folder, target, copy_audit)
    if output is Format.JSON:
        show_json({"folder": str(target), "entries": entries})
    else:
        print(f"copied up to entry {entries} into {target}")
