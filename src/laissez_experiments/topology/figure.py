"""The figure of topology-aware bidding: every seed with and without it, and the most that placement
can be worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from laissez.sim.boxplot import INK, SOFT
from laissez.sim.statistics import Bootstrap
from laissez_experiments.lab.style import (
    ACCENT,
    SMALL,
    THIRD,
    Looks,
    caption,
    dress,
    near,
    new_figure,
    with_tips,
)
from laissez_experiments.topology.ratio import Ratio, gains
from laissez_experiments.topology.run import Spreading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT_IN: Final = 3.1
LARGE_MARK, SMALL_MARK = 36, 9
BESIDE: Final = 0.15  # a line, those of two batches
APART: Final = 0.16  # a mean is drawn so far outside of its dots


def draw(ratios: Sequence[Ratio], speeds: Sequence[Spreading]) -> Figure:
    figure = new_figure(HEIGHT_IN)
    widths = [*(1.0 for _ in ratios), 1.35]
    *paired, limits = figure.subplots(1, len(widths), width_ratios=widths)
    for axes, ratio in zip(paired, ratios, strict=True):
        _paired(axes, ratio)
        axes.sharey(paired[0])
    paired[0].set_ylabel("mean performance of the jobs")
    paired[0].set_ylim(0, 1)
    for axes in paired[1:]:
        axes.tick_params(labelleft=False)
    _limits(limits, ratios, speeds)
    interval = " with 95 % interval over seeds" if ratios[0].performance.has_interval else ""
    usual = " and ".join(str(hosts) for hosts in dict.fromkeys(ratio.hosts for ratio in ratios))
    caption(
        figure,
        f"Left: one line for each seed; diamond: mean{interval}.\nRight: large, one GPU in each"
        f" host; small, in {usual} hosts, about as jobs have them that bid for any GPU.",
    )
    return figure


def _paired(axes: Axes, ratio: Ratio) -> None:
    dress(axes)
    axes.set_title(ratio.name)
    oblivious, aware = (
        [side.performance for side in ratio.sides(is_aware)] for is_aware in (False, True)
    )
    for pair in zip(oblivious, aware, strict=True):
        axes.plot([0, 1], pair, color=ACCENT, alpha=0.3, linewidth=0.9)
    for at, values, outwards in ((0, oblivious, -APART), (1, aware, APART)):
        look: Looks = {"s": 14, "color": ACCENT, "alpha": 0.6, "linewidths": 0}
        dots = axes.scatter([at] * len(values), values, **look, zorder=3)
        with_tips(_key(ratio, at == 1), dots)
        mean, place = Bootstrap(len(values)).mean(values), at + outwards
        low, high = (mean.value if end is None else end for end in (mean.low, mean.high))
        ends = [[mean.value - low], [high - mean.value]]
        diamond: Looks = {"fmt": "D", "color": INK, "markersize": 4.5}
        bars: Looks = {"capsize": 3, "elinewidth": 1.2, "zorder": 4}
        axes.errorbar(place, mean.value, ends, **diamond, **bars)
        below: Looks = {"ha": "center", "va": "top", "fontweight": "bold"}
        near(axes, f"{mean.value:.2f}", (place, low), (0, -5), **below)
    within: Looks = {"xycoords": "axes fraction", "ha": "center"}
    soft: Looks = {**within, "fontsize": 8, "color": SOFT}
    axes.annotate(f"{ratio.performance.value:.2f} times", (0.5, 0.5), **within, color=INK)
    if ratio.lone is not None:
        axes.annotate(f"one job alone: {ratio.lone.value:.2f} times", (0.5, 0.42), **soft)
    spread = [f"{ratio.mean('gpus_per_host', is_aware):.2f}" for is_aware in (False, True)]
    axes.annotate(f"GPUs per host used\n{' and '.join(spread)}", (0.5, 0.06), **soft)
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
    marks = [*((*pair, LARGE_MARK) for pair in found), *((*pair, SMALL_MARK) for pair in usual)]
    for one, gain, size in marks:
        is_small = one.global_batch is not None
        at = names.index((one.model, one.gpu)) + (BESIDE if is_small else -BESIDE)
        axes.plot([1, gain], [at, at], color=THIRD, linewidth=1, zorder=1)
        colour, marker = (ACCENT, "s") if is_small else ("white", "o")
        edge: Looks = {"edgecolors": ACCENT, "linewidths": 1.2, "zorder": 3}
        axes.scatter([gain], [at], s=size, marker=marker, color=colour, **edge)
        if size == LARGE_MARK and (one.model, one.gpu) == (top.model, top.gpu):
            batch = f"batch {one.global_batch}" if is_small else "Sailor's batch"
            near(axes, batch, (gain, at), (7, 0), va="center", fontsize=SMALL, color=SOFT)
    axes.axvline(2, color=INK, linewidth=1, linestyle="--")
    near(axes, "twice", (2, len(names) - 1), (-4, 0), ha="right", va="center", fontsize=8)
    axes.set_yticks(range(len(names)), [f"{model}\n{gpu}" for model, gpu in names], fontsize=SMALL)
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
