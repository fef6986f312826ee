"""The dashboard and the alarms match the service: every metric and label exists, and every query
parses."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from support.paths import EXAMPLES
from support.service_world import LEAVES, World, with_service

pytestmark = pytest.mark.once

DASHBOARD: dict[str, Any] = json.loads((EXAMPLES / "grafana.json").read_text())
PROMTOOL = shutil.which("promtool") or "/usr/bin/promtool"
WITHIN_S = 30

SCRAPED = {"job", "instance"}  # labels that Prometheus adds to all samples
VARIABLES = {"$job": "laissez", "$__rate_interval": "5m"}
WORDS = {"by", "or", "and", "unless", "without"}


class Asked(NamedTuple):
    metrics: set[str]
    labels: set[str]


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def filled(query: str) -> str:
    """The query as sent to Prometheus: Grafana replaces the variables."""
    for variable, value in VARIABLES.items():
        query = query.replace(variable, value)
    return query


def queries() -> dict[str, str]:
    return {
        f"{panel['title']} {target['refId']}": filled(target["expr"])
        for panel in panels()
        for target in panel["targets"]
    }


def alarms() -> dict[str, str]:
    written = yaml.safe_load((EXAMPLES / "alarms.yml").read_text())
    return {rule["alert"]: rule["expr"] for rule in written["groups"][0]["rules"]}


def asked(query: str) -> Asked:
    """The metrics and labels in a query. Any other name, except a function, is a mistake and counts
    as a metric."""
    matchers = re.findall(r"\{([^}]*)\}", query)
    groups = re.findall(r"\b(?:by|without)\s*\(([^)]*)\)", query)
    labels = {
        label for inside in matchers for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", inside)
    }
    labels |= {label.strip() for inside in groups for label in inside.split(",")}
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\b(?:by|without)\s*\([^)]*\)", " ", query)
    names = set(re.findall(r"\b[a-zA-Z_]\w*\b(?!\s*\()", re.sub(r"\b\d[\w.]*", " ", bare)))
    return Asked(names - WORDS, labels)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Every sample that the service exposes after some traffic, and its labels."""
    found: dict[str, set[str]] = {"up": set()}  # Prometheus's own

    async def story(world: World) -> None:
        lease = (await world.place("ann", LEAVES[0], "2"))["lease"]
        await world.place("bob", LEAVES[0], "5")
        await world.ask("ann", "DELETE", f"/v1/leases/{lease}")  # refused: the lease has ended
        text = (await world.ask("operator", "GET", "/metrics")).text
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, set()).update(sample.labels)

    with_service(tmp_path_factory.mktemp("told"), story)
    return found


def test_queries_are_parsed_correctly() -> None:
    found = asked(
        'sum by (le, reason) (rate(a_bucket{job="x",status=~"5.."}[5m])) * 1e6 / 0.5 > b_total or'
        " vector(0)"
    )
    assert ({"a_bucket", "b_total"}, {"le", "reason", "job", "status"}) == found


@pytest.mark.parametrize("source", ["dashboard", "alarms"])
def test_every_queried_metric_and_label_is_exposed(told: dict[str, set[str]], source: str) -> None:
    wanted = queries() if source == "dashboard" else alarms()
    assert len(wanted) >= 9
    for name, query in wanted.items():
        metrics, labels = asked(query)
        assert metrics or "time()" in query, name
        assert set() == metrics - set(told), name
        assert set() == labels - SCRAPED - set().union(*(told[metric] for metric in metrics)), name


def test_the_dashboard_shows_all_our_metrics(told: dict[str, set[str]]) -> None:
    shown = {metric for query in queries().values() for metric in asked(query).metrics}
    ours = {
        re.sub(r"_(bucket|count|sum)$", "", name) for name in told if name.startswith("laissez_")
    }
    assert ours == {
        re.sub(r"_(bucket|count|sum)$", "", name) for name in shown if name.startswith("laissez_")
    }


@pytest.mark.skipif(
    not Path(PROMTOOL).exists(), reason="promtool is not installed: apt-get install prometheus"
)
def test_prometheus_parses_every_query(tmp_path: Path) -> None:
    wanted = [*queries().values(), *alarms().values()]
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(wanted)]
    assert (0, "") == _checked(tmp_path, rules)
    status, said = _checked(
        tmp_path, [{"record": "query:0", "expr": "sum by (le (laissez_leases)"}]
    )
    assert 0 != status and "parse error" in said


def _checked(folder: Path, rules: list[dict[str, str]]) -> tuple[int, str]:
    file = folder / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    done = subprocess.run(
        [PROMTOOL, "check", "rules", str(file)], capture_output=True, text=True, timeout=WITHIN_S
    )
    return done.returncode, done.stderr


# -- the dashboard


def test_every_panel_queries_the_chosen_prometheus_for_the_chosen_job() -> None:
    variables = {one["name"]: one["type"] for one in DASHBOARD["templating"]["list"]}
    assert {"datasource": "datasource", "job": "query"} == variables
    assert (
        "label_values(laissez_leases, job)" == DASHBOARD["templating"]["list"][1]["query"]["query"]
    )
    for panel in panels():
        assert {"type": "prometheus", "uid": "${datasource}"} == panel["datasource"]
        for target in panel["targets"]:
            selectors = re.findall(r"\b(?:laissez_|process_|up)\w*(\{[^}]*\})?", target["expr"])
            assert selectors and all('job="$job"' in one for one in selectors), panel["title"]


def test_every_panel_has_a_description_and_a_unit() -> None:
    for panel in panels():
        assert len(panel["description"]) > 20 and panel["description"].endswith("."), panel["title"]
        unit = (
            panel["options"]["yAxis"]["unit"]
            if panel["type"] == "heatmap"
            else panel["fieldConfig"]["defaults"]["unit"]
        )
        assert unit in {"short", "percentunit", "currencyUSD", "ops", "reqps", "s", "bytes"}, panel[
            "title"
        ]
    assert ["Market", "Service", "Process"] == [
        panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"
    ]


def test_panels_have_unique_ids_and_do_not_overlap() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    cells = [cell for panel in DASHBOARD["panels"] for cell in _cells(panel["gridPos"])]
    assert len(cells) == len(set(cells)) and all(x < 24 for x, _ in cells)


def _cells(place: dict[str, int]) -> Iterator[tuple[int, int]]:
    return (
        (x, y)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    )


def test_red_thresholds_match_the_alarms() -> None:
    """A threshold starts at its value, an alarm above it: for whole numbers the threshold is one
    more."""
    for name, query in alarms().items():
        bounds = {float(bound) for bound in re.findall(r"[<>]=?\s*(\d[\d.]*)", query)} - {0.0}
        if not bounds:  # any is too many
            continue
        if "changes(" in query:
            bounds = {bound + 1 for bound in bounds}
        named = {metric.removesuffix("_bucket") for metric in asked(query).metrics}
        steps = [
            step["value"]
            for panel in panels()
            if named
            & {
                metric.removesuffix("_bucket")
                for target in panel["targets"]
                for metric in asked(filled(target["expr"])).metrics
            }
            for step in panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", [])
        ]
        assert bounds <= set(steps), name


def test_alarms_named_by_panels_exist() -> None:
    spoken = {
        alarm
        for panel in panels()
        for alarm in re.findall(r"\bLaissez[A-Z]\w+", panel["description"])
    } - {"LaissezCloud"}
    assert set(alarms()) == spoken
