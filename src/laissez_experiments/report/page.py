"""The page, put together from its template. The words of an experiment are only ever text in it,
never HTML or script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from laissez.sim.timeline.page import HOLE, RISKY
from laissez_experiments.lab.style import LOOKS, THIRD
from laissez_experiments.report.inline import Inline, inline
from laissez_experiments.report.run import InputFile, Outcome, Run
from laissez_experiments.report.tables import claim_tables, compact_claims, signs
from laissez_experiments.report.wording import VERDICTS, in_words, tally

REPORT: Final = "report.html"
TITLE: Final = "LaissezCloud, measured against its paper"
SCRIPT: Final = ("page.js", "tips.js")
NOT_RUN: Final = "not-run"
HOUR_S: Final = 3600
MINUTE_S: Final = 60
HINT: Final = (
    '<span class="hint">Point at a mark to see what it is; with the keyboard, Tab and then the'
    " arrow keys.</span>"
)


def write_report(run: Run, outcomes: Sequence[Outcome], folder: Path) -> None:
    """Into `folder`, where the figures are."""
    (folder / REPORT).write_text(render(run, outcomes, folder), encoding="utf-8", newline="\n")


def render(run: Run, outcomes: Sequence[Outcome], folder: Path) -> str:
    """The same bytes for the same run."""
    done = [one for one in outcomes if one.findings is not None]
    figures = {one.experiment.name: _figure(one, folder) for one in done}
    tips = {}
    for one in done:
        figure, name = figures[one.experiment.name], one.experiment.name
        if figure is not None and figure.tips and one.findings is not None:
            tips[name] = {key: one.findings.tips.get(key, ()) for key in figure.tips}
    parts = {
        "title": TITLE,
        "style": _part("page.css"),
        "script": "\n".join(_part(name) for name in SCRIPT),
        "tips": msgspec.json.encode(tips).decode().translate(RISKY),
        "contents": _contents(outcomes),
        "lead": _lead(outcomes),
        "bar": _bar(outcomes),
        "facts": _facts(run),
        "banner": _banner(run),
        "filters": _filters(outcomes),
        "claims": claim_tables(done),
        "sections": "\n".join(
            [*(_section(one, figures[one.experiment.name]) for one in done), _not_run(outcomes)]
        ),
    }
    return _fill(_part("page.html"), parts)


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _fill(template: str, parts: Mapping[str, str]) -> str:
    """All holes at once, so that a text that looks like a hole stays a text."""
    return HOLE.sub(lambda hole: parts[hole[1]], template)


def _figure(outcome: Outcome, folder: Path) -> Inline | None:
    if outcome.findings is None or outcome.findings.draw is None:
        return None
    experiment = outcome.experiment
    svg = (folder / f"{experiment.name}.svg").read_text(encoding="utf-8")
    return inline(svg, experiment.name, f"Figure: {experiment.title}")


# -- the top


def _lead(outcomes: Sequence[Outcome]) -> str:
    """One sentence with the outcome of all claims. One claim of the paper may be checked several
    times, for several clouds or clusters."""
    claims = [claim for one in outcomes for claim in one.claims]
    of_paper = [claim for claim in claims if claim.paper is not None]
    of_ours = [claim for claim in claims if claim.paper is None]
    said, more = "No claim of the paper was looked at", ""
    if of_paper:
        said = f"Of {len(of_paper)} checks of the paper's claims, {in_words(tally(of_paper))}"
    if of_ours:
        more = f"; of {len(of_ours)} more that go beyond it, {in_words(tally(of_ours))}"
    return f"{said}{more}."


def _bar(outcomes: Sequence[Outcome]) -> str:
    """The counts of the paper's claims as one bar; the sentence above it says the same."""
    counts = tally(claim for one in outcomes for claim in one.claims if claim.paper is not None)
    pieces = "".join(
        f'<i class="{one.key}" style="flex-grow:{count}"></i>'
        for one, count in counts.items()
        if count
    )
    return f'<div class="bar" aria-hidden="true">{pieces}</div>' if pieces else ""


def _facts(run: Run) -> str:
    day = datetime.fromisoformat(run.date)
    facts = {
        "When": (
            f"{day.day} {day:%B %Y, %H:%M} UTC, in {_span(run.seconds)}"
            + (f", {run.kept_cells} of {run.cells} cells kept" if run.kept_cells else "")
        ),
        "Seeds": _seeds(run),
        "Machine": f"{run.cpu}, {run.cores} core{'' if run.cores == 1 else 's'}",
        "Software": f"laissez {run.version}, market {run.market}, {run.python}",
        "Traces of requests": _inputs(run.traces),
        "Traces of power": _inputs(run.power),
    }
    return "\n".join(
        f"      <div><dt>{name}</dt><dd>{escape(text)}</dd></div>"
        for name, text in facts.items()
        if text
    )


def _seeds(run: Run) -> str:
    fewer = [
        f"{count} for {', '.join(name for name, its in run.fewer_seeds.items() if its == count)}"
        for count in sorted({*run.fewer_seeds.values()})
    ]
    return "; ".join(
        [f"{run.seeds} ({'0' if run.seeds == 1 else f'0 to {run.seeds - 1}'})", *fewer]
    )


def _inputs(inputs: Sequence[InputFile]) -> str:
    return ", ".join(f"{one.name} (SHA-256 {one.sha256[:12]}…)" for one in inputs)


def _span(seconds: float) -> str:
    if seconds < MINUTE_S:
        return f"{seconds:.0f} s"
    minutes = round(seconds / MINUTE_S)
    if seconds < HOUR_S:
        return f"{minutes} min"
    return f"{minutes // MINUTE_S} h {minutes % MINUTE_S} min"


def _banner(run: Run) -> str:
    if not run.quick:
        return ""
    warning = "Everything in it is far too small: it shows that everything works, not what is true."
    return f'<p class="banner"><strong>This was a quick run.</strong> {warning}</p>'


def _filters(outcomes: Sequence[Outcome]) -> str:
    counts = tally(claim for one in outcomes for claim in one.claims)
    every = (
        '<button type="button" aria-pressed="true" data-show="all">All'
        f" <b>{sum(counts.values())}</b></button>"
    )
    return every + "".join(
        f'<button type="button" aria-pressed="false" data-show="{one.key}" class="{one.key}"><span'
        f' class="sign" aria-hidden="true">{one.sign}</span> {one.words.capitalize()}'
        f" <b>{counts[one]}</b></button>"
        for one in VERDICTS
    )


def _contents(outcomes: Sequence[Outcome]) -> str:
    entries = ['    <li><a href="#claims">Claims</a></li>']
    for one in outcomes:
        if one.findings is not None:
            name, title = escape(one.experiment.name), escape(one.experiment.title)
            entries.append(f'    <li><a href="#{name}">{title}</a>{signs(one.claims)}</li>')
    if any(one.findings is None for one in outcomes):
        entries.append(f'    <li><a href="#{NOT_RUN}">Not run</a></li>')
    return "\n".join(entries)


# -- the experiments


def _section(outcome: Outcome, figure: Inline | None) -> str:
    assert outcome.findings is not None
    experiment = outcome.experiment
    kind = "beyond the paper" if experiment.is_beyond else "of the paper"
    parts = [
        f'  <section class="experiment" id="{escape(experiment.name)}">',
        f'    <p class="kicker">{escape(experiment.name)} · {kind}</p>',
        f"    <h2>{escape(experiment.title)}</h2>",
        f'    <p class="text">{escape(outcome.findings.text)}</p>',
        "" if figure is None else _shown(figure, experiment.name),
        f'    <p class="files">{" ".join(_link(file) for file in outcome.files)}</p>',
        compact_claims(outcome.claims),
        "  </section>",
    ]
    return "\n".join(filter(None, parts))


def _link(file: str) -> str:
    return f'<a href="{escape(file)}">{escape(file)}</a>'


def _shown(figure: Inline, name: str) -> str:
    toggles = "".join(
        f'<button type="button" aria-pressed="true" data-toggle="{escape(cloud)}"><i'
        f' style="{_swatch(cloud)}"></i>{escape(cloud)}</button>'
        for cloud in figure.clouds
    )
    tools = ""
    if len(figure.clouds) > 1:
        tools += f'<div class="choice" role="group" aria-label="Clouds to show">{toggles}</div>'
    if figure.tips:
        tools += HINT
    bar = f'<div class="tools">{tools}</div>' if tools else ""
    card = f'<div class="card">{figure.svg}</div>'
    return f'    <figure data-figure="{escape(name)}">{bar}{card}</figure>'


def _swatch(cloud: str) -> str:
    if cloud not in LOOKS:
        return f"background:{THIRD}"
    look = LOOKS[cloud]
    if not look.hatch:
        return f"background:{look.fill}"
    return f"background:repeating-linear-gradient(-45deg,{look.line} 0 1px,{look.fill} 1px 4px)"


def _not_run(outcomes: Sequence[Outcome]) -> str:
    left = [one for one in outcomes if one.findings is None]
    if not left:
        return ""
    lines = "".join(
        f"<dt>{escape(one.experiment.title)}"
        f" <code>{escape(one.experiment.name)}</code></dt><dd>{escape(one.why_not)}</dd>"
        for one in left
    )
    head = '<h2>Not run</h2>\n    <p class="text">These need more than was given.</p>'
    return (
        f'  <section id="{NOT_RUN}">\n    {head}\n    <dl class="left">{lines}</dl>\n  </section>'
    )
