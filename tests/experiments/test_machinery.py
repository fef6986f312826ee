"""Cells are done once and kept, experiments share them, and findings are always written the same
way."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import laissez
from laissez.sim.statistics import Estimate
from laissez_experiments.lab import store as store_module
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.experiment import Experiment, Results
from laissez_experiments.lab.findings import Claim, Findings, Rows, holds_at_least, interval
from laissez_experiments.lab.plan import Plan
from laissez_experiments.lab.store import Store, StoreError
from laissez_experiments.lab.style import LOOKS, dress, new_figure, of_cloud, with_tips
from laissez_experiments.lab.work import do, grouped
from laissez_experiments.lab.writing import write_findings
from laissez_experiments.report.run import Outcome
from laissez_experiments.reproduce import CELLS, Reproduction, Watch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

pytestmark = pytest.mark.once


class Square(Cell, frozen=True, kw_only=True):
    """Writes down that it was run, and where."""

    result: ClassVar[Any] = tuple[int, int]

    number: int
    notes: str
    family: str = ""

    @property
    def group(self) -> Hashable:
        return self.family or self.number

    def run(self) -> tuple[int, int]:
        if self.number < 0:
            raise ValueError("expected no negative number")
        with Path(self.notes).open("a") as file:
            file.write(f"{self.number}\n")
        return self.number**2, os.getpid()

    def __str__(self) -> str:
        return f"the square of {self.number}"


class Dies(Square, frozen=True, kw_only=True):
    def run(self) -> tuple[int, int]:
        os._exit(1)


class NoNumber(Square, frozen=True, kw_only=True):
    result: ClassVar[Any] = float

    def run(self) -> Any:
        return float("nan")


class Alone(Square, frozen=True, kw_only=True):
    is_alone: ClassVar[bool] = True


class Long(Square, frozen=True, kw_only=True):
    seconds: ClassVar[float] = 100.0


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / CELLS).mkdir()
    return Store(tmp_path / CELLS)


@pytest.fixture
def notes(tmp_path: Path) -> str:
    (tmp_path / "notes").touch()
    return str(tmp_path / "notes")


def got(store: Store, cell: Cell) -> tuple[int, int]:
    found: tuple[int, int] = store.get(cell)  # type: ignore[assignment]
    return found


def noted(notes: str) -> list[int]:
    return [int(line) for line in Path(notes).read_text().split()]


# -- the store


def test_a_result_is_found_by_what_its_cell_is_made_of(store: Store, notes: str) -> None:
    store.put(Square(number=3, notes=notes), (9, 1))
    assert (9, 1) == store.get(Square(number=3, notes=notes))
    assert store.has(Square(number=3, notes=notes))
    assert not store.has(Square(number=4, notes=notes))
    assert not store.has(Alone(number=3, notes=notes)), "another kind of cell with the same fields"


def test_results_of_other_code_are_not_taken(
    store: Store, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(Square(number=3, notes=notes), (9, 1))
    monkeypatch.setattr(store_module, "code", lambda module, packages: b"other code")
    assert store.has(Square(number=3, notes=notes)), (
        "sources that change while it runs are not what runs"
    )
    assert not Store(store.folder).has(Square(number=3, notes=notes))


@pytest.mark.parametrize("content", [b"", b"[9,", b'"nine"', b"[9]"])
def test_a_file_that_is_not_whole_counts_as_not_there(
    store: Store, notes: str, content: bytes
) -> None:
    cell = Square(number=3, notes=notes)
    store.path(cell).write_bytes(content)
    assert not store.has(cell)
    do([cell], store, workers=1)
    assert (9, os.getpid()) == store.get(cell)


def test_every_source_that_is_simulated_is_part_of_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in (
        "laissez/sim/clouds/fcfs.py",
        "laissez/market/book.py",
        "laissez/server/api.py",
        "cells_one.py",
        "cells_two.py",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("pass\n")
    monkeypatch.setattr(laissez, "__file__", str(tmp_path / "laissez" / "__init__.py"))
    monkeypatch.syspath_prepend(tmp_path)
    one, two = (import_module(name).__name__ for name in ("cells_one", "cells_two"))
    digest = store_module.code
    before = digest(one)
    assert before != digest(two)
    for file, matters in (
        ("laissez/server/api.py", False),
        ("cells_two.py", False),
        ("cells_one.py", True),
        ("laissez/sim/clouds/fcfs.py", True),
    ):
        (tmp_path / file).write_text("changed = True\n")
        assert matters == (before != digest(one)), file
        before = digest(one)
    with_service = digest(one, ("laissez.server",))
    (tmp_path / "laissez/server/api.py").write_text("changed = 2\n")
    assert (before, True) == (
        digest(one),
        with_service != digest(one, ("laissez.server",)),
    ), "it matters to those who name it"


# -- the work


@pytest.mark.parametrize("workers", [1, 2])
def test_a_cell_that_several_need_is_done_once(store: Store, notes: str, workers: int) -> None:
    cells = [Square(number=number, notes=notes) for number in (1, 2, 1, 3, 2)]
    told: list[Cell] = []
    do(cells, store, lambda cell, why: told.append(cell), workers)
    assert {1: 1, 2: 4, 3: 9} == {cell.number: got(store, cell)[0] for cell in cells}
    assert [1, 2, 3] == sorted(noted(notes))
    assert set(cells) == set(told) and 3 == len(told)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_done_is_not_done_again(store: Store, notes: str, workers: int) -> None:
    first, second = (
        [Square(number=number, notes=notes) for number in numbers]
        for numbers in ((1, 2), (1, 2, 3))
    )
    do(first, store, workers=workers)
    told: list[Cell] = []
    do(second, store, lambda cell, why: told.append(cell), workers)
    assert [1, 4, 9] == [got(store, cell)[0] for cell in second]
    assert [3] == noted(notes)[2:]
    assert [second[2]] == told


@pytest.mark.parametrize("workers", [1, 2])
def test_a_cell_that_fails_names_itself_and_others_are_kept(
    store: Store, notes: str, workers: int
) -> None:
    good, bad = (
        Square(number=2, notes=notes, family="one"),
        Square(number=-2, notes=notes, family="one"),
    )
    other = Square(number=5, notes=notes, family="other")
    after = Square(number=7, notes=notes, family="one")
    told: dict[Cell, str] = {}
    do([good, bad, after, other], store, lambda cell, why: told.update({cell: why}), workers)
    assert {good: "", after: "", other: ""} == {
        cell: why for cell, why in told.items() if cell != bad
    }
    assert re.match(
        r"^the square of -2: ValueError: expected no negative number"
        r" \(test_machinery.py, line \d+\)$",
        told[bad],
    )
    assert [True, False, True, True] == [store.has(cell) for cell in (good, bad, after, other)]


def test_a_group_is_done_by_one_worker_in_order(store: Store, notes: str) -> None:
    cells = [
        Square(number=number, notes=notes, family="odd" if number % 2 else "even")
        for number in range(8)
    ]
    do(cells, store, workers=2)
    for family in ("odd", "even"):
        assert 1 == len({got(store, cell)[1] for cell in cells if cell.family == family})
    assert [0, 2, 4, 6] == [number for number in noted(notes) if number % 2 == 0]
    assert os.getpid() not in {got(store, cell)[1] for cell in cells}


def test_the_longest_group_begins(notes: str) -> None:
    short, other = Square(number=1, notes=notes), Square(number=2, notes=notes, family="many")
    more, long = Square(number=3, notes=notes, family="many"), Long(number=4, notes=notes)
    assert [[long], [other, more], [short]] == grouped([short, other, more, long])


def test_what_wants_the_machine_for_itself_comes_last_and_here(store: Store, notes: str) -> None:
    cells = [
        Alone(number=0, notes=notes),
        *(Square(number=number, notes=notes) for number in (1, 2)),
    ]
    do(cells, store, workers=2)
    assert 0 == noted(notes)[-1]
    assert os.getpid() == got(store, cells[0])[1]


def test_a_worker_that_dies_ends_it_and_says_so(store: Store, notes: str) -> None:
    with pytest.raises(StoreError, match=r"^a worker process died"):
        do([Dies(number=number, notes=notes) for number in (1, 2)], store, workers=2)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_result_that_would_not_be_read_back_is_a_failure(
    store: Store, notes: str, workers: int
) -> None:
    cells = [NoNumber(number=number, notes=notes) for number in (1, 2)]
    told: dict[Cell, str] = {}
    do(cells, store, lambda cell, why: told.update({cell: why}), workers)
    assert all("expected a result that can be read back" in told[cell] for cell in cells)
    assert not any(map(store.has, cells))


# -- findings, and files of them


def test_an_interval_is_told_where_there_is_one() -> None:
    assert (10.0, 30.0) == interval(Estimate(0.2, 0.1, 0.3), 100)
    assert None is interval(Estimate(0.2)) is interval(None)


@pytest.mark.parametrize(
    ("estimate", "holds"),
    [
        (Estimate(0.2, 0.1, 0.3), True),
        (Estimate(0.1, 0.05, 0.17), True),  # reaches the paper's
        (Estimate(0.1, 0.05, 0.16), False),  # an effect, and smaller
        (Estimate(0.2, -0.01, 0.4), False),  # perhaps none
        (Estimate(0.2), None),
        (None, None),
    ],
)
def test_a_claim_holds_if_there_is_an_effect_as_large_as_the_papers(
    estimate: Estimate | None, holds: bool | None
) -> None:
    assert holds is holds_at_least(estimate, 0.17)


def a_claim(name: str, holds: bool | None = True) -> Claim:
    return Claim(
        figure=name, claim=f"{name} is as it should be", paper=1, measured=1.0, holds=holds
    )


def draw() -> Figure:
    figure = new_figure(1.5)
    axes = figure.subplots()
    dress(axes)
    for cloud in ("market", "fcfs"):
        points = axes.scatter(range(4), range(4), color=LOOKS[cloud].line)
        with_tips(cloud, points, cloud)
        of_cloud(cloud, *axes.plot([0, 1], [1, 0]))
    return figure


def test_the_same_findings_are_written_as_the_same_bytes(tmp_path: Path) -> None:
    rows: Rows = [
        {"seed": 0, "value": 0.1, "kind": "a, b"},
        {"seed": 1, "value": None, "kind": "c"},
    ]
    findings = Findings(claims=[a_claim("one")], text="It is.", rows=rows, draw=draw)
    written = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        assert ["one.csv", "one.svg", "one.png"] == write_findings("one", findings, folder)
        written.append([(folder / name).read_bytes() for name in ("one.csv", "one.svg", "one.png")])
    assert written[0] == written[1]
    assert b'seed,value,kind\n0,0.1,"a, b"\n1,,c\n' == written[0][0]


def test_without_a_figure_there_are_the_rows_alone(tmp_path: Path) -> None:
    assert ["one.csv"] == write_findings(
        "one", Findings(claims=[], text="", rows=[{"a": 1}], draw=None), tmp_path
    )
    assert ["one.csv"] == [path.name for path in tmp_path.iterdir()]


# -- the whole


class Sum(Experiment):
    """The sum of some squares."""

    def __init__(
        self, name: str, numbers: Sequence[int], notes: str, needs: str | None = None
    ) -> None:
        self.name, self.title, self.numbers, self.notes, self.needs = (  # type: ignore[misc]
            name,
            f"The sum {name}",
            numbers,
            notes,
            needs,
        )

    def cells(self, plan: Plan) -> list[Square]:
        return [Square(number=number, notes=self.notes) for number in self.numbers]

    def findings(self, plan: Plan, results: Results) -> Findings:
        total = sum(results[cell][0] for cell in self.cells(plan))
        return Findings(
            claims=[a_claim(self.name)], text=f"It is {total}.", rows=[{"total": total}], draw=None
        )

    def missing(self, plan: Plan) -> str | None:
        return self.needs


class Noting(Watch):
    def __init__(self) -> None:
        self.told: list[str] = []

    def begins(self, missing: Sequence[Cell], wanted: int) -> None:
        self.told.append(f"{len(missing)} of {wanted}")

    def done(self, cell: Cell) -> None:
        self.told.append(str(cell).split()[-1])

    def found(self, outcome: Outcome) -> None:
        self.told.append(outcome.experiment.name)


def reproduced(folder: Path, *experiments: Experiment) -> list[str]:
    watch = Noting()
    claims = Reproduction(Plan(seeds=1), experiments, folder, watch, workers=1).run()
    assert [one.name for one in experiments if one.missing(Plan()) is None] == [
        claim.figure for claim in claims
    ]
    return watch.told


def test_experiments_are_complete_as_soon_as_their_cells_are(tmp_path: Path, notes: str) -> None:
    told = reproduced(
        tmp_path, Sum("late", (1, 2, 3), notes), Sum("early", (2, 1), notes), Sum("none", (), notes)
    )
    assert ["3 of 3", "none", "1", "2", "early", "3", "late"] == told
    assert ["14", "5"] == [
        (tmp_path / f"{name}.csv").read_text().split()[1] for name in ("late", "early")
    ]


def test_a_run_goes_on_where_it_was(tmp_path: Path, notes: str) -> None:
    stopped = Reproduction(
        Plan(seeds=1),
        [Sum("one", (1, 2, -3), notes), Sum("two", (1, 2), notes)],
        tmp_path,
        Watch(),
        workers=1,
    )
    assert ["two"] == [claim.figure for claim in stopped.run()], (
        "what failed keeps no other from being found"
    )
    (why,) = stopped.failures
    assert why.startswith("one: the square of -3: ValueError") and why in (
        tmp_path / "report.html"
    ).read_text().replace("failed: ", "one: ")
    assert ["1 of 3", "4", "one"] == reproduced(tmp_path, Sum("one", (1, 2, 4), notes))
    assert [1, 2, 4] == noted(notes)


def test_a_file_that_is_not_whole_does_not_look_done(tmp_path: Path, notes: str) -> None:
    reproduced(tmp_path, Sum("one", (1, 2), notes))
    Store(tmp_path / CELLS).path(Square(number=2, notes=notes)).write_bytes(b"[4,")
    two = Reproduction(
        Plan(seeds=1),
        [Sum("one", (1, 2), notes), Sum("more", (7, 8), notes)],
        tmp_path,
        Watch(),
        workers=2,
    )
    assert ["one", "more"] == [claim.figure for claim in two.run()]
    assert (4, 4) == two.kept()


def test_what_cannot_be_run_is_told_and_is_no_error(tmp_path: Path, notes: str) -> None:
    assert ["1 of 1", "real", "1", "one"] == reproduced(
        tmp_path, Sum("real", (5,), notes, needs="a trace: --trace FILE"), Sum("one", (1,), notes)
    )
    assert "a trace: --trace FILE" in (tmp_path / "report.html").read_text()
    assert '"real": "not run, needs a trace: --trace FILE"' in (tmp_path / "run.json").read_text()
    assert [1] == noted(notes)
