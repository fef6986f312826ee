"""`laissez check damage`: damaged data folders, and the bugs that it must find."""

from __future__ import annotations

import json
import random
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from laissez.wire.ids import tag_of, webhook_id
from laissez.wire.webhooks import DeadLetter
from laissez_check import cli
from laissez_check.damage import run as damage
from laissez_check.damage.beside_started import check_record, check_webhooks, start
from laissez_check.damage.bugs import BUGS
from laissez_check.damage.samples import SAMPLES, sample, write_files
from laissez_check.disk.faulty import FaultyDisk
from laissez_check.disk.sqlite_shim import CannotWatch
from laissez_check.finding import Finding, Outcome

pytestmark = pytest.mark.once

# Where each bug is found soon: the check itself begins at 0.
SEEDS = dict.fromkeys(BUGS, 0) | {
    "snapshot_not_checked": 60,
    "digest_not_checked": 560,
    "any_line_goes_on": 1380,
}
CASES = 120
ANN = webhook_id(tag_of("ann"), 1)


@pytest.fixture(autouse=True)
def sqlite_can_be_watched(tmp_path: Path) -> None:
    try:
        with FaultyDisk(tmp_path, random.Random(0)):
            pass
    except CannotWatch as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_what_is_damaged_is_recovered_completely_or_refused() -> None:
    outcome = damage.run(range(CASES))
    assert outcome.failure is None
    assert outcome.counted["recovered"] > CASES / 3
    assert outcome.counted["refused"] > CASES / 5


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_put_in_on_purpose_is_found(bug: str) -> None:
    outcome = damage.run(range(SEEDS[bug], SEEDS[bug] + CASES), bug=bug)
    assert outcome.failure is not None
    assert "again: laissez check damage --cases 1 --seed " in outcome.failure


def test_a_case_is_the_same_each_time() -> None:
    found = next(
        case
        for case in (damage.play(seed, "chain_not_checked") for seed in range(40))
        if case.finding
    )
    assert found == damage.play(found.seed, "chain_not_checked")
    files = sample(2).files
    sample.cache_clear()
    assert files.keys() == sample(2).files.keys()
    assert [] == [
        name
        for name, content in files.items()
        if content != sample(2).files[name] and name != "journal.lock"
    ]


def test_samples_have_documents_snapshots_and_logs_of_every_kind() -> None:
    samples = [sample(number) for number in range(SAMPLES)]
    assert all(
        len([name for name in one.files if name.startswith("snapshots/")]) == 2 for one in samples
    )
    assert any(documents for one in samples for _, _, documents in one.truth.groups)
    assert {True, False} == {bool(one.files.get("journal.db-wal")) for one in samples}


def test_samples_have_all_that_a_service_keeps_beside_the_journal() -> None:
    samples = [sample(number) for number in range(SAMPLES)]
    for one in samples:
        assert {"keys/webhooks.key", "beside.db"} <= one.files.keys()
        assert 2 <= len(one.beside.digests) < len(one.beside.lines)
        assert 2 == len(one.beside.cursors)
    assert any(len(one.beside.letters) == 2 for one in samples) and any(
        cursor.delivered for one in samples for cursor in one.beside.cursors.values()
    )


def test_a_sample_that_nobody_damaged_starts_without_a_word(tmp_path: Path) -> None:
    whole = sample(0)
    write_files(tmp_path / "data", {**whole.files})
    found = start(tmp_path / "data")
    assert [] == found.said
    check_webhooks(found, whole.beside, False)
    check_record(tmp_path / "data", whole.beside, False, found.said)


@pytest.mark.parametrize(
    ("delivered", "letters", "key", "words"),
    [
        (1, None, None, "events of whk_h5gv4yoo1 are passed over"),
        (-1, None, None, "begins again after"),
        (0, [], None, "the dead letters of whk_h5gv4yoo1 are not those that were written"),
        (0, None, b"another", "is signed for with another secret"),
    ],
)
def test_what_a_start_makes_of_webhooks_is_compared_with_what_was_written(
    delivered: int,
    letters: list[DeadLetter] | None,
    key: bytes | None,
    words: str,
    tmp_path: Path,
) -> None:
    whole = next(
        one
        for one in map(sample, range(SAMPLES))
        if ANN in one.beside.letters and one.beside.cursors[ANN].delivered
    )
    write_files(tmp_path / "data", {**whole.files})
    found, kept = (
        start(tmp_path / "data"),
        msgspec.structs.replace(whole.beside, key=key or whole.beside.key),
    )
    found.delivered[ANN] += delivered
    found.letters[ANN] = found.letters[ANN] if letters is None else letters
    with pytest.raises(Finding, match=words):
        check_webhooks(found, kept, False)
    found.said.append("something")
    if delivered <= 0:
        check_webhooks(found, kept, False)


def test_a_failure_is_shown_and_leaves_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    again = "again: laissez check damage --cases 1 --seed 3"
    kinds = {"flipped": {"recovered": 2, "refused": 1}}
    found = Outcome({"cases": 3}, f"lost\n{again}", {"kinds": kinds})
    monkeypatch.setattr(damage, "run", lambda seeds, jobs, tell: found)
    result = CliRunner().invoke(cli.app, ["damage", "--cases", "5", "-o", "json"])
    said = json.loads(result.stdout)
    assert (1, 3, kinds) == (result.exit_code, said["cases"], said["kinds"])
    assert "--seed 3" in said["failure"]
