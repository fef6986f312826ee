"""The examples of the API's and operators' pages print what the pages show, and their tables are
complete."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from laissez.exchange.keys import KEY_NAMES_MAX, KEYS_LIVE_MAX
from laissez.exchange.webhooks import WEBHOOKS_MAX
from laissez.market.reasons import EndReason
from laissez.server import exports
from laissez.server.http.operation import Operation
from laissez.server.http.operations import OPERATIONS
from laissez.server.settings import Limits
from laissez.wire import limits, session
from laissez.wire.events import Event, Notice
from laissez.wire.problems import STATUS
from support.doc_shell import Example, Shell, examples, matches
from support.paths import EXAMPLES, GUIDES, REFERENCE, ROOT
from support.service_world import World, with_service

# two groups of pages, each run in this order
OF_API = ("api", "billing", "sessions", "client")
OF_OPERATOR = ("serve", "accounts", "backup", "monitor")
PAGES = {name: (REFERENCE / f"{name}.md").read_text() for name in OF_API} | {
    name: (GUIDES / f"{name}.md").read_text() for name in OF_OPERATOR
}
API, BILLING, SESSIONS = (PAGES[name] for name in OF_API[:3])
MONITOR = PAGES["monitor"]
METRICS = (REFERENCE / "metrics.md").read_text()
ALARMS = (EXAMPLES / "alarms.yml").read_text()
IN_PAGES = [
    pytest.param(page, index, id=f"{page}-line{one.line}")
    for page, text in PAGES.items()
    for index, one in enumerate(examples(text))
]

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Example]]:
    """All examples with their output."""
    found = {page: examples(text) for page, text in PAGES.items()}
    for story in (OF_API, OF_OPERATOR):
        shell = Shell(tmp_path_factory.mktemp(story[0]))
        try:
            if story == OF_API:
                shell.serve("laissez up --still")
            for example in (one for page in story for one in found[page]):
                shell.run(example)
        finally:
            shell.close()
    return found


@pytest.mark.slow
@pytest.mark.xdist_group("doc_examples")
@pytest.mark.parametrize(("page", "index"), IN_PAGES)
def test_an_example_prints_what_its_page_shows(
    ran: dict[str, list[Example]], page: str, index: int
) -> None:
    example = ran[page][index]
    for (typed, shown), (status, printed) in zip(example.steps, example.found, strict=True):
        # the last two are functions that call it
        if shutil.which("curl") is None and re.match(r"(curl|ask|place)\b", typed):
            pytest.skip("there is no curl here")
        assert 0 == status, f"{page}.md line {example.line}: {typed}\n{printed}"
        assert matches(shown, printed), (
            f"{page}.md line {example.line}: {typed}\n--- shown\n{shown}\n--- printed\n{printed}"
        )


def test_three_dots_match_anything_and_other_text_only_itself() -> None:
    assert matches("a ... c\n", "a  b c \n")
    assert matches("a\n...\nd\n", "a\nb\nc\nd\n")
    assert matches('{"a":"...","b":1}\n', '{"a":"x","b":1}\n')
    assert not matches("a ... c\n", "a b d\n")
    assert not matches("a\n", "a\nb\n")
    assert matches("", "")


# -- tables


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table after a heading."""
    _, _, rest = page.partition(f"\n## {heading}\n")
    assert rest, f"there is no heading {heading!r}"
    table = rest[rest.index("\n|") :].partition("\n\n")[0].strip().splitlines()
    return [re.split(r"\s*\|\s*", line)[1:-1] for line in table[2:]]


def difference(heading: str, expected: Sequence[object], shown: Sequence[object]) -> str:
    """The rows to change in a table of the API's page; empty if none."""
    if expected == shown:
        return ""
    missing = [f"\n  missing: {row}" for row in expected if row not in shown]
    surplus = [f"\n  too much: {row}" for row in shown if row not in expected]
    rows = "".join(missing + surplus) or "\n  the same rows in another order"
    return f"docs/reference/api.md, section {heading!r}:{rows}"


def test_the_difference_of_a_table_names_the_page_the_section_and_the_rows() -> None:
    assert "" == difference("Limits", ["a", "b"], ["a", "b"])
    assert "docs/reference/api.md, section 'Limits':\n  missing: b\n  too much: c" == difference(
        "Limits", ["a", "b"], ["a", "c"]
    )
    assert difference("Limits", ["a", "b"], ["b", "a"]).endswith("the same rows in another order")


def test_every_operation_is_in_the_table_with_its_scope() -> None:
    def scope(one: Operation) -> str:
        if one.of_operator:
            return "operator"
        return "none" if one.scopes is None else " or ".join(one.scopes) or "any"

    methods: dict[str, list[str]] = {}
    for one in OPERATIONS:
        methods.setdefault(f"`{one.written_path}`", []).append(f"`{one.method}` {scope(one)}")
    expected = [f"{path} | {'; '.join(these)}" for path, these in methods.items()]
    shown = [" | ".join(row[:2]) for row in rows(API, "Every operation")]
    assert not (wrong := difference("Every operation", expected, shown)), wrong


def test_every_problem_is_in_the_table_with_its_status() -> None:
    expected = sorted(f"`{code}` | {status}" for code, status in STATUS.items())
    shown = sorted(" | ".join(row[:2]) for row in rows(API, "Problems"))
    assert not (wrong := difference("Problems", expected, shown)), wrong


def test_every_fixed_limit_is_in_the_table_with_its_value() -> None:
    bounds = {name.lower(): value for name, value in vars(limits).items() if name.isupper()}
    bounds |= {
        "keys_live_max": KEYS_LIVE_MAX,
        "key_names_max": KEY_NAMES_MAX,
        "webhooks_max": WEBHOOKS_MAX,
    }
    settings = set(Limits.__struct_fields__)
    expected = sorted(f"`{name}` | {bounds[name]:,}" for name in bounds if name not in settings)
    shown = sorted(" | ".join(row[:2]) for row in rows(API, "Limits"))
    assert not (wrong := difference("Limits", expected, shown)), wrong


def test_every_column_of_a_bill_is_named() -> None:
    named = re.findall(r"`(\w+)`", "\n".join(row[0] for row in rows(BILLING, "Bills")))
    assert sorted(exports.FOCUS) == sorted(named)
    assert all(
        f"`{column}`" in BILLING.partition("**CSV**")[2].partition("\n\n")[0]
        for column in exports.PLAIN
    )


def test_every_event_notice_close_code_and_end_reason_is_named() -> None:
    tags = [str(kind.__struct_config__.tag) for kind in (*Event.__args__, *Notice.__args__)]
    assert [] == [tag for tag in [*tags, *EndReason] if f"`{tag}`" not in API + SESSIONS]
    assert [] == [
        code
        for name, code in vars(session).items()
        if name.startswith("CLOSE_") and f"\n- {code}: " not in SESSIONS
    ]


def test_every_message_of_a_session_is_named() -> None:
    kinds = session.Sent.__args__
    assert [] == [kind for kind in kinds if f"`{kind.__struct_config__.tag}`" not in API + SESSIONS]


def test_the_table_lists_exactly_the_existing_metrics(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place("ann", "h100", "3")
        text = (await world.ask("operator", "GET", "/metrics")).text
        samples = {
            sample.name
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }
        told = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in samples}
        ours = {name for name in told if name.startswith("laissez_")}
        assert ours == set(
            re.findall(
                r"`(laissez_\w+)`", "\n".join(re.findall(r"^- (.*?): ", METRICS, re.MULTILINE))
            )
        )
        named = set(re.findall(r"\b(?:laissez|process)_\w+", MONITOR + METRICS + ALARMS))
        assert set() == named - samples - told

    with_service(tmp_path, story)


def test_the_alarms_can_be_parsed() -> None:
    alarms: list[dict[str, Any]] = yaml.safe_load(ALARMS)["groups"][0]["rules"]
    assert len(alarms) == len({alarm["alert"] for alarm in alarms})
    assert all(set(alarm) <= {"alert", "expr", "for"} and alarm["expr"] for alarm in alarms)


def test_quoted_log_messages_are_in_the_source() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "src" / "laissez").rglob("*.py"))
    failures = rows(MONITOR, "When something fails")
    quoted = [said for row in failures for said in re.findall(r'(?:log|^\|?) ?"([a-z ]+)"', row[0])]
    quoted += re.findall(r'"([a-z ]+)"', MONITOR.partition("\n## Logs\n")[2].partition("\n## ")[0])
    assert len(quoted) >= 8
    assert [] == [said for said in quoted if said not in sources]


def test_every_named_setting_exists() -> None:
    settings = (EXAMPLES / "laissez.toml").read_text()
    named = re.findall(r"`(?:server|data|limits|audit)\.(\w+)", "".join(PAGES.values()) + METRICS)
    assert {"metrics_open", "log_format"} <= set(named)
    assert [] == [name for name in named if not re.search(rf"^{name} = ", settings, re.MULTILINE)]
