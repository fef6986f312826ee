"""What it is worth to training jobs that they can bid for a GPU beside one they have (the paper's figure of topology-sensitive placements)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Final

import msgspec

from laissez.experiments.lab.cell import Cell
from laissez.experiments.lab.experiment import Experiment, Results
from laissez.experiments.lab.findings import TOO_FEW, Claim, Findings, interval
from laissez.experiments.lab.plan import Plan
from laissez.experiments.lab.regimes import sized
from laissez.experiments.lab.style import ACCENT, THIRD, dress, new_figure, with_tips
from laissez.experiments.topology.run import Both, Bound, Side, Spreading, TopologyRun
from laissez.sim.boxplot import INK, SOFT
from laissez.sim.scenario import Scenario, TenantsTable
from laissez.sim.statistics import Bootstrap, Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCENARIO: Final = Scenario(name="training only", demand=1.5, tenants=TenantsTable(count=10, mix={"training": 1.0}))
MODELS: Final = SCENARIO.training.models
GPUS: Final = tuple(SCENARIO.cluster.shares)
GPUS_PER_HOST: Final = SCENARIO.cluster.gpus_per_host
SMALL_BATCH: Final = 64  # where hosts matter most: the fewer samples an iteration has, the more of its time goes into the all-reduce
BATCHES: Final[tuple[int | None, ...]] = (None, SMALL_BATCH)
NEARLY_DOUBLE: Final = 1.9
HEIGHT_IN: Final = 3.1
APART: Final = 0.16  # a mean is drawn so far outside of its dots


class Ratio(msgspec.Struct, frozen=True):
    """All seeds with one batch: topology-aware over oblivious."""

    global_batch: int | None
    seeds: Sequence[Both]
    performance: Estimate
    gpus_per_host: Estimate
    bound: float  # times that a full host is faster than its GPUs spread, one to a host

    @property
    def name(self) -> str:
        return "Sailor's batches" if self.global_batch is None else f"batches of {self.global_batch}"


class Topology(Experiment):
    name = "topology"
    title = "Topology-aware bidding"
    takes_half = True

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return [_bound(), *(_run(plan, seed, batch) for seed in plan.all_seeds for batch in BATCHES)]

    def findings(self, plan: Plan, results: Results) -> Findings:
        speeds: list[Spreading] = results[_bound()]
        ratios = [_ratio(batch, [results[_run(plan, seed, batch)] for seed in plan.all_seeds], speeds) for batch in BATCHES]
        return Findings(
            claims=[*map(_doubles, ratios), *map(_gathers, ratios)],
            text=_text(plan, ratios, speeds),
            rows=_rows(plan, ratios),
            draw=lambda: _draw(ratios, speeds),
            tips=_tips(ratios),
        )


def _bound() -> Bound:
    return Bound(models=MODELS, gpus=GPUS, gpus_per_host=GPUS_PER_HOST, global_batches=BATCHES)


def _run(plan: Plan, seed: int, global_batch: int | None) -> TopologyRun:
    return TopologyRun(scenario=sized(SCENARIO, plan), seed=seed, global_batch=global_batch)


def _ratio(global_batch: int | None, seeds: Sequence[Both], speeds: Sequence[Spreading]) -> Ratio:
    return Ratio(
        global_batch,
        seeds,
        _times([both.aware.performance for both in seeds], [both.oblivious.performance for both in seeds]),
        _times([both.aware.gpus_per_host for both in seeds], [both.oblivious.gpus_per_host for both in seeds]),
        max(gain for one, gain in gains(speeds) if one.global_batch == global_batch),
    )


def _times(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """Our mean over theirs, seed by seed: how far ours is on the way from nothing to theirs."""
    found = Bootstrap(len(ours)).part_of_the_way(ours, [0.0] * len(ours), theirs)
    assert found is not None, "jobs on a market get something done"
    return found


def gains(speeds: Sequence[Spreading]) -> list[tuple[Spreading, float]]:
    """For each model, type and batch, its GPUs one to a host, and how many times as fast they are in one."""
    whole = {(one.model, one.gpu, one.global_batch): one.samples_per_s for one in speeds if one.hosts == 1}
    return [(one, whole[one.model, one.gpu, one.global_batch] / one.samples_per_s) for one in speeds if one.hosts == GPUS_PER_HOST]


def _doubles(ratio: Ratio) -> Claim:
    found = ratio.performance
    holds = None if found.high is None else found.high >= NEARLY_DOUBLE
    bound = f"in Sailor's model {GPUS_PER_HOST} GPUs in one host are at most {ratio.bound:.2f} times as fast as one in each of {GPUS_PER_HOST} hosts"
    return Claim(
        figure=Topology.name,
        claim=f"topology-aware bidding nearly doubles the performance of training jobs ({ratio.name})",
        paper="nearly 2",
        measured=found.value,
        interval=interval(found),
        holds=holds,
        unit="x",
        note={None: TOO_FEW, False: f"{bound}, which leaves no room for a doubling", True: ""}[holds],
    )


def _gathers(ratio: Ratio) -> Claim:
    found = ratio.gpus_per_host
    holds = None if found.low is None else found.low > 1
    return Claim(
        figure=Topology.name,
        claim=f"jobs that bid by place have more GPUs in each host that they use ({ratio.name})",
        paper="a GPU in the same scale-up domain can be targeted",
        measured=found.value,
        interval=interval(found),
        holds=holds,
        unit="x",
        note=TOO_FEW if holds is None else "",
    )


def _text(plan: Plan, ratios: Sequence[Ratio], speeds: Sequence[Spreading]) -> str:
    first = ratios[0].seeds[0].aware.run
    found = " ".join(
        f"With {ratio.name} they achieve {_mean(ratio, 'performance', True):.3f} of their work when they bid by place and "
        f"{_mean(ratio, 'performance', False):.3f} when they do not: {ratio.performance.value:.2f} times as much, with "
        f"{_mean(ratio, 'gpus_per_host', True):.2f} GPUs in each host that they use instead of {_mean(ratio, 'gpus_per_host', False):.2f}, and leave "
        f"{_mean(ratio, 'idle', True):.0f} % of all GPU-hours idle instead of {_mean(ratio, 'idle', False):.0f} %."
        for ratio in ratios
    )
    limits = "; ".join(f"{one.model} on {one.gpu} {gain:.2f} ({_batch(one)})" for one, gain in gains(speeds))
    return (
        f"{len(first.tenants)} training jobs come to a market of {first.gpus} GPUs under seed 0, H100 and A100 in hosts of {GPUS_PER_HOST} (demand "
        f"{SCENARIO.demand:g}), {plan.seeds} seeds; once they bid more for a GPU in a host where they have one, and once the same for any GPU of a "
        f"type. {found} In Sailor's model {GPUS_PER_HOST} GPUs in one host train faster than one in each of {GPUS_PER_HOST} hosts by these factors: "
        f"{limits}. So iteration times leave no room for a doubling by placement alone."
    )


def _batch(one: Spreading) -> str:
    return "Sailor's batch" if one.global_batch is None else f"batch {one.global_batch}"


def _sides(ratio: Ratio, is_aware: bool) -> list[Side]:
    return [both.aware if is_aware else both.oblivious for both in ratio.seeds]


def _mean(ratio: Ratio, field: str, is_aware: bool) -> float:
    return fmean(getattr(side, field) for side in _sides(ratio, is_aware))


def _rows(plan: Plan, ratios: Sequence[Ratio]) -> list[dict[str, float | str | None]]:
    return [
        {
            "batch": ratio.name,
            "seed": seed,
            "topology_aware": str(is_aware).lower(),
            "tenant": tenant.tenant,
            "performance": tenant.performance,
            "alone": tenant.alone,
            "cost": tenant.cost,
            "gpu_hours": tenant.held_hours,
            "gpus_per_host_of_all": side.gpus_per_host,
        }
        for ratio in ratios
        for is_aware in (True, False)
        for seed, side in zip(plan.all_seeds, _sides(ratio, is_aware), strict=True)
        for tenant in side.run.tenants
    ]


def _draw(ratios: Sequence[Ratio], speeds: Sequence[Spreading]) -> Figure:
    figure = new_figure(HEIGHT_IN)
    *paired, limits = figure.subplots(1, len(ratios) + 1, width_ratios=[*(1.0 for _ in ratios), 1.35])
    for axes, ratio in zip(paired, ratios, strict=True):
        _paired(axes, ratio)
        axes.sharey(paired[0])
    paired[0].set_ylabel("mean performance of the jobs")
    paired[0].set_ylim(0, 1)
    for axes in paired[1:]:
        axes.tick_params(labelleft=False)
    _limits(limits, gains(speeds))
    whiskers = "; diamond: mean with 95 % interval over seeds" if ratios[0].performance.has_interval else "; diamond: mean"
    figure.supxlabel(f"Left: one line for each seed{whiskers}.", fontsize=7.5, color=SOFT, x=0.02, ha="left")
    return figure


def _paired(axes: Axes, ratio: Ratio) -> None:
    dress(axes)
    axes.set_title(ratio.name)
    oblivious, aware = ([side.performance for side in _sides(ratio, is_aware)] for is_aware in (False, True))
    for before, after in zip(oblivious, aware, strict=True):
        axes.plot([0, 1], [before, after], color=ACCENT, alpha=0.3, linewidth=0.9)
    for at, values, outwards in ((0, oblivious, -APART), (1, aware, APART)):
        dots = axes.scatter([at] * len(values), values, s=14, color=ACCENT, alpha=0.6, linewidths=0, zorder=3)
        with_tips(_key(ratio, at == 1), dots)
        mean = Bootstrap(len(values)).mean(values)
        low, high = (mean.value if end is None else end for end in (mean.low, mean.high))
        axes.errorbar(
            at + outwards,
            mean.value,
            [[mean.value - low], [high - mean.value]],
            fmt="D",
            color=INK,
            markersize=4.5,
            capsize=3,
            elinewidth=1.2,
            zorder=4,
        )
        axes.annotate(f"{mean.value:.2f}", (at + outwards, low), xytext=(0, -5), textcoords="offset points", ha="center", va="top", fontweight="bold")
    axes.annotate(f"{ratio.performance.value:.2f} times", (0.5, 0.3), xycoords="axes fraction", ha="center", color=INK)
    spread = f"GPUs per host used\n{_mean(ratio, 'gpus_per_host', False):.2f} and {_mean(ratio, 'gpus_per_host', True):.2f}"
    axes.annotate(spread, (0.5, 0.06), xycoords="axes fraction", ha="center", fontsize=8, color=SOFT)
    axes.set_xticks([0, 1], ["any GPU\nof a type", "by place"])
    axes.set_xlim(-0.55, 1.55)


def _limits(axes: Axes, found: Sequence[tuple[Spreading, float]]) -> None:
    dress(axes, "x")
    axes.set_title("what placement can be worth")
    names = list(dict.fromkeys((one.model, one.gpu) for one, _ in found))
    top = max(found, key=lambda pair: pair[1])[0]
    for one, gain in found:
        at, is_small = names.index((one.model, one.gpu)), one.global_batch is not None
        axes.plot([1, gain], [at, at], color=THIRD, linewidth=1, zorder=1)
        axes.scatter(
            [gain], [at], s=34, marker="s" if is_small else "o", color=ACCENT if is_small else "white", edgecolors=ACCENT, linewidths=1.3, zorder=3
        )
        if (one.model, one.gpu) == (top.model, top.gpu):
            axes.annotate(_batch(one), (gain, at), xytext=(-4, 7), textcoords="offset points", fontsize=7.5, color=SOFT)
    axes.axvline(2, color=INK, linewidth=1, linestyle="--")
    axes.annotate("twice", (2, len(names) - 1), xytext=(-4, 0), textcoords="offset points", ha="right", va="center", fontsize=8)
    axes.set_yticks(range(len(names)), [f"{model}\n{gpu}" for model, gpu in names], fontsize=7.5)
    axes.set_ylim(len(names) - 0.5, -0.7)
    axes.set_xlim(0.95, 2.1)
    axes.set_xlabel(f"{GPUS_PER_HOST} GPUs in one host\nover one in each of {GPUS_PER_HOST}")


def _key(ratio: Ratio, is_aware: bool) -> str:
    return f"{'aware' if is_aware else 'oblivious'}-{ratio.global_batch or 'own'}"


def _tips(ratios: Sequence[Ratio]) -> dict[str, list[str]]:
    return {
        _key(ratio, is_aware): [
            f"seed {side.run.seed}: {side.performance:.3f}, {side.gpus_per_host:.2f} GPUs per host used, {side.run.total('held_hours'):.0f} GPU-hours"
            for side in _sides(ratio, is_aware)
        ]
        for ratio in ratios
        for is_aware in (True, False)
    }
