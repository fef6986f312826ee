"""The settings of the service: defaults, precedence of sources, and reports of mistakes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from laissez.config import fields_of
from laissez.server.settings import SECTIONS, Limits, Settings, SettingsError, read_settings
from laissez.wire import limits
from support.paths import EXAMPLES

pytestmark = pytest.mark.once

EXAMPLE = EXAMPLES / "laissez.toml"
PROMISES = {
    "CLIENT_ID_MAX",
    "DEAD_LETTERS_MAX",
    "HEAD_BYTES_MAX",
    "PREVIEW_COMMANDS_MAX",
    "PRICE_PIECES_MAX",
    "WEBHOOK_BYTES_MAX",
    "WEBHOOK_DELIVERIES_BURST",
    "WEBHOOK_DELIVERIES_PER_SECOND",
    "WEBHOOK_EVENTS_MAX",
    "WEBHOOK_URL_MAX",
}  # promised by the API, so not settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "laissez.toml"


def written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def mistakes(
    file: Path | None = None,
    environment: dict[str, str] | None = None,
    flags: dict[str, dict[str, object]] | None = None,
) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        read_settings(file, environment or {}, flags)
    return str(refused.value).splitlines()


def test_the_example_has_every_setting_with_its_default() -> None:
    assert Settings() == read_settings(EXAMPLE, {})
    told = {section: set(fields) for section, fields in tomllib.loads(EXAMPLE.read_text()).items()}
    assert {section: set(fields_of(kind)) for section, kind in SECTIONS.items()} == told


def test_the_example_explains_every_setting() -> None:
    assert [] == [
        line
        for line in EXAMPLE.read_text().splitlines()
        if re.match(r"\w+ =", line) and "#" not in line
    ]


def test_every_limit_is_a_setting_or_a_promise_of_the_api() -> None:
    constants = {name for name in vars(limits) if name.isupper()}
    settings = {name.upper() for name in fields_of(Limits)}
    assert constants - PROMISES <= settings and not PROMISES & settings
    for name in constants & settings:
        assert getattr(limits, name) == getattr(Limits(), name.lower())


def test_flags_overrule_the_environment_which_overrules_the_file(file: Path) -> None:
    written(file, '[server]\nhost = "file"\nport = 1\nlog_level = "debug"\n')
    environment = {"LAISSEZ_SERVER__PORT": "2", "LAISSEZ_SERVER__HOST": "environment"}
    server = read_settings(file, environment, {"server": {"port": 3, "host": None}}).server
    assert (3, "environment", "debug", "text") == (
        server.port,
        server.host,
        server.log_level,
        server.log_format,
    )


def test_environment_text_is_converted_to_the_type_of_the_field() -> None:
    environment = {
        "LAISSEZ_SERVER__METRICS_OPEN": "true",
        "LAISSEZ_STREAM__RATE_EVERY_S": "0.25",
        "LAISSEZ_DATA__FOLDER": "7",
        "LAISSEZ_JOURNAL__SNAPSHOTS_KEPT": "3",
    }
    settings = read_settings(None, environment)
    found = (
        settings.server.metrics_open,
        settings.stream.rate_every_s,
        settings.data.folder,
        settings.journal.snapshots_kept,
    )
    assert (True, 0.25, "7", 3) == found


@pytest.mark.parametrize(
    ("text", "hours"), [("off", None), ("90d", 90 * 24), ("72h", 72), ("48h", 48)]
)
def test_retention_is_days_or_hours(text: str, hours: int | None) -> None:
    found = read_settings(None, {"LAISSEZ_JOURNAL__RETAIN": text}).journal.retain_us
    assert found == (None if hours is None else hours * 3_600_000_000)


def test_unrelated_and_empty_variables_set_nothing() -> None:
    variables = {
        "LAISSEZ_MARKET": "auto",
        "LAISSEZ_URL": "http://x",
        "LAISSEZ_SERVER__PORT": "",
        "OTHER_SERVER__PORT": "x",
    }
    assert Settings() == read_settings(None, variables)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '[server]\ntrusted_proxies = ["10.0.0.1/8"]',
            (
                "server.trusted_proxies: expected networks such as 10.1.0.0/16 or fd00::/8, with no"
                " bit set after the prefix, found '10.0.0.1/8'"
            ),
        ),
        (
            "[server]\nprot = 1",
            (
                "server.prot: expected one of host, port, log_format, log_level,"
                " metrics_open, trusted_proxies, found 'prot' (did you mean port?)"
            ),
        ),
        (
            "[sever]\nport = 1",
            (
                "sever: expected one of server, data, journal, books, limits, stream,"
                " audit, webhooks, found 'sever' (did you mean server?)"
            ),
        ),
        ("server = 1", "server: expected a table, found 1"),
        ('[server]\nport = "1"', "server.port: expected an integer from 0 up to 65,535, found '1'"),
        (
            "[server]\nport = 65536",
            "server.port: expected an integer from 0 up to 65,535, found 65536",
        ),
        (
            "[server]\nport = true",
            "server.port: expected an integer from 0 up to 65,535, found True",
        ),
        (
            '[server]\nlog_format = "xml"',
            "server.log_format: expected one of json, text, found 'xml'",
        ),
        (
            '[data]\nfolder = ""',
            "data.folder: expected a text in quotes that is not empty, found ''",
        ),
        (
            "[journal]\nsnapshot_every_s = 59",
            ("journal.snapshot_every_s: expected a number from 60 up to 86,400, found 59"),
        ),
        (
            "[journal]\nsnapshots_kept = 0",
            ("journal.snapshots_kept: expected an integer from 1 up to 1,000,000,000,000, found 0"),
        ),
        (
            '[journal]\nretain = "90"',
            ("journal.retain: expected off, or a duration such as 90d or 72h, found '90'"),
        ),
        (
            '[journal]\nretain = "0d"',
            ("journal.retain: expected at least 48h, which the service itself reads, found '0d'"),
        ),
        (
            '[journal]\nretain = "47h"',
            "journal.retain: expected at least 48h, which the service itself reads, found '47h'",
        ),
        (
            '[journal]\nretain = "3d"\n[limits]\nhistory_hours = 100',
            "journal.retain: expected at least 100h, which the service itself reads, found '3d'",
        ),
        (
            "[limits]\nopen_orders_max = 1001",
            ("limits.open_orders_max: expected an integer from 1 up to 1,000, found 1001"),
        ),
        (
            "[stream]\nrate_every_s = 0",
            "stream.rate_every_s: expected a number above 0 up to 86,400, found 0",
        ),
        (
            "[limits]\npage_default = 2000",
            "limits.page_default: expected at most limits.page_max, which is 1000, found 2000",
        ),
        (
            "[limits]\npage_max = 10",
            "limits.page_default: expected at most limits.page_max, which is 10, found 100",
        ),
        (
            "[limits]\npending_commands_max = 499",
            (
                "limits.batch_commands_max: expected at most limits.pending_commands_max, which is"
                " 499, found 500"
            ),
        ),
        (
            "[limits]\nbatch_commands_max = 9\npending_commands_max = 99",
            (
                "limits.instances_per_request_max: expected at most limits.pending_commands_max,"
                " which is 99, found 100"
            ),
        ),
    ],
)
def test_a_mistake_in_the_file_is_reported_with_file_field_and_values(
    file: Path, text: str, told: str
) -> None:
    assert [f"{file}: {told}"] == mistakes(written(file, text))


def test_nan_is_not_a_number_of_seconds(file: Path) -> None:
    assert mistakes(written(file, "[stream]\nrate_every_s = nan"))


def test_a_mistake_in_the_environment_names_the_variable() -> None:
    assert [
        "LAISSEZ_SERVER__PORT: server.port: expected an integer from 0 up to 65,535, found 'many'"
    ] == mistakes(None, {"LAISSEZ_SERVER__PORT": "many"})
    assert mistakes(None, {"LAISSEZ_SEVER__PORT": "1"})[0].startswith(
        "LAISSEZ_SEVER__PORT: sever: expected one of server, data"
    )


def test_a_mistake_in_a_flag_is_reported_too() -> None:
    assert [
        "command line: server.port: expected an integer from 0 up to 65,535, found 99999"
    ] == mistakes(flags={"server": {"port": 99999}})


def test_all_mistakes_are_reported_at_once(file: Path) -> None:
    written(file, "[server]\nport = -1\nhots = 1\n[books]\nkeep_hours = 0\n")
    assert 4 == len(mistakes(file, {"LAISSEZ_SERVER__LOG_LEVEL": "loud"}))


def test_an_unreadable_file_is_named(file: Path) -> None:
    assert [f"{file}: expected a file that can be read: No such file or directory"] == mistakes(
        file
    )
    assert f"{file}: expected TOML: " in mistakes(written(file, "[server"))[0]
    file.write_bytes(b"\xff")
    assert f"{file}: expected TOML: " in mistakes(file)[0]
