"""The examples of `docs/guides/webhooks.md` work: its receiver accepts deliveries, and its commands
exist."""

from __future__ import annotations

import re
import threading
from http.server import HTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from laissez.cli.events import webhooks as app
from support.paths import GUIDES
from support.webhook_world import Hooks, with_hooks

pytestmark = pytest.mark.once

PAGE = (GUIDES / "webhooks.md").read_text()


def test_the_receiver_of_the_page_accepts_only_genuine_deliveries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "webhook.secret").write_text(f"whsec_{'A' * 44}\n")
    monkeypatch.chdir(tmp_path)
    shown: dict[str, Any] = {"__name__": "shown"}
    exec(compile(code, "webhooks.md", "exec"), shown)
    monkeypatch.setattr(shown["Receiver"], "log_message", lambda *_: None)

    async def tale(hooks: Hooks) -> None:
        made = await hooks.create(url=f"http://127.0.0.1:{server.server_port}/laissez")
        # signed with another secret
        assert "status 400" == (await hooks.until(made["id"], failures=1))["last_error"]
        shown["SECRET"] = made["secret"]
        hooks.pass_s(1)
        await hooks.until(made["id"], delivered=1)

    with HTTPServer(("127.0.0.1", 0), shown["Receiver"]) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            with_hooks(tmp_path / "data", tale)
        finally:
            server.shutdown()
            thread.join()
    assert "1 WebhookCreated(" in capsys.readouterr().out and 1 == shown["seen"]


def test_every_command_of_the_page_exists() -> None:
    commands = set(re.findall(r"^\$ laissez webhooks (\S+)", PAGE, re.MULTILINE))
    assert {"create", "show", "rotate", "dead-letters", "redeliver", "delete"} == commands
    for command in sorted(commands):
        assert 0 == CliRunner().invoke(app, [command, "--help"]).exit_code
