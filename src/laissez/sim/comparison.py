"""Many runs: one scenario, several clouds, many seeds, on all cores.

A job is one seed with all its clouds, so that its tenants are drawn, and run alone, only once. A
job depends on nothing but the scenario and the seed, and the results are sorted at the end: the
number of workers changes no byte.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from laissez.sim.results import RunResult
from laissez.sim.scenario import Scenario, ScenarioError, check_seed
from laissez.sim.setting import Setting
from laissez.sim.simulation import check_cloud
from laissez.workers import cores, deaf_to_interrupts, worker_pool

Job: TypeAlias = "Future[list[RunResult]]"


class ComparisonError(Exception):
    """The clouds or seeds cannot be compared."""


class RunFailed(Exception):
    """A run ended with an error. The message names its seed and its cloud."""


def compare(
    scenario: Scenario,
    clouds: Sequence[str],
    seeds: Sequence[int],
    workers: int | None = None,
    keep_history: bool = False,
    on_run: Callable[[RunResult], None] = lambda run: None,
) -> list[RunResult]:
    """All runs, by seed and then by cloud. `on_run` gets each as soon as it is done."""
    runs = {}
    for run in as_they_finish(scenario, clouds, seeds, workers, keep_history):
        runs[run.seed, run.cloud] = run
        on_run(run)
    return [runs[seed, cloud] for seed in seeds for cloud in clouds]


def as_they_finish(
    scenario: Scenario,
    clouds: Sequence[str],
    seeds: Sequence[int],
    workers: int | None = None,
    keep_history: bool = False,
) -> Iterator[RunResult]:
    """All runs in the order in which they finish. Leaving the loop early ends the workers.

    One worker is this process itself; by default there is one for each core. Without `keep_history`
    the results have no leases and no prices.
    """
    check_clouds(clouds)
    for seed in seeds:
        check_seed(seed)
    _check_distinct("seeds", seeds)
    workers = min(workers or cores(), len(seeds))
    if workers == 1:
        for seed in seeds:
            yield from _runs(scenario, seed, clouds, keep_history)
        return
    with worker_pool(workers) as pool:
        with deaf_to_interrupts():
            jobs = {
                pool.submit(_job, scenario, seed, tuple(clouds), keep_history): seed
                for seed in seeds
            }
        for job in as_completed(jobs):
            yield from _finished(job, jobs)


def check_clouds(clouds: Sequence[str]) -> None:
    for cloud in clouds:
        check_cloud(cloud)
    _check_distinct("clouds", clouds)


def _check_distinct(what: str, given: Sequence[str] | Sequence[int]) -> None:
    if not given:
        raise ComparisonError(f"expected one or more {what}, found none")
    for one, times in Counter(given).items():
        if times > 1:
            raise ComparisonError(f"expected {what} that differ, found {one!r} twice")


def _job(
    scenario: Scenario, seed: int, clouds: tuple[str, ...], keep_history: bool
) -> list[RunResult]:
    return list(_runs(scenario, seed, clouds, keep_history))


def _runs(
    scenario: Scenario, seed: int, clouds: Sequence[str], keep_history: bool
) -> Iterator[RunResult]:
    with _naming(seed, "the tenants alone"):
        setting = Setting(scenario, seed)
    for cloud in clouds:
        with _naming(seed, f"cloud {cloud}"):
            run = setting.run(cloud)
        yield run if keep_history else replace(run, prices=(), leases=())


@contextmanager
def _naming(seed: int, what: str) -> Iterator[None]:
    """Name the run in an error. A run can be repeated exactly, so its place in the code suffices.

    A mistake in the scenario is not the run's: it passes as it is.
    """
    try:
        yield
    except ScenarioError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise RunFailed(
            f"seed {seed}, {what}: {why} ({Path(place.filename).name}, line {place.lineno})"
        ) from error


def _finished(job: Job, jobs: dict[Job, int]) -> list[RunResult]:
    try:
        return job.result()
    except BrokenProcessPool:
        pending = [
            str(seed)
            for other, seed in jobs.items()
            if other is job or not other.done() or other.exception() is not None
        ]
        raise RunFailed(
            f"a worker process died with seeds {', '.join(pending)} not done: out of memory,"
            " perhaps, and fewer workers would do; in a script of your own, call this below `if"
            ' __name__ == "__main__":`'
        ) from None
