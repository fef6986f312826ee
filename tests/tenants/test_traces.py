"""Request traces: what the two formats mean, and that a bad row is refused with its place."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from laissez.tenants.traces import Request, TraceError, load_azure, load_mooncake
from support.paths import PUBLIC_DATA

pytestmark = pytest.mark.once

real = pytest.mark.skipif(not PUBLIC_DATA.is_dir(), reason="the public traces are not here")

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
AZURE = (
    HEADER + "2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n2023-11-16"
    " 18:15:51.2224670,879,55"
)
MOONCAKE = (
    '{"timestamp": 27, "input_length": 6758, "output_length": 500, "hash_ids": [0]}\n{"timestamp":'
    ' 30, "input_length": 1, "output_length": 2}\n'
)


def written(path: Path, text: str) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["trace.csv", "trace.csv.gz"])
def test_an_azure_trace_is_read_from_its_first_request_on_even_without_a_last_newline(
    tmp_path: Path, name: str
) -> None:
    expected = (Request(0, 374, 44), Request(4_314_579, 396, 109), Request(4_541_877, 879, 55))
    assert expected == load_azure(written(tmp_path / name, AZURE))


@pytest.mark.parametrize("name", ["trace.jsonl", "trace.jsonl.gz"])
def test_a_mooncake_trace_counts_in_milliseconds(tmp_path: Path, name: str) -> None:
    assert (Request(0, 6758, 500), Request(3_000, 1, 2)) == load_mooncake(
        written(tmp_path / name, MOONCAKE)
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: expected the header"),
        ("a,b\n", "line 1: expected the header"),
        (HEADER, "expected at least one request"),
        (HEADER + "2023-11-16 18:15:46.68,374\n", "line 2: expected 3 fields, found 2"),
        (HEADER + "yesterday,374,44\n", "line 2: TIMESTAMP: expected a time"),
        (HEADER + "2023-11-16 18:15:46.6e5,374,44\n", "line 2: TIMESTAMP: expected a time"),
        (
            HEADER + "2023-11-16 18:15:46.68,nan,44\n",
            "line 2: ContextTokens: expected an integer",
        ),
        (
            HEADER + "2023-11-16 18:15:46.68,374,-1\n",
            "line 2: GeneratedTokens: expected an integer",
        ),
        (
            HEADER + "2023-11-16 18:15:46.68,374,4.5\n",
            "line 2: GeneratedTokens: expected an integer",
        ),
        (
            HEADER + "2023-11-16 18:15:46.68,3,4\n2023-11-16 18:15:46.67,3,4\n",
            "line 3: expected requests in the order",
        ),
    ],
)
def test_a_bad_azure_row_is_refused_with_file_and_line(
    tmp_path: Path, text: str, said: str
) -> None:
    path = written(tmp_path / "bad.csv", text)
    with pytest.raises(TraceError, match=said) as refused:
        load_azure(path)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "line 1: expected a table"),
        ("{", "line 1: expected JSON"),
        ('{"timestamp": NaN, "input_length": 1, "output_length": 1}', "line 1: expected JSON"),
        (
            '{"timestamp": true, "input_length": 1, "output_length": 1}',
            "line 1: timestamp: expected a number from 0",
        ),
        ('{"timestamp": 1, "output_length": 1}', "line 1: input_length: expected .* found nothing"),
        (
            '{"timestamp": 1, "input_length": 1e9, "output_length": 1}',
            "line 1: input_length: expected an integer from 0",
        ),
    ],
)
def test_a_bad_mooncake_row_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        load_mooncake(written(tmp_path / "bad.jsonl", text))


def test_files_that_are_not_traces_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="expected a readable trace"):
        load_azure(tmp_path / "absent.csv")
    (tmp_path / "plain.csv.gz").write_text(AZURE)
    with pytest.raises(TraceError, match="expected a readable trace"):
        load_azure(tmp_path / "plain.csv.gz")


@real
def test_the_public_traces_are_as_long_as_their_authors_say() -> None:
    conversation = load_azure(PUBLIC_DATA / "azure-llm-2023" / "AzureLLMInferenceTrace_conv.csv.gz")
    assert 19_366 == len(conversation)
    assert 1155 == round(sum(request.input_tokens for request in conversation) / len(conversation))
    assert 3_502 == round(conversation[-1].at_us / 1_000_000)
