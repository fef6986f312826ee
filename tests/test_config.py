"""The configuration loader: a class describes a table, and every mistake is reported with its
place, the expected and the found value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest
from msgspec import Meta

from laissez.config import (
    ConfigError,
    File,
    Instant,
    Price,
    Reader,
    describe,
    load_toml,
    mistakes_in,
    shown,
)

pytestmark = pytest.mark.once


class Inner(msgspec.Struct, frozen=True, kw_only=True, rename={"start": "from"}):
    start: Annotated[int, Meta(ge=0, le=9)]
    price: Price | None = None


@dataclass(frozen=True, kw_only=True)
class Outer:
    REFUSED: ClassVar = {"old": "use `mode`"}

    name: Annotated[str, Meta(min_length=1)] = "x"
    mode: Literal["fast", "slow"] = "fast"
    pair: tuple[float, float] = (1.0, 2.0)
    parts: Annotated[Mapping[str, Inner], Meta(min_length=1)] | None = None
    items: tuple[Inner, ...] = ()
    at: Instant | None = None
    file: Path | None = None
    call: Callable[[float], float] | None = None

    def __post_init__(self) -> None:
        if self.name == self.mode:
            raise ValueError(f"name: expected another than mode, found {self.name}")


def read(content: object, **options: Any) -> Outer | None:
    reader = Reader("f.toml", Path("/folder"), **options)
    found = reader.table((), Outer, content)
    reader.check()
    return found


def test_a_table_becomes_an_object() -> None:
    found = read(
        {
            "pair": [1, 3],
            "parts": {"a": {"from": 3, "price": "2.75"}},
            "items": [{"from": 0}],
            "at": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
            "file": "data.csv",
            "call": "math:sqrt",
        }
    )
    assert found == Outer(
        pair=(1.0, 3.0),
        parts={"a": Inner(start=3, price=Price(2_750_000))},
        items=(Inner(start=0),),
        at=Instant(1_000_000),
        file=Path("/folder/data.csv"),
        call=math.sqrt,
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (3, "expected a table, found 3"),
        (
            {"nmae": "a"},
            (
                "nmae: expected one of name, mode, pair, parts, items, at, file, call, found 'nmae'"
                " (did you mean name?)"
            ),
        ),
        ({"old": 1}, "old: cannot be honoured here; use `mode`"),
        ({"name": ""}, "name: expected a text in quotes that is not empty, found ''"),
        ({"mode": "fats"}, "mode: expected one of fast, slow, found 'fats'"),
        ({"pair": [2, 1]}, "pair: expected the lower end first, found 2 before 1"),
        ({"pair": 2}, "pair: expected [low, high], each a number on, found 2"),
        (
            {"parts": {}},
            "parts: expected a table that is not empty, each entry a table, found {}",
        ),
        ({"parts": {"a": {}}}, "parts.a.from: expected an integer from 0 up to 9, found nothing"),
        ({"items": [{"from": 10}]}, "items[0].from: expected an integer from 0 up to 9, found 10"),
        (
            {"items": [{"from": 1, "price": 2.5}]},
            'items[0].price: expected dollars per hour in quotes, such as "2.75", found 2.5',
        ),
        ({"file": ""}, "file: expected the name of a file, found ''"),
        ({"call": "math:pi"}, "call: expected a function, found 3.141592653589793"),
        ({"name": "fast"}, "name: expected another than mode, found fast"),
    ],
)
def test_a_mistake_is_reported_with_its_place(content: object, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(content)
    assert f"f.toml: {told}" == str(refused.value)


def test_all_mistakes_are_reported_in_the_order_of_the_file() -> None:
    with pytest.raises(ConfigError) as refused:
        read({"mode": 1, "x": 2, "items": [{"from": -1}, 3]})
    places = [line.split(": ")[1] for line in str(refused.value).splitlines()]
    assert ["mode", "x", "items[0].from", "items[1]"] == places


def test_unknown_keys_may_be_ignored() -> None:
    assert Outer() == read({"theirs": 1}, closed=False)


def test_text_is_converted_to_the_type_of_the_field() -> None:
    class Settings(msgspec.Struct):
        port: int
        names: tuple[str, ...]

    reader = Reader("VARIABLE", strict=False)
    assert Settings(1, ("a", "b")) == reader.table((), Settings, {"port": "1", "names": "a, b"})


def test_relative_files_start_at_the_folder_of_the_configuration() -> None:
    assert "/folder/a" == Reader("f", Path("/folder")).value((), File, "a")


def test_an_object_made_in_python_is_checked_like_a_table() -> None:
    assert ["from: expected an integer from 0 up to 9, found 10"] == mistakes_in(Inner(start=10))


def test_values_in_messages_are_shortened() -> None:
    assert "nothing" == shown(None)
    assert 63 == len(shown("x" * 1000))
    assert "a number of thousands of digits" == shown(10**5000)


def test_bounds_are_described() -> None:
    assert "a number from 0 to below 1" == describe(Annotated[float, Meta(ge=0, lt=1)])
    assert "an integer from 1 on" == describe(Annotated[int, Meta(ge=1)])
    assert "true or false" == describe(bool)


def test_a_file_is_loaded_or_refused_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b"\xef\xbb\xbfa = 1")  # a byte order mark, which some editors write
    assert {"a": 1} == load_toml(file)
    file.write_text("a = ")
    for bad in (file, tmp_path / "none"):
        with pytest.raises(ConfigError, match=rf"{bad}: expected"):
            load_toml(bad)
