"""`laissez check`: one command for every promise, each with a seed that repeats what it found."""

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
from laissez_check.campaign import run
from laissez_check.compare import Options, real_market
from laissez_check.integration import count_all
from laissez_check.shrink import report
from laissez_check.small_worlds import DEPTH, check_small_worlds

app = typer.Typer(
    help="Find out whether the market and the service keep their promises.",
    no_args_is_help=True,
    add_completion=False,
)

MANY = 1_000_000_000  # more than anybody waits for

SeedOption: TypeAlias = Annotated[
    int, typer.Option("--seed", min=0, help="The first seed; the others follow it.")
]
JobsOption: TypeAlias = Annotated[
    int, typer.Option("--jobs", min=0, max=1_000, help="Processes; 0 means one per core.")
]


@app.command()
def market(
    histories: Annotated[
        int, typer.Option(min=1, max=MANY, help="How many random histories.")
    ] = 1000,
    seed: SeedOption = 0,
    commands: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Commands per history.")
    ] = 100,
    jobs: JobsOption = 0,
    snapshot_every: Annotated[
        int,
        typer.Option(
            min=0,
            help="Go on in a restored copy of the market every so many commands; 0 means never.",
        ),
    ] = 9,
    shrink: Annotated[
        bool, typer.Option(help="Make a failing history small before it is shown.")
    ] = True,
    output: FormatOption = Format.TABLE,
) -> None:
    """Play random histories in the market and in the oracle, comparing everything after every
    command."""
    options = Options(snapshot_every=snapshot_every, invariants=True)
    started = time.monotonic()
    with counting("histories", histories) as tell:
        outcome = run(
            range(seed, seed + histories),
            commands,
            _processes(jobs, histories),
            options,
            real_market,
            tell,
            shrink,
        )
    counted = {"histories": outcome.histories, "commands": outcome.histories * commands}
    conclude(
        output,
        counted,
        time.monotonic() - started,
        outcome.failure.report if outcome.failure else None,
    )


@app.command()
def integration(output: FormatOption = Format.TABLE) -> None:
    """Count the lines that bring an application into the market, beside the paper's."""
    counts = count_all()
    if output is Format.JSON:
        typer.echo(json.dumps([{**count._asdict(), "holds": count.holds} for count in counts]))
    else:
        typer.echo(f"{'':<18}  {'pricing':>9}  {'profiling':>9}")
        for count in counts:
            ours = (
                f"{count.pricing:>3} of {count.paper_pricing:>2}",
                f"{count.profiling:>3} of {count.paper_profiling:>2}",
            )
            typer.echo(
                f"{count.system:<18}  {ours[0]:>9} "
                f" {ours[1]:>9}{'' if count.holds else '  too many'}"
            )
    if not all(count.holds for count in counts):
        raise typer.Exit(1)


@app.command()
def small_worlds(
    depth: Annotated[
        int, typer.Option(min=1, max=6, help="The most commands in a sequence.")
    ] = DEPTH,
    output: FormatOption = Format.TABLE,
) -> None:
    """Play every sequence of a few commands in worlds of two leaves, comparing everything."""
    started = time.monotonic()
    with counting("sequences", None) as tell:
        finding = check_small_worlds(real_market, depth, tell)
    again = f"laissez check small-worlds --depth {depth}"
    failure = (
        report(finding.history, finding.difference, again)
        if finding.history and finding.difference
        else None
    )
    conclude(output, {"sequences": finding.sequences}, time.monotonic() - started, failure)


@app.command()
def crashes(
    kills: Annotated[
        int, typer.Option(min=1, max=MANY, help="How often the server is killed.")
    ] = 500,
    seed: Annotated[
        int, typer.Option(min=0, help="The first seed; every data folder has one of its own.")
    ] = 0,
    output: FormatOption = Format.TABLE,
) -> None:
    """Kill a real server under load at any moment, start it again, and compare all that anyone was
    told with what it kept."""
    # with all that speaks HTTP, which the other checks do without
    from laissez_check.crashes.run import run as run_crashes

    started = time.monotonic()
    with counting("kills", kills) as tell:
        outcome = run_crashes(kills, seed, tell=tell)
    conclude(output, outcome.counted, time.monotonic() - started, outcome.failure)


@app.command()
def worlds(
    seeds: Annotated[int, typer.Option(min=1, max=MANY, help="How many worlds.")] = 1000,
    seed: SeedOption = 0,
    jobs: JobsOption = 0,
    bug: Annotated[
        str | None, typer.Option(help="Put this mistake into the service, to see it found.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Run the service and its clients on a disk, a network and a clock that fail as the seed says,
    and hold it to its promises."""
    # with all that speaks HTTP, which the other checks do without
    from laissez_check.simulated.bugs import BUGS
    from laissez_check.simulated.campaign import run as run_worlds

    if bug is not None and bug not in BUGS:
        raise typer.BadParameter(
            f"expected one of {', '.join(BUGS)}, found {bug!r}", param_hint="--bug"
        )
    if bug is not None and market_form() == "compiled":
        # A mistake replaces functions, which only the sources let it do.
        os.environ["LAISSEZ_MARKET"] = "interpreted"
        again = [sys.executable, "-m", "laissez.cli", *sys.argv[1:]]
        os.execv(sys.executable, again)  # noqa: S606 (it is this very program)
    started = time.monotonic()
    with counting("worlds", seeds) as tell:
        outcome = run_worlds(range(seed, seed + seeds), _processes(jobs, seeds), bug, tell)
    conclude(
        output,
        outcome.counted,
        time.monotonic() - started,
        outcome.failure,
        {"faults": outcome.faults},
    )


@app.command()
def wire(
    cases: Annotated[
        int,
        typer.Option(
            min=0, max=MANY, help="About how many requests schemathesis makes; 0 does without it."
        ),
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn at random.")] = 0,
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
    # with all that speaks HTTP, which the other checks do without
    from laissez_check.wire import run as run_wire

    inputs = run_wire.chosen(only)
    if not inputs:
        raise typer.BadParameter(
            f"expected a part of the name of a bad input, found {only!r}", param_hint="--only"
        )
    started = time.monotonic()
    with counting("bad inputs", len(inputs)) as tell:
        found = run_wire.bad_inputs(inputs, tell)
    made = 0
    if cases:
        with counting("cases", cases) as tell:
            made, more = run_wire.schema_cases(cases, seed, tell=tell)
            found += more
    failure = run_wire.report(found, cases, seed, only) if found else None
    conclude(
        output, {"bad inputs": len(inputs), "cases": made}, time.monotonic() - started, failure
    )


@app.command()
def damage(
    cases: Annotated[
        int, typer.Option(min=1, max=MANY, help="How many data folders are damaged.")
    ] = 1000,
    seed: SeedOption = 0,
    jobs: JobsOption = 0,
    output: FormatOption = Format.TABLE,
) -> None:
    """Damage a data folder, or let the disk fail under it: it is recovered with all that was
    acknowledged, or refused, saying where."""
    # with all of the service, which the other checks do without
    from laissez_check.damage.run import run as run_damage
    from laissez_check.disk.sqlite_shim import CannotWatch

    started = time.monotonic()
    with counting("cases", cases) as tell:
        try:
            outcome = run_damage(range(seed, seed + cases), _processes(jobs, cases), tell=tell)
        except CannotWatch as error:
            raise typer.BadParameter(str(error)) from None
    kinds = {
        kind: {"recovered": outcome.recovered.get(kind, 0), "refused": outcome.refused.get(kind, 0)}
        for kind in outcome.kinds()
    }
    if output is Format.TABLE:
        for kind, came in kinds.items():
            typer.echo(f"{kind:<28}{came['recovered']:>8} recovered{came['refused']:>8} refused")
    counted = {
        "cases": outcome.cases,
        "recovered": sum(outcome.recovered.values()),
        "refused": sum(outcome.refused.values()),
    }
    conclude(
        output,
        counted,
        time.monotonic() - started,
        outcome.failure,
        {"kinds": kinds} if output is Format.JSON else {},
    )


@app.command()
def access(
    pairs: Annotated[
        int,
        typer.Option(
            min=0, max=MANY, help="How many pairs of worlds that look the same to a tenant."
        ),
    ] = 100,
    seed: SeedOption = 0,
    output: FormatOption = Format.TABLE,
) -> None:
    """Try every operation as everybody on a real server; and see that what a tenant may not see
    changes no byte of what it is told."""
    # with all that speaks HTTP, which the other checks do without
    from laissez_check.access import interference
    from laissez_check.access import run as access

    started = time.monotonic()
    with counting("operations", None) as tell:
        tried = access.run(tell=tell)
    with counting("pairs", pairs) as tell:
        found = interference.run(pairs, seed, tell=tell)
    counted = {**tried.counted, **found.counted}
    failure = "\n".join(filter(None, (tried.failure, found.failure))) or None
    if output is Format.TABLE:
        typer.echo(tried.table())
    answers = {"tried": tried.answers} if output is Format.JSON else {}
    conclude(output, counted, time.monotonic() - started, failure, answers)


@contextmanager
def counting(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar, to be told how many are done; Ctrl-C says how far it came."""
    with progress() as bar:
        task = bar.add_task(what, total=total)
        try:
            yield lambda done: bar.update(task, completed=done)
        except KeyboardInterrupt:
            typer.echo(
                f"stopped after {int(bar.tasks[task].completed)} {what}: nothing found so far",
                err=True,
            )
            raise typer.Exit(130) from None


def _processes(jobs: int, work: int) -> int:
    """One per core unless told otherwise, and none without work."""
    return min(jobs or os.cpu_count() or 1, work)


def conclude(
    output: Format,
    counted: dict[str, int],
    seconds: float,
    failure: str | None,
    more: dict[str, Any] = {},  # noqa: B006  never changed
) -> None:
    """Print the outcome, and leave with 1 if something failed. `more` is for machines."""
    if output is Format.JSON:
        summary: dict[str, Any] = {
            **{name.replace(" ", "_"): count for name, count in counted.items()},
            "seconds": round(seconds, 3),
            "failure": failure,
            **more,
        }
        print(json.dumps(summary))
    elif failure is not None:
        print(failure)
    else:
        print(
            ", ".join(f"{count} {name}" for name, count in counted.items())
            + f", {seconds:.1f} seconds: nothing found"
        )
    if failure is not None:
        raise typer.Exit(1)
