"""`laissez sim`: simulate clouds, and compare them."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from laissez.cli.exits import EXIT_INTERRUPTED
from laissez.cli.output import Format, FormatOption, JsonFlag
from laissez.cli.progress import progress
from laissez.cli.sim_journal import from_journal
from laissez.cli.sim_paths import new_file, out_folder, plot_file
from laissez.cli.sim_tables import run_in_figures, show_run, show_summary
from laissez.cli.tables import show_json
from laissez.sim.boxplot import PlotError, caption, retentions, write_boxplot
from laissez.sim.comparison import ComparisonError, RunFailed, check_clouds
from laissez.sim.comparison import compare as compare_clouds
from laissez.sim.csv_files import check_folder, write_csv_files
from laissez.sim.results import RunResult
from laissez.sim.scenario import Scenario, ScenarioError
from laissez.sim.scenario_file import read_scenario
from laissez.sim.setting import Setting
from laissez.sim.simulation import CLOUDS, check_cloud
from laissez.sim.summary import summarise
from laissez.sim.timeline import write_timeline
from laissez.units import SECOND_US

SEEDS_MAX = 10_000
MINUTE_US = 60 * SECOND_US

app = typer.Typer(
    help="Simulate clouds and compare them.", no_args_is_help=True, add_completion=False
)
app.command("from-journal")(from_journal)


def known_cloud(text: str) -> str:
    try:
        check_cloud(text)
    except ScenarioError as error:
        raise typer.BadParameter(str(error)) from None
    return text


def known_clouds(text: str) -> list[str]:
    clouds = [part.strip() for part in text.split(",")]
    try:
        check_clouds(clouds)
    except (ScenarioError, ComparisonError) as error:
        raise typer.BadParameter(str(error)) from None
    return clouds


ScenarioArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="SCENARIO", help="The scenario, a TOML file.")
]
OutOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        callback=out_folder,
        help="Write all results as CSV files into this folder.",
    ),
]


@app.command()
def run(
    scenario: ScenarioArgument,
    cloud: Annotated[
        str,
        typer.Option(
            "--cloud", parser=known_cloud, metavar="CLOUD", help=f"One of {', '.join(CLOUDS)}."
        ),
    ] = "market",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Which tenants come, and when.")] = 0,
    out: OutOption = None,
    timeline: Annotated[
        Path | None,
        typer.Option(
            "--timeline",
            metavar="FILE.html",
            callback=new_file,
            help="Write a page that shows who held what, at which price, over time.",
        ),
    ] = None,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Run one cloud under one seed, and show what came of it."""
    if out is not None:
        check_folder(out, with_history=True)
    result = watched(read_scenario(scenario), cloud, seed)
    if out is not None:
        write_csv_files([result], out)
    if timeline is not None:
        write_timeline(result, timeline)
    if as_json or output is Format.JSON:
        show_json(run_in_figures(result))
    else:
        show_run(result)
        say_where(out, timeline)


def watched(scenario: Scenario, cloud: str, seed: int) -> RunResult:
    """A run with a bar: first what each tenant achieves alone, then virtual time."""
    with progress() as bar:
        alone = bar.add_task("tenants alone", total=scenario.tenants.count)
        setting = Setting(scenario, seed, on_alone=lambda done: bar.update(alone, completed=done))
        minutes = bar.add_task("virtual minutes", total=None)
        return setting.run(
            cloud,
            lambda now, until: bar.update(
                minutes, completed=now // MINUTE_US, total=until // MINUTE_US
            ),
        )


@app.command()
def compare(
    scenario: ScenarioArgument,
    clouds: Annotated[
        str,
        typer.Option(
            "--clouds",
            parser=known_clouds,
            metavar="CLOUDS",
            help=f"Some of {', '.join(CLOUDS)}, with commas between; all unless given.",
        ),
    ] = ",".join(CLOUDS),
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds", min=1, max=SEEDS_MAX, help="How many seeds; every cloud gets the same."
        ),
    ] = 20,
    first_seed: Annotated[
        int, typer.Option("--first-seed", min=0, help="The first seed; the others follow it.")
    ] = 0,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            min=0,
            help="Processes; 0 means one per core. The results do not depend on it.",
        ),
    ] = 0,
    out: OutOption = None,
    keep_history: Annotated[
        bool,
        typer.Option(
            "--keep-history",
            help="Write prices and leases over time too; with many seeds, large files.",
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE.svg|.png",
            callback=plot_file,
            help="Draw a box plot of the tenants' retention.",
        ),
    ] = None,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Run several clouds under many seeds, on all cores, and show how they differ."""
    names: list[str] = list(clouds)  # what the parser made of it
    if out is not None:
        check_folder(out, keep_history)
    described = read_scenario(scenario)
    if plot is not None and not described.tenants.count:
        raise PlotError(
            f"{plot}: expected tenants whose retention can be drawn, found a scenario with"
            " tenants.count = 0"
        )
    done: list[RunResult] = []
    with progress() as bar:
        # runs come in bursts, minutes apart: the time left is told from all of them
        bar.speed_estimate_period = inf
        task = bar.add_task("runs", total=len(names) * seeds)
        bar.advance(task, 0)  # and from the very beginning

        def on_run(run: RunResult) -> None:
            done.append(run)
            bar.advance(task)

        try:
            runs = compare_clouds(
                described,
                names,
                range(first_seed, first_seed + seeds),
                workers or None,
                keep_history,
                on_run,
            )
        except (RunFailed, ScenarioError):
            if done:
                say_stopped(done, len(names) * seeds, names, out)
            raise
        except KeyboardInterrupt:
            say_stopped(done, len(names) * seeds, names, out)
            raise typer.Exit(EXIT_INTERRUPTED) from None
    if out is not None:
        write_csv_files(runs, out)
    if plot is not None:
        values = retentions(runs)
        write_boxplot(values, plot, runs[0].scenario, caption(len(values[names[0]]), seeds))
    if as_json or output is Format.JSON:
        show_json(summarise(runs))
    else:
        show_summary(summarise(runs))
        say_where(out, plot)


def say_stopped(done: list[RunResult], of: int, clouds: list[str], out: Path | None) -> None:
    """And keep what is done: it may have taken hours."""
    typer.echo(f"stopped after {len(done)} of {of} runs", err=True)
    if out is not None and done:
        write_csv_files(sorted(done, key=lambda run: (run.seed, clouds.index(run.cloud))), out)
        typer.echo(f"written: {out}, with these {len(done)}", err=True)


def say_where(*written: Path | None) -> None:
    if any(written):
        typer.echo(f"\nwritten: {', '.join(str(path) for path in written if path)}")
