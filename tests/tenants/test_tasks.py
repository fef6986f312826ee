"""Tasks in YAML: what they become, and how clearly a bad one is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.market.commands import PRICE_MAX
from laissez.tenants import EconAdapter, TenantView, grow_price, keep_price
from laissez.tenants.templates import (
    DeadlineJob,
    OnDemand,
    SloService,
    Spot,
    TaskError,
    TemplateError,
)
from laissez.tenants.templates.deadline import MARGIN
from laissez.tenants.templates.fields import Interval
from laissez.tenants.templates.task import Hooks, Probes, parse_task, read_task

pytestmark = pytest.mark.once

HOUR = 3_600_000_000
NOON = 1_795_176_000_000_000  # 2026-11-20T12:00:00Z
H1 = "h100/zone-a/rack1/host1/gpu0"

FULL = """\
name: finetune
resources:
  accelerators: {H100: 1, A100: 1}
  zone: zone-a
num_nodes: 4
market:
  template: deadline
  work_hours: 40
  speeds: {H100: 1, A100: 0.45}
  deadline: 24h
  on_demand_price: 6.88
  checkpoint_interval: 15m
  cold_start: 4m
  budget: "250"
  max_price: "6.50"
hooks:
  on_lease_start: ./start.sh
  on_limit_near: ./checkpoint.sh
  on_lease_end: ./stop.sh --now
  timeout: 90s
probes:
  progress: ./progress.sh
"""

ON_DEMAND = "{template: on_demand, max_price: 9.5}"
SPOT = "{template: spot, limit: 2}"
DEADLINE = "{template: deadline, work_hours: 10, deadline: 6h, value: 80}"
SLO = "{template: slo, penalty_per_hour: 40}"


def task(market: str = ON_DEMAND, resources: str = "{accelerators: H100}", more: str = "") -> str:
    return f"resources: {resources}\nmarket: {market}\n{more}"


def test_a_full_task_is_read(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(FULL)
    found = read_task(path)
    assert ("finetune", "deadline", ("h100/zone-a", "a100/zone-a")) == (
        found.name,
        found.template,
        found.scopes,
    )
    assert (6_500_000, 250_000_000, 1) == (
        found.settings.price_max,
        found.settings.budget,
        found.settings.moves_max,
    )
    assert Hooks("./start.sh", "./checkpoint.sh", "./stop.sh --now", Interval(90)) == found.hooks
    assert Probes(progress="./progress.sh") == found.probes and () == found.warnings
    app = found.make(NOON)
    assert isinstance(app, DeadlineJob)
    assert (4, NOON, NOON + 24 * HOUR, 40.0) == (app.nodes_max, app.start, app.due, app.work_hours)
    assert {"h100": 1.0, "a100": 0.45} == app.speeds and (900.0, 240.0) == (
        app.checkpoint_s,
        app.cold_s,
    )
    assert app.value == pytest.approx(6.88 * 40 * MARGIN)


def test_a_task_trades_through_its_adapter() -> None:
    found = parse_task(FULL)
    commands = EconAdapter(found.name, found.make(NOON), found.settings).decide(TenantView(NOON))
    assert commands and all(type(command).__name__ == "PlaceOrder" for command in commands)


@pytest.mark.parametrize(
    ("resources", "scopes"),
    [
        ("{accelerators: H100}", ("h100",)),
        ("{accelerators: 'H100:1'}", ("h100",)),
        ("{accelerators: {H100: 1}, zone: zone-b}", ("h100/zone-b",)),
        ("{accelerators: ['H100:1', A100-80GB]}", ("h100", "a100-80gb")),
        ("{accelerators: {H100: 1, A100: 1}}", ("h100", "a100")),
        ("{scopes: h100/zone-a/rack1}", ("h100/zone-a/rack1",)),
        ("{scopes: [h100/zone-a/rack1, A100]}", ("h100/zone-a/rack1", "A100")),
    ],
)
def test_places_may_be_written_in_several_ways(resources: str, scopes: tuple[str, ...]) -> None:
    assert scopes == parse_task(task(resources=resources)).scopes


@pytest.mark.parametrize(
    ("market", "kind", "asks", "keeps"),
    [
        (ON_DEMAND, OnDemand, 9.5, 9.5),
        (SPOT, Spot, 2.0, 2.0),
        ("{template: spot, limit: '2', give_up_below_limit: 0.25}", Spot, 1.5, 2.0),
        ("{template: spot, share_of_on_demand: 0.5, on_demand_price: 6.88}", Spot, 3.44, 3.44),
        ("{template: slo, penalty_per_hour: 40, cold_start: 0s}", SloService, 40.0, 40.0),
        (
            "{template: deadline, work_hours: 10, deadline: 10h, value: 80, cold_start: 0s}",
            DeadlineJob,
            8.0,
            8.0,
        ),
        (
            (
                "{template: deadline, work_hours: 10, deadline: 2026-11-20T22:00:00Z,"
                " on_demand_price: 4, margin: 2, cold_start: 0s}"
            ),
            DeadlineJob,
            8.0,
            8.0,
        ),
    ],
)
def test_each_template_asks_and_keeps_for_what_its_task_says(
    market: str, kind: type, asks: float, keeps: float
) -> None:
    app = parse_task(task(market)).make(NOON)
    assert isinstance(app, kind)
    assert grow_price(app, "h100", (), NOON) == pytest.approx(asks)
    assert keep_price(app, H1, (H1,), NOON) == pytest.approx(keeps)


def test_fields_that_are_left_out_have_defaults(tmp_path: Path) -> None:
    path = tmp_path / "my-job.yaml"
    path.write_text(task(DEADLINE))
    found = read_task(path)
    assert ("my-job", PRICE_MAX, None) == (
        found.name,
        found.settings.price_max,
        found.settings.budget,
    )
    assert Hooks() == found.hooks and Probes() == found.probes
    app = found.make(0)
    assert isinstance(app, DeadlineJob) and (1, True, None, 300.0) == (
        app.nodes_max,
        app.finish_late,
        app.checkpoint_s,
        app.cold_s,
    )


@pytest.mark.parametrize(("written", "meant"), [("true", True), ("false", False), ("no", False)])
def test_a_job_may_be_forbidden_to_finish_late(written: str, meant: bool) -> None:
    app = parse_task(task(DEADLINE[:-1] + f", finish_late: {written}}}")).make(0)
    assert isinstance(app, DeadlineJob) and meant is app.finish_late


def test_a_fixed_footprint_is_not_moved_about() -> None:
    assert [0, 0, 1, 1] == [
        parse_task(task(market)).settings.moves_max for market in (ON_DEMAND, SPOT, DEADLINE, SLO)
    ]


def test_replicas_have_bounds_and_spares() -> None:
    market = (
        "{template: slo, penalty_per_hour: 40, replicas_min: 2, replicas_max: 6, spare_replicas: 1}"
    )
    app = parse_task(task(market, more="num_nodes: 3\nprobes: {needed: ./replicas.sh}")).make(0)
    assert isinstance(app, SloService)
    assert 4 == len(app.wishes((), 0))
    app.needed(99, 0)
    assert 7 == len(app.wishes((), 0))


def test_money_is_read_to_the_last_micro_dollar() -> None:
    terms = parse_task(
        task("{template: on_demand, max_price: 0.100001, budget: 123456789.000001}")
    ).settings
    assert (100_001, 123_456_789_000_001) == (terms.price_max, terms.budget)


@settings(max_examples=40)
@given(st.integers(10_000, PRICE_MAX))
def test_every_price_survives_being_written(micro: int) -> None:
    written = f"{micro // 1_000_000}.{micro % 1_000_000:06d}"
    found = parse_task(task(f"{{template: on_demand, max_price: {written}}}"))
    assert (
        micro
        == found.settings.price_max
        == found.settings.price(grow_price(found.make(0), "h100", (), 0))
    )


def test_fields_that_the_hardware_decides_are_ignored_with_a_warning() -> None:
    found = parse_task(task(resources="{accelerators: H100, cpus: 4+, disk_size: 256}"))
    assert 2 == len(found.warnings) and "resources.cpus is ignored" in found.warnings[0]


def test_a_task_without_a_probe_gets_a_warning() -> None:
    assert "estimated from market.work_hours" in parse_task(task(DEADLINE)).warnings[0]
    assert "all the time" in parse_task(task(SLO)).warnings[0]
    assert () == parse_task(task(ON_DEMAND)).warnings


def test_a_task_continues_after_its_runner_was_down_even_past_its_deadline() -> None:
    found = parse_task(
        task("{template: deadline, work_hours: 10, deadline: 2026-11-20T22:00:00Z, value: 80}")
    )
    first = found.make(NOON)
    assert isinstance(first, DeadlineJob)
    first.elapsed((H1,), NOON)
    first.elapsed((H1,), NOON + 2 * HOUR)
    state = json.loads(json.dumps(first.state()))
    again = found.make(NOON + 12 * HOUR, state)
    assert isinstance(again, DeadlineJob)
    assert (first.done, NOON, first.due) == (again.done, again.start, again.due)


def test_a_deadline_that_has_passed_is_refused_at_the_start() -> None:
    found = parse_task(
        task("{template: deadline, work_hours: 10, deadline: 2026-11-20T12:00:00Z, value: 80}")
    )
    with pytest.raises(
        TaskError,
        match=(
            r"task.yaml:2: market.deadline: expected a time after the start of the task at"
            r" 2026-11-20T12:00:00.000000Z"
        ),
    ):
        found.make(NOON)


def test_a_state_of_another_task_is_refused() -> None:
    state = parse_task(task(SPOT)).make(0).state()
    with pytest.raises(TemplateError, match="expected a state"):
        parse_task(task(SLO)).make(0, state)


BAD = [
    # the file
    ("", "task.yaml: expected a task, found an empty file"),
    ("a: [", "not valid YAML"),
    ("a: b\n---\nc: d\n", "not valid YAML: but found another document"),
    ("a: \x01", "not valid YAML"),
    ("- a\n", r"task.yaml:1: expected a table, found \['a'\]"),
    (
        "just text",
        ("expected a table, found 'just text'"),
    ),
    ("[" * 500, "not valid YAML"),
    ("#" * 200_000, "expected at most 100000 characters, found 200000"),
    ("[a, b]: c", "expected the name of a field, found a list"),
    # sections and fields
    (task(more="name: a\nname: b"), "task.yaml:4: name: appears twice; keep one of them"),
    (
        task("{template: spot, limit: 2, limit: 3}"),
        "task.yaml:2: limit: appears twice; keep one of them",
    ),
    (
        task(more="num_node: 2"),
        (
            "task.yaml:3: num_node: expected one of name, resources, num_nodes, market, hooks,"
            " probes, found 'num_node' \\(did you mean num_nodes\\?\\)"
        ),
    ),
    (
        task(more="xyzzy: 2"),
        "xyzzy: expected one of name, resources, num_nodes, market, hooks, probes, found 'xyzzy'",
    ),
    (
        task(more="run: python train.py"),
        "task.yaml:3: run: cannot be honoured here; do it in `hooks.on_lease_start`",
    ),
    (task(more="setup: pip install"), "setup: cannot be honoured here"),
    (
        task(more="envs: {A: b}"),
        "envs: cannot be honoured here; set them in the commands of `hooks`",
    ),
    (task(more="service: {}"), "service: cannot be honoured here; choose `market.template: slo`"),
    (
        f"market: {ON_DEMAND}",
        "resources: expected a table, found nothing",
    ),
    (
        "resources: {accelerators: H100}",
        "market: expected a table, found nothing",
    ),
    (
        task(more="name: 12"),
        "name: expected a name of at most 64 letters, digits, '.', '_' or '-', found '12'",
    ),
    (
        task(more="name: a b"),
        "name: expected a name of at most 64 letters, digits, '.', '_' or '-', found 'a b'",
    ),
    (
        task(more="name:"),
        "name: expected a name of at most 64 letters, digits, '.', '_' or '-', found nothing",
    ),
    (task(more="num_nodes: 0"), "num_nodes: expected an integer from 1 up to 1,000, found '0'"),
    (task(more="num_nodes: 1.5"), "num_nodes: expected an integer from 1 up to 1,000, found '1.5'"),
    (task(more="num_nodes: '4'"), "num_nodes: expected an integer from 1 up to 1,000, found '4'"),
    (
        task(more="num_nodes: 0x10"),
        "num_nodes: expected an integer from 1 up to 1,000, found '0x10'",
    ),
    (
        task(more="num_nodes: true"),
        "num_nodes: expected an integer from 1 up to 1,000, found 'true'",
    ),
    (
        task(more="num_nodes: [4]"),
        r"num_nodes: expected an integer from 1 up to 1,000, found \['4'\]",
    ),
    # resources
    (
        task(resources="H100"),
        "resources: expected a table, found 'H100'",
    ),
    (
        task(resources="{zone: zone-a}"),
        "resources.accelerators: expected an accelerator such as H100",
    ),
    (
        task(resources="{accelerators: 'H100:8'}"),
        (
            "resources.accelerators: expected 1 accelerator per node, found '8' of H100; ask for"
            " more `num_nodes` instead"
        ),
    ),
    (
        task(resources="{accelerators: {H100: 2}}"),
        (
            "resources.accelerators: expected 1 accelerator per node, found '2' of H100; ask for"
            " more `num_nodes` instead"
        ),
    ),
    (
        task(resources="{accelerators: {H100: }}"),
        (
            "resources.accelerators: expected 1 accelerator per node, found nothing of H100; ask"
            " for more `num_nodes` instead"
        ),
    ),
    (
        task(resources="{accelerators: {}}"),
        "resources.accelerators: expected an accelerator such as H100, or several",
    ),
    (
        task(resources="{accelerators: []}"),
        (
            "resources.accelerators: expected an accelerator such as H100, or several: \\{H100: 1,"
            " A100: 1\\}, found none"
        ),
    ),
    (task(resources="{accelerators: [H100, h100]}"), "expected each place once, found h100 twice"),
    (
        task(resources="{accelerators: 'H100 A100'}"),
        (
            "resources.accelerators: expected an accelerator such as H100, or several: \\{H100: 1,"
            " A100: 1\\}, found 'H100 A100'"
        ),
    ),
    (task(resources="{accelerators: 100}"), "resources.accelerators: expected an accelerator"),
    (
        task(resources="{accelerators: {'H/1': 1}}"),
        "expected the name of an accelerator such as H100, found 'H/1'",
    ),
    (
        task(resources="{accelerators: H100, zone: a/b}"),
        (
            "resources.zone: expected a name of at most 64 letters, digits, '.', '_' or '-', found"
            " 'a/b'"
        ),
    ),
    (
        task(resources="{accelerators: H100, scopes: a100}"),
        "resources.accelerators: cannot stand beside `scopes`",
    ),
    (
        task(resources="{scopes: [h100//rack1]}"),
        (
            "resources.scopes: expected a scope such as h100/zone-a: up to 16 names of letters,"
            " digits, '.', '_' or '-', with slashes between, found 'h100//rack1'"
        ),
    ),
    (task(resources="{scopes: /h100}"), "resources.scopes: expected a scope"),
    (
        task(resources="{scopes: [[h100]]}"),
        (
            "resources.scopes: expected a scope such as h100/zone-a: up to 16 names of letters,"
            " digits, '.', '_' or '-', with slashes between, found \\['h100'\\]"
        ),
    ),
    (
        task(resources=f"{{scopes: [{', '.join(f'h100/rack{at}' for at in range(17))}]}}"),
        "resources: expected at most 16 places, found 17",
    ),
    (
        task(resources="{accelerators: H100, use_spot: true}"),
        "resources.use_spot: cannot be honoured here; choose `market.template: spot`",
    ),
    (
        task(resources="{accelerators: H100, cloud: aws}"),
        "resources.cloud: cannot be honoured here; there is one market",
    ),
    (
        task(resources="{instance_type: p5.48xlarge}"),
        "resources.instance_type: cannot be honoured here; name the accelerators instead",
    ),
    (task(resources="{any_of: []}"), "resources.any_of: cannot be honoured here"),
    # market
    (
        task("{}"),
        "market.template: expected one of on_demand, spot, deadline, slo, found nothing",
    ),
    (task("{template: {a: b}}"), "market.template: expected one of on_demand"),
    (
        task("{template: cheap}"),
        "market.template: expected one of on_demand, spot, deadline, slo, found 'cheap'",
    ),
    (
        task("{template: on_demand}"),
        'market.max_price: expected dollars per hour in quotes, such as "2.75", found nothing',
    ),
    (
        task("{template: on_demand, max_price: 9, limit: 2}"),
        "market.limit: expected one of budget, max_price, found 'limit'",
    ),
    (
        task("{template: on_demand, max_prize: 9}"),
        (
            "market.max_prize: expected one of budget, max_price, found 'max_prize' \\(did you mean"
            " max_price\\?\\)"
        ),
    ),
    (
        task("{template: on_demand, max_price: -1}"),
        (
            "market.max_price: expected dollars per hour, digits with at most 6 decimals such as"
            " \"2.75\", found '-1'"
        ),
    ),
    (task("{template: on_demand, max_price: .nan}"), "market.max_price: expected dollars per hour"),
    (task("{template: on_demand, max_price: .inf}"), "market.max_price: expected dollars per hour"),
    (task("{template: on_demand, max_price: 1e3}"), "market.max_price: expected dollars per hour"),
    (task("{template: on_demand, max_price: $5}"), "market.max_price: expected dollars per hour"),
    (task("{template: on_demand, max_price: 1.0000001}"), "at most 6 decimals"),
    (
        task("{template: on_demand, max_price: 0}"),
        "market.max_price: expected at least 0.01 dollars per hour, found '0'",
    ),
    (
        task("{template: on_demand, max_price: 10001}"),
        "market.max_price: expected at most 10000 dollars per hour, found '10001'",
    ),
    (
        task("{template: on_demand, max_price: 9, budget: 0}"),
        "market.budget: expected dollars from 0.000001 on, found '0'",
    ),
    (
        task("{template: on_demand, max_price: 9, budget: [1]}"),
        "market.budget: expected dollars, digits",
    ),
    (
        task("{template: spot}"),
        (
            "market.limit: expected a price in dollars per hour, or share_of_on_demand and"
            " on_demand_price"
        ),
    ),
    (
        task("{template: spot, limit: 2, share_of_on_demand: 0.5}"),
        "market.share_of_on_demand: cannot stand beside market.limit",
    ),
    (
        task("{template: spot, limit: 2, max_price: 1}"),
        "market.limit: expected at most market.max_price, 1, found 2",
    ),
    (
        task("{template: spot, share_of_on_demand: 0.5}"),
        "market.on_demand_price: expected the price that share_of_on_demand is a share of",
    ),
    (
        task("{template: spot, share_of_on_demand: 2, on_demand_price: 5}"),
        "market.share_of_on_demand: expected a number above 0 up to 1, found '2'",
    ),
    (
        task("{template: spot, limit: 2, give_up_below_limit: 1}"),
        "market.give_up_below_limit: expected a number from 0 to below 1, found '1'",
    ),
    (
        task("{template: deadline, deadline: 6h, value: 80}"),
        "market.work_hours: expected a number above 0 up to 1,000,000,000, found nothing",
    ),
    (
        task("{template: deadline, work_hours: 0, deadline: 6h, value: 80}"),
        "market.work_hours: expected a number above 0",
    ),
    (
        task("{template: deadline, work_hours: .nan, deadline: 6h, value: 80}"),
        "market.work_hours: expected a number above 0",
    ),
    (
        task("{template: deadline, work_hours: 10, value: 80}"),
        (
            "market.deadline: expected a time with its zone such as 2026-11-20T18:00:00Z, or a"
            " duration with its unit such as 6h, found nothing"
        ),
    ),
    (
        task("{template: deadline, work_hours: 10, deadline: 6, value: 80}"),
        (
            "market.deadline: expected a time with its zone such as 2026-11-20T18:00:00Z, or a"
            " duration with its unit such as 6h, found '6'"
        ),
    ),
    (
        task("{template: deadline, work_hours: 10, deadline: 0s, value: 80}"),
        "market.deadline: expected a duration from 1s to 366d",
    ),
    (
        task("{template: deadline, work_hours: 10, deadline: soon, value: 80}"),
        (
            "market.deadline: expected a time with its zone such as 2026-11-20T18:00:00Z, or a"
            " duration with its unit such as 6h, found 'soon'"
        ),
    ),
    (
        task("{template: deadline, work_hours: 10, deadline: 2026-11-20, value: 80}"),
        "market.deadline: expected a time with its zone",
    ),
    (
        task("{template: deadline, work_hours: 10, deadline: 2026-02-30T00:00:00Z, value: 80}"),
        (
            "market.deadline: expected a time with its zone such as 2026-11-20T18:00:00Z, or a"
            " duration with its unit such as 6h, found '2026-02-30T00:00:00Z'"
        ),
    ),
    (
        task("{template: deadline, work_hours: 10, deadline: 6h}"),
        "market.on_demand_price: expected the on-demand price of a node of speed 1",
    ),
    (
        task("{template: deadline, work_hours: 10, deadline: 6h, value: 8, margin: 2}"),
        "market.margin: cannot stand beside market.value",
    ),
    (
        task(DEADLINE, "{accelerators: [H100, A100]}"),
        ("market.speeds: expected one speed for each of h100, a100, found nothing"),
    ),
    (
        task(DEADLINE[:-1] + ", speeds: {A100: 1}}"),
        "market.speeds: expected one speed for each of h100, found A100",
    ),
    (
        task(DEADLINE[:-1] + ", speeds: {H100: 1, h100: 2}}"),
        "market.speeds: expected one speed for each of h100, found H100, h100",
    ),
    (
        task(DEADLINE[:-1] + ", speeds: {H100: 0}}"),
        "market.speeds.H100: expected a number above 0 up to 1,000, found '0'",
    ),
    (
        task(DEADLINE[:-1] + ", speeds: 1}"),
        "market.speeds: expected a table, each entry a number above 0 up to 1,000, found '1'",
    ),
    (
        task(DEADLINE[:-1] + ", finish_late: maybe}"),
        "market.finish_late: expected true or false, found 'maybe'",
    ),
    (
        task(DEADLINE[:-1] + ", checkpoint_interval: 0s}"),
        "market.checkpoint_interval: expected a duration from 1s",
    ),
    (
        task(DEADLINE[:-1] + ", cold_start: -5m}"),
        "market.cold_start: expected a duration with its unit",
    ),
    (
        task("{template: slo}"),
        'market.penalty_per_hour: expected dollars such as "250", found nothing',
    ),
    (
        task(SLO[:-1] + ", replicas_min: 2}"),
        "market.replicas_min: expected an integer from 0 up to 1, found 2",
    ),
    (
        task(SLO[:-1] + ", replicas_max: 1}", more="num_nodes: 2"),
        "market.replicas_max: expected an integer from 2 up to 1,000, found 1",
    ),
    (
        task(SLO[:-1] + ", spare_replicas: -1}"),
        "market.spare_replicas: expected an integer from 0 up to 1,000, found '-1'",
    ),
    # hooks and probes
    (
        task(more="hooks: ./start.sh"),
        ("hooks: expected a table, found './start.sh'"),
    ),
    (
        task(more="hooks: {on_start: ./start.sh}"),
        (
            "hooks.on_start: expected one of on_lease_start, on_limit_near, on_lease_end, timeout,"
            " found 'on_start' \\(did you mean on_lease_start\\?\\)"
        ),
    ),
    (
        task(more="hooks: {on_lease_start: ''}"),
        "hooks.on_lease_start: expected a command such as ./start.sh",
    ),
    (
        task(more="hooks: {on_lease_start: [a, b]}"),
        (
            "hooks.on_lease_start: expected a command such as ./start.sh, without NUL characters,"
            " found \\['a', 'b'\\]"
        ),
    ),
    (
        task(more='hooks: {on_lease_start: "a\\0b"}'),
        (
            "hooks.on_lease_start: expected a command such as ./start.sh, without NUL characters,"
            " found 'a\\\\x00b'"
        ),
    ),
    (task(more="hooks: {timeout: 60}"), "hooks.timeout: expected a duration with its unit"),
    (
        task(more="probes: {progress: ./p.sh}"),
        "probes.progress: belongs to the template deadline, and this task uses on_demand",
    ),
    (
        task(DEADLINE, more="probes: {needed: ./n.sh}"),
        "probes.needed: belongs to the template slo, and this task uses deadline",
    ),
    (task(more="name: !secret x"), "expected no tags, found !secret"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=range(len(BAD)))
def test_a_bad_task_is_refused_with_place_and_expectation(text: str, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        parse_task(text)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    for name in ("none.yaml", "bytes.yaml"):
        with pytest.raises(TaskError, match=rf"{name}: expected a readable file in UTF-8"):
            read_task(tmp_path / name)


def test_a_file_whose_name_is_invalid_needs_a_name_inside(tmp_path: Path) -> None:
    path = tmp_path / "my job.yaml"
    path.write_text(task())
    with pytest.raises(
        TaskError,
        match="name: expected a name for the task, since 'my job', from the file, cannot be one",
    ):
        read_task(path)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "1", "6h", "H100", "spot", "2026-11-20T18:00:00Z", "x" * 99])
)
KEYS = st.sampled_from(
    [
        "name",
        "resources",
        "market",
        "hooks",
        "probes",
        "num_nodes",
        "accelerators",
        "template",
        "limit",
        "max_price",
        "scopes",
    ]
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.dictionaries(KEYS, DATA, max_size=6) | DATA)
def test_any_text_is_read_or_refused(data: object) -> None:
    try:
        parse_task(yaml.safe_dump(data))
    except TaskError as error:
        assert str(error).startswith("task.yaml")


@settings(max_examples=40)
@given(st.sampled_from(sorted(yaml.safe_load(FULL)["market"])), SCALARS)
def test_a_task_with_one_field_changed_is_sound_or_refused(field: str, value: object) -> None:
    data = yaml.safe_load(FULL)
    data["market"][field] = value
    try:
        app = parse_task(yaml.safe_dump(data)).make(NOON - HOUR)
    except TaskError:
        return
    assert 0.0 <= grow_price(app, "h100/zone-a", (), NOON) < 1e12
