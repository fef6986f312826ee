"""The verdicts on a service that keeps its promises under load, and on one that breaks them."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from laissez.workers import output_of
from laissez_bench import cli, noisy, overload, tables
from laissez_bench.noisy import NOBODY, ROUNDS_LEAST, Noisy
from laissez_bench.overload import Level, Measured
from laissez_bench.processor_time import FolderPlan
from laissez_bench.statistics import Ratio
from laissez_bench.verdict import Verdict
from support.paths import TESTS

pytestmark = pytest.mark.once

UNFAIR = TESTS / "support" / "unfair_service.py"
AS_BEFORE = Ratio(1.0, 0.9, 1.1)


def row(
    kind: str,
    p50: Ratio = AS_BEFORE,
    p99: Ratio = AS_BEFORE,
    done: float = 1.0,
    rounds: int = 10,
    problem: str = "not_your_order",
) -> Noisy:
    return Noisy(
        kind, rounds, p50, p99, done, 1.0, 1.0, 1.0, 2.0, 2.0, 500.0, 0.3, 0.29, {problem: 7}
    )


def level(
    share: float = 1.5,
    shed: float = 600.0,
    p99_ms: float = 200.0,
    late_ms: float = 1.0,
    phase_s: float = 2.5,
    admitted: float = 900.0,
    problem: str = "overloaded",
) -> Level:
    same = {name: 1.5 for name in Level.__struct_fields__ if name.endswith(("_ms", "_cpu"))} | {
        "p99_ms": p99_ms,
        "late_p99_ms": late_ms,
    }
    counted = {
        "offered": 1.5e3,
        "admitted": admitted,
        "shed": shed,
        "unanswered": 0,
        "problems": {problem: 7},
    }
    return msgspec.convert(
        {"load": "rest", "level": share, "phase_s": phase_s, "capacity": 1e3, **counted, **same},
        Level,
    )


# -- one noisy tenant


@pytest.mark.parametrize(
    ("rows", "failures", "not_judged"),
    [
        ([row(NOBODY), row("keys")], [], []),
        ([row(NOBODY), row("keys", p50=Ratio(1.3, 1.10, 1.5))], [], []),  # it may still be a tenth
        (
            [row(NOBODY), row("keys", p50=Ratio(1.3, 1.11, 1.5))],
            ["keys: expected the others' p50 at most x1.10"],
            [],
        ),
        ([row(NOBODY), row("keys", p99=Ratio(1.9, 1.50, 9.0))], [], []),
        (
            [row(NOBODY), row("keys", p99=Ratio(1.9, 1.51, 9.0)), row("bills")],
            ["keys: expected the others' p99 at most x1.50"],
            [],
        ),
        (
            [row(NOBODY), row("keys", done=0.98)],
            ["keys: expected the others to get 100.0% done"],
            [],
        ),
        ([row(NOBODY), row("keys", problem="overloaded")], [], []),
        # which is not done
        ([row(NOBODY), row("keys", problem="internal")], ["keys: 7 answers were internal"], []),
        (
            [row(NOBODY, p50=Ratio(1.3, 1.2, 1.5)), row("keys", p50=Ratio(9, 8, 10))],
            [],
            ["p50: it was x1.30 1.20-1.50 with nobody's noise"],
        ),
        (
            [row(NOBODY, rounds=ROUNDS_LEAST - 1), row("keys", p50=Ratio(9, 8, 10))],
            [],
            ["all of it: 6 rounds are needed"],
        ),
    ],
)
def test_a_slowdown_fails_when_it_is_certainly_beyond_what_is_promised(
    rows: list[Noisy], failures: list[str], not_judged: list[str]
) -> None:
    verdict = noisy.judge(rows)
    for expected, found in ((failures, verdict.failures), (not_judged, verdict.not_judged)):
        assert len(expected) == len(found) and all(
            words.startswith(begin) for begin, words in zip(expected, found, strict=True)
        ), found


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual number of rounds, each of a tenth of a second: the effect is not small."""
    monkeypatch.setattr(noisy, "PHASE_S", 0.1)
    monkeypatch.setattr(noisy, "WARM_UP_S", 0.05)


def measured() -> Verdict[Noisy]:
    return noisy.judge(noisy.measure(["unreadable"], 0.8, lambda _: None, leaves=200, tenants=20))


@pytest.mark.slow
@pytest.mark.usefixtures("brief")
def test_a_service_that_answers_refusals_at_a_pace_passes() -> None:
    assert [] == measured().failures


@pytest.mark.slow
@pytest.mark.usefixtures("brief")
def test_a_service_that_answers_them_as_fast_as_they_are_asked_for_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unfair(plan: FolderPlan) -> list[Measured]:
        return msgspec.json.decode(
            output_of([sys.executable, str(UNFAIR)], msgspec.json.encode(plan)),
            type=list[Measured],
        )

    monkeypatch.setattr(noisy, "by_processor_time", unfair)
    assert "unreadable: expected the others' p50 at most x1.10" in " ".join(measured().failures)


# -- too much load


@pytest.mark.parametrize(
    ("rows", "failures"),
    [
        ([level()], []),
        ([level(0.5, shed=0.0, p99_ms=10_000), level()], []),  # too much is what is judged
        ([level(shed=0.0)], ["rest: expected some of 150% of the capacity to be shed"]),
        ([level(p99_ms=609.0)], []),  # the load itself was a millisecond behind
        ([level(p99_ms=610.0)], ["rest: expected p99 of admitted requests at 150% at most 608 ms"]),
        ([level(p99_ms=9_000, late_ms=609.0)], []),
        ([level(shed=0.0, phase_s=0.5)], []),
        ([level(admitted=250.0)], []),
        (
            [level(admitted=249.0, shed=1_251.0)],
            ["rest: expected at least 250/s to be admitted at 150%, found 249/s"],
        ),
        ([level(0.5, problem="internal"), level()], ["rest at 50%: 7 answers were internal"]),
    ],
)
def test_whoever_is_admitted_beyond_the_capacity_is_served_in_time_and_the_rest_is_shed(
    rows: list[Level], failures: list[str]
) -> None:
    verdict = overload.judge(rows, wait_s_max=0.05)
    assert len(failures) == len(verdict.failures)
    assert all(
        words.startswith(begin) for begin, words in zip(failures, verdict.failures, strict=True)
    ), verdict.failures
    assert (["rest"] if rows[-1].phase_s < 1 or rows[-1].late_p99_ms > 608 else []) == [
        words.partition(":")[0] for words in verdict.not_judged
    ]


def test_whoever_may_wait_longer_in_line_may_be_answered_later() -> None:
    assert overload.admitted_ms_max(1.0) - overload.admitted_ms_max(0.5) == pytest.approx(4 * 500)


# -- as they are told


@pytest.mark.parametrize(
    ("module", "rows", "said"),
    [
        (
            noisy,
            [row(NOBODY), row("keys", p50=Ratio(9, 8, 10))],
            "FAILED: keys: expected the others' p50",
        ),
        (
            overload,
            [level(shed=0.0)],
            "FAILED: rest: expected some of 150% of the capacity to be shed",
        ),
        (noisy, [row(NOBODY), row("keys")], "passed"),
        (overload, [level()], "passed"),
    ],
)
def test_the_exit_status_tells_a_broken_promise(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, rows: list[Any], said: str
) -> None:
    monkeypatch.setattr(module, "measure", lambda *_: rows)
    command = module.__name__.rpartition(".")[2]
    shown = CliRunner().invoke(cli.app, [command])
    assert said in shown.stdout and (1 if "FAILED" in said else 0) == shown.exit_code
    ran = CliRunner().invoke(cli.app, [command, "-o", "json"])
    found = json.loads(ran.stdout)
    assert (shown.exit_code, len(rows), "FAILED" in said) == (
        ran.exit_code,
        len(found["rows"]),
        bool(found["failures"]),
    )


@pytest.mark.parametrize("width", [80, 120])
def test_the_name_of_a_long_request_leaves_room_for_the_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    kind = 'POST /v1/orders {"alternatives": [{"scope": "[/]", "limit": "' + "1" * 200
    monkeypatch.setattr(tables, "FILE_WIDTH", width)
    tables.show_noisy(noisy.judge([row(NOBODY), row(kind)]))
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    (first,) = [line for line in lines if line.startswith("POST")]
    assert first.endswith("x1.00 0.90-1.10 x1.00 0.90-1.10 100.0 % 1.0 2.0 +0.01") and not any(
        "1" * 9 in line for line in lines
    )
