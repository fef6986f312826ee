"""Claims as HTML: the paper's and ours in a table each, and those of one experiment as a list below
its figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from laissez_experiments.lab.findings import Claim
from laissez_experiments.report.run import Outcome
from laissez_experiments.report.wording import (
    in_words,
    interval,
    measured,
    paper_says,
    tally,
    unit_in_words,
    verdict,
)


def claim_tables(outcomes: Sequence[Outcome]) -> str:
    of_paper = _table(
        outcomes, lambda claim: claim.paper is not None, "What the paper says", with_paper=True
    )
    of_ours = _table(
        outcomes, lambda claim: claim.paper is None, "Beyond the paper", with_paper=False
    )
    return f"{of_paper}\n{of_ours}".strip("\n")


def compact_claims(claims: Sequence[Claim]) -> str:
    """All of them again, in a list that is opened by who wants it."""
    if not claims:
        return ""
    lines = "".join(
        f"<li>{_mark(claim)} {escape(claim.claim)}: {_in_short(claim)}</li>" for claim in claims
    )
    return (
        '    <details class="compact"><summary>Claims:'
        f" {in_words(tally(claims))}</summary><ul>{lines}</ul></details>"
    )


def signs(claims: Sequence[Claim]) -> str:
    """The counts, as short as can be."""
    counts = {one: count for one, count in tally(claims).items() if count}
    short = " ".join(
        f'<span class="{one.key}">{count}{one.sign}</span>' for one, count in counts.items()
    )
    return (
        f' <span class="signs" role="img" aria-label="{in_words(tally(claims))}">{short}</span>'
        if counts
        else ""
    )


def _table(
    outcomes: Sequence[Outcome], wanted: Callable[[Claim], bool], caption: str, with_paper: bool
) -> str:
    groups = [(one, [claim for claim in one.claims if wanted(claim)]) for one in outcomes]
    bodies = "\n".join(_body(one, claims, with_paper) for one, claims in groups if claims)
    if not bodies:
        return ""
    heads = ["Claim", *(["Paper"] if with_paper else []), "Measured", "95 % interval", "Outcome"]
    columns = "".join(
        f'<th scope="col" class="{head.split()[-1].lower()}">{head}</th>' for head in heads
    )
    return (
        f'    <table class="claims">\n<caption>{caption}</caption>\n'
        f"<thead><tr>{columns}</tr></thead>\n{bodies}\n</table>"
    )


def _body(outcome: Outcome, claims: Sequence[Claim], with_paper: bool) -> str:
    name, width = escape(outcome.experiment.name), 5 if with_paper else 4
    link = f'<a href="#{name}">{escape(outcome.experiment.title)}</a> <code>{name}</code>'
    head = f'<tr class="of"><th scope="rowgroup" colspan="{width}">{link}</th></tr>'
    return (
        "<tbody>\n"
        + "\n".join([head, *(_row(claim, with_paper) for claim in claims)])
        + "\n</tbody>"
    )


def _row(claim: Claim, with_paper: bool) -> str:
    one = verdict(claim)
    cells = (
        f'<td class="claim">{escape(claim.claim)}</td>',
        _cell("paper", "Paper", _told(paper_says(claim), claim.paper)) if with_paper else "",
        _cell("measured", "Measured", _told(measured(claim), claim.measured) + _unit(claim)),
        _cell("interval", "95 % interval", _told(interval(claim), 0.0)),
        (
            f'<td class="outcome {one.key}"><span class="sign" aria-hidden="true">{one.sign}</span>'
            f" {one.words}</td>"
        ),
    )
    noted = ' class="noted"' if claim.note else ""
    row = f'<tr data-verdict="{one.key}"{noted}>{"".join(cells)}</tr>'
    if not claim.note:
        return row
    width = 4 if with_paper else 3
    return (
        f'{row}\n<tr data-verdict="{one.key}" class="note"><td'
        f' colspan="{width}">{escape(claim.note)}</td><td></td></tr>'
    )


def _cell(key: str, head: str, content: str) -> str:
    """`head` is what a narrow screen shows before it."""
    return f'<td class="{key}" data-head="{head}">{content}</td>'


def _told(text: str, value: float | str | None) -> str:
    """Words may be broken into lines, a number may not; its minus is a real one."""
    if not isinstance(value, float | int):
        return f'<span class="words">{escape(text)}</span>' if text else ""
    return f"<span>{escape(text).replace('-', '&minus;')}</span>" if text else ""


def _unit(claim: Claim) -> str:
    unit = unit_in_words(claim)
    return f' <span class="unit">{escape(unit)}</span>' if unit else ""


def _mark(claim: Claim) -> str:
    one = verdict(claim)
    return (
        f'<span class="sign {one.key}" role="img" aria-label="{one.words}"'
        f' title="{one.words}">{one.sign}</span>'
    )


def _in_short(claim: Claim) -> str:
    span = f" ({_told(interval(claim), 0.0)})" if claim.interval is not None else ""
    paper = f"; paper: {_told(paper_says(claim), claim.paper)}" if claim.paper is not None else ""
    return f"<b>{_told(measured(claim), claim.measured)}</b>{_unit(claim)}{span}{paper}"
