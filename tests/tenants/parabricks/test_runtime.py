"""How long a Parabricks sample takes: the run times that were published, the law fitted to them,
and the file they come in."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.tenants.parabricks import RUN_TIMES
from laissez.tenants.parabricks.runtime import (
    A100_DNA,
    A100_DNA_S,
    H100_DNA,
    H100_SPEEDUP,
    H100_SPEEDUP_RANGE,
    ParabricksError,
    RunTime,
    fit,
    load_published,
)
from support.paths import PUBLIC_DATA

pytestmark = pytest.mark.once

REAL = PUBLIC_DATA / "parabricks" / "parabricks_runtimes.csv"
HEADER = "gpu,num_gpus,pipeline,input,parabricks_version,alignment_s,total_s,source\n"


@pytest.mark.parametrize(("gpus", "seconds"), A100_DNA_S.items())
def test_the_a100_law_is_within_three_percent_of_the_published_runs(
    gpus: int, seconds: float
) -> None:
    assert A100_DNA.seconds(gpus) == pytest.approx(seconds, rel=0.03)


@pytest.mark.parametrize(("gpus", "seconds"), A100_DNA_S.items())
def test_a_fit_to_the_published_runs_is_within_three_percent_of_them(
    gpus: int, seconds: float
) -> None:
    assert fit(A100_DNA_S.items()).seconds(gpus) == pytest.approx(seconds, rel=0.03)


def test_the_a100_law_and_the_fit_differ_by_less_than_three_percent() -> None:
    fitted = fit(A100_DNA_S.items())
    assert all(
        A100_DNA.seconds(gpus) == pytest.approx(fitted.seconds(gpus), rel=0.035)
        for gpus in A100_DNA_S
    )
    assert (882, 10145) == (round(fitted.serial_s), round(fitted.parallel_s))


@settings(max_examples=40)
@given(st.floats(0, 1e5), st.floats(1, 1e5))
def test_a_fit_finds_the_law_that_made_the_runs(serial_s: float, parallel_s: float) -> None:
    law = RunTime(serial_s, parallel_s)
    fitted = fit([(gpus, law.seconds(gpus)) for gpus in (1, 2, 3, 8)])
    assert fitted.seconds(5) == pytest.approx(law.seconds(5))


def test_an_h100_is_faster_by_the_factor_assumed() -> None:
    assert H100_SPEEDUP_RANGE[0] <= H100_SPEEDUP <= H100_SPEEDUP_RANGE[1]
    assert H100_DNA.per_hour(4) == pytest.approx(H100_SPEEDUP * A100_DNA.per_hour(4))
    assert {"a100": A100_DNA, "h100": H100_DNA} == dict(RUN_TIMES)


@pytest.mark.parametrize("points", [[], [(1, 100.0)], [(2, 100.0), (2, 110.0)]])
def test_one_count_of_gpus_is_not_enough_to_fit(points: list[tuple[int, float]]) -> None:
    with pytest.raises(ParabricksError, match="two different counts"):
        fit(points)


@pytest.mark.parametrize("point", [(0, 100.0), (1, 0.0), (1, -1.0), (1, math.nan), (1, math.inf)])
def test_an_impossible_run_is_refused(point: tuple[int, float]) -> None:
    with pytest.raises(ParabricksError, match="1 GPU or more, seconds above 0"):
        fit([(2, 10.0), (4, 5.0), point])


def test_runs_that_get_slower_with_more_gpus_fit_nothing() -> None:
    with pytest.raises(ParabricksError, match="parallel_s: expected a number above 0"):
        fit([(1, 100.0), (2, 200.0)])


@pytest.mark.parametrize("factor", [0.0, -1.0, math.inf, math.nan])
def test_an_invalid_factor_is_refused(factor: float) -> None:
    with pytest.raises(ParabricksError, match="factor: expected a number above 0"):
        A100_DNA.sped_up(factor)


def test_published_runs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(
        HEADER + "A100,1,fq2bam (DNA),ERR194147,not stated,9657,11053,AT-CG\nNVIDIA"
        " DGX,,HaplotypeCaller,WGS,,,1440,BMC\n"
    )
    first, second = load_published(path)
    assert ("A100", 1, "fq2bam (DNA)", 11053.0, "AT-CG") == (
        first.gpu,
        first.gpus,
        first.pipeline,
        first.total_s,
        first.source,
    )
    assert (None, 1440.0) == (second.gpus, second.total_s)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "gpu,total_s\n",
            ("expected all columns, found no num_gpus, pipeline, source"),
        ),
        ("", "found no total_s, gpu"),
        (
            HEADER + "A100,1,p,i,v,1,soon,s\n",
            r"runs.csv, line 2: total_s: expected a number above 0 .*, found 'soon'",
        ),
        (HEADER + "A100,1,p,i,v,1,nan,s\n", "total_s: expected a number above 0 .*, found 'nan'"),
        (HEADER + "A100,1,p,i,v,1\n", "total_s: expected a number above 0 .*, found nothing"),
        (
            HEADER + "A100,1,p,i,v,1,5,s\nA100,1.5,p,i,v,1,5,s\n",
            r"runs.csv, line 3: num_gpus: expected an integer from 1 on, found '1.5'",
        ),
        (HEADER + "A100,-2,p,i,v,1,5,s\n", "num_gpus: expected an integer from 1 on, found '-2'"),
    ],
)
def test_a_bad_file_of_runs_is_refused_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    with pytest.raises(ParabricksError, match=message):
        load_published(path)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    for name in ("none.csv", "bytes.csv"):
        with pytest.raises(ParabricksError, match="expected a CSV file that can be read"):
            load_published(tmp_path / name)


@pytest.mark.skipif(not REAL.exists(), reason="the published run times are not here")
def test_the_figures_typed_in_are_those_of_the_file() -> None:
    runs = {
        run.gpus: run.total_s
        for run in load_published(REAL)
        if (run.gpu, run.pipeline) == ("A100", "fq2bam (DNA)")
    }
    assert dict(A100_DNA_S) == runs
