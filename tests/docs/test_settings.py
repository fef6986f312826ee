"""`docs/reference/settings.md` lists every setting with its default, its values and its meaning.
The meaning is the comment in `docs/examples/laissez.toml`; `tests/server/test_settings.py` compares
that file with the code.

Run this file as a program to write the page (`make reference`).
"""

from __future__ import annotations

import re
import tomllib

import msgspec.inspect
import pytest

from laissez.server.settings import SECTIONS
from support.paths import EXAMPLES, REFERENCE

PAGE = REFERENCE / "settings.md"
FILE = (EXAMPLES / "laissez.toml").read_text()
COUNT_MAX = 1_000_000_000_000  # for counts without a bound
BEGIN = "<!-- The rest is made by `make reference`. -->\n\n"

pytestmark = pytest.mark.once


def values_of(kind: msgspec.inspect.Type) -> str:
    """The values that a setting may have, if its default does not show them."""
    match kind:
        case msgspec.inspect.LiteralType():
            return ", ".join(f'"{value}"' for value in sorted(map(str, kind.values)))
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType() if kind.le != COUNT_MAX:
            low = f"above {kind.gt:g}" if kind.gt is not None else f"{kind.ge:,}"
            return f"{low} to {kind.le:,}"
        case _:
            return ""


def listed(section: str) -> str:
    text = FILE.partition(f"\n[{section}]")[2].partition("\n\n")[0]
    written = re.findall(r"^(\w+) = (.*?) +# (.*)$", text, re.MULTILINE)
    (kinds,) = msgspec.inspect.multi_type_info([SECTIONS[section]])
    assert isinstance(kinds, msgspec.inspect.StructType)
    values = {field.name: values_of(field.type) for field in kinds.fields}
    lines = []
    for name, default, meaning in written:
        allowed = f" ({values[name]})" if values[name] else ""
        lines.append(f"- `{name} = {default}`: {meaning}{allowed}")
    return "\n".join(lines)


def reference() -> str:
    return "\n\n".join(f"## {section}\n\n{listed(section)}" for section in SECTIONS) + "\n"


def test_the_page_is_generated_from_the_settings() -> None:
    written = PAGE.read_text().partition(BEGIN)[2]
    assert written == reference(), "run: make reference"


def test_every_setting_is_on_the_page() -> None:
    settings = {name for fields in tomllib.loads(FILE).values() for name in fields}
    assert settings == set(re.findall(r"^- `(\w+) = ", PAGE.read_text(), re.MULTILINE))


if __name__ == "__main__":
    PAGE.write_text(f"{PAGE.read_text().partition(BEGIN)[0]}{BEGIN}{reference()}")
