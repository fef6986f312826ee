"""`laissez sim`: simulate clouds, and compare them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from laissez.cli.arguments import checked, new_file, out_folder
from laissez.cli.errors import EXIT_INTERRUPTED
from laissez.cli.output import Format, FormatOption, arg, group, opt
from laissez.cli.progress import WeightedProgress, progress
from laissez.cli.sim_journal import from_journal
from laissez.cli.sim_tables import run_in_figures, show_run, show_summary
from laissez.cli.tables import show_json
from laissez.sim.boxplot import PlotError, caption, check_plot, retentions, write_boxplot
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

app = group("Simulate clouds and compare them.")
app.command("from-journal")(from_journal)


def known_cloud(text: str) -> str:
    return checked(check_cloud, text, ScenarioError)


def known_clouds(text: str) -> list[str]:
    clouds = [part.strip() for part in text.split(",")]
    return checked(check_clouds, clouds, ScenarioError, ComparisonError)


def plot_file(path: Path | None) -> Path | None:
    new_file(path)
    return None if path is None else checked(check_plot, path, PlotError)


ScenarioArgument: TypeAlias = Annotated[Path, arg("The scenario, a TOML file.", metavar="SCENARIO")]
OutOption: TypeAlias = Annotated[
    Path | None,
    opt("Write all results as CSV files into this folder.", metavar="DIR", callback=out_folder),
]


@app.command()
def run(
    scenario: ScenarioArgument,
    cloud: Annotated[
        str, opt(f"One of {', '.join(CLOUDS)}.", parser=known_cloud, metavar="CLOUD")
    ] = "market",
    seed: Annotated[int, opt("Decides which tenants arrive, and when.", min=0)] = 0,
    out: OutOption = None,
    timeline: Annotated[
        Path | None,
        opt(
            "Write a page that shows each GPU's holders and prices over time.",
            metavar="FILE.html",
            callback=new_file,
        ),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Run one cloud under one seed, and show the result."""
    if out is not None:
        check_folder(out, with_history=True)
    result = run_with_bar(read_scenario(scenario), cloud, seed)
    if out is not None:
        write_csv_files([result], out)
    if timeline is not None:
        write_timeline(result, timeline)
    if output is Format.JSON:
        show_json(run_in_figures(result))
    else:
        show_run(result)
        print_written(out, timeline)


def run_with_bar(scenario: Scenario, cloud: str, seed: int) -> RunResult:
    """The bar shows first what each tenant achieves alone, then virtual time."""
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
        opt(
            f"Some of {', '.join(CLOUDS)}, separated by commas. Default: all.",
            parser=known_clouds,
            metavar="CLOUDS",
        ),
    ] = ",".join(CLOUDS),
    seeds: Annotated[int, opt("Seeds, the same for every cloud.", min=1, max=SEEDS_MAX)] = 20,
    first_seed: Annotated[int, opt("The first seed; the others follow it.", min=0)] = 0,
    workers: Annotated[
        int, opt("Processes; 0 means one per core. The results do not depend on it.", min=0)
    ] = 0,
    out: OutOption = None,
    keep_history: Annotated[
        bool,
        opt("Write prices and leases over time too.", "--keep-history"),
    ] = False,
    plot: Annotated[
        Path | None,
        opt("Draw a box plot of retention.", metavar="FILE.svg|.png", callback=plot_file),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Run several clouds under many seeds, on all cores, and compare them."""
    names: list[str] = list(clouds)  # parsed already
    if out is not None:
        check_folder(out, keep_history)
    described = read_scenario(scenario)
    if plot is not None and not described.tenants.count:
        raise PlotError(
            f"{plot}: expected tenants whose retention can be drawn, found a scenario with"
            " tenants.count = 0"
        )
    done: list[RunResult] = []
    total = len(names) * seeds
    progress_of_runs = WeightedProgress("runs", total, total)
    with progress_of_runs.bar:

        def on_run(run: RunResult) -> None:
            done.append(run)
            progress_of_runs.end()

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
                save_partial(done, total, names, out)
            raise
        except KeyboardInterrupt:
            save_partial(done, total, names, out)
            raise typer.Exit(EXIT_INTERRUPTED) from None
    if out is not None:
        write_csv_files(runs, out)
    if plot is not None:
        values = retentions(runs)
        write_boxplot(values, plot, runs[0].scenario, caption(len(values[names[0]]), seeds))
    if output is Format.JSON:
        show_json(summarise(runs))
    else:
        show_summary(summarise(runs))
        print_written(out, plot)


def save_partial(done: list[RunResult], total: int, clouds: list[str], out: Path | None) -> None:
    """Keep the runs that are done, which may have taken hours."""
    typer.echo(f"stopped after {len(done)} of {total} runs", err=True)
    if out is not None and done:
        write_csv_files(sorted(done, key=lambda run: (run.seed, clouds.index(run.cloud))), out)
        typer.echo(f"written: {out}, with these {len(done)}", err=True)


def print_written(*files: Path | None) -> None:
    if any(files):
        typer.echo(f"\nwritten: {', '.join(str(path) for path in files if path)}")
