"""The command line as a person uses it, against a real server: every noun and verb, what it prints,
and how it ends."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from laissez.cli import main
from support.doc_shell import environment_of, until_it_serves

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.xdist_group("cli_live")]

PROGRAM = [sys.executable, "-m", "laissez.cli"]
WITHIN_S = 30


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Live:
    """A server of `laissez up`, and its keys by holder."""

    def __init__(self, home: Path, data: str = "data") -> None:
        self.home = home
        self.data = home / data
        self.said = ""

    def start(self) -> None:
        command = [*PROGRAM, "up", "--still", "--data", str(self.data), "--port", "0"]
        self.process = subprocess.Popen(
            command,
            env=self.environment(None),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.said = until_it_serves(self.process.stdout)
        self.url = self.said.partition(" is up at ")[2].split()[0]

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=WITHIN_S)
        return self.process.returncode

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()  # after a test that failed; otherwise it has ended
        self.process.communicate()

    def key(self, holder: str) -> Path:
        return self.data / "keys" / f"{holder}.key"

    def environment(self, who: str | Path | None) -> dict[str, str]:
        found = environment_of(self.home)
        if who is not None:
            found |= {
                "LAISSEZ_URL": self.url,
                "LAISSEZ_KEY_FILE": str(self.key(who) if isinstance(who, str) else who),
            }
        return found

    def run(self, who: str | Path | None, *arguments: str, **variables: str) -> Done:
        """One command, in this process: starting Python each time would take most of the time."""
        out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
        ended, before = 0, signal.getsignal(signal.SIGTERM)
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            patch.setattr(sys, "argv", ["laissez", *arguments])
            for name in [name for name in os.environ if name.startswith("LAISSEZ_")]:
                patch.delenv(name)
            for name, value in (self.environment(who) | variables).items():
                patch.setenv(name, value)
            try:
                main()
            except SystemExit as end:
                ended = end.code if isinstance(end.code, int) else 0
        signal.signal(signal.SIGTERM, before)
        return Done(ended, *(text.buffer.getvalue().decode() for text in (out, err)))

    def ok(self, who: str | Path, line: str) -> str:
        done = self.run(who, *line.split())
        assert 0 == done.code, f"{line}: {done}"
        return done.out

    def json(self, who: str | Path, line: str) -> Any:
        return json.loads(self.ok(who, f"{line} -o json"))

    @contextlib.contextmanager
    def running(self, who: str, line: str) -> Iterator[subprocess.Popen[str]]:
        """A command that goes on until Ctrl-C, as a process of its own. Tests that run in the
        background ignore Ctrl-C, and so would it."""
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        process = subprocess.Popen(
            [*PROGRAM, *line.split()],
            env=self.environment(who),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with Live(tmp_path_factory.mktemp("live")) as live:
        yield live
        assert 0 == live.stop()


# -- looking


@pytest.mark.parametrize(
    ("who", "line", "shows"),
    [
        ("training", "leases", "h100/zone-a/rack1/host1/gpu0"),
        ("training", "leases show {lease}", "h100/zone-a/rack1/host1/gpu0"),
        ("training", "instances", "running"),
        ("training", "quote", "h100/zone-a/rack1"),
        ("training", "quote a100", "1.10"),
        ("training", "price-history {lease}", "RATE $/h"),
        ("training", "topology h100/zone-a", "h100/zone-a/rack2"),
        ("inference", "orders", "h100/zone-a/rack1/host1@3.20:3.90"),
        ("batch", "bill", "batch owes 0."),
        ("operator", "market", "REVENUE $"),
        ("operator", "topology", "a100"),
        ("operator", "resources list h100/zone-b/rack1/host1", "inference"),
        ("operator", "floor", "1.10"),
        ("operator", "controls", ""),
        ("operator", "tenants", "inference"),
        ("operator", "tenants spending", "inference"),
        ("operator", "tenants show batch", "ORDERS MAX"),
        ("operator", "tenants caps batch", "default"),
        ("operator", "tenants keys", "operator"),
        ("operator", "tenants keys batch", "read,trade"),
        ("operator", "leases --tenant batch", "a100/zone-a"),
        ("operator", "orders", "inference"),
        ("operator", "bill", "training"),
        ("operator", "bill --tenant batch", "batch owes 0."),
        ("operator", "doctor", "operator, may operate, read"),
        ("operator", "version", "market"),
    ],
)
def test_a_person_sees_a_table_and_a_program_gets_json(
    live: Live, who: str, line: str, shows: str
) -> None:
    if "{lease}" in line:
        line = line.format(lease=live.json(who, "leases")[0]["id"])
    assert shows in live.ok(who, line)
    assert live.json(who, line) is not None


def test_events_are_lines_for_both_and_the_operator_may_pick_a_tenants(live: Live) -> None:
    assert "order.placed" in live.ok("batch", "events --limit 1")
    assert [3, 4] == [
        json.loads(line)["n"]
        for line in live.ok("batch", "events --after 2 --limit 2 -o json").splitlines()
    ]
    told = [
        json.loads(line)
        for line in live.ok("operator", "events --tenant batch -o json").splitlines()
    ]
    assert list(range(1, 25)) == [one["n"] for one in told]


def test_bills_come_as_files_and_by_the_day(live: Live) -> None:
    assert live.ok("batch", "bill --format csv").startswith(
        "tenant,kind,id,scope,start,end,cost\r\nbatch,lease,"
    )
    assert live.ok("operator", "bill --format focus").count("\r\n") > 26
    assert 12 == len(live.json("batch", "bill --since 2026-01-01")["lines"])
    future = live.run("batch", "bill", "--until", "2200-01-01")
    assert (1, True) == (future.code, "period_invalid" in future.err)
    assert 2 == live.run("batch", "bill", "--format", "csv", "-o", "json").code


def test_watch_repeats_a_list_until_ctrl_c(live: Live) -> None:
    with live.running("batch", "leases --watch 0.1 -o json") as watching:
        assert watching.stdout is not None
        assert [12, 12] == [len(json.loads(watching.stdout.readline())) for _ in range(2)]
        watching.send_signal(signal.SIGINT)
        assert (130, "") == (watching.wait(WITHIN_S), watching.communicate()[1])


def test_following_events_shows_later_events(live: Live) -> None:
    after = json.loads(live.ok("operator", "events -o json").splitlines()[-1])["n"]
    with live.running("operator", f"events -f --after {after}") as following:
        live.ok("operator", "floor set a100/zone-a/rack4 1.11")
        assert following.stdout is not None
        assert (
            "floor.set           node=a100/zone-a/rack4 price=1.11" in following.stdout.readline()
        )
        live.ok("operator", "floor remove a100/zone-a/rack4")
        assert "floor.set" in following.stdout.readline()
        following.send_signal(signal.SIGINT)
        assert 130 == following.wait(WITHIN_S)


# -- trading


def test_an_order_is_placed_filled_and_its_lease_given_up(live: Live) -> None:
    order = live.json("batch", "orders place h100@1.50 a100@0.50:0.90")
    assert ("open", 2) == (order["state"], len(order["alternatives"]))
    id = order["id"]
    assert "h100@1.50  a100@0.50:0.90" in live.ok("batch", f"orders show {id}")
    assert f"{id} open: h100@1.60\n" == live.ok("batch", f"orders amend {id} h100@1.60")
    assert f"{id} cancelled\n" == live.ok("batch", f"orders cancel {id}")
    assert 4 == live.run("batch", "orders", "cancel", id).code
    assert ["order.placed", "order.amended", "order.cancelled"] == [
        one["event"]["type"] for one in live.json("batch", f"orders history {id}")
    ]
    won = live.ok("batch", "orders place h100/zone-a/rack2@2.50")
    assert ": h100/zone-a/rack2/host1/gpu0 is yours as lse_" in won
    lease = won.split(" as ")[1].split(",")[0]
    assert f"{lease} held, limit 2.60 $/h\n" == live.ok("batch", f"limit {lease} 2.60")
    assert f"{lease} held, limit none\n" == live.ok("batch", f"limit {lease} none")
    assert "2.00" in live.ok("batch", f"price-history {lease}")
    assert f"{lease} ended\n" == live.ok("batch", f"release {lease}")
    assert 4 == live.run("batch", "release", lease).code


def test_an_order_sent_again_with_its_key_is_placed_once(live: Live) -> None:
    first, again = (
        live.json("batch", "orders place h100@0.40 --idempotency-key same-1") for _ in range(2)
    )
    assert first == again
    other = live.run("batch", "orders", "place", "h100@0.41", "--idempotency-key", "same-1")
    assert (1, True) == (other.code, "(idempotency_conflict)" in other.err)
    live.ok("batch", f"orders cancel {first['id']}")


def test_instances_run_wait_and_stop(live: Live) -> None:
    ran = live.json("training", "run --type h100 --count 2 --max-price 3.50 --wait")["instances"]
    assert ["running", "running"] == [one["state"] for one in ran]
    (near,) = live.json("training", f"run --near {ran[0]['lease']} --level rack --max-price 3.50")[
        "instances"
    ]
    assert ran[0]["leaf"].split("/")[:3] == near["leaf"].split("/")[:3]
    waits = live.run(
        "training",
        "run",
        "--scope",
        "h100/zone-b",
        "--max-price",
        "0.10",
        "--wait",
        "--timeout",
        "0.1s",
        "-o",
        "json",
    )
    (pending,) = waits.json["instances"]
    assert (1, "pending") == (waits.code, pending["state"])
    assert "1 still pending" in waits.err
    for one in (*ran, near, pending):
        assert f"{one['id']} stopped\n" == live.ok("training", f"release {one['id']}")
    assert 1 == live.run("training", "release", ran[0]["id"]).code


# -- operating


def test_floors_controls_and_leaves_are_set_and_taken_back(live: Live) -> None:
    node, leaf = "h100/zone-a/rack2", "h100/zone-a/rack2/host4/gpu7"
    held = sum(lease["leaf"].startswith("h100/") for lease in live.json("operator", "leases"))
    assert held > 0 and live.ok("operator", "floor set h100 100 --preview").startswith(
        f"{held} leases would end and 0 start; 0 GPUs"
    )
    assert [] == [floor for floor in live.json("operator", "floor") if floor["own"] == "100"]
    assert 1 == live.run("operator", "resources", "online", leaf, "--preview").code
    assert f"the floor of {node} is set\n" == live.ok("operator", f"floor set {node} 2.10")
    assert [node] == [
        floor["node"] for floor in live.json("operator", "floor") if floor["own"] == "2.1"
    ]
    assert f"{node} has no floor of its own\n" == live.ok("operator", f"floor remove {node}")
    assert f"the controls of {node} are set\n" == live.ok(
        "operator", f"controls set {node} --rise 10%/1h --fall 0.5/15m --hold 5m --flash 90s"
    )
    assert ["0.1/3600s", "0.5/900s", "300", "90"] == live.ok(
        "operator", "controls list"
    ).splitlines()[1].split()[1:]
    assert f"{node} has no controls of its own\n" == live.ok("operator", f"controls remove {node}")
    assert f"{leaf} is offline\n" == live.ok("operator", f"resources offline {leaf}")
    assert 1 == live.run("operator", "resources", "offline", leaf).code
    assert "offline" in live.ok("operator", f"resources list {leaf}")
    assert f"{leaf} is online\n" == live.ok("operator", f"resources online {leaf}")


def test_a_budget_is_set_shown_and_removed(live: Live) -> None:
    assert 4 == live.run("batch", "budget").code
    assert "BUDGET $     250.000000" in live.ok("batch", "budget set 250")
    first = live.json("operator", "budget show --tenant batch")
    assert "250.000000" == first["amount"]
    kept = live.json("batch", "budget set 300 --keep")
    assert ("300.000000", first["since"]) == (kept["amount"], kept["since"])
    assert first["since"] < live.json("batch", "budget set 300")["since"]
    assert "the budget is removed\n" == live.ok("batch", "budget remove")


def test_a_tenant_gets_caps_and_keys_and_loses_them(live: Live) -> None:
    assert "ORDERS MAX   7" in live.ok("operator", "tenants create acme --open-orders 7")
    assert 1 == live.run("operator", "tenants", "create", "acme").code
    assert {"open_orders": 7, "sessions": 2} == live.json(
        "operator", "tenants caps acme --sessions 2"
    )["caps"]
    assert {"sessions": 2} == live.json("operator", "tenants caps acme --open-orders default")[
        "caps"
    ]
    first, second = live.home / "acme.1", live.home / "acme.2"
    shown = live.ok("operator", f"tenants issue-key acme --save {first}")
    assert "SECRET" not in shown
    assert 0o600 == stat.S_IMODE(first.stat().st_mode)
    assert 2 == live.run("operator", "tenants", "issue-key", "acme", "--save", str(first)).code
    second.write_text(live.json("operator", "tenants issue-key acme")["secret"])
    assert "acme" in live.ok(first, "doctor") and "no leases" in live.run(second, "leases").err
    third = live.run("operator", "tenants", "issue-key", "acme")
    assert (1, True) == (
        third.code,
        "there are 2 live keys named 'default': revoke one first" in third.err,
    )
    (key,) = [word for word in shown.split() if word.startswith("key_")]
    assert " of acme is revoked" in live.ok("operator", f"tenants revoke-key {key}")
    assert (3, 0) == (live.run(first, "leases").code, live.run(second, "leases").code)
    assert 4 == live.run("operator", "tenants", "revoke-key", key).code
    assert [True, False] == [
        one["revoked_at"] is not None for one in live.json("operator", "tenants keys acme")
    ]


# -- how it ends


@pytest.mark.parametrize(
    ("code", "who", "line", "told"),
    [
        (1, "batch", "orders place h100@3:2", "(limit_below_bid)"),
        (1, "batch", "run --type h100 --max-price 1 --count 101", "expected 1 to 100"),
        (2, "batch", "orders place h100", "SCOPE@PRICE"),
        (2, "batch", "orders place h100@cheap", "dollars per hour"),
        (2, "batch", "leases --colour", "No such option"),
        (2, "batch", "release ord_1", "laissez orders cancel"),
        (2, "batch", "leases --profile gone", "found 'gone'"),
        (3, "batch", "market", "(forbidden)"),
        (3, "operator", "orders place h100@3", "(forbidden)"),
        (4, "batch", "leases show lse_1", "(not_your_lease)"),
        (4, "batch", "quote h100/zone-a/rack9", "(scope_unknown)"),
        (4, "operator", "tenants show nobody", "(not_found)"),
        (5, "batch", "leases --url http://127.0.0.1:9", "no answer from 127.0.0.1:9"),
    ],
)
def test_a_failed_command_has_an_exit_code_and_one_line(
    live: Live, code: int, who: str, line: str, told: str
) -> None:
    done = live.run(who, *line.split())
    assert (code, "") == (done.code, done.out)
    assert told in done.err.replace("\n", " ")


def test_a_wrong_key_exits_with_3_and_is_not_shown(live: Live) -> None:
    wrong = live.home / "wrong.key"
    wrong.write_text("lz_0123456789abcdef_" + "x" * 43)
    wrong.chmod(0o600)
    done = live.run(wrong, "leases")
    assert (3, False) == (done.code, "xxx" in done.out + done.err)
    doctor = live.run(wrong, "doctor", "-o", "json")
    assert (1, ["permission"]) == (
        doctor.code,
        [check["name"] for check in doctor.json if not check["ok"]],
    )


def test_the_doctor_reports_a_missing_server(live: Live) -> None:
    done = live.run("batch", "doctor", "--url", "http://127.0.0.1:9")
    assert (1, "FAIL  server") == (done.code, done.out.splitlines()[-1][:12])


def test_a_profile_suffices_and_its_key_goes_to_no_other_server(live: Live) -> None:
    config = live.home / "profiles" / "laissez"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(
        f'default = "lab"\n[profiles.lab]\nurl = "{live.url}"\nkey_file = "{live.key("batch")}"\n'
    )
    home = {"XDG_CONFIG_HOME": str(config.parent)}
    assert 12 == len(live.run(None, "leases", "-o", "json", **home).json)
    elsewhere = live.run(
        None, "leases", "--url", live.url.replace("127.0.0.1", "localhost"), **home
    )
    assert (3, True) == (
        elsewhere.code,
        "without a key: the key of the profile is for " in elsewhere.err,
    )


# -- the data folder


def test_the_journal_of_a_running_server_can_be_inspected_verified_and_copied(live: Live) -> None:
    copy = live.home / "copy"
    for folder in (live.data, copy):
        if folder is copy:
            assert "copied up to entry" in live.ok("batch", f"journal backup {live.data} {copy}")
        assert live.ok("batch", f"journal verify {folder}").endswith("all is well\n")
        assert [] == live.json("batch", f"journal verify {folder}")["problems"]
        assert "entries" in live.ok("batch", f"journal inspect {folder}")
        assert "key.issued" in live.ok("batch", f"journal inspect {folder} --from 1 --to 3")
        assert 3 == len(live.json("batch", f"journal inspect {folder} --from 1 --to 3"))
        lines = [
            json.loads(line)
            for line in live.ok("batch", f"journal export {folder} --from 2 --to 5").splitlines()
        ]
        assert [2, 3, 4, 5] == [line["seq"] for line in lines]
    assert 2 == live.run("batch", "journal", "backup", str(live.data), str(copy)).code
    none = live.run("batch", "journal", "verify", str(live.home))
    assert (2, True) == (none.code, str(live.home) in none.err)


def test_a_second_server_on_the_same_folder_is_refused_with_the_first_ones_process(
    live: Live,
) -> None:
    for command in ("serve", "up"):
        second = subprocess.run(
            [*PROGRAM, command, "--data", str(live.data), "--port", "0"],
            env=live.environment(None), capture_output=True, text=True, timeout=WITHIN_S,
        )  # fmt: skip
        assert 2 == second.returncode
        assert f"laissez: {live.data} is in use by process {live.process.pid}." in second.stderr
    assert 12 == len(live.json("batch", "leases"))


@pytest.fixture
def another(tmp_path: Path) -> Iterator[Live]:
    with Live(tmp_path) as live:
        yield live


def test_a_restart_continues_after_ctrl_c_and_after_a_crash(another: Live) -> None:
    live = another
    assert live.said.startswith("A new sample market is up at ")
    shown = re.search(r"(\S+)/ +the console: sign in with the key in (\S+) or (\S+)\n", live.said)
    assert shown is not None and live.url == shown[1]
    assert all(Path(name).read_text().startswith("lz_") for name in shown.groups()[1:])
    order = live.json("batch", "orders place h100@0.40 --idempotency-key before")
    leases = [lease["id"] for lease in live.json("training", "leases")]
    owed = Decimal(live.json("training", "bill")["total"])
    for number, code in (
        (signal.SIGINT, 0),
        (signal.SIGKILL, -signal.SIGKILL),
        (signal.SIGTERM, 0),
    ):
        assert code == live.stop(number)
        live.start()
        assert live.said.startswith("The sample market, where it was left, is up at ")
        assert leases == [lease["id"] for lease in live.json("training", "leases")]
        before, owed = owed, Decimal(live.json("training", "bill")["total"])
        assert before < owed
        assert order == live.json("batch", "orders place h100@0.40 --idempotency-key before")
        assert 1 == len(live.json("batch", "orders"))
    assert 0 == live.stop()
    assert 5 == live.run("batch", "leases").code
    assert live.run("batch", "journal", "verify", str(live.data)).out.endswith("all is well\n")
