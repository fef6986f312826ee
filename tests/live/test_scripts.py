"""The user's command lines, and the memory of a runner."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from laissez.live import scripts as module
from laissez.live.memory import MemoryFault, MemoryFile, TaskMemory
from laissez.live.scripts import ScriptFailed, Scripts

pytestmark = pytest.mark.once


def run(
    tmp_path: Path, story: Callable[[Scripts], Awaitable[None]], timeout_s: float = 10.0
) -> None:
    async def told() -> None:
        await story(Scripts(tmp_path, timeout_s))

    asyncio.run(told())


def test_hooks_of_one_lease_run_in_order_with_the_facts_in_their_environment(
    tmp_path: Path,
) -> None:
    outcomes: list[ScriptFailed | None] = []

    async def story(scripts: Scripts) -> None:
        scripts.call(
            "lse_1",
            "sleep 0.05; echo $LAISSEZ_LEAF start >> told",
            {"LAISSEZ_LEAF": "h/a"},
            outcomes.append,
        )
        scripts.call(
            "lse_1", "echo $LAISSEZ_LEAF end >> told", {"LAISSEZ_LEAF": "h/a"}, outcomes.append
        )
        assert scripts.is_busy("lse_1") and not scripts.is_busy("lse_2")
        await scripts.drain()
        assert not scripts.is_busy("lse_1")

    run(tmp_path, story)
    assert "h/a start\nh/a end\n" == (tmp_path / "told").read_text()
    assert [None, None] == outcomes


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("exit 3", "exit status 3"),
        ("/no/such/program", "exit status 127"),
        ("kill -9 $$", "exit status -9"),
        ("sleep 60", "after 0.2 s"),
    ],
)
def test_a_failed_hook_is_reported_and_stops_nothing_else(
    tmp_path: Path, line: str, said: str
) -> None:
    outcomes: list[ScriptFailed | None] = []

    async def story(scripts: Scripts) -> None:
        scripts.call("lse_1", line, {}, outcomes.append)
        scripts.call("lse_1", "true", {}, outcomes.append)
        await scripts.drain()

    run(tmp_path, story, timeout_s=0.2)
    failed, well = outcomes
    assert said in str(failed) and well is None


def test_background_processes_of_a_script_continue_if_it_ends_in_time(
    tmp_path: Path,
) -> None:
    async def story(scripts: Scripts) -> None:
        assert 1.0 == await scripts.probe(
            "progress", "sleep 5 > /dev/null & echo $! > child; echo 1"
        )

    run(tmp_path, story)
    child = int((tmp_path / "child").read_text())
    os.kill(child, signal.SIGKILL)  # raises if it was gone


def test_a_child_that_ignores_sigterm_is_killed_after_its_shell_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE_S", 0.1)

    async def story(scripts: Scripts) -> None:
        with pytest.raises(ScriptFailed):
            await scripts.probe(
                "progress",
                "sh -c 'trap \"\" TERM; echo $$ > child; while true; do sleep 0.1; done' &"
                " sleep 60",
            )

    run(tmp_path, story, timeout_s=0.4)
    state = Path(f"/proc/{int((tmp_path / 'child').read_text())}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_a_script_past_its_timeout_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE_S", 0.1)

    async def story(scripts: Scripts) -> None:
        with pytest.raises(ScriptFailed, match=r"ended after 0\.3 s"):
            await scripts.probe(
                "progress", "trap '' TERM; sh -c 'echo $$ > child; trap \"\" TERM; sleep 60'"
            )

    run(tmp_path, story, timeout_s=0.3)
    child = int((tmp_path / "child").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX"


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("echo 0.25", 0.25),
        ("echo step 7; echo 3", 3.0),
        ("printf 1e-3", 0.001),
        ("echo 1; sleep 0.1; echo 0.5", 0.5),
        ("seq 20000; echo 7", 7.0),
    ],
)
def test_a_probe_is_the_number_printed_last(tmp_path: Path, line: str, number: float) -> None:
    async def story(scripts: Scripts) -> None:
        assert number == await scripts.probe("progress", line)

    run(tmp_path, story)


@pytest.mark.parametrize("line", ["true", "echo half", "echo nan", "echo inf", "echo 5; exit 1"])
def test_a_probe_without_a_number_is_refused(tmp_path: Path, line: str) -> None:
    async def story(scripts: Scripts) -> None:
        with pytest.raises(ScriptFailed):
            await scripts.probe("progress", line)

    run(tmp_path, story)


def test_a_memory_is_read_back_and_private(tmp_path: Path) -> None:
    path = tmp_path / "task.state.json"
    file = MemoryFile(path, TaskMemory)
    assert file.read() is None
    memory = TaskMemory(
        "job",
        "ann",
        "http://127.0.0.1",
        5,
        last_event=7,
        leases={"lse_1": "h/a"},
        application={"done": 0.5},
    )
    file.write(memory)
    assert memory == file.read()
    assert 0o600 == path.stat().st_mode & 0o777
    file.forget()
    assert file.read() is None
    file.close()


def test_two_runners_cannot_share_a_memory(tmp_path: Path) -> None:
    file = MemoryFile(tmp_path / "state", TaskMemory)
    with pytest.raises(MemoryFault, match="is in use"):
        MemoryFile(tmp_path / "state", TaskMemory)
    file.close()
    MemoryFile(tmp_path / "state", TaskMemory).close()


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"task": 3}', b"\xff", b'{"task": "a", "started_at": 1, "more": 2}']
)
def test_a_damaged_memory_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state").write_bytes(content)
    file = MemoryFile(tmp_path / "state", TaskMemory)
    with pytest.raises(MemoryFault, match="state is damaged"):
        file.read()
    file.close()


def test_a_memory_that_cannot_be_written_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(MemoryFault, match="--state"):
        MemoryFile(tmp_path / "nowhere" / "state", TaskMemory)
