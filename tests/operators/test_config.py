"""`maps.toml`: valid files are read, and mistakes are refused with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from laissez.market.commands import Band, SetControls, SetFloor
from laissez.operators import (
    CsvTrace,
    DryRun,
    LeafIndex,
    MapsFileError,
    OperatorView,
    PrometheusQuery,
    PythonCallable,
    read_maps,
)
from support.paths import EXAMPLES

pytestmark = pytest.mark.once

EXAMPLE = EXAMPLES / "maps.toml"
BASE = '[base.h100]\nprice = "2.00"\nfloor_max = "20.00"\n'
SIGNAL = '[signals.s]\nsource = "python"\ncall = "math:sqrt"\n'
POWER = '[maps.p]\nkind = "power"\nnodes = ["h100/row1"]\nsignal = "s"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "maps.toml"
    path.write_text(text)
    return path


def mistakes(folder: Path, text: str) -> list[str]:
    path = written(folder, text)
    with pytest.raises(MapsFileError) as refused:
        read_maps(path)
    return [line.replace(f"{path}: ", "") for line in str(refused.value).splitlines()]


def test_the_example_can_be_used() -> None:
    operator = read_maps(EXAMPLE)
    assert {"row1-power", "row1-inlet", "grid-intensity"} == set(operator.sources)
    world = DryRun(operator, ["h100/row1/a", "h100/row2/a", "a100/x"])
    decision = world.tick(1_770_000_000_000_000, {})
    assert {
        "a100": 1_200_000,
        "h100": 1_600_000,
        "h100/row1": 6_400_000,
        "h100/row2": 1_600_000,
    } == world.floors
    assert (
        SetControls("h100", Band(500_000, 60_000_000), Band(200_000, 300_000_000), 60_000_000)
        == decision.commands[0]
    )
    assert ["row1-power", "row1-cooling", "grid"] == [alarm.where for alarm in decision.alarms]
    operator.close()


def test_every_kind_of_source_and_map_is_read(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("time,measured_power_util\n1,0.5\n2,0.6\n")
    text = f"""
        [floors]
        fall_per_minute = 0.5
        {BASE}
        [signals.a]
        source = "csv"
        file = "trace.csv"
        starts_at = 2026-03-04T12:00:00Z
        [signals.b]
        source = "prometheus"
        url = "http://127.0.0.1:9090"
        query = "up"
        {SIGNAL}
        [maps.power]
        kind = "power"
        nodes = ["h100"]
        signal = "a"
        [maps.cooling]
        kind = "cooling"
        nodes = ["h100"]
        signal = "b"
        [maps.carbon]
        kind = "carbon"
        nodes = ["h100"]
        signal = "s"
        reference = 300
        [maps.full]
        kind = "utilisation"
        nodes = ["h100"]
        [maps.own]
        kind = "laissez.operators:Power"
        nodes = ["h100"]
        signal = "a"
    """
    operator = read_maps(written(tmp_path, text))
    kinds = [type(source) for source in operator.sources.values()]
    assert [CsvTrace, PrometheusQuery, PythonCallable] == kinds
    assert ["power", "cooling", "carbon", "full", "own"] == [
        each.name for each in operator.composition.maps
    ]
    view = OperatorView(now=0, leaves=LeafIndex(["h100/a"]))
    assert (SetFloor("h100", 8_000_000),) == operator.decide(view).commands
    operator.close()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ["base: expected at least one base price, such as a table [base.h100], found none"]),
        (
            BASE + "[flors]\n",
            [
                (
                    "flors: expected one of floors, base, signals, maps, maintenance, controls,"
                    " found 'flors' (did you mean floors?)"
                )
            ],
        ),
        ("base = 3", ["base: expected a table, each entry a table, found 3"]),
        ("[base]\nh100 = 3", ["base.h100: expected a table, found 3"]),
        ("floors = 3\n" + BASE, ["floors: expected a table, found 3"]),
        (
            '[base.h100]\nprice = "2.00"',
            [
                (
                    "base.h100.floor_max: expected dollars per hour in quotes, such as"
                    ' "2.75", found nothing'
                )
            ],
        ),
        (
            BASE + 'prize = "1"',
            [
                (
                    "base.h100.prize: expected one of price, floor_max, floor_min, times, found"
                    " 'prize' (did you mean price?)"
                )
            ],
        ),
        (
            BASE.replace('"2.00"', "2.00"),
            [('base.h100.price: expected dollars per hour in quotes, such as "2.75", found 2.0')],
        ),
        (
            BASE.replace("2.00", "-2"),
            [
                (
                    "base.h100.price: expected dollars per hour, digits with at most 6 decimals"
                    " such as \"2.75\", found '-2'"
                )
            ],
        ),
        (
            BASE.replace("2.00", "1e3"),
            [
                (
                    "base.h100.price: expected dollars per hour, digits with at most 6 decimals"
                    " such as \"2.75\", found '1e3'"
                )
            ],
        ),
        (
            BASE.replace("20.00", "10000.01"),
            [("base.h100.floor_max: expected at most 10000 dollars per hour, found '10000.01'")],
        ),
        (
            BASE.replace("20.00", "1.00"),
            [
                (
                    "base.h100.price: expected a base price within floor_min and floor_max,"
                    ' "0.00" to "1.00", found "2.00"'
                )
            ],
        ),
        (
            BASE + 'times = [{ price = "1", day = "mon" }]',
            [
                (
                    "base.h100.times[0].day: expected one of price, days, from, to, found 'day'"
                    " (did you mean days?)"
                )
            ],
        ),
        (
            BASE + "times = [{ price = 1 }]",
            [
                (
                    "base.h100.times[0].price: expected dollars per hour in quotes, such as"
                    ' "2.75", found 1'
                )
            ],
        ),
        (
            BASE + "[floors]\nfall_per_minute = 0",
            ["floors.fall_per_minute: expected a number above 0 up to 1, found 0"],
        ),
        (
            BASE + "[floors]\nfall_per_minute = nan",
            ["floors.fall_per_minute: expected a number above 0 up to 1, found nan"],
        ),
        (
            BASE + "[floors]\nsettle_s = inf",
            ["floors.settle_s: expected a number from 0 up to 86,400, found inf"],
        ),
        (
            BASE + "[floors]\ntolerance = true",
            ["floors.tolerance: expected a number from 0 up to 0.5, found True"],
        ),
        (
            '[base."h100//x"]\nprice = "1"\nfloor_max = "2"',
            [("base.h100//x: expected the path of a node, such as h100/row1, found 'h100//x'")],
        ),
        (
            BASE + SIGNAL + POWER.replace("power", "powr"),
            [
                (
                    "maps.p.kind: expected one of power, cooling, carbon, utilisation,"
                    " \"package.module:Class\", found 'powr'"
                )
            ],
        ),
        (
            BASE + SIGNAL + POWER.replace("power", "math:pi"),
            ["maps.p.kind: expected a subclass of InfraMap, found 3.141592653589793"],
        ),
        (
            BASE + SIGNAL + POWER.replace("power", "laissez.operators:Maintenance"),
            [
                (
                    "maps.p.kind: expected a subclass of InfraMap, found <class"
                    " 'laissez.operators.maintenance.Maintenance'>"
                )
            ],
        ),
        (
            BASE + SIGNAL + POWER.replace("power", "math:Pi"),
            [
                (
                    "maps.p.kind: expected Pi in the Python module math: module 'math' has no"
                    " attribute 'Pi'"
                )
            ],
        ),
        (BASE + POWER, ["maps.p: expected a signal with a table [signals.s], found no signals"]),
        (
            BASE + SIGNAL + POWER.replace('"s"', '"t"'),
            ["maps.p: expected a signal with a table [signals.t], found s"],
        ),
        (
            BASE + SIGNAL + POWER + "cap = 0",
            ["maps.p.cap: expected a number above 0 up to 1, found 0"],
        ),
        (
            BASE + SIGNAL + POWER + "weight = -1",
            ["maps.p.weight: expected a number from 0 up to 1,000, found -1"],
        ),
        (
            BASE + SIGNAL + POWER + "stale_after_s = 0",
            [("maps.p.stale_after_s: expected a number above 0 up to 31,622,400, found 0")],
        ),
        (
            BASE + SIGNAL + POWER + 'name = "q"',
            [
                (
                    "maps.p.name: expected one of nodes, weight, safe_pressure, stale_after_s,"
                    " signal, cap, comfortable, found 'name'"
                )
            ],
        ),
        (
            BASE + SIGNAL + POWER.replace('["h100/row1"]', "[]"),
            [
                (
                    "maps.p.nodes: expected a list that is not empty, each the path of a node,"
                    " such as h100/row1, found []"
                )
            ],
        ),
        (
            BASE + SIGNAL + POWER.replace("h100/row1", "a100/row1"),
            [
                (
                    "a100/row1: expected a base price at it or above it, such as one for a100,"
                    " found none"
                )
            ],
        ),
        (
            BASE + '[signals.s]\nsource = "snmp"',
            ["signals.s.source: expected one of csv, prometheus, python, found 'snmp'"],
        ),
        (
            BASE + '[signals.s]\nsource = "python"',
            ['signals.s.call: expected "package.module:name", found nothing'],
        ),
        (
            BASE + '[signals.s]\nsource = "python"\ncall = "math"',
            ["signals.s.call: expected \"package.module:name\", found 'math'"],
        ),
        (
            BASE + '[signals.s]\nsource = "python"\ncall = "math:pi"',
            ["signals.s.call: expected a function, found 3.141592653589793"],
        ),
        (
            BASE + '[signals.s]\nsource = "prometheus"\nurl = "x"\nquery = "up"',
            [
                (
                    "signals.s.url: expected the address of a Prometheus, such as"
                    ' "http://127.0.0.1:9090", found another'
                )
            ],
        ),
        (
            BASE
            + '[signals.s]\nsource = "prometheus"\nurl = "http://h"\nquery = "up"\ntake = "avg"',
            ["signals.s.take: expected one of max, mean, min, only, sum, found 'avg'"],
        ),
        (
            BASE + '[signals.s]\nsource = "csv"\nfile = ""',
            ["signals.s.file: expected the name of a file, found ''"],
        ),
        (
            BASE + '[signals.s]\nsource = "csv"\nfile = "x"\nstarts_at = 5',
            [
                (
                    "signals.s.starts_at: expected a date and time with its offset, such as"
                    " 2026-09-01T02:00:00Z, after 1970 and before 2255, found 5"
                )
            ],
        ),
        (
            BASE
            + '[maintenance.m]\nnodes = ["h100"]\nstart = 2026-03-04\nend = 2026-03-04T13:00:00Z',
            [
                (
                    "maintenance.m.start: expected a date and time with its offset, such as"
                    " 2026-09-01T02:00:00Z, after 1970 and before 2255, found datetime.date(2026,"
                    " 3, 4)"
                )
            ],
        ),
        (
            BASE + '[maintenance.m]\nnodes = ["h100"]\nstart = 2026-03-04T14:00:00Z\nend ='
            " 2026-03-04T13:00:00Z",
            ["maintenance.m.end: expected a time after start"],
        ),
        (
            BASE + "[controls.h100]\nhold = 3",
            [
                (
                    "controls.h100.hold: expected one of rise, fall, hold_s, flash_s, found"
                    " 'hold' (did you mean hold_s?)"
                )
            ],
        ),
        (
            BASE + "[controls.h100]\nfall = { fraction = 0.1 }",
            [
                (
                    "controls.h100.fall.every_s: expected a number above 0 up to 31,622,400,"
                    " found nothing"
                )
            ],
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path: Path, text: str, said: list[str]) -> None:
    assert said == mistakes(tmp_path, text)


def test_a_time_without_its_offset_is_refused(tmp_path: Path) -> None:
    (found,) = mistakes(
        tmp_path,
        BASE + '[maintenance.m]\nnodes = ["h100"]\nstart = 2026-03-04T12:00:00\nend ='
        " 2026-03-04T13:00:00Z",
    )
    assert found.startswith(
        "maintenance.m.start: expected a date and time with its offset, such as"
        " 2026-09-01T02:00:00Z, after 1970 and before 2255, found datetime.datetime"
    )


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path, BASE + "flor = 1\n" + POWER + "cup = 1\ncap = 2\n[signals.s]\nsource = 1\n"
    )
    assert ["base.h100.flor", "signals.s.source", "maps.p.cup", "maps.p.cap"] == [
        line.partition(":")[0] for line in found
    ]


def test_a_mistake_in_a_trace_is_reported_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time,measured_power_util\n1,0.5\n2,abc\n")
    (found,) = mistakes(tmp_path, BASE + '[signals.s]\nsource = "csv"\nfile = "t.csv"')
    assert (
        found.startswith("signals.s: ")
        and "t.csv, line 3: measured_power_util: expected a finite number" in found
    )


@pytest.mark.parametrize("content", [None, b"a = ", b"\xff"])
def test_a_file_that_is_not_toml_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "maps.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(MapsFileError, match=r"maps\.toml: expected (TOML|a file that can be read)"):
        read_maps(path)
