"""The figure of topology-aware bidding: every seed with and without it, and what placement can be
worth at most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from laissez.sim.boxplot import INK, SOFT
from laissez.sim.statistics import Bootstrap
from laissez_experiments.lab.style import ACCENT, THIRD, dress, new_figure, with_tips
from laissez_experiments.topology.ratio import Ratio, gains
from laissez_experiments.topology.run import Spreading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT_IN: Final = 3.1
LARGE, SMALL = 36, 9  # marks
BESIDE: Final = 0.15  # a line, those of two batches
APART: Final = 0.16  # a mean is drawn so far outside of its dots


def draw(ratios: Sequence[Ratio], speeds: Sequence[Spreading]) -> Figure:
    figure = new_figure(HEIGHT_IN)
    *paired, limits = figure.subplots(
        1, len(ratios) + 1, width_ratios=[*(1.0 for _ in ratios), 1.35]
    )
    for axes, ratio in zip(paired, ratios, strict=True):
        _paired(axes, ratio)
        axes.sharey(paired[0])
    paired[0].set_ylabel("mean performance of the jobs")
    paired[0].set_ylim(0, 1)
    for axes in paired[1:]:
        axes.tick_params(labelleft=False)
    _limits(limits, ratios, speeds)
    whiskers = (
        "; diamond: mean with 95 % interval over seeds"
        if ratios[0].performance.has_interval
        else "; diamond: mean"
    )
    usual = " and ".join(str(hosts) for hosts in dict.fromkeys(ratio.hosts for ratio in ratios))
    right = (
        f"Right: large, one GPU in each host; small, in {usual} hosts, about as jobs have them that"
        " bid for any GPU."
    )
    figure.supxlabel(
        f"Left: one line for each seed{whiskers}.\n{right}",
        fontsize=7.5,
        color=SOFT,
        x=0.02,
        ha="left",
    )
    return figure


def _paired(axes: Axes, ratio: Ratio) -> None:
    dress(axes)
    axes.set_title(ratio.name)
    oblivious, aware = (
        [side.performance for side in ratio.sides(is_aware)] for is_aware in (False, True)
    )
    for before, after in zip(oblivious, aware, strict=True):
        axes.plot([0, 1], [before, after], color=ACCENT, alpha=0.3, linewidth=0.9)
    for at, values, outwards in ((0, oblivious, -APART), (1, aware, APART)):
        dots = axes.scatter(
            [at] * len(values), values, s=14, color=ACCENT, alpha=0.6, linewidths=0, zorder=3
        )
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
        axes.annotate(
            f"{mean.value:.2f}",
            (at + outwards, low),
            xytext=(0, -5),
            textcoords="offset points",
            ha="center",
            va="top",
            fontweight="bold",
        )
    axes.annotate(
        f"{ratio.performance.value:.2f} times",
        (0.5, 0.5),
        xycoords="axes fraction",
        ha="center",
        color=INK,
    )
    if ratio.lone is not None:
        alone = f"one job alone: {ratio.lone.value:.2f} times"
        axes.annotate(
            alone, (0.5, 0.42), xycoords="axes fraction", ha="center", fontsize=8, color=SOFT
        )
    spread = (
        f"GPUs per host used\n{ratio.mean('gpus_per_host', False):.2f} and"
        f" {ratio.mean('gpus_per_host', True):.2f}"
    )
    axes.annotate(
        spread, (0.5, 0.06), xycoords="axes fraction", ha="center", fontsize=8, color=SOFT
    )
    axes.set_xticks([0, 1], ["any GPU\nof a type", "by place"])
    axes.set_xlim(-0.55, 1.55)


def _limits(axes: Axes, ratios: Sequence[Ratio], speeds: Sequence[Spreading]) -> None:
    most = max(one.hosts for one in speeds)
    found = gains(speeds, most)
    dress(axes, "x")
    axes.set_title("what placement can be worth")
    names = list(dict.fromkeys((one.model, one.gpu) for one, _ in found))
    top = max(found, key=lambda pair: pair[1])[0]
    usual = [
        pair
        for ratio in ratios
        for pair in gains(speeds, ratio.hosts)
        if pair[0].global_batch == ratio.global_batch
    ]
    for (one, gain), size in [
        *((pair, LARGE) for pair in found),
        *((pair, SMALL) for pair in usual),
    ]:
        is_small = one.global_batch is not None
        at = names.index((one.model, one.gpu)) + (BESIDE if is_small else -BESIDE)
        axes.plot([1, gain], [at, at], color=THIRD, linewidth=1, zorder=1)
        colour, marker = (ACCENT, "s") if is_small else ("white", "o")
        axes.scatter(
            [gain],
            [at],
            s=size,
            marker=marker,
            color=colour,
            edgecolors=ACCENT,
            linewidths=1.2,
            zorder=3,
        )
        if size == LARGE and (one.model, one.gpu) == (top.model, top.gpu):
            axes.annotate(
                _batch(one),
                (gain, at),
                xytext=(7, 0),
                textcoords="offset points",
                va="center",
                fontsize=7.5,
                color=SOFT,
            )
    axes.axvline(2, color=INK, linewidth=1, linestyle="--")
    axes.annotate(
        "twice",
        (2, len(names) - 1),
        xytext=(-4, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=8,
    )
    axes.set_yticks(range(len(names)), [f"{model}\n{gpu}" for model, gpu in names], fontsize=7.5)
    axes.set_ylim(len(names) - 0.5, -0.7)
    axes.set_xlim(0.95, 2.1)
    axes.set_xlabel(f"speed of {most} GPUs in one host\nover that of {most} in several")


def _key(ratio: Ratio, is_aware: bool) -> str:
    return f"{'aware' if is_aware else 'oblivious'}-{ratio.global_batch or 'own'}"


def tips(ratios: Sequence[Ratio]) -> dict[str, list[str]]:
    return {
        _key(ratio, is_aware): [
            f"seed {side.run.seed}: {side.performance:.3f}, {side.gpus_per_host:.2f} GPUs per host"
            f" used, {side.run.total('held_hours'):.0f} GPU-hours"
            for side in ratio.sides(is_aware)
        ]
        for ratio in ratios
        for is_aware in (True, False)
    }


def _batch(one: Spreading) -> str:
    return "Sailor's batch" if one.global_batch is None else f"batch {one.global_batch}"
