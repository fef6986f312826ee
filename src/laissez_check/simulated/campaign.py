"""Many worlds, on all cores, until one of them breaks a promise."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from laissez_check.campaign import play_all
from laissez_check.finding import Outcome
from laissez_check.simulated.promises import PROMISES
from laissez_check.simulated.world import Verdict, play


def run(
    seeds: range,
    jobs: int = 1,
    bug: str | None = None,
    tell: Callable[[int], None] = lambda worlds: None,
) -> Outcome:
    """Play the world of every seed, and stop at the first that breaks a promise."""
    return play_all(seeds, partial(_play, bug), jobs, tell)


def _play(bug: str | None, seed: int) -> Outcome:
    verdict = play(seed, bug)
    failure = None if verdict.failure is None else report(verdict, bug)
    return Outcome({"worlds": 1, **verdict.counted}, failure, {"faults": verdict.faults})


def report(verdict: Verdict, bug: str | None) -> str:
    """The promise, the finding, the story before it, and the command that repeats it."""
    assert verdict.failure is not None
    number = verdict.failure.partition(":")[0]
    promised = f"{number}: {PROMISES[number].text}\n" if number in PROMISES else ""
    faults = (
        ", ".join(f"{count} {name}" for name, count in sorted(verdict.faults.items())) or "none"
    )
    again = f"laissez check worlds --seeds 1 --seed {verdict.seed}" + (
        f" --bug {bug}" if bug else ""
    )
    story = "\n".join(verdict.story)
    return f"{promised}found: {verdict.failure}\n\n{story}\n\nfaults met: {faults}\nagain: {again}"
