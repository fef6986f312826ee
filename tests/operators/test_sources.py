"""Where signals come from: each source gives a reading with its age, or says why it has none."""

from __future__ import annotations

import gzip
import json
import math
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from laissez.config import ConfigError, imported
from laissez.operators import (
    Base,
    Composition,
    CsvTrace,
    DryRun,
    Instant,
    MapError,
    Missing,
    Operator,
    Power,
    Price,
    PrometheusQuery,
    PythonCallable,
    Reading,
    TraceError,
)
from laissez.operators.sources.prometheus import Take
from support.paths import PUBLIC_DATA

pytestmark = pytest.mark.once

STEP = 300_000_000
GOOGLE = PUBLIC_DATA / "google-power-2019"

# Rows 7439 to 7446 of pdu9, cell a, of Google's powerdata_2019 (CC BY 4.0), the largest rise of the
# month within half an hour.
JUMP = (0.69, 0.677, 0.696, 0.716, 0.744, 0.763, 0.77, 0.768)


def table(path: Path, *lines: str) -> Path:
    text = "\n".join(lines) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def jump(path: Path) -> Path:
    return table(
        path,
        "index,time,pdu,measured_power_util",
        *(f"{7439 + i},{2232300000000 + i * STEP},pdu9,{value}" for i, value in enumerate(JUMP)),
    )


# -- traces


@pytest.mark.parametrize("name", ["pdu9.csv", "pdu9.csv.gz"])
def test_a_trace_is_replayed_from_its_first_read_on(tmp_path: Path, name: str) -> None:
    trace = CsvTrace(file=jump(tmp_path / name))
    start = 5_000_000
    assert Reading(0.69, start) == trace.read(start)
    assert Reading(0.69, start) == trace.read(start + STEP - 1)
    assert Reading(0.677, start + STEP) == trace.read(start + STEP)
    assert Reading(0.768, start + 7 * STEP) == trace.read(start + 8 * STEP - 1)
    assert Missing("the trace " + name + " has ended") == trace.read(start + 8 * STEP)


def test_a_trace_can_start_at_a_row_and_a_time_run_faster_and_repeat(tmp_path: Path) -> None:
    trace = CsvTrace(
        file=jump(tmp_path / "a.csv"),
        start_row=4,
        starts_at=Instant(1000),
        speed=100.0,
        repeat=True,
    )
    assert isinstance(trace.read(999), Missing)
    assert Reading(0.744, 1000) == trace.read(1000)
    assert Reading(0.763, 1000 + STEP // 100) == trace.read(1000 + STEP // 100)
    assert Reading(0.744, 1000 + 4 * STEP // 100) == trace.read(1000 + 4 * STEP // 100)


def test_rows_that_are_flagged_bad_or_of_another_domain_are_skipped(tmp_path: Path) -> None:
    path = table(
        tmp_path / "full.csv",
        "time,cell,pdu,measured_power_util,production_power_util,bad_measurement_data,bad_production_power_data",
        "600000000,a,pdu6,0.1,0.1,false,false",
        "600000000,a,pdu9,0.7,0.6,false,false",
        "900000000,a,pdu9,,0.6,True,false",
        "1200000000,a,pdu9,0.72,,false,true",
        "1500000000,a,pdu9,0.73,0.6,0,false",
    )
    trace = CsvTrace(file=path, where={"pdu": "pdu9"}, starts_at=Instant(0))
    assert [0.7, 0.7, 0.72, 0.73] == [
        reading.value for row in range(4) if isinstance(reading := trace.read(row * STEP), Reading)
    ]
    production = CsvTrace(
        file=path,
        where={"pdu": "pdu9"},
        starts_at=Instant(0),
        column="production_power_util",
        start_row=1,
    )
    assert Reading(0.6, 2 * STEP) == production.read(2 * STEP)


HEADER = "time,measured_power_util"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((), r"line 1: expected a column 'measured_power_util', found nothing"),
        (
            ("time,power", "1,2"),
            r"line 1: expected a column 'measured_power_util', found time, power",
        ),
        (
            (HEADER, "1,0.5", "2,abc"),
            r"line 3: measured_power_util: expected a finite number, found 'abc'",
        ),
        (
            (HEADER, "1,0.5", "2,nan"),
            r"line 3: measured_power_util: expected a finite number, found 'nan'",
        ),
        (
            (HEADER, "1,0.5", "2,1e400"),
            r"line 3: measured_power_util: expected a finite number, found '1e400'",
        ),
        (
            (HEADER, "1,0.5", "2,"),
            r"line 3: measured_power_util: expected a finite number, found ''",
        ),
        ((HEADER, "1,0.5", "x,0.5"), r"line 3: time: expected whole microseconds, found 'x'"),
        ((HEADER, "1,0.5", "-2,0.5"), r"line 3: time: expected whole microseconds, found '-2'"),
        (
            (HEADER, "7,0.5", "7,0.5"),
            (
                r"line 3: time: expected a time after the one before, 7, found 7; a table of"
                r" several .* needs `where`"
            ),
        ),
        ((HEADER, "1,0.5", "2"), r"line 3: expected 2 columns"),
        ((HEADER, "1,0.5", "2,0.5,3"), r"line 3: expected 2 columns"),
        ((HEADER, '1,"0.5'), r"line \d: expected comma-separated values: unexpected end of data"),
        (
            (HEADER + ",bad_measurement_data", "1,0.5,perhaps"),
            r"line 2: bad_measurement_data: expected true or false, found 'perhaps'",
        ),
        ((HEADER, "1,0.5"), r"expected at least two usable rows from row 0 on, found 1"),
    ],
)
def test_a_malformed_trace_is_refused_with_its_line(
    tmp_path: Path, lines: tuple[str, ...], said: str
) -> None:
    with pytest.raises(TraceError, match=rf"bad\.csv(, |: ){said}"):
        CsvTrace(file=table(tmp_path / "bad.csv", *lines))


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"not gzip"])
def test_a_trace_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.csv.gz"
    if content is not None:
        path.write_bytes(gzip.compress(content) if content[:1] == b"\xff" else content)
    with pytest.raises(TraceError, match=r"a\.csv\.gz: expected a table that can be read"):
        CsvTrace(file=path)


def floors_during(trace: CsvTrace, rows: int) -> list[int]:
    power = Power(name="power", nodes=("h100/row1",), signal="power", cap=0.8, comfortable=0.1)
    base = Base(node="h100", price=Price.of("2"), floor_max=Price.of("20"))
    operator = Operator(Composition(bases=[base], maps=[power]), {"power": trace})
    world = DryRun(operator, ["h100/row1/a"])
    floors = []
    for row in range(rows):
        assert () == world.tick(row * STEP, operator.read(row * STEP)).alarms
        floors.append(world.floors["h100/row1"])
    operator.close()
    return floors


def test_a_jump_of_measured_power_raises_the_floor(tmp_path: Path) -> None:
    floors = floors_during(CsvTrace(file=jump(tmp_path / "pdu9.csv")), 8)
    assert [2_000_000] * 4 == floors[:4]
    assert [2_600_000, 3_075_000, 3_250_000] == floors[4:7]
    assert floors[7] <= floors[6]


@pytest.mark.skipif(not GOOGLE.exists(), reason="the Google power traces are not here")
def test_the_google_trace_loads_and_its_jump_raises_the_floor() -> None:
    floors = floors_during(CsvTrace(file=GOOGLE / "cella_pdu9.csv.gz", start_row=7439), 8)
    assert 2_000_000 == floors[0]
    assert 3_250_000 == max(floors)


# -- functions


def read_of(found: Any) -> Reading | Missing:
    return PythonCallable(call=lambda now: found).read(7)


def test_a_function_gives_a_number_or_a_reading() -> None:
    assert Reading(0.5, 7) == read_of(0.5)
    assert Reading(3.0, 7) == read_of(3)
    assert Reading(0.5, 1) == read_of(Reading(0.5, 1))
    assert Reading(math.inf, 7) == read_of(10**400)


@pytest.mark.parametrize("found", [None, "abc", True, [1.0], Missing("gone")])
def test_a_function_that_gives_anything_else_gives_no_reading(found: Any) -> None:
    assert isinstance(read_of(found), Missing)


def test_a_function_that_raises_gives_no_reading_but_its_error() -> None:
    def broken(now: int) -> float:
        raise OSError("no such meter")

    found = PythonCallable(call=broken).read(0)
    assert isinstance(found, Missing)
    assert found.reason.endswith("broken: OSError: no such meter")


def test_a_function_is_named_by_its_module() -> None:
    assert math.sqrt is imported("math:sqrt")
    for place in ("math", "math:", ":sqrt", "math:nothing", "no.such.module:f", "..:f", 5):
        with pytest.raises(ConfigError, match="expected"):
            imported(place)
    with pytest.raises(MapError, match=r"call: expected a function, found 3\.14"):
        PythonCallable(call=imported("math:pi"))


# -- Prometheus, as far as its answers go


class Answers(ThreadingHTTPServer):
    """Answers the first of its queries with one body and questions for timestamps with another."""

    body: bytes = b""
    status = 200
    dated: bytes | None = None
    asked: list[str]
    authorization: str | None = None


class Answering(BaseHTTPRequestHandler):
    server: Answers

    def do_POST(self) -> None:
        query = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())["query"][0]
        self.server.asked.append(f"{self.path} {query}")
        self.server.authorization = self.headers["Authorization"]
        body = (
            self.server.dated
            if query.startswith("timestamp(") and self.server.dated is not None
            else self.server.body
        )
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def answers() -> Iterator[Answers]:
    with Answers(("127.0.0.1", 0), Answering) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def vector(*values: str, at: float = 100.0) -> bytes:
    result = [{"metric": {"i": str(i)}, "value": [at, value]} for i, value in enumerate(values)]
    return json.dumps(
        {"status": "success", "data": {"resultType": "vector", "result": result}}
    ).encode()


def ask(
    answers: Answers,
    body: bytes,
    dated: bytes | None = None,
    take: Take = "only",
    status: int = 200,
) -> Reading | Missing:
    answers.body, answers.dated, answers.status = body, dated, status
    source = PrometheusQuery(
        url=f"http://127.0.0.1:{answers.server_port}/prom",
        query="power # of row1",
        take=take,
        timeout_s=30.0,
    )
    try:
        return source.read(1_000_000_000)
    finally:
        source.close()


def test_the_age_of_a_sample_is_counted_back_from_now(answers: Answers) -> None:
    assert Reading(0.75, 1_000_000_000 - 12_500_000) == ask(answers, vector("0.75"), vector("87.5"))
    assert [
        "/prom/api/v1/query power # of row1",
        "/prom/api/v1/query timestamp(power # of row1\n)",
    ] == answers.asked[-2:]


def test_a_token_is_read_from_its_file_for_every_query(answers: Answers, tmp_path: Path) -> None:
    answers.body, answers.dated, answers.status = vector("1"), vector("100"), 200
    token = tmp_path / "token"
    source = PrometheusQuery(
        url=f"http://127.0.0.1:{answers.server_port}", query="q", token_file=token
    )
    assert isinstance(source.read(0), Missing)
    for text in ("first\n", "second"):
        token.write_text(text)
        assert isinstance(source.read(0), Reading)
        assert f"Bearer {text.strip()}" == answers.authorization
    source.close()


def test_a_password_in_the_address_is_used_and_never_shown(answers: Answers) -> None:
    answers.body, answers.dated, answers.status = b"no", None, 500
    source = PrometheusQuery(url=f"http://me:secret@127.0.0.1:{answers.server_port}", query="q")
    found = source.read(0)
    assert isinstance(found, Missing)
    assert (answers.authorization or "").startswith("Basic ")
    assert "secret" not in found.reason + repr(source)
    source.close()


def test_invalid_certificates_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    for name in ("ca.pem", "missing.pem"):
        with pytest.raises(MapError, match="ca_file: expected certificates in PEM"):
            PrometheusQuery(url="https://127.0.0.1", query="q", ca_file=tmp_path / name)
    PrometheusQuery(url="https://127.0.0.1", query="q").close()


def test_a_scalar_is_as_new_as_the_question(answers: Answers) -> None:
    body = b'{"status":"success","data":{"resultType":"scalar","result":[5,"0.5"]}}'
    assert Reading(0.5, 1_000_000_000) == ask(answers, body)


@pytest.mark.parametrize(
    ("take", "value"), [("min", 1.0), ("max", 4.0), ("mean", 2.5), ("sum", 7.5)]
)
def test_several_samples_become_one_and_the_oldest_counts(
    answers: Answers, take: Take, value: float
) -> None:
    found = ask(answers, vector("1", "2.5", "4"), vector("99", "90", "98"), take)
    assert Reading(value, 990_000_000) == found


@pytest.mark.parametrize("text", ["NaN", "+Inf", "-Inf"])
@pytest.mark.parametrize("take", ["max", "mean", "sum"])
def test_values_that_are_not_finite_stay_so_that_an_alarm_reports_them(
    answers: Answers, text: str, take: Take
) -> None:
    found = ask(answers, vector("1", text, "2"), vector("99", "99", "99"), take)
    assert isinstance(found, Reading)
    assert str(float(text)) == str(found.value)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (vector(), 200, "expected one sample from .*, found 0: there is no such series now"),
        (
            vector("1", "2"),
            200,
            (
                r"expected one sample from .*, found 2; ask for an aggregate such as max\(...\), or"
                r" set `take`"
            ),
        ),
        (vector("abc"), 200, "expected a number, found 'abc'"),
        (
            b'{"status":"success","data":{"resultType":"matrix","result":[]}}',
            200,
            "expected a scalar or an instant vector, found a matrix",
        ),
        (
            b'{"status":"error","errorType":"bad_data","error":"parse error"}',
            400,
            "no answer from .*: 400 parse error",
        ),
        (b"<html>bad gateway</html>", 502, "expected the JSON of a query, found 502 b'<html>"),
        (b"", 200, "expected the JSON of a query, found 200"),
        (
            b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[1,{}]}]}}',
            200,
            "expected the JSON of a query",
        ),
        (b" " * (2 << 20), 200, "expected at most 1048576 bytes, found more"),
    ],
)
def test_any_other_answer_gives_a_reason_and_no_reading(
    answers: Answers, body: bytes, status: int, said: str
) -> None:
    found = ask(answers, body, status=status)
    assert isinstance(found, Missing)
    assert re.search(said, found.reason), found.reason


@pytest.mark.parametrize(
    "url", ["http://[", "http://127.0.0.1:70000", "http://no host", "http://..."]
)
def test_an_unreachable_address_gives_no_reading(url: str) -> None:
    source = PrometheusQuery(url=url, query="up")
    assert isinstance(source.read(0), Missing)
    source.close()


def test_a_missing_server_gives_no_reading() -> None:
    source = PrometheusQuery(url="http://127.0.0.1:1", query="up")
    found = source.read(0)
    assert isinstance(found, Missing)
    assert found.reason.startswith("no answer from http://127.0.0.1:1: ConnectError")
    source.close()
    assert isinstance(source.read(0), Missing)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:9090", "ftp://127.0.0.1", "http://", "http://127.0.0.1:x", "x"]
)
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(MapError, match="url: expected the address of a Prometheus"):
        PrometheusQuery(url=url, query="up")


def test_an_operator_reads_all_its_sources(answers: Answers) -> None:
    answers.body, answers.dated, answers.status = vector("0.5"), vector("100"), 200
    url = f"http://127.0.0.1:{answers.server_port}"
    base = Base(node="h100", price=Price.of("2"), floor_max=Price.of("20"))
    sources = {
        "a": PythonCallable(call=lambda now: 1.0),
        "b": PrometheusQuery(url=url, query="b"),
        "c": PrometheusQuery(url=url, query="c"),
    }
    operator = Operator(Composition(bases=[base]), sources)
    assert {"a": Reading(1.0, 9), "b": Reading(0.5, 9), "c": Reading(0.5, 9)} == operator.read(9)
    operator.close()


def test_a_function_that_hangs_gives_no_reading_and_is_not_called_again() -> None:
    called, go_on = [], threading.Event()

    def slow(now: int) -> float:
        called.append(now)
        go_on.wait(10)
        return 0.5

    source = PythonCallable(call=slow, timeout_s=0.05)
    assert "did not come back within 0.05 s" in missing(source.read(1))
    assert "has not come back from an earlier call" in missing(source.read(2))
    go_on.set()
    assert [1] == called


def test_a_function_that_exits_ends_nothing() -> None:
    def leave(now: int) -> float:
        raise SystemExit(3)

    assert "SystemExit: 3" in missing(PythonCallable(call=leave).read(0))


def missing(found: Reading | Missing) -> str:
    assert isinstance(found, Missing)
    return found.reason
