"""Verification finds any change of the record: a line, a file, a digest, or the journal with all
its checksums."""

from __future__ import annotations

import json
import logging
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from laissez.cli.audit import app
from laissez.cli.journal import app as journal_app
from laissez.exchange.commands import OPERATOR, SERVICE, Request
from laissez.exchange.keys import OPERATOR_SCOPES, KeyRecord
from laissez.journal import Entry, Reader, snapshots
from laissez.journal.backup import backup
from laissez.journal.format import group_link, pack
from laissez.market.commands import Alternative, PlaceOrder, SetFloor
from laissez.server.audit.log import REMOVED, copy, day_of, decode_line, encode_line, start
from laissez.server.audit.refusals import DAY_US, Line
from laissez.server.audit.verify import KeptUnreadable, verify
from laissez.server.audit.writer import AuditWriter
from laissez.server.beside import FILE
from laissez.server.data_folder import Replaying
from laissez.server.logs import JsonLines
from laissez.server.maintenance import cancel_orphans, last_done
from laissez.server.settings import Audit
from support.audit_world import (
    BEGAN,
    DAYS,
    GENESIS,
    Rows,
    append,
    change,
    digests,
    entries,
    identity_of,
    keep,
    lines,
    made,
    make_digests,
    noted,
    remove,
    stored,
)
from support.service_world import World, with_service

pytestmark = pytest.mark.once


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path / "data")


def problems(folder: Path, kept: Path | None = None) -> list[str]:
    return verify(folder, kept).problems


# -- the log of refusals


def test_an_untouched_record_is_intact(folder: Path) -> None:
    verdict = verify(folder)
    assert (True, 8, 12, 1, 12, 3, DAYS[2]) == (
        verdict.ok,
        verdict.entries,
        verdict.refusals,
        verdict.first_refusal,
        verdict.last_refusal,
        verdict.digests,
        verdict.until,
    )


def edited(rows: Rows) -> Rows:
    return {**rows, 11: rows[11].replace(b"ann", b"bob")}


@pytest.mark.parametrize(
    ("by", "found"),
    [
        (
            edited,
            "line 11: its checksum differs: it, or a line before it, is not what was written",
        ),
        (
            lambda rows: {n: rows[n] for n in rows if n != 11},
            "line 12: lines 11 to 11 are missing before it",
        ),
        (
            lambda rows: {**rows, 10: rows[11], 11: rows[10]},
            "line 10: line 10 was expected here, 11 found",
        ),
        (lambda rows: {**rows, 11: b"nothing"}, "line 11: it does not end with its chain"),
        (
            lambda rows: {**rows, 11: rows[10], 12: rows[11], 13: rows[12]},
            "line 11: line 11 was expected here, 10 found",
        ),
        (
            lambda rows: {n: rows[n] for n in rows if n != 6},
            "line 7: lines 6 to 6 are missing before it",
        ),
    ],
)
def test_a_change_to_a_line_is_found_at_its_place(
    folder: Path, by: Callable[[Rows], Rows], found: str
) -> None:
    change(folder, "refusals", by)
    assert f"refusals, {found}" == problems(folder)[0]


def test_a_missing_end_of_a_day_is_found_by_its_digest_too(folder: Path) -> None:
    remove(folder, 6)
    assert (
        f"digests, {DAYS[1]}: the log of refusals ended that day with line 6, and ends with"
        " another line 5" == problems(folder)[1]
    )


def test_one_break_is_reported_once(folder: Path) -> None:
    change(folder, "refusals", edited)
    assert 1 == len(problems(folder))
    change(folder, "refusals", lambda rows: {**rows, 11: b"nothing"})
    assert 1 == len(problems(folder))


def test_a_recomputed_chain_is_found_by_the_digest_of_the_day(folder: Path) -> None:
    def forged(rows: Rows) -> Rows:
        before = decode_line(rows[3], Line).chain
        for n in (4, 5, 6):
            line = decode_line(rows[n].replace(b"ann", b"bob"), Line)
            rows[n], before = encode_line(line, before)
        return rows

    change(folder, "refusals", forged)
    assert (
        f"digests, {DAYS[1]}: the log of refusals ended that day with line 6, and ends with another"
        " line 6" in problems(folder)
    )


def gone(date: str) -> str:
    return f"digests, {date}: the log of refusals had 3 lines of that day, and they are gone,"


def test_a_removed_day_is_found(folder: Path) -> None:
    remove(folder, 4, 5, 6)
    assert "refusals, line 7: lines 4 to 6 are missing before it" == problems(folder)[0]
    assert f"{gone(DAYS[1])} though no line tells of their removal" in problems(folder)


@pytest.mark.parametrize("days_removed", [1, 2, 3, 4])
def test_missing_oldest_days_are_found_unless_the_service_removed_them(
    folder: Path, days_removed: int
) -> None:
    """Judged by line numbers alone, they could have been removed by age."""
    remove(folder, *range(1, 3 * days_removed + 1))
    expected = [gone(date) for date in DAYS[: min(days_removed, 3)]]
    found = [problem for problem in problems(folder) if "they are gone" in problem]
    assert expected == [problem.rpartition(" though")[0] for problem in found]
    append(folder, [noted(BEGAN + 4 * DAY_US)])
    assert set(found) <= set(problems(folder))  # and the service continues normally


def test_a_start_never_changes_a_day_with_a_digest(folder: Path) -> None:
    remove(folder, 10, 11, 12)
    change(folder, "refusals", lambda rows: {**rows, 8: rows[8].replace(b"ann", b"bob")})
    found, content = problems(folder), stored(folder, "refusals")
    append(folder, [noted(BEGAN + 3 * DAY_US)])
    assert ["refusals, line 8"] == [problem.split(": ")[0] for problem in found]
    *before, (n, _) = stored(folder, "refusals").items()
    assert (content, 10, found) == (dict(before), n, problems(folder))


def test_a_shell_and_sha256sum_are_enough_to_check_the_log(folder: Path) -> None:
    beginning = start(identity_of(folder))
    begin = f"printf 'laissez audit\\n%s' {identity_of(folder).hex()} | sha256sum | cut -d' ' -f1"
    assert (
        beginning
        == subprocess.run(
            ["bash", "-c", begin], stdout=subprocess.PIPE, check=True, text=True
        ).stdout.strip()
    )
    script = """
        before=$1
        while IFS= read -r line; do
            hash=$(printf '%s%s' "$before" "${line%,\\"chain\\":*}" | sha256sum | cut -d' ' -f1)
            case $line in *"\\"$hash\\"}") before=$hash ;; *) echo "broken: $line"; break ;; esac
        done"""

    def checked() -> bytes:
        """The checked output of `sqlite3 beside.db 'SELECT line FROM refusals ORDER BY n'`."""
        printed = b"".join(line + b"\n" for line in stored(folder, "refusals").values())
        command = ["bash", "-c", script, "check", beginning]
        return subprocess.run(command, input=printed, stdout=subprocess.PIPE, check=True).stdout

    assert b"" == checked()
    change(folder, "refusals", edited)
    assert b"broken" in checked()


# -- the journal and the digests


def store(folder: Path, forged: list[Entry]) -> None:
    """Replace the entries and recompute all checksums of the journal."""
    with Reader.of(folder) as reader:
        before = reader.start
    with closing(sqlite3.connect(folder / "journal.db")) as file, file:
        for first, count in file.execute(
            "SELECT first, count FROM groups ORDER BY first"
        ).fetchall():
            packed = pack(forged[first - 1 : first - 1 + count])
            before = group_link(before, first, count, packed, ())
            file.execute(
                "UPDATE groups SET entries = ?, chain = ? WHERE first = ?", (packed, before, first)
            )
    (folder / "journal.mark").unlink()


def recompute_digests(folder: Path) -> None:
    change(folder, "digests", lambda rows: {})
    make_digests(folder)


def test_digests_reveal_a_journal_with_recomputed_checksums(folder: Path) -> None:
    store(folder, entries(first_floor=2))
    assert (
        f"digests, {DAYS[0]}: the journal up to entry 2 is not what it was at the end of that day"
        == problems(folder)[0]
    )


def test_digests_kept_elsewhere_reveal_recomputed_digests(folder: Path, tmp_path: Path) -> None:
    kept = keep(folder, tmp_path / "kept.jsonl")
    assert (True, 3) == (verify(folder, kept).ok, verify(folder, kept).compared)
    store(folder, entries(first_floor=2))
    recompute_digests(folder)
    assert verify(folder).ok
    found = problems(folder, kept)
    assert f"{kept}, line 1: {FILE} has another digest of {DAYS[0]}" == found[0]
    assert (
        f"{kept}, line 1: the journal up to entry 2 is not what it was at the end of that day"
        == found[1]
    )


def test_digests_kept_elsewhere_reveal_a_removed_record(folder: Path, tmp_path: Path) -> None:
    kept = keep(folder, tmp_path / "kept.jsonl")
    (folder / FILE).unlink()
    make_digests(folder)
    assert verify(folder).ok
    assert {f"{kept}, line {n}: {FILE} has another digest of {DAYS[n - 1]}" for n in (1, 2, 3)} <= {
        *problems(folder, kept)
    }


@pytest.mark.parametrize(
    ("forged", "found"),
    [
        (
            {"outcome": b"another"},
            "journal: entry 1 (at 1728000000000000): the outcome stored is b'another'",
        ),
        (
            {"request": b"another"},
            "journal: entries 1 to 2: they cannot be carried out: ValidationError",
        ),
    ],
)
def test_a_forged_outcome_is_found_despite_valid_checksums(
    folder: Path, forged: dict[str, bytes], found: str
) -> None:
    first, *others = entries()
    store(folder, [msgspec.structs.replace(first, **forged), *others])
    recompute_digests(folder)
    assert [found] == [one[: len(found)] for one in problems(folder)]


def test_a_forged_snapshot_is_found_despite_a_valid_checksum(folder: Path) -> None:
    """A start trusts a snapshot: an operator's key forged into it would allow anything."""
    state = Replaying.begin(GENESIS)
    for entry in entries()[:3]:
        state.apply(entry.at, entry.request)
    with Reader.of(folder) as reader:
        head = reader.chain_at(3)
    assert head is not None
    snapshots.write(folder, 3, head, state.snapshot())
    assert ([], 8, [3]) == (
        verify(folder).problems,
        verify(folder).replayed,
        verify(folder).snapshots,
    )
    state.exchange.add_key(KeyRecord("key_1", OPERATOR, "mine", OPERATOR_SCOPES, b"digest", 1))
    path = snapshots.write(folder, 3, head, state.snapshot())
    assert [f"journal: {path} is not the state after entry 3 that replaying gives"] == problems(
        folder
    )


def test_use_of_a_key_never_issued_is_found_without_its_snapshot(folder: Path) -> None:
    store(folder, entries(key="key_1"))
    assert [
        "journal, entry 7: it was asked for with key_1, which operator was never given"
    ] == problems(folder)


def test_changed_and_missing_digests_are_found(folder: Path, tmp_path: Path) -> None:
    kept = keep(folder, tmp_path / "kept.jsonl")
    change(folder, "digests", lambda rows: {n: rows[n] for n in (1, 2)})
    assert [f"{kept}, line 3: {FILE} has no digest of {DAYS[2]}"] == problems(folder, kept)
    change(folder, "digests", lambda rows: {2: rows[2]})
    assert (
        "digests, line 2: its checksum differs: it, or a line before it, is not what was written"
        == problems(folder)[0]
    )


@pytest.mark.parametrize(
    ("forged", "found"),
    [
        ({"date": "2024-13-01"}, 'line 1: expected a time such as "2026-11-15T08:30:00Z"'),
        ({"refusals": 10**30}, "line 1: it cannot be read: Expected `int` <= "),
        ({"seq": -(10**30)}, f"{DAYS[0]}: the journal had {-(10**30)} entries, and 8 can be read"),
        ({"seq": 10**30}, f"{DAYS[0]}: the journal had {10**30} entries, and 8 can be read"),
    ],
)
def test_an_impossible_digest_is_reported(
    folder: Path, forged: dict[str, str | int], found: str
) -> None:
    made_up = msgspec.structs.replace(digests(folder)[0], **forged)
    line, _ = encode_line(made_up, start(identity_of(folder)))
    change(folder, "digests", lambda rows: {1: line})
    assert problems(folder)[0].startswith(f"digests, {found}")


def test_a_file_without_kept_digests_is_reported(folder: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_text("\n")
    assert [f"{kept}: there is no digest in it, so nothing was compared"] == problems(folder, kept)


def test_kept_digests_may_come_from_a_json_log(folder: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    digest = json.loads(stored(folder, "digests")[3])
    kept.write_text(JsonLines().format(logging.makeLogRecord({"msg": "digest of a day", **digest})))
    assert (True, 1) == (verify(folder, kept).ok, verify(folder, kept).compared)


def test_missing_entries_at_the_end_are_found(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "journal.db")) as file, file:
        file.execute("DELETE FROM groups WHERE first > 4")
    assert f"digests, {DAYS[2]}: the journal had 6 entries, and 4 can be read" in problems(folder)


def test_missing_entries_of_today_are_found(folder: Path) -> None:
    """The mark detects them, before any digest covers them."""
    with closing(sqlite3.connect(folder / "journal.db")) as file, file:
        file.execute("DELETE FROM groups WHERE first > 6")
    assert [True] == [
        "entries 7 to 8 of" in problem and "journal.mark" in problem for problem in problems(folder)
    ]


def test_a_digest_holds_the_ends_of_its_day(folder: Path) -> None:
    assert [(2, 2, 3, 3), (4, 2, 6, 3), (6, 2, 9, 3)] == [
        (one.seq, one.entries, one.refusals, one.lines) for one in digests(folder)
    ]


# -- the service


def test_nothing_is_added_to_a_day_with_a_digest(tmp_path: Path) -> None:
    """Orders of a lost session are cancelled as of the latest command."""
    folder = tmp_path / "data"

    async def story(world: World) -> None:
        world.gateway.enter(OPERATOR, SERVICE, "", SetFloor("h100", 10))
        order = PlaceOrder("ann", (Alternative("h100", 1, 2),))
        request = Request("ann", SERVICE, "", b"", order, of_session=True)
        applied, _ = world.gateway.submit(request, world.gateway.clock.now())
        assert applied.refusal is None
        world.passing.pass_us(DAY_US)
        await AuditWriter(world.gateway, world.gateway._journal, world.beside, Audit()).write()
        assert 1 == cancel_orphans(world.gateway, last_done(world.gateway))
        await world.gateway.all_durable()
        assert verify(folder).ok

    with_service(folder, story)


def test_a_running_service_makes_missing_digests_even_of_days_while_it_was_down(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "data"

    def writer_of(world: World, keep_days: int = 90) -> AuditWriter:
        return AuditWriter(
            world.gateway, world.gateway._journal, world.beside, Audit(keep_days=keep_days)
        )

    async def first(world: World) -> None:
        keeper = writer_of(world)
        await world.ask(None, "GET", "/v1/orders")
        await keeper.write()
        # the day is not over; a running server does not matter
        assert verify(folder).ok and [] == dates()
        world.passing.pass_us(DAY_US)
        await world.place("ann", "h100", "2")
        await keeper.write()
        assert 1 == len(dates())
        await world.ask(None, "GET", "/v1/leases")
        await keeper.write()

    async def later(world: World) -> None:
        world.passing.pass_us(3 * DAY_US)
        await writer_of(world).write()
        assert 2 == len(dates()) and verify(folder).ok  # of the two days with any activity
        assert (
            world.gateway.refusals.digested_us
            <= world.gateway.clock.now()
            < world.gateway.refusals.digested_us + DAY_US
        )
        world.passing.pass_us(3 * DAY_US)
        await world.ask(None, "GET", "/v1/orders")
        await writer_of(world, keep_days=2).write()
        # older lines were removed, their digests were not
        assert {day_of(world.gateway.clock.now())} == {line.at[:10] for line in lines(folder)}
        verdict = verify(folder)
        # the day of the second digest has one too, because time continued in it
        assert (True, 3, 3) == (verdict.ok, verdict.digests, verdict.first_refusal)
        assert (2, *dates()[:2], 2) == (
            verdict.removed_lines,
            verdict.removed_from,
            verdict.removed_until,
            verdict.removed_after_days,
        )
        assert REMOVED == lines(folder)[-1].code

    async def much_later(world: World) -> None:
        """Days without a refusal: no earlier line is left, but the numbers continue."""
        world.passing.pass_us(9 * DAY_US)
        await writer_of(world, keep_days=2).write()
        assert 1 == len(lines(folder))
        await world.ask(None, "GET", "/v1/orders")
        await writer_of(world, keep_days=2).write()
        assert [(5, REMOVED, 4), (6, "unauthenticated", 0)] == [
            (line.n, line.code, line.until) for line in lines(folder)
        ]
        assert verify(folder).ok

    def dates() -> list[str]:
        return [digest.date for digest in digests(folder)]

    secrets: dict[str, str] = {}
    caplog.set_level("INFO", logger="laissez.audit")
    with_service(folder, first, secrets=secrets)
    with_service(folder, later, secrets=secrets)
    with_service(folder, much_later, secrets=secrets)
    logged = [record for record in caplog.records if record.message == "digest of a day"]
    assert dates() == [record.date for record in logged]  # type: ignore[attr-defined]
    assert all(len(record.chain) == 64 for record in logged)  # type: ignore[attr-defined]


def test_days_without_digests_are_not_removed_and_the_service_continues(tmp_path: Path) -> None:
    folder = tmp_path / "data"

    async def story(world: World) -> None:
        keeper = AuditWriter(
            world.gateway, world.gateway._journal, world.beside, Audit(keep_days=5)
        )
        for _ in range(2):
            await world.ask(None, "GET", "/v1/orders")
            await keeper.write()
            world.passing.pass_us(DAY_US)
        await keeper.write()
        world.beside.transact(lambda c: c.execute("DELETE FROM digests WHERE n = 1"))
        world.passing.pass_us(6 * DAY_US)
        await keeper.write()
        assert [(1, "unauthenticated"), (3, REMOVED)] == [
            (line.n, line.code) for line in lines(folder)
        ]

    with_service(folder, story)


def test_a_backup_of_a_running_service_matches_kept_digests_and_can_be_restored(
    tmp_path: Path,
) -> None:
    folder, restored, kept = tmp_path / "data", tmp_path / "restored", tmp_path / "kept"
    secrets: dict[str, str] = {}

    async def day(world: World, folder: Path) -> None:
        keeper = AuditWriter(world.gateway, world.gateway._journal, world.beside, Audit())
        await world.place("ann", "h100", "2")
        await world.ask(None, "GET", "/v1/orders")
        await keeper.write()
        world.passing.pass_us(DAY_US)
        await keeper.write()

    async def first(world: World) -> None:
        await day(world, folder)
        keep(folder, kept)
        await world.ask(None, "GET", "/v1/leases")
        backup(folder, restored, copy)
        await day(world, folder)

    with_service(folder, first, secrets=secrets)
    verdict = verify(restored, kept)
    assert ([], 1, 1) == (verdict.problems, verdict.refusals, verdict.compared)
    with_service(restored, lambda world: day(world, restored), secrets=secrets)
    verdict = verify(restored, kept)
    assert ([], 2, 2) == (verdict.problems, verdict.refusals, verdict.digests)


# -- the commands


def test_a_backup_beside_a_damaged_database_names_the_missing_part(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / FILE).write_bytes(b"no database at all, and long enough to be taken for one" * 100)
    assert 8 == backup(folder, tmp_path / "copy", copy)
    assert "the backup has no log of refusals" in caplog.text and verify(tmp_path / "copy").ok


def test_the_backup_command_copies_the_log_and_the_digests_too(
    folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "copy"
    assert 0 == CliRunner().invoke(journal_app, ["backup", str(folder), str(target)]).exit_code
    kept = keep(folder, tmp_path / "kept")
    verdict = verify(target, kept)
    assert {FILE, "journal.db"} == {path.name for path in target.iterdir()}  # nothing else
    assert ([], 8, 12, 3) == (verdict.problems, verdict.entries, verdict.refusals, verdict.compared)


def test_the_commands_show_and_verify_and_fail_on_problems(folder: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, [*arguments, "--data", str(folder)])
        return done.exit_code, done.stdout

    code, shown = run("digest")
    assert (0, stored(folder, "digests")[3].decode()) == (code, shown.strip())
    kept = tmp_path / "kept.jsonl"
    kept.write_text(run("digest", "--all")[1])
    code, shown = run("verify", "--digests", str(kept), "-o", "json")
    assert (0, True, 3) == (code, json.loads(shown)["ok"], json.loads(shown)["compared"])
    assert (0, True) == (run("verify")[0], "all is well" in run("verify")[1])
    change(folder, "refusals", edited)
    code, shown = run("verify")
    assert 1 == code and "line 11: its checksum differs" in shown
    for nowhere in ("nowhere", str(tmp_path), "a" * 300):
        missing = CliRunner().invoke(app, ["verify", "--data", str(folder), "--digests", nowhere])
        assert isinstance(missing.exception, KeptUnreadable)


def test_the_log_is_shown_together_with_the_journal(tmp_path: Path) -> None:
    folder = tmp_path / "data"

    async def story(world: World) -> None:
        await world.ask(None, "GET", "/v1/orders")
        await AuditWriter(world.gateway, world.gateway._journal, world.beside, Audit()).write()

    with_service(folder, story)
    shown = CliRunner().invoke(app, ["log", "--data", str(folder), "-o", "json"])
    operations = [one["operation"] for one in json.loads(shown.stdout)]
    assert (
        0 == shown.exit_code
        and ["create_tenant", "issue_key", "create_tenant", "issue_key", "issue_key", "listOrders"]
        == operations
    )
    for since in ("2020-01-01", "0001-01-01"):
        limited = CliRunner().invoke(
            app, ["log", "--data", str(folder), "--limit", "1", "--refused-only", "--since", since]
        )
        assert "unauthenticated" in limited.stdout and "issue_key" not in limited.stdout
