"""The report: every claim is in it, figures do not get into each other's way, and nothing in it is
anything but text."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import Claim, Findings
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.style import LOOKS, new_figure, of_cloud, with_tips
from laissez_experiments.lab.writing import write_findings
from laissez_experiments.report import render
from laissez_experiments.report.inline import inline
from laissez_experiments.report.run import Outcome, Run, run_of
from laissez_experiments.report.wording import (
    in_words,
    interval,
    measured,
    paper_says,
    tally,
    verdict,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

pytestmark = pytest.mark.once

HOSTILE = "</script><script>alert('{{tips}}')</script><!-- & \" \u2028"
CLOUDS = ("fcfs", "market")


def a_claim(
    figure: str,
    claim: str = "prices rise",
    paper: float | str | None = 17.0,
    holds: bool | None = True,
    **more: Any,
) -> Claim:
    return Claim(
        figure=figure,
        claim=claim,
        paper=paper,
        measured=more.pop("measured", 21.5),
        holds=holds,
        unit=more.pop("unit", "%"),
        **more,
    )


CLAIMS = (
    a_claim("one", "prices rise", interval=(18.04, 25.0)),
    a_claim("one", "prices fall", holds=False, note="they do not, because of the floors"),
    a_claim(
        "one",
        "prices stand still",
        paper="hardly",
        holds=None,
        measured=None,
        note="too few seeds to decide",
    ),
    a_claim("one", "tenants do not care", paper=None, measured="some do"),
    a_claim("one", "tenants come", paper=None, holds=None, measured=24, unit="tenants"),
    a_claim("two", "it is fast", paper=25000, measured=31421.7, unit="requests/s"),
)


class Drawn(Experiment):
    def __init__(self, name: str, title: str = "How prices move", is_beyond: bool = False) -> None:
        self.name, self.title, self.is_beyond = name, title, is_beyond  # type: ignore[misc]

    def cells(self, plan: Plan) -> Sequence[Cell]:
        return ()

    def findings(self, plan: Plan, results: Results) -> Findings:
        raise NotImplementedError


def draw() -> Figure:
    figure = new_figure(2.0)
    axes = figure.subplots()
    for cloud in CLOUDS:
        of_cloud(
            cloud,
            *axes.plot([0, 10], [0, 1], color=LOOKS[cloud].line),
            *axes.bar([3], [0.5], hatch="///"),
        )
        with_tips(f"dots of {cloud}", axes.scatter(range(12), range(12), s=9), cloud)
    with_tips("bar", *axes.bar([5], [1]))
    return figure


TIPS = {
    **{f"dots of {cloud}": [f"{cloud} {at} {HOSTILE}" for at in range(12)] for cloud in CLOUDS},
    "bar": ["the bar"],
    "not drawn": ["never"],
}


def findings(name: str, text: str = "As measured.") -> Findings:
    return Findings(
        claims=[claim for claim in CLAIMS if claim.figure == name],
        text=text,
        rows=[{"a": 1}],
        draw=draw,
        tips=TIPS,
    )


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> list[Outcome]:
    done = [
        (Drawn("one"), findings("one")),
        (Drawn("two", is_beyond=True), findings("two", HOSTILE)),
    ]
    return [
        *(Outcome(one, found, write_findings(one.name, found, folder)) for one, found in done),
        Outcome(Drawn("real", "With a real trace"), missing="a trace: --trace FILE"),
    ]


def a_run(quick: bool = False, seconds: float = 2590.0) -> Run:
    run = run_of(
        Plan(seeds=20, quick=quick), [], workers=2, cells=10, kept_cells=0, seconds=seconds
    )
    return msgspec.structs.replace(run, date="2026-11-16T09:05:00Z", cpu=f"CPU {HOSTILE}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def page(outcomes: list[Outcome], folder: Path) -> str:
    return render(a_run(), outcomes, folder)


class Elements(HTMLParser):
    """All elements of a page, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.found if attribute in attributes]


def test_every_claim_is_in_it_with_what_was_measured(page: str) -> None:
    rows = {
        row.split("<td")[1]: row
        for row in re.findall(r"<tr data-verdict.*?</tr>", page)
        if 'class="note"' not in row
    }
    assert len(CLAIMS) == len(rows)
    for claim, row in (
        (claim, next(row for head, row in rows.items() if claim.claim in head)) for claim in CLAIMS
    ):
        assert f'data-verdict="{verdict(claim).key}"' in row
        for told in (paper_says(claim), measured(claim), interval(claim), verdict(claim).words):
            assert told in row
        assert not claim.note or claim.note in page


def test_the_papers_claims_come_first_and_ours_have_a_table_of_their_own(page: str) -> None:
    papers, ours = page.split('<table class="claims">')[1:]
    assert (
        "prices rise" in papers and "it is fast" in papers and "tenants do not care" not in papers
    )
    assert "tenants do not care" in ours.partition("</table>")[0]
    assert page.index("prices rise") < page.index("<svg")


def test_the_top_says_what_holds_and_where_it_was_measured(page: str) -> None:
    lead = (
        "Of 4 checks of the paper's claims, 2 hold, 1 does not and 1 is undecided; of 2 more that"
        " go beyond it, 1 holds and 1 was measured."
    )
    for told in (lead, "16 November 2026, 09:05 UTC, in 43 min", "20 (0 to 19)"):
        assert told in page
    assert "quick run" not in page


def test_experiments_with_fewer_seeds_are_named(folder: Path, outcomes: list[Outcome]) -> None:
    class Halved(Drawn):
        takes_half = True

    some = [
        *outcomes,
        *(Outcome(Halved(name), findings(name)) for name in ("sweep", "share")),
        Outcome(Halved("left"), missing="a trace"),
    ]
    run = run_of(Plan(seeds=20), some, workers=2, cells=10, kept_cells=0, seconds=1.0)
    assert {"sweep": 10, "share": 10} == run.fewer_seeds
    assert "20 (0 to 19); 10 for sweep, share" in render(run, outcomes, folder)


def test_what_was_only_measured_is_neither_held_nor_undecided() -> None:
    plain = a_claim("x", paper=None, holds=None)
    others = (
        a_claim("x", holds=None),
        a_claim("x", paper=None, holds=None, note="too few"),
        a_claim("x", paper=None, holds=None, measured=None),
    )
    assert ["measured", *["undecided"] * 3] == [verdict(claim).words for claim in (plain, *others)]
    assert "1 holds and 2 were measured" == in_words(tally([a_claim("x"), plain, plain]))


def test_a_quick_run_says_so(outcomes: list[Outcome], folder: Path) -> None:
    assert "it shows that everything works, not what is true" in render(
        a_run(quick=True), outcomes, folder
    )


def test_what_was_not_run_is_listed_with_what_it_needs(page: str) -> None:
    assert "With a real trace" in page.partition('<section id="not-run">')[2]
    assert "a trace: --trace FILE" in page


def test_no_id_is_there_twice_and_every_reference_leads_somewhere(page: str) -> None:
    elements = Elements(page)
    ids = Counter(elements.all("id"))
    assert [] == [one for one, count in ids.items() if count > 1]
    inner = [href[1:] for href in elements.all("href") if href.startswith("#")]
    inner += re.findall(r"url\(#([^)]+)\)", page)
    assert 40 < len(inner)
    assert set() == set(inner) - set(ids)


def test_it_needs_nothing_from_elsewhere(page: str, folder: Path) -> None:
    assert [] == re.findall(
        r"https?:|\bimport\b\s*[({\"']|@import|<link rel=.stylesheet|\bsrc=|\bfetch\(", page
    )
    assert [] == re.findall(r"\{\{(?!tips)\w+\}\}", page)
    files = {href for href in Elements(page).all("href") if not href.startswith(("#", "data:"))}
    assert {f"{name}.{ending}" for name in ("one", "two") for ending in ("csv", "svg", "png")} | {
        "claims.json",
        "run.json",
    } == files
    assert all((folder / file).exists() for file in files - {"claims.json", "run.json"})


def test_nothing_in_it_is_anything_but_text(page: str) -> None:
    elements = Elements(page)
    assert 2 == [tag for tag, _ in elements.found].count("script")
    assert 2 == elements.text.count(HOSTILE), "the machine's name and a paragraph"
    tips = re.search(r'<script type="application/json" id="tips">(.*?)</script', page, re.DOTALL)
    assert tips is not None
    assert {key: texts for key, texts in TIPS.items() if key != "not drawn"} == msgspec.json.decode(
        tips[1]
    )["one"]


def test_parts_of_clouds_can_be_hidden_and_points_asked(page: str) -> None:
    (figure,) = re.findall(r'<figure data-figure="one">.*?</figure>', page, re.DOTALL)
    elements = Elements(figure)
    assert ["market", "fcfs"] == elements.all("data-toggle"), "in the order of all figures"
    assert ["true"] * 2 == elements.all("aria-pressed")
    assert {"market": 3, "fcfs": 3} == Counter(elements.all("data-cloud"))
    assert ["dots of fcfs", "dots of market", "bar"] == elements.all("data-tip")
    dots = figure.split('data-tip="dots of market"')[1].partition("data-tip")[0]
    assert 12 == dots.count("<use ")


@pytest.mark.usefixtures("outcomes")
def test_a_figure_keeps_its_shape(folder: Path) -> None:
    """Only what no eye sees is left out."""
    svg = (folder / "one.svg").read_text()
    found = inline(svg, "one", "A figure")
    assert len(found.svg) < 0.8 * len(svg)
    assert svg.count("<use ") == found.svg.count("<use ")
    assert re.search(r'viewBox="[^"]+"', svg)[0] in found.svg  # type: ignore[index]
    assert (["market", "fcfs"], ["dots of fcfs", "dots of market", "bar"]) == (
        found.clouds,
        found.tips,
    )


def test_the_same_run_gives_the_same_bytes(
    page: str, outcomes: list[Outcome], folder: Path
) -> None:
    assert page == render(a_run(), outcomes, folder)


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        (a_claim("x", interval=(18.04, 25.0)), ("17 %", "21.5 %", "18.0 to 25.0")),
        (a_claim("x", paper=1.9, measured=1.934, unit="x"), ("1.9×", "1.93×", "")),  # noqa: RUF001
        (
            a_claim("x", paper=-3.5, measured=-3.456, unit="$", interval=(-4.0, 0.001)),
            ("-$3.5", "-$3.46", "-4.00 to 0.00"),
        ),
        (a_claim("x", paper=25000, measured=31421.7, unit="requests/s"), ("25,000", "31,422", "")),
        (a_claim("x", paper=0.07 * 100, measured=0.0056161), ("7 %", "0.0056 %", "")),
        (a_claim("x", paper="converge", measured=0), ("converge", "0 %", "")),
        (a_claim("x", measured=9.999999999, interval=None), ("17 %", "10 %", "")),
        (a_claim("x", measured=10.0, interval=(8.123, 11.5)), ("17 %", "10.0 %", "8.1 to 11.5")),
        (a_claim("x", measured=0.00001), ("17 %", "0 %", "")),
        (a_claim("x", paper=None, measured=None), ("", "-", "")),
    ],
)
def test_numbers_have_as_many_digits_as_say_something(
    claim: Claim, told: tuple[str, str, str]
) -> None:
    assert told == (paper_says(claim), measured(claim), interval(claim))


def test_counts_are_told_in_words() -> None:
    def told(*holds: bool | None) -> str:
        return in_words(tally(a_claim("x", holds=one) for one in holds))

    assert "2 hold, 1 does not and 1 is undecided" == told(True, False, None, True)
    assert "1 does not hold and 2 are undecided" == told(False, None, None)
    assert ("1 holds", "no claims") == (told(True), told())


BROWSER = next(
    filter(
        None,
        map(shutil.which, ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")),
    ),
    None,
)


@pytest.mark.skipif(
    BROWSER is None, reason="no chromium on the PATH: the page is not run in a browser"
)
def test_a_browser_finds_every_mark_and_complains_about_nothing(page: str, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(page)
    assert BROWSER is not None
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr",
        "--v=0",
    ]
    command = [BROWSER, *options, "--dump-dom", (tmp_path / "report.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert [] == [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    marks = re.search(r'<html[^>]* data-marks="(\d+)"', done.stdout)
    assert marks is not None, done.stderr
    assert 2 * (12 + 12 + 1) == int(marks[1])
