"""The command line of the checks, with the oracle in the market's place."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from laissez_check import cli
from laissez_check.oracle import Oracle


class NeverLeases(Oracle):
    def winner(self, leaf: str) -> None:
        return None

    def is_stable(self, leaf: str) -> bool:
        return True

    def clear_for(self, order: object) -> None:
        pass


def invoke(
    monkeypatch: pytest.MonkeyPatch, market: type[Oracle], *arguments: str
) -> tuple[int, str]:
    monkeypatch.setattr(cli, "real_market", market)
    result = CliRunner().invoke(cli.app, arguments)
    return result.exit_code, result.stdout


def test_success_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    code, text = invoke(
        monkeypatch,
        Oracle,
        "market",
        "--histories",
        "2",
        "--commands",
        "20",
        "--jobs",
        "1",
        "--snapshot-every",
        "0",
    )
    assert code == 0
    assert text.startswith("2 histories, 40 commands, ")
    assert text.count("\n") == 1


def test_failure_is_a_report_and_leaves_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    code, text = invoke(
        monkeypatch,
        NeverLeases,
        "market",
        "--histories",
        "9",
        "--seed",
        "7",
        "--jobs",
        "1",
        "--snapshot-every",
        "0",
    )
    assert code == 1
    assert "laissez check market --histories 1 --seed " in text
    assert "LeaseStarted" in text


def test_json_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    code, text = invoke(monkeypatch, Oracle, "small-worlds", "--depth", "1", "-o", "json")
    summary = json.loads(text)
    assert (code, summary["failure"]) == (0, None)
    assert summary["sequences"] > 10
    code, text = invoke(monkeypatch, NeverLeases, "small-worlds", "--depth", "1", "-o", "json")
    assert code == 1
    assert "laissez check small-worlds --depth 1" in json.loads(text)["failure"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("market", "--histories", "9" * 30),
        ("worlds", "--seeds", "9" * 30),
        ("damage", "--cases", "9" * 30),
        ("worlds", "--jobs", "100000"),
    ],
)
def test_more_than_can_be_counted_is_wrong_usage_and_no_failed_check(
    arguments: tuple[str, ...],
) -> None:
    assert 2 == CliRunner().invoke(cli.app, arguments).exit_code


def test_bad_inputs_that_are_not_there_are_not_said_to_have_been_answered_well() -> None:
    done = CliRunner().invoke(cli.app, ["wire", "--cases", "0", "--only", "nothing like this"])
    assert 2 == done.exit_code and "nothing like this" in done.stderr
