"""Scenario files: valid files are read, mistakes are refused with their place, and the examples
match their descriptions."""

from __future__ import annotations

import contextlib
import io
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from typer.testing import CliRunner

from laissez.cli import app
from laissez.cli.errors import EXIT_USAGE, exit_code, is_ours
from laissez.config import fields_of, is_table, shown
from laissez.sim import Scenario, ScenarioError, read_scenario, write_scenario
from laissez.sim.scenario import (
    ActionTable,
    Band,
    BatchTable,
    ClusterTable,
    FailuresTable,
    FloorTable,
    InferenceTable,
    MarketTable,
    PricesTable,
    Table,
    TenantsTable,
    TrainingTable,
)
from laissez.sim.workloads.population import draw
from laissez.sim.workloads.spec import Planners
from laissez.units import HOUR_US
from support.doc_shell import examples, matches
from support.paths import EXAMPLES, GUIDES, ROOT

pytestmark = pytest.mark.once

REFERENCE = EXAMPLES / "scenario.toml"
SCENARIOS = sorted((EXAMPLES / "scenarios").glob("*.toml"))
PAGE = (GUIDES / "simulator.md").read_text()
WITH_DEMAND = "demand = 1.0\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "scenario.toml"


def written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def mistakes(file: Path, text: str) -> list[str]:
    with pytest.raises(ScenarioError) as refused:
        read_scenario(written(file, text))
    lines = str(refused.value).splitlines()
    assert all(line.startswith(f"{file}: ") for line in lines)
    return [line.removeprefix(f"{file}: ") for line in lines]


# -- the reference and the examples


def test_the_reference_has_the_defaults() -> None:
    assert Scenario(demand=1.0) == read_scenario(REFERENCE)


def test_the_reference_leaves_nothing_out() -> None:
    """Fields without a default are there as examples, with a # before them."""
    told = tomllib.loads(REFERENCE.read_text())
    assert defaults(Scenario(demand=1.0)) == {
        name: set(value) if isinstance(value, dict) else value for name, value in told.items()
    }
    shown = tomllib.loads(re.sub(r"(?m)^#(?=[a-z[])", "", REFERENCE.read_text()))
    assert set(fields_of(Scenario)) == set(shown)
    for name, field in fields_of(Scenario).items():
        for table in filter(is_table, (field.type, *get_args(field.type))):
            one = shown[name][0] if isinstance(shown[name], list) else shown[name]
            assert set(fields_of(table)) == set(one), name


def defaults(scenario: Scenario) -> dict[str, Any]:
    """The values of a scenario that a file can have, and the fields of each table that have one."""
    given = {
        name: value
        for name, value in msgspec.structs.asdict(scenario).items()
        if value is not None and value != ()
    }
    return {
        name: (
            {field for field, value in msgspec.structs.asdict(one).items() if value is not None}
            if isinstance(one, Table)
            else one
        )
        for name, one in given.items()
    }


def test_the_reference_explains_every_field() -> None:
    assert [] == [
        line
        for line in REFERENCE.read_text().splitlines()
        if re.match(r"#?\w+ =", line) and "  # " not in line.lstrip("#")
    ]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_example_is_readable_and_named_as_its_file(path: Path) -> None:
    assert path.stem == read_scenario(path).name
    assert path.read_text().startswith("# ")


def test_the_regimes_exist() -> None:
    regimes = {
        "right-sized": 1.0,
        "slightly-oversubscribed": 1.125,
        "heavily-oversubscribed": 2.25,
        "undersubscribed": 0.5,
    }
    assert regimes == {
        name: read_scenario(EXAMPLES / "scenarios" / f"{name}.toml").demand for name in regimes
    }
    for name in regimes:  # and nothing else differs
        scenario = read_scenario(EXAMPLES / "scenarios" / f"{name}.toml")
        assert Scenario(demand=1.0) == msgspec.structs.replace(
            scenario, name="scenario", demand=1.0
        )


def test_the_small_example_is_two_tenants_of_each_kind_for_about_an_hour() -> None:
    """And it runs: the page shows that."""
    specs = draw(read_scenario(EXAMPLES / "scenarios" / "small.toml"), 0, Planners()).specs
    assert ["batch", "batch", "inference", "inference", "training", "training"] == sorted(
        one.kind for one in specs
    )
    assert max(one.due for one in specs) < 1.25 * HOUR_US


# -- refusals


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[tenants]\ncount = -1",
            "tenants.count: expected an integer from 0 up to 1,000,000, found -1",
        ),
        (
            "[tenants]\ncount = 0",
            (
                "tenants.count: expected an integer from 1 on where nobody is there before them (no"
                " start), found 0"
            ),
        ),
        (
            "[tenants]\ncount = 2.5",
            "tenants.count: expected an integer from 0 up to 1,000,000, found 2.5",
        ),
        (
            "[tenants]\ncount = true",
            "tenants.count: expected an integer from 0 up to 1,000,000, found True",
        ),
        (
            "[tenants]\nmix = { web = 1 }",
            "tenants.mix.web: expected one of inference, training, batch, found 'web'",
        ),
        (
            "[tenants]\nmix = { batch = 0 }",
            "tenants.mix.batch: expected a number above 0 up to 1,000,000, found 0",
        ),
        (
            "[tenants]\nmix = {}",
            (
                "tenants.mix: expected a table that is not empty, each entry a number above 0 up to"
                " 1,000,000, found {}"
            ),
        ),
        (
            "[tenants]\nmix = 3",
            (
                "tenants.mix: expected a table that is not empty, each entry a number above 0 up to"
                " 1,000,000, found 3"
            ),
        ),
        (
            "[tenants]\ndecide_seconds = 0",
            "tenants.decide_seconds: expected a number from 1 up to 1,000,000, found 0",
        ),
        ("tenants = 3", "tenants: expected a table, found 3"),
        ("name = 3", "name: expected a text in quotes that is not empty, found 3"),
        ("hours = nan", "hours: expected a number from 0.01 up to 1,000,000, found nan"),
        ("hours = inf", "hours: expected a number from 0.01 up to 1,000,000, found inf"),
        (
            "[inference]\nengines = [8, 2]",
            "inference.engines: expected the lower end first, found 8 before 2",
        ),
        (
            "[inference]\nengines = 2",
            (
                "inference.engines: expected [low, high], each a number above 0 up to 1,000,000,"
                " found 2"
            ),
        ),
        (
            "[batch]\nhours = [1, 2, 3]",
            (
                "batch.hours: expected [low, high], each a number from 0.01 up to 1,000,000, found"
                " [1, 2, 3]"
            ),
        ),
        ("[prices]\nfloor = 1.5", "prices.floor: expected a number from 0 up to 1, found 1.5"),
        (
            "[prices]\nh100 = 20_000",
            "prices.h100: expected a number above 0 up to 10,000, found 20000",
        ),
        (
            "[cluster]\nshares = { h200 = 1 }",
            "cluster.shares.h200: expected a type that has a price (h100, a100), found 'h200'",
        ),
        (
            "[cluster]\nshares = { floor = 1 }",
            "cluster.shares.floor: expected a type that has a price (h100, a100), found 'floor'",
        ),
        (
            "[training]\nmodels = ['GPT-5']",
            "training.models: expected models of OPT-350, GPT-Neo-2.7, found 'GPT-5'",
        ),
        (
            "[training]\nmodels = []",
            (
                "training.models: expected a list that is not empty, each a text in quotes that is"
                " not empty, found []"
            ),
        ),
        (
            "[training]\nhours = [0.1, 2]",
            (
                "training.cold_seconds: expected less than half of the shortest of hours,"
                " 180 s, found 240"
            ),
        ),
        (
            "[batch]\ncold_seconds = [60, 9000]",
            (
                "batch.cold_seconds: expected less than half of the shortest of hours, 2700"
                " s, found 9000"
            ),
        ),
        (
            "[inference]\ncold_seconds = 9000",
            (
                "inference.cold_seconds: expected less than the shortest of hours, 5400"
                " s, found 9000"
            ),
        ),
        (
            "failures = {}",
            "failures.mtbf_hours: expected a number from 0.1 up to 1,000,000, found nothing",
        ),
        ("actions = 3", "actions: expected a list, each a table, found 3"),
        (
            "[[actions]]\nat_minutes = 1\noffline = 'h100'\nonline = 'h100'",
            (
                "actions[0].at_minutes: expected one of floor, controls, offline, online beside it,"
                " found offline and online"
            ),
        ),
        (
            "[market]\nrise = { share = -1, seconds = 1 }",
            "market.rise.share: expected a number from 0 up to 1,000, found -1",
        ),
    ],
)
def test_a_mistake_is_reported_with_place_expectation_and_value(
    file: Path, text: str, told: str
) -> None:
    assert [told] == mistakes(file, WITH_DEMAND + text)


def test_an_unknown_field_is_reported_with_the_known_ones_and_a_near_match(file: Path) -> None:
    fields = (
        "count, mix, arrivals_hours, worth, decide_seconds, moves_max, adaptive, believed_overhead"
    )
    assert [
        f"tenants.cuont: expected one of {fields}, found 'cuont' (did you mean count?)"
    ] == mistakes(file, WITH_DEMAND + "[tenants]\ncuont = 3")
    assert [f"tenants.xyz: expected one of {fields}, found 'xyz'"] == mistakes(
        file, WITH_DEMAND + "[tenants]\nxyz = 3"
    )
    (told,) = mistakes(file, WITH_DEMAND + "[tenant]\ncount = 3")
    assert told.startswith("tenant: expected one of name, hours, demand, ") and told.endswith(
        "found 'tenant' (did you mean tenants?)"
    )


def test_exactly_one_of_demand_and_gpus_is_given(file: Path) -> None:
    assert ["demand: expected either this or cluster.gpus, found neither"] == mistakes(file, "")
    assert ["demand: expected either this or cluster.gpus, found both"] == mistakes(
        file, WITH_DEMAND + "[cluster]\ngpus = { h100 = 8 }"
    )
    assert {"h100": 8} == read_scenario(
        written(file, "[cluster]\ngpus = { h100 = 8 }")
    ).cluster.gpus


def test_all_mistakes_are_reported_at_once(file: Path) -> None:
    text = (
        "demnd = 1\nname = ''\n[tenants]\ncount = -1\nworth = 0\n[batch]\ngpus = [3,"
        " 1]\n[[actions]]\nat_minutes = 1\nfloor = { node = 'h100' }"
    )
    places = [line.partition(": ")[0] for line in mistakes(file, text)]
    assert [
        "demnd",
        "name",
        "tenants.count",
        "tenants.worth",
        "batch.gpus",
        "actions[0].floor.price",
    ] == places


def test_invalid_toml_is_reported_with_its_line(file: Path) -> None:
    (told,) = mistakes(file, "demand = 1.0\n[tenants]\ncount 3\n")
    assert told.startswith("expected TOML: ") and "line 3" in told
    (told,) = mistakes(file, f"demand = {'9' * 5000}")
    assert told.startswith("expected TOML: ")
    file.write_bytes(b"name = '\xff'")
    with pytest.raises(ScenarioError, match=r"expected TOML: .*utf-8"):
        read_scenario(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ScenarioError,
        match=re.escape(
            f"{tmp_path / 'none.toml'}: expected a file that can be read: No such file"
        ),
    ):
        read_scenario(tmp_path / "none.toml")


def test_a_trace_is_found_beside_the_file(file: Path) -> None:
    text = WITH_DEMAND + '[inference]\ntrace = "azure.csv"\n'
    trace = file.parent / "azure.csv"
    assert [
        f"inference.trace: expected a file that is there, found {shown(str(trace))}"
    ] == mistakes(file, text)
    trace.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n")
    assert str(trace) == read_scenario(str(written(file, text))).inference.trace


@pytest.mark.parametrize("field", ["start", "maps"])
def test_other_files_are_found_there_too(file: Path, field: str) -> None:
    other = file.parent / "other"
    text = f'{WITH_DEMAND}{field} = "other"\n'
    assert [f"{field}: expected a file that is there, found {shown(str(other))}"] == mistakes(
        file, text
    )
    other.write_text("")
    assert str(other) == getattr(read_scenario(written(file, text)), field)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (Scenario, "demand: expected either this or cluster.gpus, found neither"),
        (
            lambda: Scenario(demand=-1.0),
            "demand: expected a number above 0 up to 1,000,000, found -1.0",
        ),
        (lambda: Scenario(demand=1.0, tenants=3), "tenants: expected a table, found 3"),  # type: ignore[arg-type]
        (
            lambda: TenantsTable(count=-1),
            "count: expected an integer from 0 up to 1,000,000, found -1",
        ),
        (
            lambda: InferenceTable(hours=(2.0, 1.0)),
            "hours: expected the lower end first, found 2 before 1",
        ),
        (
            lambda: InferenceTable(trace="/none"),
            "trace: expected a file that is there, found '/none'",
        ),
        (
            lambda: TrainingTable(models=("?",)),
            "models: expected models of OPT-350, GPT-Neo-2.7, found '?'",
        ),
        (
            lambda: BatchTable(hours=(0.1, 0.2)),
            ("cold_seconds: expected less than half of the shortest of hours, 180 s, found 720"),
        ),
        (
            lambda: ClusterTable(gpus={"h100": 0}),
            "gpus.h100: expected an integer from 1 up to 1,000,000, found 0",
        ),
        (
            lambda: msgspec.structs.replace(PricesTable(), floor=2.0),
            "floor: expected a number from 0 up to 1, found 2.0",
        ),
    ],
)
def test_a_scenario_made_in_python_is_checked_by_the_same_rules(
    make: Callable[[], Table], told: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        make()
    assert told == str(refused.value)


def test_a_mistake_in_a_scenario_is_an_operating_error(file: Path) -> None:
    error = ScenarioError("x")
    assert is_ours(error) and EXIT_USAGE == exit_code(error)
    found = CliRunner().invoke(app, ["sim", "run", str(written(file, "demnd = 1"))])
    assert isinstance(found.exception, ScenarioError)


# -- writing


def test_a_written_scenario_reads_back_equal_and_in_the_same_order(
    file: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("")
    scenario = Scenario(
        name='a "name" \\ with \x7f\n and é',
        cluster=ClusterTable(gpus={"h100": 8, "a100": 16}),
        tenants=TenantsTable(count=3, mix={"training": 1e-5, "batch": 2.0}, worth=1e5),
        inference=InferenceTable(trace=str(trace)),
        market=MarketTable(rise=Band(share=0.5, seconds=60.0), hold_seconds=5.0),
        failures=FailuresTable(mtbf_hours=100.0),
        actions=(
            ActionTable(at_minutes=5.0, floor=FloorTable(node="h100", price=3.5)),
            ActionTable(at_minutes=6.0, offline="h100/zone1"),
        ),
    )
    back = read_scenario(written(file, write_scenario(scenario)))
    assert scenario == back
    assert ["training", "batch"] == list(back.tenants.mix)
    assert write_scenario(scenario) == write_scenario(back)


@pytest.mark.parametrize("path", [REFERENCE, *SCENARIOS], ids=lambda path: path.stem)
def test_every_example_can_be_written_again(path: Path, file: Path) -> None:
    scenario = read_scenario(path)
    assert scenario == read_scenario(written(file, write_scenario(scenario)))


# -- the page


def test_the_output_on_the_page_is_that_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for example in examples(PAGE):
        ((code, shown),) = example.steps
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "simulator.md", "exec"), {"__name__": "example"})
        assert matches(shown, out.getvalue()), out.getvalue()


def test_the_page_links_every_scenario() -> None:
    links = re.findall(r"\]\(\.\./examples/([^)#]+)\)", PAGE)
    assert "scenario.toml" in links
    assert [] == [path.name for path in SCENARIOS if f"scenarios/{path.name}" not in links]
