"""The contents of a report: the outcome of each experiment, and all that a reader needs to trust
it, or to run it again."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec

import laissez
from laissez.workers import cores
from laissez_experiments.lab.experiment import Experiment
from laissez_experiments.lab.findings import Claim, Findings
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.processor import processor


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of one experiment: its findings and their files; or the missing input; or the
    error."""

    experiment: Experiment
    findings: Findings | None = None
    files: Sequence[str] = ()
    missing: str = ""
    failed: str = ""

    @property
    def why_not(self) -> str:
        """The reason that there are no findings."""
        return f"failed: {self.failed}" if self.failed else f"not run, needs {self.missing}"

    @property
    def claims(self) -> Sequence[Claim]:
        """The claims, under the name of the experiment."""
        found = () if self.findings is None else self.findings.claims
        return [msgspec.structs.replace(claim, figure=self.experiment.name) for claim in found]


class InputFile(msgspec.Struct, frozen=True):
    """A real trace that was used, identified by its digest."""

    name: str
    sha256: str


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """`cells` is the number behind all figures; `kept_cells` of them were there from an earlier
    run. `seconds` are those of this run alone. `fewer_seeds` has the experiments that took only the
    first of the seeds, with their numbers.
    """

    date: str
    version: str
    python: str
    market: str
    cpu: str
    cores: int
    workers: int
    seeds: int
    fewer_seeds: Mapping[str, int]
    quick: bool
    traces: Sequence[InputFile]
    power: Sequence[InputFile]
    experiments: Sequence[str]
    not_run: Mapping[str, str]
    cells: int
    kept_cells: int
    seconds: float


def run_of(
    plan: Plan,
    outcomes: Sequence[Outcome],
    workers: int,
    cells: int,
    kept_cells: int,
    seconds: float,
) -> Run:
    """Here and now."""
    return Run(
        date=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        version=laissez.__version__,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        market=laissez.market_form(),
        cpu=processor(),
        cores=cores(),
        workers=workers,
        seeds=plan.seeds,
        fewer_seeds={
            one.experiment.name: own
            for one in outcomes
            if one.findings and (own := one.experiment.own(plan).seeds) < plan.seeds
        },
        quick=plan.quick,
        traces=[_input(path) for path in plan.traces],
        power=[_input(path) for path in plan.power],
        experiments=[one.experiment.name for one in outcomes if one.findings is not None],
        not_run={one.experiment.name: one.why_not for one in outcomes if one.findings is None},
        cells=cells,
        kept_cells=kept_cells,
        seconds=round(seconds, 1),
    )


def _input(path: Path) -> InputFile:
    return InputFile(path.name, sha256(path.read_bytes()).hexdigest())
