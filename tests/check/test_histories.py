"""The market against the oracle, on random histories and on every small one."""

from __future__ import annotations

import os

import pytest

import laissez
from laissez_check.campaign import run
from laissez_check.compare import Options, real_market
from laissez_check.small_worlds import check_small_worlds

COMPILED = laissez.market_form() == "compiled"
HISTORIES = int(os.environ.get("LAISSEZ_HISTORIES") or (1_200 if COMPILED else 60))
CHUNKS = 20  # so that parallel test runners share the work


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_histories_agree_with_the_oracle(chunk: int) -> None:
    share = -(-HISTORIES // CHUNKS)
    seeds = range(chunk * share, (chunk + 1) * share)
    outcome = run(
        seeds,
        commands=100,
        jobs=1,
        options=Options(snapshot_every=9, invariants=True),
        make_market=real_market,
    )
    assert outcome.failure is None, outcome.failure
    assert share == outcome.counted["histories"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(90_000, 90_003))
def test_long_histories_agree_with_the_oracle(seed: int) -> None:
    commands = 1_000 if HISTORIES >= 1_000 else 250
    outcome = run(
        range(seed, seed + 1),
        commands,
        jobs=1,
        options=Options(snapshot_every=50),
        make_market=real_market,
    )
    assert outcome.failure is None, outcome.failure


@pytest.mark.slow
def test_every_sequence_in_the_smallest_worlds_agrees_with_the_oracle() -> None:
    outcome = check_small_worlds(real_market, depth=4 if COMPILED else 3)
    assert outcome.failure is None, outcome.failure
    assert outcome.counted["sequences"] > (50_000 if COMPILED else 4_000)
