"""Which server and key the command line uses, what its tables look like, and what the doctor
finds."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from email.utils import formatdate
from pathlib import Path

import httpx
import pytest
from rich.console import Console
from typer.testing import CliRunner

from laissez.cli import doctor
from laissez.cli.app import app
from laissez.cli.output import spell_out
from laissez.cli.profiles import ConfigError, config_path, find_target
from laissez.cli.tables import Column, format_second, money, rendered

pytestmark = pytest.mark.once


class Home:
    """A home folder with a configuration of two profiles and a key for each."""

    def __init__(self, folder: Path) -> None:
        self.environment = {"XDG_CONFIG_HOME": str(folder)}
        self.config = folder / "laissez" / "config.toml"
        self.config.parent.mkdir()
        for name in ("lab", "prod", "flag", "variable"):
            (folder / name).write_text(f"lz_{name}_key\n")
            (folder / name).chmod(0o600)
        self.folder = folder
        profiles = [
            f'[profiles.{name}]\nurl = "http://{name}"\nkey_file = "{folder / name}"\n'
            for name in ("lab", "prod")
        ]
        self.config.write_text('default = "lab"\n' + "".join(profiles))

    def found(
        self,
        url: str | None = None,
        profile: str | None = None,
        key_file: Path | None = None,
        variables: dict[str, str] | None = None,
    ) -> tuple[str, str | None]:
        where = find_target(
            url, profile, key_file, environment=self.environment | (variables or {})
        )
        return where.url, where.key


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_the_default_is_the_local_server_without_a_key(tmp_path: Path) -> None:
    where = find_target(environment={"XDG_CONFIG_HOME": str(tmp_path)})
    assert ("http://127.0.0.1:8340", None) == (where.url, where.key)


def test_flags_come_before_a_named_profile_before_the_environment_before_the_usual_profile(
    home: Home,
) -> None:
    variables = {"LAISSEZ_URL": "http://env", "LAISSEZ_KEY": "lz_env_key"}
    prod = {"LAISSEZ_PROFILE": "prod"}
    assert ("http://lab", "lz_lab_key") == home.found()
    assert ("http://prod", "lz_prod_key") == home.found(variables=prod)
    assert ("http://env", "lz_env_key") == home.found(variables=prod | variables)
    assert ("http://lab", "lz_variable_key") == home.found(
        variables={"LAISSEZ_KEY_FILE": str(home.folder / "variable")}
    )
    assert ("http://prod", "lz_prod_key") == home.found(profile="prod", variables=variables)
    assert ("http://flag", "lz_flag_key") == home.found(
        "http://flag", "prod", home.folder / "flag", variables
    )


def test_the_key_of_a_profile_goes_to_its_own_address_alone(home: Home) -> None:
    explicit = {"LAISSEZ_KEY_FILE": str(home.folder / "variable")}
    assert ("http://other", None) == home.found("http://other")
    assert ("http://other", None) == home.found(variables={"LAISSEZ_URL": "http://other"})
    assert ("http://other", None) == home.found("http://other", "prod")
    assert ("http://lab:8340", None) == home.found("http://lab:8340")
    assert ("HTTP://LAB:80/", "lz_lab_key") == home.found("HTTP://LAB:80/")
    assert ("http://prod", "lz_prod_key") == home.found("http://prod", "prod")
    assert ("http://other", "lz_variable_key") == home.found("http://other", variables=explicit)
    assert ("http://other", "lz_flag_key") == home.found(
        "http://other", key_file=home.folder / "flag"
    )


def test_a_withheld_key_and_an_insecure_setting_are_reported(home: Home) -> None:
    home.config.write_text(home.config.read_text() + "insecure = true\n")
    where = find_target("http://other", "prod", environment=home.environment)
    assert (
        where.withheld
        == "the key of the profile is for http://prod alone; for http://other, name one with"
        " --key-file"
    )
    assert (False, True) == (
        where.insecure,
        find_target(profile="prod", environment=home.environment).insecure,
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[profiles.lab]\nkey = 'lz_x'", "key_file ="),
        ("[profiles.lab]\nurl = 1", "profiles.lab.url: expected a text in quotes, found 1"),
        (
            "defualt = 'lab'",
            "defualt: expected one of default, profiles, found 'defualt' (did you mean default?)",
        ),
        ("default = ", "expected TOML"),
        ("default = 'lab'", "expected a profile of"),
    ],
)
def test_a_mistake_in_the_configuration_names_the_file(home: Home, text: str, told: str) -> None:
    home.config.write_text(text)
    with pytest.raises(ConfigError) as refused:
        home.found()
    assert str(home.config) in str(refused.value)
    assert told in str(refused.value)


def test_an_unknown_profile_is_refused_with_the_known_ones(home: Home) -> None:
    with pytest.raises(ConfigError, match=r"--profile: .*\(lab, prod\), found 'labb'"):
        home.found(profile="labb")


@pytest.mark.parametrize(
    "content", [b"", b"secret", b"lz_secret lz_secret", b"lz_secret\nlz_secret", b"lz_secret\xff"]
)
def test_a_file_without_a_key_is_refused_and_not_shown(home: Home, content: bytes) -> None:
    (home.folder / "lab").write_bytes(content)
    with pytest.raises(ConfigError, match="expected one key, starting with lz_") as refused:
        home.found()
    assert "secret" not in str(refused.value)


def test_a_missing_key_file_is_reported_with_the_setting_that_names_it(home: Home) -> None:
    with pytest.raises(
        ConfigError, match=r"key file .*gone, named by --key-file, cannot be read: No such file"
    ):
        home.found(key_file=home.folder / "gone")


def test_a_target_never_shows_its_key(home: Home) -> None:
    assert "lz_" not in repr(find_target(environment=home.environment))


def test_the_configuration_is_in_the_home_folder_or_that_of_xdg() -> None:
    assert Path.home() / ".config" / "laissez" / "config.toml" == config_path({})
    assert Path("/x/laissez/config.toml") == config_path({"XDG_CONFIG_HOME": "/x"})


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        (["list"], ["list"]),
        (["--watch"], ["--watch", "2"]),
        (["-w", "-o", "json"], ["-w", "2", "-o", "json"]),
        (["--watch", "0.5"], ["--watch", "0.5"]),
        (["--watch=3"], ["--watch=3"]),
    ],
)
def test_watch_without_a_number_repeats_every_two_seconds(
    given: list[str], filled: list[str]
) -> None:
    assert filled == spell_out(given)


COLUMNS: list[Column[tuple[str, str, str]]] = [
    Column("ID", lambda row: row[0]),
    Column("RATE $/h", lambda row: money(row[1]), right=True),
    Column("NOTE", lambda row: row[2], optional=True),
]
ROWS = [("lse_aaaaaaaaaaaaaaaa1", "3", ""), ("lse_b2", "12.345678", "")]


def drawn(width: int, rows: list[tuple[str, str, str]] = ROWS, terminal: bool = False) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, highlight=False)
    console.print(rendered(rows, COLUMNS, width))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_money_is_right_aligned_and_empty_columns_are_left_out() -> None:
    assert [
        "ID                      RATE $/h",
        "lse_aaaaaaaaaaaaaaaa1       3.00",
        "lse_b2                 12.345678",
    ] == drawn(80)


def test_a_narrow_terminal_gets_blocks_and_whole_ids() -> None:
    assert [
        "ID        lse_aaaaaaaaaaaaaaaa1",
        "RATE $/h  3.00",
        "",
        "ID        lse_b2",
        "RATE $/h  12.345678",
    ] == drawn(31)


def test_text_that_looks_like_markup_is_shown_unchanged() -> None:
    assert "[bold]x[/bold]" in drawn(80, [("a", "1", "[bold]x[/bold]")])[1]


@pytest.mark.parametrize(
    ("price", "shown"), [("3", "3.00"), ("3.5", "3.50"), ("0.123456", "0.123456"), (None, "none")]
)
def test_money_has_at_least_two_decimals(price: str | None, shown: str) -> None:
    assert shown == money(price)


def test_times_are_shown_to_the_second() -> None:
    assert ("2026-11-15T08:30:00Z", "2026-11-15T08:30:00Z", "") == (
        format_second("2026-11-15T08:30:00.123456Z"),
        format_second("2026-11-15T08:30:00Z"),
        format_second(None),
    )


def loaded_by(argument: str) -> str:
    """Which of the heavy modules a command loads."""
    watched = ("httpx", "rich.table", "laissez.client", "laissez.server", "laissez.wire")
    program = (
        f"import sys\nfrom laissez.cli import main\nsys.argv[1:] = ['{argument}']\n"
        f"try: main()\nfinally: print([name for name in {watched} if name in sys.modules])"
    )
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    ).stdout.splitlines()[-1]


def test_version_loads_nothing_heavy_and_help_nothing_of_ours() -> None:
    assert "[]" == loaded_by("version")
    assert "['rich.table']" == loaded_by("--help")


def examined(
    home: Home, monkeypatch: pytest.MonkeyPatch, *arguments: str, ready: int = 200, me: int = 200
) -> dict[str, dict[str, object]]:
    """The checks of the doctor for a server with these answers."""
    holder = {"holder": "ann", "key": "key_1", "scopes": ["read"], "caps": {}}
    problem = {"code": "unauthenticated", "detail": "no such key", "status": me}
    answers = {
        "/healthz": (200, {"status": "ok", "detail": ""}),
        "/readyz": (ready, {"status": "ready" if ready == 200 else "starting", "detail": ""}),
        "/v1/me": (me, holder if me == 200 else problem),
    }

    def answer(self: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        status, body = answers[request.url.path]
        return httpx.Response(
            status, json=body, headers={"date": formatdate(usegmt=True)}, request=request
        )

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", answer)
    for name in ("LAISSEZ_URL", "LAISSEZ_KEY", "LAISSEZ_KEY_FILE", "LAISSEZ_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", home.environment["XDG_CONFIG_HOME"])
    if home.config.exists():
        home.config.write_text(home.config.read_text().replace("http://lab", "http://127.0.0.1:1"))
    done = CliRunner().invoke(app, ["doctor", "-o", "json", *arguments], catch_exceptions=False)
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert done.exit_code == (0 if all(check["ok"] for check in checks.values()) else 1)
    return checks


def failed(checks: dict[str, dict[str, object]]) -> list[str]:
    assert all(check["do"] for check in checks.values() if not check["ok"])
    return [name for name, check in checks.items() if not check["ok"]]


def test_the_doctor_passes_a_sound_setup(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = examined(home, monkeypatch)
    assert ["python", "market", "config", "key", "server", "clock", "ready", "permission"] == list(
        checks
    )
    assert ([], "ann, may read (key_1)") == (failed(checks), checks["permission"]["found"])


def test_the_doctor_finds_open_files(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.config.chmod(0o622)
    (home.folder / "lab").chmod(0o640)
    checks = examined(home, monkeypatch)
    assert ["config", "key"] == failed(checks)
    assert f"Run: chmod 600 {home.folder / 'lab'}" == checks["key"]["do"]


@pytest.mark.parametrize(
    ("server_s", "ok", "found"),
    [
        (1_000_100, False, "the server's is 98 s ahead"),
        (999_900, False, "the server's is 99 s behind"),
        (1_000_004, True, "agrees with the server's"),
        (999_995, True, "agrees with the server's"),
        (None, True, "the server does not tell its time"),
    ],
)
def test_the_doctor_compares_clocks(server_s: int | None, ok: bool, found: str) -> None:
    transport = doctor.RecordingTransport()
    transport.date = None if server_s is None else formatdate(server_s, usegmt=True)
    transport.asked_at, transport.answered_at = 1_000_000.0, 1_000_002.0
    check = doctor.check_clock(transport)
    assert (ok, found) == (check.ok, check.found)


def test_the_doctor_finds_a_server_that_is_not_ready_and_a_key_that_is_not_valid(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ["ready", "permission"] == failed(examined(home, monkeypatch, ready=503, me=401))


def test_the_doctor_finds_a_missing_key(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.config.unlink()
    assert ["key"] == failed(examined(home, monkeypatch))


def test_the_doctor_finds_a_key_for_another_server(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = examined(home, monkeypatch, "--url", "http://127.0.0.1:2")
    assert ["key"] == failed(checks)
    assert "is for http://127.0.0.1:1 alone" in str(checks["key"]["found"])


def test_the_doctor_stops_at_checks_that_rest_on_a_failed_one(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ["connection"] == failed(examined(home, monkeypatch, "--profile", "gone"))


def test_the_doctor_prints_one_line_per_check(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", home.environment["XDG_CONFIG_HOME"])
    monkeypatch.setattr(doctor, "TIMEOUT_S", 1.0)

    def nobody(self: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", nobody)
    done = CliRunner().invoke(
        app,
        ["doctor", "--url", "http://127.0.0.1:1", "--key-file", str(home.folder / "lab")],
        catch_exceptions=False,
    )
    assert (1, ["ok", "ok", "ok", "ok", "FAIL"]) == (
        done.exit_code,
        [line.split()[0] for line in done.stdout.splitlines()],
    )
    assert "laissez serve" in done.stdout.splitlines()[-1]
