"""Many worlds, on all cores, until one of them breaks a promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

import msgspec

from laissez_check.campaign import in_order
from laissez_check.simulated.promises import PROMISES
from laissez_check.simulated.world import Verdict, play


class Outcome(msgspec.Struct, frozen=True):
    """How far it came, in numbers; which faults were met how often; what was found."""

    counted: dict[str, int]
    faults: dict[str, int]
    failure: str | None


def run(
    seeds: range,
    jobs: int = 1,
    bug: str | None = None,
    tell: Callable[[int], None] = lambda worlds: None,
) -> Outcome:
    """Play the world of every seed; stop at the first that breaks a promise. `tell` is told how
    many are done."""
    counted: Counter[str] = Counter(worlds=0)
    faults: Counter[str] = Counter()
    for verdict in in_order(seeds, partial(play, bug=bug), jobs):
        counted.update(worlds=1, **verdict.counted)
        faults.update(verdict.faults)
        if verdict.failure is not None:
            return Outcome(dict(counted), dict(faults), report(verdict, bug))
        tell(counted["worlds"])
    return Outcome(dict(counted), dict(faults), None)


def report(verdict: Verdict, bug: str | None) -> str:
    """What was promised, what was found, what happened before, and how to see it again."""
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
