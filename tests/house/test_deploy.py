"""The container and the systemd unit match the service."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from typer.testing import CliRunner

from laissez.cli.app import app
from support.paths import ROOT

pytestmark = pytest.mark.once

CONTAINER = ROOT / "deploy" / "Containerfile"
UNIT = ROOT / "deploy" / "laissez.service"
BUILDERS = ("podman", "buildah", "docker")
BUILD_S = 900


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile, continued lines joined."""
    text = "\n".join(
        line for line in CONTAINER.read_text().splitlines() if not line.startswith("#")
    ).replace("\\\n", " ")
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in text.splitlines())]


def of(kind: str) -> list[str]:
    return [rest for word, rest in instructions() if word == kind]


def check_command(words: list[str]) -> None:
    """Check that the command line knows these options. An invalid port stops it before it
    starts."""
    ran = CliRunner().invoke(app, [*words, "--port", "none"])
    assert (2, True) == (ran.exit_code, "--port" in ran.output), ran.output


def test_the_container_copies_existing_files() -> None:
    copied = [shlex.split(rest)[:-1] for rest in of("COPY") if not rest.startswith("--from")]
    assert copied and all((ROOT / path).exists() for paths in copied for path in paths)


def test_the_container_has_a_supported_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = [re.findall(r"python:(\d+\.\d+)-", image) for image in of("FROM")]
    assert [["3.13"], ["3.13"]] == found
    assert "3.13" in SpecifierSet(project["requires-python"])


def test_the_container_serves_as_an_unprivileged_user() -> None:
    users = [i for i, (word, _) in enumerate(instructions()) if word == "USER"]
    assert ["8340"] == of("USER")
    assert [] == [word for word, _ in instructions()[users[0] :] if word in ("RUN", "COPY")]
    (entry,), (command,) = of("ENTRYPOINT"), of("CMD")
    assert ["laissez"] == json.loads(entry)
    check_command(json.loads(command))


def test_the_container_passes_hadolint() -> None:
    linter = shutil.which("hadolint")
    if linter is None:
        pytest.skip("hadolint is not installed")
    # the image decides the versions of Debian's packages
    done = subprocess.run(
        [linter, "--ignore", "DL3008", str(CONTAINER)], capture_output=True, text=True
    )
    assert 0 == done.returncode, done.stdout


@pytest.mark.slow
def test_the_container_can_be_built() -> None:
    builder = next((found for name in BUILDERS if (found := shutil.which(name))), None)
    if builder is None or subprocess.run([builder, "info"], capture_output=True).returncode != 0:
        pytest.skip("no container builder runs here (podman, buildah or docker)")
    done = subprocess.run(
        [builder, "build", "-f", str(CONTAINER), "-t", "laissezcloud-test", str(ROOT)],
        capture_output=True,
        text=True,
        timeout=BUILD_S,
    )
    assert 0 == done.returncode, done.stderr


def test_the_unit_starts_the_service() -> None:
    (start,) = re.findall(r"^ExecStart=(.+)$", UNIT.read_text(), re.MULTILINE)
    program, *words = shlex.split(start)
    assert "laissez" == Path(program).name
    check_command(words)


def test_the_unit_passes_systemd_analyze(tmp_path: Path) -> None:
    verifier = shutil.which("systemd-analyze")
    if verifier is None:
        pytest.skip("systemd-analyze is not installed")
    program = tmp_path / "laissez"  # programs elsewhere cannot be inspected
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/laissez/bin/laissez", str(program)))
    done = subprocess.run([verifier, "verify", str(unit)], capture_output=True, text=True)
    about_it = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert [] == about_it, done.stderr
