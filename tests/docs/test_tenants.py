"""The examples of the pages about tasks and adapters work, and their tables are complete."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from laissez.client import Client
from laissez.live import attending, scripts, task_runner
from laissez.live import hooks as live_hooks
from laissez.market.commands import PRICE_MAX
from laissez.market.reasons import EndReason
from laissez.tenants import Application
from laissez.tenants.deadline import URGENCY_MAX
from laissez.tenants.dynamo.builtin import BUILT_IN
from laissez.tenants.hooks import HOLD_S
from laissez.tenants.parabricks.runtime import (
    A100_DNA,
    A100_DNA_S,
    H100_SPEEDUP,
    H100_SPEEDUP_RANGE,
)
from laissez.tenants.pricing import AHEAD
from laissez.tenants.sailor import Planner, builtin_profile
from laissez.tenants.sailor.builtin import MODELS
from laissez.tenants.settings import AdapterSettings
from laissez.tenants.templates import deadline, resources, slo
from laissez.tenants.templates.specs import TEMPLATES, TemplateSpec
from laissez.tenants.templates.task import PROBE_OF, Hooks, Task, TaskFile, read_task
from laissez_check.integration import count_lines
from support.doc_shell import Example, Shell, examples, matches
from support.paths import GUIDES, REFERENCE

pytestmark = pytest.mark.once

PAGE = "\n".join(
    (folder / f"{name}.md").read_text()
    for folder in (GUIDES, REFERENCE)
    for name in ("tasks", "adapters")
)
YAML = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
TASKS = {re.findall(r"^name: (\S+)", text)[0]: text for text in YAML}
EXAMPLES = examples(PAGE)
CONSOLES = [one for one in EXAMPLES if one.kind == "console"]
FARM = next(one for one in EXAMPLES if "class RenderFarm" in one.steps[0][0])
TRADE = next(one for one in EXAMPLES if "async def trade" in one.steps[0][0])


def ran(example: Example, names: dict[str, Any]) -> str:
    """The output of a program; its definitions stay in `names`."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(
            compile(example.steps[0][0], f"tasks.md and adapters.md line {example.line}", "exec"),
            names,
        )
    return out.getvalue()


def rows(heading: str, number: int = 0) -> list[list[str]]:
    """The cells of a table after a heading."""
    _, _, rest = PAGE.partition(f" {heading}\n")
    assert rest, f"there is no heading {heading!r}"
    table = re.findall(r"(?:^\|.*\n)+", rest, re.MULTILINE)[number].splitlines()
    return [re.split(r"\s*\|\s*", line)[1:-1] for line in table[2:]]


def named(cell: str) -> list[str]:
    return re.findall(r"`([\w.]+)`", cell)


# -- programs


def test_every_program_prints_what_the_page_shows() -> None:
    names: dict[str, Any] = {"__name__": "example"}
    programs = [one for one in EXAMPLES if one.kind == "python"]
    assert 5 == len(programs)
    for one in programs:
        printed = ran(one, names)
        assert matches(one.steps[0][1], printed), f"line {one.line}\n--- printed\n{printed}"


def test_a_custom_adapter_takes_under_30_lines_and_all_hooks_are_named() -> None:
    assert count_lines(FARM.steps[0][0], "RenderFarm") <= 30
    _, _, rest = PAGE.partition("\n## Write your own adapter in 30 lines\n")
    known = {name for name, _ in inspect.getmembers(Application, inspect.isfunction)}
    needed = Application.__abstractmethods__
    assert (4, 7) == (len(needed), len(known - needed))
    assert known <= set(named(rest.partition("```")[0]))


# -- in a shell and live, with one server


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    shell = Shell(tmp_path_factory.mktemp("tenants"))
    try:
        for name, text in TASKS.items():
            (shell.folder / f"{name}.yaml").write_text(text)
        shell.serve("laissez up --still")
        for example in CONSOLES:
            shell.run(example)
        yield shell
    finally:
        shell.close()


@pytest.mark.slow
@pytest.mark.xdist_group("tenants_docs")
def test_every_command_prints_what_the_page_shows(shell: Shell) -> None:
    for example in CONSOLES:
        for (typed, shown), (status, printed) in zip(example.steps, example.found, strict=True):
            assert 0 == status, f"line {example.line}: {typed}\n{printed}"
            assert matches(shown, printed), (
                f"line {example.line}: {typed}\n--- shown\n{shown}\n--- printed\n{printed}"
            )


@pytest.mark.slow
@pytest.mark.xdist_group("tenants_docs")
def test_the_same_adapter_trades_live(shell: Shell) -> None:
    names: dict[str, Any] = {"__name__": "example"}
    ran(FARM, names)
    ran(TRADE, names)
    left = iter([60.0, 60.0, 60.0])
    held: list[int] = []
    with Client(shell.url, (shell.folder / "acme.key").read_text().strip()) as acme:

        def frames_left() -> float:
            held.append(len(list(acme.leases())))
            return next(left, 0.0)

        asyncio.run(
            names["trade"](
                shell.url, (shell.folder / "acme.key").read_text().strip(), frames_left, 0.0
            )
        )
        assert max(held) >= 1 and [] == list(acme.leases())


# -- tasks


def task(name: str, folder: Path) -> Task:
    path = folder / f"{name}.yaml"
    path.write_text(TASKS[name])
    return read_task(path)


def test_every_task_can_be_run_and_there_is_one_for_each_template(tmp_path: Path) -> None:
    found = {name: task(name, tmp_path) for name in TASKS}
    assert len(YAML) == len(TASKS)
    assert set(TEMPLATES) == {one.template for one in found.values()}
    assert [] == [warning for one in found.values() for warning in one.warnings]
    for one in found.values():
        assert one.make(0).wishes((), 0)


def test_every_field_of_a_task_is_in_the_table() -> None:
    written = [name for row in rows("Every field of a task") for name in named(row[0])]
    below = [
        *(f"resources.{name}" for name in ("accelerators", "zone", "scopes")),
        *(f"hooks.{name.removesuffix('_s')}" for name in Hooks.__struct_fields__),
        *(f"probes.{name}" for name in PROBE_OF),
    ]
    assert sorted(["name", "num_nodes", "market", *below]) == sorted(written)
    assert set(TaskFile.__struct_fields__) == {name.partition(".")[0] for name in written}
    assert set(resources.IGNORED) >= {"cpus", "memory"}


def test_every_field_of_the_market_is_in_the_table_with_its_templates() -> None:
    table = {name: row for row in rows("Every field of a task", 1) for name in named(row[0])}
    common = {"template", *TemplateSpec.__struct_fields__}
    assert common == {name for name, row in table.items() if row[1] == "all"}
    for template, spec in TEMPLATES.items():
        fields = set(spec.__struct_fields__) - common
        assert fields == {name for name, row in table.items() if template in named(row[1])}


def test_the_defaults_are_as_the_tables_say() -> None:
    table = {name: row[2] for row in rows("Every field of a task", 1) for name in named(row[0])}
    assert f"{deadline.COLD_START_S / 60:g}m, {slo.COLD_START_S / 60:g}m" == table["cold_start"]
    assert (deadline.MARGIN, PRICE_MAX) == (
        float(table["margin"]),
        int(table["max_price"]) * 1_000_000,
    )
    assert f"`hooks.timeout` | {Hooks().timeout_s:g}s |" in PAGE
    assert f"worth more (up to {URGENCY_MAX:g} times)" in PAGE
    assert f"`run --pace {task_runner.PACE_S:g}`" in PAGE
    assert (
        f"tries for {attending.RECONNECT_TIMEOUT_S:g} s, then a new one is made,"
        f" {attending.AGAIN_S:g} to {attending.AGAIN_S_MAX:g} s apart" in PAGE
    )
    assert (0.5, 3600.0) == (AHEAD, HOLD_S)  # "half of its value", "one lease of an hour"
    # As the page says: five seconds, a minute, 5 %.
    assert (5.0, 60.0, 0.05) == (
        scripts.GRACE_S,
        AdapterSettings().guard_s,
        AdapterSettings().tolerance,
    )


# -- hooks


def test_every_hook_variable_and_reason_is_named() -> None:
    table = "\n".join("|".join(row) for row in rows("Hooks and probes"))
    assert set(re.findall(r"LAISSEZ_[A-Z]+", inspect.getsource(live_hooks))) == set(
        re.findall(r"`(LAISSEZ_[A-Z]+)`", table)
    )
    assert [] == [
        reason
        for reason in (*EndReason, live_hooks.UNKNOWN)
        if f"`{reason}`" not in table and reason is not EndReason.BUDGET_SPENT
    ]
    events = [name for name in Hooks.__struct_fields__ if name.startswith("on_")]
    assert events == [row[0].strip("`") for row in rows("Hooks and probes")]


def test_the_checkpoint_hook_returns_when_the_trainer_has_saved(tmp_path: Path) -> None:
    (written,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "checkpoint.sh").write_text(written)
    trainer = (
        "trap 'touch saved checkpoint.done; exit' USR1; echo $$ > trainer.pid; while :; do sleep"
        " 0.01; done"
    )
    saving = subprocess.Popen(["bash", "-c", trainer], cwd=tmp_path)
    try:
        waits = (
            "until [ -s trainer.pid ]; do sleep 0.01; done; touch checkpoint.done; sh checkpoint.sh"
        )
        subprocess.run(["sh", "-c", waits], cwd=tmp_path, check=True, timeout=30)
        assert (tmp_path / "saved").exists()
    finally:
        saving.kill()
        saving.wait()
    assert (
        0
        != subprocess.run(
            ["sh", "checkpoint.sh"],
            cwd=tmp_path,
            check=False,
            stderr=subprocess.DEVNULL,
            timeout=30,
        ).returncode
    )


# -- figures of the models


def test_the_table_lists_exactly_the_built_in_profiles() -> None:
    for model, gpus in BUILT_IN:
        assert re.search(
            rf"{re.escape(model)} on (?:\d or )?{gpus}\b|{re.escape(model)} on {gpus} or", PAGE
        ), (model, gpus)
    assert all(f'"{model}"' in PAGE for model in MODELS)


def test_the_value_of_placement_is_as_the_page_says() -> None:
    shown = re.findall(r"[\d.]+(?=x)", PAGE.partition("With a global batch of 64,")[2])
    for model, gpus, said in (("OPT-350", 8, shown[0]), ("GPT-Neo-2.7", 16, shown[1])):
        planner = Planner(builtin_profile(model, 64))
        ratio = planner.speed((("a100", (8,) * (gpus // 8)),)) / planner.speed(
            (("a100", (1,) * gpus),)
        )
        assert f"{ratio:.2f}" == said


def test_the_run_time_of_a_sample_is_as_the_page_says() -> None:
    assert f"`T(n) = {A100_DNA.serial_s:g} + {A100_DNA.parallel_s:,.0f} / n`" in PAGE
    assert all(
        abs(A100_DNA.seconds(gpus) / seconds - 1) < 0.03 for gpus, seconds in A100_DNA_S.items()
    )
    assert f"{H100_SPEEDUP} times as fast is an assumption" in PAGE
    assert "{} to {} is plausible".format(*H100_SPEEDUP_RANGE) in PAGE
