"""The readings and audits of the soak, and its verdict."""

from __future__ import annotations

from typing import Any

import pytest

from laissez.server.settings import Settings
from laissez_bench import soak, tables
from laissez_bench.following import Following
from laissez_bench.processes import Reading
from laissez_bench.soak import (
    FULL_READINGS_LEAST,
    MORE_FILES_MAX,
    MORE_THREADS_MAX,
    READINGS,
    Audited,
    Quarter,
    Soak,
    judge,
)
from laissez_bench.statistics import Counted, Times
from laissez_check.event_audit import PartAudit

pytestmark = pytest.mark.once

SETTINGS = Settings()
FLAT = [100.0] * READINGS
FULL = Reading(
    100.0,
    50,
    3,
    SETTINGS.limits.history_events_max - 2,
    SETTINGS.limits.history_commands_max,
    SETTINGS.books.close_after_commands,
)
STEADY = Quarter(100_000, 2.0, 9.0, 0, 10.0)


def taken(
    megabytes: list[float] = FLAT, files: int = FULL.files, threads: int = FULL.threads
) -> list[Reading]:
    """Readings of which the last differs in files and threads."""
    readings = [FULL._replace(megabytes=one) for one in megabytes]
    return [*readings[:-1], readings[-1]._replace(files=files, threads=threads)]


def seen(
    readings: list[Reading], quarters: list[Quarter], problems: dict[str, int], doubts: list[str]
) -> Soak:
    whole = Counted(600, 400_000, problems=problems)
    first = Reading(100.0, 50, 3, 0, 0, 0)
    audited = Audited(1, 8, 1, 1, 1, doubts)
    return judge(whole, quarters, first, readings, audited, SETTINGS)


def four(**last: Any) -> list[Quarter]:
    """Quarters of which the last two differ in this."""
    changed = Quarter(
        **{name: last.get(name, getattr(STEADY, name)) for name in Quarter.__struct_fields__}
    )
    return [STEADY, STEADY, changed, changed]


@pytest.mark.parametrize(
    ("readings", "quarters", "problems", "doubts", "failures"),
    [
        (taken(), four(), {"not_your_order": 9, "overloaded": 9}, [], []),
        (taken([*FLAT[:10], *[105.0] * 10]), four(), {}, [], []),
        (taken([*FLAT[:10], *[106.0] * 10]), four(), {}, [], ["memory"]),
        (taken(files=50 + MORE_FILES_MAX), four(), {}, [], []),
        (taken(files=51 + MORE_FILES_MAX), four(), {}, [], ["files"]),
        (taken(threads=4 + MORE_THREADS_MAX), four(), {}, [], ["threads"]),
        (taken(), four(p50_ms=22.0), {}, [], []),  # eleven times as long, as long as that is little
        (taken(), four(p50_ms=22.1), {}, [], ["latency"]),
        (taken(), four(p99_ms=900.0, slow=1_000), {}, [], []),  # of 100,000: one in a hundred
        (taken(), four(p99_ms=900.0, slow=1_001), {}, [], ["latency"]),
        # it was so from the first
        (
            taken(),
            [Quarter(100_000, 2.0, 900.0, slow, 10.0) for slow in (1_500, 1_500, 3_000, 3_000)],
            {},
            [],
            [],
        ),
        (taken(), four(server_cpu_s=15.0), {}, [], []),
        (taken(), four(server_cpu_s=15.1), {}, [], ["processor time"]),
        (taken(), four(server_cpu_s=15.1, answered=200_000), {}, [], []),
        (taken(), four(answered=66_667, server_cpu_s=7.0), {}, [], []),
        # as where a third of the sessions is never answered again
        (taken(), four(answered=66_666, server_cpu_s=7.0), {}, [], ["throughput"]),
        (
            taken(),
            four(answered=0, p50_ms=0.0, p99_ms=0.0, server_cpu_s=0.0),
            {},
            [],
            ["throughput"],
        ),
        (taken(), [Quarter(0, 0.0, 0.0, 0, 10.0)] * 4, {}, [], ["throughput"]),
        (taken(), four(), {"internal": 1}, [], ["answers"]),
        (taken(), four(), {}, ["record: line 7 does not follow"], ["record"]),
    ],
)
def test_a_soak_fails_for_what_does_not_stay_as_it_is(
    readings: list[Reading],
    quarters: list[Quarter],
    problems: dict[str, int],
    doubts: list[str],
    failures: list[str],
) -> None:
    assert failures == [
        words.partition(":")[0] for words in seen(readings, quarters, problems, doubts).failures
    ]


def remembering(megabytes: list[float], short: Reading, full: int) -> list[Reading]:
    """Readings of which the last `full` find as much remembered as may be."""
    remembered = [short] * (READINGS - full) + [FULL] * full
    return [one._replace(megabytes=used) for one, used in zip(remembered, megabytes, strict=True)]


@pytest.mark.parametrize(
    "short",
    [FULL._replace(events=900_000), FULL._replace(keys=900_000), FULL._replace(entries=900_000)],
)
def test_memory_is_judged_once_as_much_is_remembered_as_may_be(short: Reading) -> None:
    """It grows until then; and one reading or two say nothing."""
    doubles = [100.0 + 10 * index for index in range(READINGS)]
    for full, is_judged in (
        (0, False),
        (FULL_READINGS_LEAST - 1, False),
        (FULL_READINGS_LEAST, True),
        (READINGS, True),
    ):
        readings = remembering(doubles, short, full)
        found = seen(readings, four(), {}, [])
        assert (is_judged, not is_judged) == (bool(found.failures), bool(found.not_judged))
    readings = remembering([*doubles[:10], *[200.0] * 10], short, 10)
    assert (10, 1.0, []) == (
        (found := seen(readings, four(), {}, [])).full_from,
        found.growth,
        found.failures,
    )


def test_thirty_minutes_at_the_usual_rate_are_long_enough_for_memory_to_be_judged() -> None:
    """Four of five requests of the load are commands, with an id and an event or more each."""
    commands = 30 * 60 * 3_000 * 4 / 5
    needed = max(
        SETTINGS.limits.history_events_max,
        SETTINGS.limits.history_commands_max,
        SETTINGS.books.close_after_commands,
    )
    assert READINGS * (1 - needed / commands) >= FULL_READINGS_LEAST


def test_times_tell_how_many_were_longer() -> None:
    times = Times()
    for ms in (1, 200, 240, 260, 900):
        times.add(ms / 1_000)
    assert (5, 2) == (times.count, times.above(0.25))


def test_the_report_says_what_was_judged(capsys: pytest.CaptureFixture[str]) -> None:
    tables.show_soak(seen(taken(), four(slow=1_001), {}, []))
    said = capsys.readouterr().out
    assert "judged: memory once it is full, files, threads, throughput, the median," in said
    assert (
        "answers above 250 ms: 0.00% in the first half, 1.00% in the second" in said
        and "FAILED: latency" in said
    )


class Heard(Following):
    """Follows no server: the test passes its events."""

    def __init__(self, *parts: PartAudit) -> None:
        self.n, self.concerned = 0, 0
        self.gaps: list[str] = []
        self.parts = list(parts)

    def _shown(self, host: str) -> list[dict[str, Any]]:
        return []


def placed(n: int, order: str) -> dict[str, Any]:
    wanted = [{"scope": "a", "bid": "1", "limit": "1"}]
    return {
        "n": n,
        "tenant": "ann",
        "event": {
            "type": "order.placed",
            "at": f"2027-01-15T08:00:0{n}Z",
            "order": order,
            "alternatives": wanted,
        },
    }


def test_an_event_that_is_left_out_and_one_that_contradicts_another_are_doubts() -> None:
    heard = Heard(PartAudit(["a/x"]), PartAudit(["b/x"]))
    heard.take(placed(1, "o1"))
    assert ([], 1) == (heard.doubts, heard.concerned)
    heard.take(placed(3, "o2"))  # and all the while o1 could have had a/x
    gap, doubt = heard.doubts
    assert "events: 2 was expected next, 3 came" == gap and doubt.startswith(
        "events: event 3: before it, since"
    )


def test_a_leaf_that_the_service_does_not_show_in_the_end_is_a_doubt() -> None:
    heard = Heard(PartAudit(["a/x", "a/y"]))
    heard.finish(0)
    assert ["leaves: a/x was expected to be shown, and 2 are not"] == heard.doubts


@pytest.mark.slow
def test_the_soak_watches_the_server_and_audits_what_it_did() -> None:
    found = soak.measure(0.04, 500, lambda _: None, leaves=200, tenants=20)
    assert (
        len(found.megabytes) >= READINGS // 4 and min(found.megabytes) > 10 and found.per_second > 0
    )
    assert (
        len(found.files) == len(found.threads) == len(found.megabytes)
        and min(found.files) > 2
        and min(found.threads) >= 1
    )
    assert 4 == len(found.quarters) and all(
        quarter.answered and 0 < quarter.p50_ms <= quarter.p99_ms for quarter in found.quarters
    )
    audited = found.audited
    assert (
        audited.events > 500
        and audited.entries > 500
        and audited.bills >= 200
        and 128 == audited.leaves
        and 500 < audited.concerned
    )
    assert ["memory", "processor time"] == [words.partition(":")[0] for words in found.not_judged]
    # how busy it is here
    assert [] == [
        words
        for words in found.failures
        if not words.startswith(("latency", "throughput", "files"))
    ]
