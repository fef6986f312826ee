"""`laissez paper`: every figure of the paper from our own runs, and the outcome of its claims."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Final

import typer

from laissez.cli.arguments import own_folder
from laissez.cli.errors import EXIT_FAILED, EXIT_INTERRUPTED
from laissez.cli.output import Format, FormatOption
from laissez.cli.progress import WeightedProgress
from laissez.cli.sim import SEEDS_MAX
from laissez.cli.tables import show_json
from laissez.operators.fields import TraceError as PowerError
from laissez.operators.sources.csv_trace import CsvTrace
from laissez.sim.workloads.inference import read_bins
from laissez.tenants.traces import TraceError
from laissez.workers import cores
from laissez_experiments.catalogue import EXPERIMENTS
from laissez_experiments.cli_tables import outcome_line, show_claims, show_experiments
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment
from laissez_experiments.lab.findings import Claim
from laissez_experiments.lab.plan import QUICK_SEEDS, SEEDS, Plan
from laissez_experiments.lab.store import StoreError
from laissez_experiments.report.page import REPORT
from laissez_experiments.report.run import Outcome
from laissez_experiments.reproduce import CELLS, Reproduction, Watch, check_tools

OUT: Final = Path("laissez-paper")
# quick results must not take the place of true ones
QUICK_OUT: Final = Path("laissez-paper-quick")


def paper(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Experiments; all unless given. --list names them."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="A small version of each: shows that everything works, not what is true.",
        ),
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            min=1,
            max=SEEDS_MAX,
            help=f"How many seeds; {SEEDS} unless given, {QUICK_SEEDS} with --quick.",
        ),
    ] = None,
    trace: Annotated[
        list[Path] | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="A trace of requests: Azure's .csv or Mooncake's .jsonl. Again for more.",
        ),
    ] = None,
    power: Annotated[
        list[Path] | None,
        typer.Option(
            "--power", metavar="FILE", help="A trace of power, Google's .csv. Again for more."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help=f"Where everything goes and is kept; {OUT} or {QUICK_OUT} unless given.",
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            min=0,
            help="Processes; 0 means one per core. The results do not depend on it.",
        ),
    ] = 0,
    only_list: Annotated[
        bool, typer.Option("--list", help="List the experiments, and do nothing.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Reproduce every figure of the paper, and check every claim: a report, figures and data.

    Takes well over half an hour; a stopped run resumes.
    """
    chosen = known(names or [])
    if only_list:
        show_experiments(chosen, output)
        return
    plan = Plan(
        seeds=seeds or (QUICK_SEEDS if quick else SEEDS),
        quick=quick,
        traces=tuple(map(readable_trace, trace or [])),
        power=tuple(map(readable_power, power or [])),
    )
    check_tools()
    folder = own_folder(out or (QUICK_OUT if quick else OUT), CELLS)
    reproduction = Reproduction(plan, chosen, folder, Shown(workers or cores()), workers or cores())
    claims = watched(reproduction)
    if output is Format.JSON:
        show_json(claims)
    else:
        show_claims(claims)
        typer.echo(f"\nreport: {folder / REPORT}")
    if reproduction.failures:
        raise typer.Exit(EXIT_FAILED)


def known(names: Sequence[str]) -> list[Experiment]:
    """The experiments named, in the order of the catalogue; all of them if no name is given."""
    for name in names:
        if name not in EXPERIMENTS:
            near = get_close_matches(name, EXPERIMENTS, 1)
            hint = f" (perhaps {near[0]})" if near else ""
            raise typer.BadParameter(
                f"expected one of {', '.join(EXPERIMENTS)}, found {name!r}{hint}", param_hint="NAME"
            )
    return [one for name, one in EXPERIMENTS.items() if not names or name in names]


def readable_trace(path: Path) -> Path:
    """The path of a trace that can be read. A broken one is found before anything runs."""
    try:
        read_bins(path)
    except TraceError as error:
        raise typer.BadParameter(str(error), param_hint="--trace") from None
    return path.resolve()


def readable_power(path: Path) -> Path:
    try:
        CsvTrace(file=path)
    except PowerError as error:
        raise typer.BadParameter(str(error), param_hint="--power") from None
    return path.resolve()


def watched(reproduction: Reproduction) -> list[Claim]:
    """A run with a bar. All finished cells are kept when it stops."""
    try:
        return reproduction.run()
    except (StoreError, KeyboardInterrupt) as error:
        reproduction.watch.close()
        kept, wanted = reproduction.kept()
        where = reproduction.store.folder
        typer.echo(
            f"stopped: {kept:,} of {wanted:,} cells are done and kept in {where}; the same command"
            " goes on from there",
            err=True,
        )
        if isinstance(error, StoreError):
            raise
        raise typer.Exit(EXIT_INTERRUPTED) from None
    finally:
        reproduction.watch.close()


class Shown(Watch):
    """In a terminal a bar, and everywhere a line for each experiment."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._bar = WeightedProgress("cells", 0, 0.0)

    def begins(self, missing: Sequence[Cell], wanted: int) -> None:
        self._bar = WeightedProgress("cells", len(missing), sum(map(self._weight, missing)))
        self._bar.bar.start()
        if wanted > len(missing):
            self._bar.say(
                f"{wanted - len(missing):,} of {wanted:,} cells are there from an earlier run"
            )

    def done(self, cell: Cell) -> None:
        self._bar.end(self._weight(cell))

    def draws(self, experiment: Experiment) -> None:
        self._bar.begin(f"figure of {experiment.name}")

    def found(self, outcome: Outcome) -> None:
        self._bar.begin("cells")
        self._bar.say(outcome_line(outcome))

    def close(self) -> None:
        self._bar.bar.stop()

    def _weight(self, cell: Cell) -> float:
        """A cell that has the machine for itself keeps all workers waiting."""
        return cell.weight * (self.workers if cell.is_alone else 1)
