"""Claims as HTML: the paper's and ours in a table each, and those of one experiment as a list below
its figure."""

from __future__ import annotations

from collections.abc import Sequence
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

OURS = ("Claim", "Measured", "95 % interval", "Outcome")
OF_PAPER = ("Claim", "Paper", *OURS[1:])


def claim_tables(outcomes: Sequence[Outcome]) -> str:
    of_paper = _table(outcomes, "What the paper says", OF_PAPER)
    of_ours = _table(outcomes, "Beyond the paper", OURS)
    return f"{of_paper}\n{of_ours}".strip("\n")


def compact_claims(claims: Sequence[Claim]) -> str:
    """All of them again, in a list that opens on demand."""
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
    """The counts as signs."""
    counts = tally(claims)
    short = " ".join(
        f'<span class="{one.key}">{count}{one.sign}</span>'
        for one, count in counts.items()
        if count
    )
    if not short:
        return ""
    return f' <span class="signs" role="img" aria-label="{in_words(counts)}">{short}</span>'


def _table(outcomes: Sequence[Outcome], caption: str, heads: Sequence[str]) -> str:
    is_of_paper = "Paper" in heads
    bodies = []
    for one in outcomes:
        claims = [claim for claim in one.claims if (claim.paper is not None) == is_of_paper]
        if claims:
            bodies.append(_body(one, claims, heads))
    if not bodies:
        return ""
    columns = "".join(
        f'<th scope="col" class="{head.split()[-1].lower()}">{head}</th>' for head in heads
    )
    return "\n".join(
        [
            f'    <table class="claims">\n<caption>{caption}</caption>',
            f"<thead><tr>{columns}</tr></thead>",
            *bodies,
            "</table>",
        ]
    )


def _body(outcome: Outcome, claims: Sequence[Claim], heads: Sequence[str]) -> str:
    name = escape(outcome.experiment.name)
    link = f'<a href="#{name}">{escape(outcome.experiment.title)}</a> <code>{name}</code>'
    head = f'<tr class="of"><th scope="rowgroup" colspan="{len(heads)}">{link}</th></tr>'
    return "\n".join(["<tbody>", head, *(_row(claim, heads) for claim in claims), "</tbody>"])


def _row(claim: Claim, heads: Sequence[str]) -> str:
    one, cells = verdict(claim), _cells(claim)
    shown = "".join(cells[head] for head in heads)
    if not claim.note:
        return f'<tr data-verdict="{one.key}">{shown}</tr>'
    return (
        f'<tr data-verdict="{one.key}" class="noted">{shown}</tr>\n'
        f'<tr data-verdict="{one.key}" class="note"><td'
        f' colspan="{len(heads) - 1}">{escape(claim.note)}</td><td></td></tr>'
    )


def _cells(claim: Claim) -> dict[str, str]:
    """The cells below each head. A narrow screen shows the head before a number."""
    one = verdict(claim)
    contents = {
        "Paper": _told(paper_says(claim), claim.paper),
        "Measured": _told(measured(claim), claim.measured) + _unit(claim),
        "95 % interval": _told(interval(claim), 0.0),
    }
    return {
        "Claim": f'<td class="claim">{escape(claim.claim)}</td>',
        **{
            head: f'<td class="{head.split()[-1].lower()}" data-head="{head}">{content}</td>'
            for head, content in contents.items()
        },
        "Outcome": (
            f'<td class="outcome {one.key}"><span class="sign" aria-hidden="true">{one.sign}</span>'
            f" {one.words}</td>"
        ),
    }


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
