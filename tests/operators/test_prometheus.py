"""A real Prometheus, started here with a few samples in its store: a map is priced by what it
answers.

The samples are put there before it starts. It would take it five seconds to begin to scrape,
whatever the interval.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from laissez.operators import (
    Base,
    Composition,
    DryRun,
    Missing,
    Operator,
    Power,
    Price,
    PrometheusQuery,
    Reading,
)

BINARY = shutil.which("prometheus") or "/usr/bin/prometheus"
WITHIN_S = 30
OLD_S = 100

pytestmark = [
    pytest.mark.once,
    pytest.mark.xdist_group("prometheus"),
    pytest.mark.skipif(
        not Path(BINARY).exists(), reason="prometheus is not installed: apt-get install prometheus"
    ),
]


def samples() -> str:
    """Samples of power meters: two rows and two broken meters a moment ago, and one old sample."""
    now = time.time()
    recent = {
        'power_share{row="1"}': "0.76",
        'power_share{row="2"}': "0.60",
        "broken": "NaN",
        "endless": "+Inf",
    }
    lines = [f"{series} {value} {now - 1:.3f}" for series, value in recent.items()] + [
        f"old_share 0.5 {now - OLD_S:.3f}"
    ]
    return "\n".join([*lines, "# EOF", ""])


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prometheus that answers."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "prometheus.yml").write_text("{}\n")
    (folder / "samples").write_text(samples())
    backfill = [
        str(Path(BINARY).with_name("promtool")),
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        "samples",
        "data",
    ]
    subprocess.run(backfill, cwd=folder, check=True, capture_output=True, timeout=WITHIN_S)
    address = f"127.0.0.1:{free_port()}"
    command = [
        BINARY,
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address={address}",
    ]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log, cwd=folder) as process,
    ):
        try:
            _until_it_answers(f"http://{address}", process, folder / "log")
            yield f"http://{address}"
        finally:
            process.kill()


def _until_it_answers(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    source = PrometheusQuery(url=url, query="count(power_share)", timeout_s=1.0)
    ends = time.monotonic() + WITHIN_S
    while isinstance(source.read(0), Missing):
        assert process.poll() is None and time.monotonic() < ends, log.read_text()
        time.sleep(0.02)
    source.close()


def read(url: str, query: str, now: int = 10**15) -> Reading | Missing:
    source = PrometheusQuery(url=url, query=query, timeout_s=float(WITHIN_S))
    try:
        return source.read(now)
    finally:
        source.close()


def value(found: Reading | Missing) -> float:
    assert isinstance(found, Reading), found
    return found.value


def test_a_query_gives_the_values_of_the_meters(prometheus: str) -> None:
    assert 0.76 == value(read(prometheus, 'power_share{row="1"}'))
    assert 0.76 == value(read(prometheus, "max(power_share)"))
    assert 2.0 == value(read(prometheus, "scalar(count(power_share))"))
    assert "nan" == str(value(read(prometheus, "broken")))
    assert "inf" == str(value(read(prometheus, "endless")))


def test_the_age_of_a_sample_is_known_although_prometheus_dates_it_now(prometheus: str) -> None:
    found = read(prometheus, "old_share")
    assert isinstance(found, Reading)
    assert 10**15 - found.at >= (OLD_S - 1) * 1_000_000
    answer = httpx.get(
        f"{prometheus}/api/v1/query", params={"query": "time() - old_share * 0"}, trust_env=False
    ).json()
    evaluated, text = answer["data"]["result"][0]["value"]
    assert evaluated == pytest.approx(float(text), abs=1.0)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "power_share",
            "expected one sample from http://127.0.0.1:.*, found 2; ask for an aggregate",
        ),
        ("no_such_series", "found 0: there is no such series now"),
        ("power_share[5m]", "found a matrix"),
        ("sum(", "400 .*parse error"),
    ],
)
def test_a_query_without_exactly_one_sample_gives_a_reason(
    prometheus: str, query: str, said: str
) -> None:
    found = read(prometheus, query)
    assert isinstance(found, Missing)
    assert re.search(said, found.reason), found.reason


def test_a_map_is_priced_by_the_answer_of_prometheus(prometheus: str) -> None:
    base = Base(node="h100", price=Price.of("2"), floor_max=Price.of("20"))
    maps = [
        Power(name=f"row{row}", nodes=(f"h100/row{row}",), signal=f"row{row}") for row in (1, 2)
    ]
    sources = {
        f"row{row}": PrometheusQuery(
            url=prometheus, query=f'power_share{{row="{row}"}}', timeout_s=float(WITHIN_S)
        )
        for row in (1, 2)
    }
    operator = Operator(Composition(bases=[base], maps=maps), sources)
    world = DryRun(operator, ["h100/row1/a", "h100/row2/a"])
    assert () == world.tick(10**15, operator.read(10**15)).alarms
    assert {"h100": 2_000_000, "h100/row1": 3_000_000, "h100/row2": 2_000_000} == world.floors
    operator.close()
