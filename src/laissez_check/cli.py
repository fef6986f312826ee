"""`laissez check`: one command for every promise, each with a seed that repeats its findings.

Commands import the checks of the service themselves, because these need far more packages than the
checks of the market.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeAlias

import typer

from laissez import market_form
from laissez.cli.output import Format, FormatOption
from laissez.cli.progress import progress
from laissez_check import campaign
from laissez_check.compare import Options, real_market
from laissez_check.finding import Outcome
from laissez_check.integration import count_all
from laissez_check.small_worlds import DEPTH, check_small_worlds

app = typer.Typer(
    help="Find out whether the market and the service keep their promises.",
    no_args_is_help=True,
    add_completion=False,
)

MANY = 1_000_000_000  # more than any user waits for


def how_many(help: str, least: int = 1, most: int = MANY) -> Any:
    return typer.Option(min=least, max=most, help=help)


SeedOption: TypeAlias = Annotated[
    int, typer.Option("--seed", min=0, help="The first seed; the others follow it.")
]
JobsOption: TypeAlias = Annotated[
    int, typer.Option("--jobs", min=0, max=1_000, help="Processes; 0 means one per core.")
]


@app.command()
def market(
    histories: Annotated[int, how_many("How many random histories.")] = 1000,
    seed: SeedOption = 0,
    commands: Annotated[int, how_many("Commands per history.", most=1_000_000)] = 100,
    jobs: JobsOption = 0,
    snapshot_every: Annotated[
        int, how_many("Restore a copy and go on in it every so many commands; 0 means never.", 0)
    ] = 9,
    shrink: Annotated[
        bool, typer.Option(help="Make a failing history small before it is shown.")
    ] = True,
    output: FormatOption = Format.TABLE,
) -> None:
    """Play random histories in the market and in the oracle, comparing everything after every
    command."""
    options = Options(snapshot_every=snapshot_every, invariants=True)
    seeds, jobs = _seeds_and_jobs(seed, histories, jobs)
    with concluding(output) as conclude, counting("histories", histories) as tell:
        conclude(campaign.run(seeds, commands, jobs, options, real_market, tell, shrink))


@app.command()
def integration(output: FormatOption = Format.TABLE) -> None:
    """Count the lines that bring an application into the market, beside the paper's."""
    counts = count_all()
    if output is Format.JSON:
        typer.echo(json.dumps([{**count._asdict(), "holds": count.holds} for count in counts]))
    else:
        typer.echo(f"{'':<18}  {'pricing':>9}  {'profiling':>9}")
        for one in counts:
            pricing = f"{one.pricing:>3} of {one.paper_pricing:>2}"
            profiling = f"{one.profiling:>3} of {one.paper_profiling:>2}"
            verdict = "" if one.holds else "  too many"
            typer.echo(f"{one.system:<18}  {pricing:>9}  {profiling:>9}{verdict}")
    if not all(count.holds for count in counts):
        raise typer.Exit(1)


@app.command()
def small_worlds(
    depth: Annotated[int, how_many("The most commands in a sequence.", most=6)] = DEPTH,
    output: FormatOption = Format.TABLE,
) -> None:
    """Play every sequence of a few commands in worlds of two leaves, comparing everything."""
    with concluding(output) as conclude, counting("sequences", None) as tell:
        conclude(check_small_worlds(real_market, depth, tell))


@app.command()
def crashes(
    kills: Annotated[int, how_many("How often the server is killed.")] = 500,
    seed: Annotated[
        int, how_many("The first seed; every data folder has one of its own.", least=0)
    ] = 0,
    output: FormatOption = Format.TABLE,
) -> None:
    """Kill a real server under load at any moment, start it again, and compare all that anyone was
    told with what it kept."""
    from laissez_check import crashes

    with concluding(output) as conclude, counting("kills", kills) as tell:
        conclude(crashes.run(kills, seed, tell=tell))


@app.command()
def worlds(
    seeds: Annotated[int, how_many("How many worlds.")] = 1000,
    seed: SeedOption = 0,
    jobs: JobsOption = 0,
    bug: Annotated[
        str | None, typer.Option(help="Put this mistake into the service, to see it found.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Run the service and its clients on a disk, a network and a clock that fail as the seed says,
    and hold it to its promises."""
    from laissez_check.simulated.bugs import BUGS
    from laissez_check.simulated.campaign import run as run_worlds

    if bug is not None and bug not in BUGS:
        raise typer.BadParameter(
            f"expected one of {', '.join(BUGS)}, found {bug!r}", param_hint="--bug"
        )
    if bug is not None and market_form() == "compiled":
        # A bug replaces functions, which only the sources allow.
        os.environ["LAISSEZ_MARKET"] = "interpreted"
        again = [sys.executable, "-m", "laissez.cli", *sys.argv[1:]]
        os.execv(sys.executable, again)  # noqa: S606 (it is this very program)
    chosen, jobs = _seeds_and_jobs(seed, seeds, jobs)
    with concluding(output) as conclude, counting("worlds", seeds) as tell:
        conclude(run_worlds(chosen, jobs, bug, tell))


@app.command()
def wire(
    cases: Annotated[
        int, how_many("About how many requests schemathesis makes; 0 does without it.", least=0)
    ] = 2000,
    seed: Annotated[int, how_many("The seed of random requests.", least=0)] = 0,
    only: Annotated[str, typer.Option(help="Only the bad inputs whose name has this in it.")] = "",
    output: FormatOption = Format.TABLE,
) -> None:
    """Send a real server hundreds of bad inputs and thousands of requests made from its OpenAPI
    document; every answer must be clear."""
    if cases and importlib.util.find_spec("schemathesis") is None:
        raise typer.BadParameter(
            "schemathesis is not installed: pip install 'laissezcloud-proof[check]', or --cases 0"
            " for the bad inputs alone"
        )
    from laissez_check.wire import run as run_wire

    inputs = run_wire.chosen(only)
    if not inputs:
        raise typer.BadParameter(
            f"expected a part of the name of a bad input, found {only!r}", param_hint="--only"
        )
    with concluding(output) as conclude:
        with counting("bad inputs", len(inputs)) as tell:
            found = run_wire.bad_inputs(inputs, tell)
        made = 0
        if cases:
            with counting("cases", cases) as tell:
                made, more = run_wire.schema_cases(cases, seed, tell=tell)
                found += more
        failure = run_wire.report(found, cases, seed, only) if found else None
        conclude(Outcome({"bad inputs": len(inputs), "cases": made}, failure))


@app.command()
def damage(
    cases: Annotated[int, how_many("How many data folders are damaged.")] = 1000,
    seed: SeedOption = 0,
    jobs: JobsOption = 0,
    output: FormatOption = Format.TABLE,
) -> None:
    """Damage a data folder: it is recovered with everything acknowledged, or refused, saying
    where."""
    from laissez_check.damage.run import run as run_damage
    from laissez_check.disk.sqlite_shim import CannotWatch

    seeds, jobs = _seeds_and_jobs(seed, cases, jobs)
    with concluding(output) as conclude:
        try:
            with counting("cases", cases) as tell:
                outcome = run_damage(seeds, jobs, tell=tell)
        except CannotWatch as error:
            raise typer.BadParameter(str(error)) from None
        if output is Format.TABLE:
            for kind, ends in sorted(outcome.details.get("kinds", {}).items()):
                recovered, refused = ends["recovered"], ends["refused"]
                typer.echo(f"{kind:<28}{recovered:>8} recovered{refused:>8} refused")
        conclude(outcome)


@app.command()
def access(
    pairs: Annotated[
        int, how_many("How many pairs of worlds that look the same to a tenant.", least=0)
    ] = 100,
    seed: SeedOption = 0,
    output: FormatOption = Format.TABLE,
) -> None:
    """Try every operation as everybody on a real server; and see that what a tenant may not see
    changes no byte of what it is told."""
    from laissez_check.access import interference
    from laissez_check.access import run as run_access

    with concluding(output) as conclude:
        with counting("operations", None) as tell:
            tried = run_access.run(tell=tell)
        with counting("pairs", pairs) as tell:
            found = interference.run(pairs, seed, tell=tell)
        if output is Format.TABLE:
            typer.echo(run_access.table(tried.details["tried"]))
        failure = "\n".join(filter(None, (tried.failure, found.failure))) or None
        conclude(Outcome({**tried.counted, **found.counted}, failure, tried.details))


@contextmanager
def counting(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar, to be told how many are done. Ctrl-C says how many were."""
    with progress() as bar:
        task = bar.add_task(what, total=total)
        try:
            yield lambda done: bar.update(task, completed=done)
        except KeyboardInterrupt:
            done = int(bar.tasks[task].completed)
            typer.echo(f"stopped after {done} {what}: nothing found so far", err=True)
            raise typer.Exit(130) from None


def _seeds_and_jobs(seed: int, count: int, jobs: int) -> tuple[range, int]:
    """One job per core by default, and no more jobs than cases."""
    return range(seed, seed + count), min(jobs or os.cpu_count() or 1, count)


@contextmanager
def concluding(output: Format) -> Iterator[Callable[[Outcome], None]]:
    """Print the outcome at the end of the block, and exit with 1 if something failed."""
    started = time.monotonic()
    outcomes: list[Outcome] = []
    yield outcomes.append
    (outcome,) = outcomes
    seconds = time.monotonic() - started
    if output is Format.JSON:
        counts = {name.replace(" ", "_"): count for name, count in outcome.counted.items()}
        ends = {"seconds": round(seconds, 3), "failure": outcome.failure}
        print(json.dumps({**counts, **ends, **outcome.details}))
    elif outcome.failure is not None:
        print(outcome.failure)
    else:
        counts_shown = ", ".join(f"{count} {name}" for name, count in outcome.counted.items())
        print(f"{counts_shown}, {seconds:.1f} seconds: nothing found")
    if outcome.failure is not None:
        raise typer.Exit(1)
