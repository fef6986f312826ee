"""The examples of a page, run as a reader would: in order, in one shell, in an empty folder.

    console          lines after `$ ` are typed (`> ` goes on), the others are what is printed
    console server   is started and left running until the next such block; it listens on a free
                     port instead of the usual one
    python           is run as a program; a `text` block right after it is what it prints

In shown output, `...` stands for anything within a line, or alone on a line for any lines. The
default address stands for that of the server.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import laissez

USUAL = "http://127.0.0.1:8340"
WITHIN_S = 60
_BLOCK = re.compile(r"^```(?P<kind>[a-z ]+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_END = "\x1e"


@dataclass
class Example:
    """A block that runs: its place in the page, and the typed lines with their shown output."""

    line: int
    kind: str
    steps: list[tuple[str, str]] = field(default_factory=list)
    # exit status and output of each step
    found: list[tuple[int, str]] = field(default_factory=list)


def examples(page: str) -> list[Example]:
    found: list[Example] = []
    follows_program = False
    for block in _BLOCK.finditer(page):
        kind, body = block["kind"], block["body"]
        if kind == "text" and follows_program:
            found[-1].steps = [(found[-1].steps[0][0], body)]
        elif kind in ("console", "console server"):
            found.append(Example(page.count("\n", 0, block.start()) + 1, kind, list(_typed(body))))
        elif kind == "python":
            found.append(Example(page.count("\n", 0, block.start()) + 1, kind, [(body, "")]))
        follows_program = kind == "python"
    return found


def _typed(body: str) -> Iterator[tuple[str, str]]:
    for typed in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, *rest = typed.splitlines()
        while rest and rest[0].startswith("> "):
            command += "\n" + rest.pop(0).removeprefix("> ")
        yield command, "".join(f"{line}\n" for line in rest)


def matches(shown: str, printed: str) -> bool:
    """Whether the output matches the page. The number of spaces does not matter, since tables grow
    with their content."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else _line(line) for line in _plain(shown).splitlines()
    )
    return re.fullmatch(pattern, _plain(printed)) is not None


def _line(line: str) -> str:
    return re.escape(line).replace(r"\.\.\.", ".*") + r"\n"


def _plain(text: str) -> str:
    return "".join(re.sub(r" +", " ", line).strip() + "\n" for line in text.splitlines())


def environment_of(home: Path) -> dict[str, str]:
    """The environment without our settings, except for the form of the market that runs here, so
    that no warning is printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAISSEZ_")}
    return kept | {
        "LAISSEZ_MARKET": laissez.market_form(),
        "XDG_CONFIG_HOME": str(home / "config"),
        "PYTHONUNBUFFERED": "1",
    }


class Shell:
    """A persistent bash, so that examples share exported variables, and the server beside it."""

    def __init__(self, folder: Path) -> None:
        commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = environment_of(folder) | {"PATH": commands, "COLUMNS": "160"}
        self.folder = folder
        self.url = USUAL
        self._server: subprocess.Popen[str] | None = None
        self._bash = subprocess.Popen(
            ["bash", "--norc"],
            cwd=folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, example: Example) -> None:
        for typed, _ in example.steps:
            if example.kind == "console server":
                example.found.append((0, self.serve(typed)))
            elif example.kind == "python":
                program = self.folder / f"example_{example.line}.py"
                program.write_text(typed.replace(USUAL, self.url))
                example.found.append(self.type(f"python {program.name}"))
            else:
                example.found.append(self.type(typed))

    def type(self, command: str) -> tuple[int, str]:
        command = command.replace(USUAL, self.url)
        assert self._bash.stdin is not None and self._bash.stdout is not None
        self._bash.stdin.write(f"{command}\nprintf '\\n{_END}%d\\n' $?\n")
        self._bash.stdin.flush()
        output = ""
        for line in self._bash.stdout:
            if line.startswith(_END):
                return int(line[1:]), output.removesuffix("\n").replace(self.url, USUAL)
            output += line
        raise AssertionError(f"the shell ended after: {command}")

    def serve(self, command: str) -> str:
        """Replace the running server; returns its output until it serves."""
        self.stop_server()
        words = [*command.split(), "--port", "0"]
        with tempfile.TemporaryFile() as log:  # watched for secrets, like all logs
            self._server = subprocess.Popen(
                words,
                cwd=self.folder,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._server.stdout is not None
        said = until_it_serves(self._server.stdout)
        before, self.url = self.url, re.findall(r"http://127\.0\.0\.1:\d+", said)[0]
        self.type(
            f'LAISSEZ_URL="${{LAISSEZ_URL/{before.removeprefix("http://")}/{self.url.removeprefix("http://")}}}"'
        )
        return said.replace(self.url, USUAL)

    def stop_server(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            server.send_signal(signal.SIGTERM)
            try:
                server.communicate(timeout=WITHIN_S)
            finally:
                server.kill()
            assert server.returncode == 0, f"the server ended with {server.returncode}"

    def close(self) -> None:
        try:
            self._bash.communicate(timeout=WITHIN_S)
        finally:
            self.stop_server()


def until_it_serves(said: IO[str]) -> str:
    """The output of a server until it accepts connections."""
    text = ""
    for line in said:
        text += line
        if line.startswith(("Serving at", "Ctrl-C stops it")):
            _until_it_takes_connections(int(re.findall(r"http://127\.0\.0\.1:(\d+)", text)[0]))
            return text
    raise AssertionError(f"the server ended, having said: {text}")


def _until_it_takes_connections(port: int) -> None:
    """A server prints its address a moment before it listens there."""
    ends = time.monotonic() + WITHIN_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            assert time.monotonic() < ends, f"nobody listens on port {port}"
            time.sleep(0.01)
