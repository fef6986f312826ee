"""Dependencies are locked: every version with its hashes, for every supported Python, and nothing
else is installed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import laissez
from support.paths import ROOT

pytestmark = pytest.mark.once

LOCKS = ROOT / "requirements"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
DEPENDENCIES: list[str] = PROJECT["project"]["dependencies"]
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
PROOF: dict[str, Any] = tomllib.loads((ROOT / "src" / "pyproject.toml").read_text())["project"]
DEVELOPED_WITH = ("server", "sim", "test")
PYTHONS = ("3.11", "3.12", "3.13")
NAMES = ("run", "build", "develop", "docs", "tools")


class Pin:
    def __init__(self, written: str) -> None:
        requirement, *hashes = written.split(" --hash=")
        self.requirement = Requirement(requirement)
        self.name = canonicalize_name(self.requirement.name)
        self.hashes = hashes
        (exactly,) = self.requirement.specifier
        assert "==" == exactly.operator
        self.version = Version(exactly.version)

    def is_for(self, python: str) -> bool:
        environment = {
            "python_version": python,
            "python_full_version": f"{python}.0",
            "sys_platform": "linux",
            "platform_python_implementation": "CPython",
        }
        return self.requirement.marker is None or self.requirement.marker.evaluate(environment)


def pins(name: str) -> list[Pin]:
    lines = [
        line
        for line in (LOCKS / f"{name}.lock").read_text().splitlines()
        if not line.lstrip().startswith("#")
    ]
    return [
        Pin(written)
        for written in "\n".join(lines).replace(" \\\n    ", " ").split("\n")
        if written
    ]


def versions(name: str, python: str) -> dict[str, Version]:
    found = [pin for pin in pins(name) if pin.is_for(python)]
    assert len({pin.name for pin in found}) == len(found)
    return {pin.name: pin.version for pin in found}


def unmet(requirements: list[str], locked: dict[str, Version], python: str) -> list[str]:
    wanted = [Requirement(one) for one in requirements]
    meant = [
        one
        for one in wanted
        if one.marker is None or one.marker.evaluate({"python_version": python, "extra": ""})
    ]
    return [
        str(one)
        for one in meant
        if (found := locked.get(canonicalize_name(one.name))) is None or found not in one.specifier
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_version_has_its_hashes_and_no_host_is_named(name: str) -> None:
    assert [] == [
        pin.name
        for pin in pins(name)
        if not pin.hashes
        or not all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in pin.hashes)
    ]
    assert not re.search(
        r"://|--(extra-)?index|--find-links|^-e", (LOCKS / f"{name}.lock").read_text(), re.MULTILINE
    )


@pytest.mark.parametrize("python", PYTHONS)
def test_the_locks_match_the_projects_requirements(python: str) -> None:
    to_run, to_build, to_develop = (
        versions("run", python),
        versions("build", python),
        versions("develop", python),
    )
    assert [] == unmet([*DEPENDENCIES, *EXTRAS["server"]], to_run, python)
    assert [] == unmet(
        [*DEPENDENCIES, *(one for extra in DEVELOPED_WITH for one in EXTRAS[extra])],
        to_develop,
        python,
    )
    assert [] == unmet(PROOF["optional-dependencies"]["check"], to_develop, python)
    assert [] == unmet(PROJECT["build-system"]["requires"], to_develop, python)
    assert [] == unmet(PROJECT["build-system"]["requires"], to_run | to_build, python)
    assert to_run.items() | to_build.items() <= to_develop.items()


def test_the_checks_require_the_product_of_their_own_version() -> None:
    asked = [*PROOF["dependencies"], *PROOF["optional-dependencies"]["paper"]]
    assert [
        f"laissezcloud[server]=={laissez.__version__}",
        f"laissezcloud[sim]=={laissez.__version__}",
    ] == asked
    assert PROOF["requires-python"] == PROJECT["project"]["requires-python"]


def test_an_unmet_requirement_is_noticed() -> None:
    locked = {"httpx": Version("0.27"), "rich": Version("14")}
    assert ["httpx>=0.28", "typer>=0.26"] == unmet(
        ["httpx>=0.28", "rich>=13.7", "typer>=0.26", "tomli; python_version < '3.11'"],
        locked,
        "3.11",
    )


@pytest.mark.parametrize("name", ["run", "develop"])
def test_every_dependency_of_a_locked_package_is_locked(name: str) -> None:
    """Only for packages installed here. pip installs only listed packages."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    locked = versions(name, here)
    known = {
        one: metadata.requires(one) or []
        for one, version in locked.items()
        if installed(one) == version
    }
    assert len(known) > len(locked) / 2
    assert [] == [
        f"{one} needs {lacking}"
        for one, needs in known.items()
        for lacking in unmet(needs, locked, here)
    ]


def installed(name: str) -> Version | None:
    try:
        return Version(metadata.version(name))
    except metadata.PackageNotFoundError:
        return None


def test_make_installs_only_locked_packages_and_the_project() -> None:
    lines = [
        line
        for line in (ROOT / "Makefile").read_text().splitlines()
        if re.search(r"\bpip install\b|\(PIP_INSTALL\)", line)
    ]
    written = [line for line in lines if not line.startswith("PIP_INSTALL :=")]
    assert ["$(LOCKED)", "$(OURS)", "$(LOCKED)", "$(OURS)", "$(LOCKED)", "$(LOCKED)"] == [
        line.partition("(PIP_INSTALL) ")[2].partition(" ")[0] for line in written
    ]


# -- known vulnerabilities


@pytest.fixture
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", LOCKS / "audit.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Answers: TypeAlias = dict[str, list[dict[str, object]]]
KNOWN: dict[str, object] = {
    "name": "left",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}, {"id": "PYSEC-2", "fix_versions": []}],
}
FINE: dict[str, object] = {"name": "right", "version": "2.0", "vulns": []}


@pytest.fixture
def answers(audit: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Answers:
    """The answer of each database about the locked packages `left` and `right`. A missing database
    cannot be asked."""
    for name in audit.LOCKS:
        (tmp_path / name).write_text("left==1.0 \\\n    --hash=sha256:00\nright==2.0 \\\n")
    found: Answers = {}

    def ask(lock: Path, database: str) -> list[dict[str, object]]:
        if database not in found:
            raise audit.CannotAsk("nobody is there")
        return found[database] if lock.name == "develop.lock" else []

    monkeypatch.setattr(audit, "audit", ask)
    monkeypatch.setattr(audit, "__file__", str(tmp_path / "audit.py"))
    return found


def test_a_known_vulnerability_is_reported_and_fails(
    audit: ModuleType, answers: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    answers["pypi"] = [KNOWN, FINE]
    assert 1 == audit.main()
    assert (
        "left 1.0: PYSEC-1, mended in 1.1\nleft 1.0: PYSEC-2, mended in no version yet\n"
        in capsys.readouterr().out
    )


def test_the_next_database_is_asked_and_an_unchecked_package_fails(
    audit: ModuleType, answers: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 3 == audit.main()
    assert "nothing was audited" in capsys.readouterr().out
    answers["osv"] = [FINE]
    assert 3 == audit.main()
    assert capsys.readouterr().out.endswith(
        "0 known vulnerabilities in 1 packages, by osv\nnot looked up: left\n"
    )
    answers["osv"] = [{**KNOWN, "vulns": []}, FINE]
    assert 0 == audit.main()
    assert (
        "pypi could not be asked: nobody is there\n0 known vulnerabilities in 2 packages, by osv\n"
        == capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("said", "complained", "why"),
    [
        ("", "first\nthe last word\n", "the last word"),
        ("{}", "", "it said nothing"),
        ('{"dependencies": [{"name": "left", "skip_reason": "no such host"}]}', "", "no such host"),
    ],
)
def test_the_reason_why_a_database_is_unreachable_is_reported(
    audit: ModuleType, monkeypatch: pytest.MonkeyPatch, said: str, complained: str, why: str
) -> None:
    monkeypatch.setattr(
        audit.subprocess,
        "run",
        lambda *command, **more: subprocess.CompletedProcess([], 1, said, complained),
    )
    with pytest.raises(audit.CannotAsk, match=why):
        audit.audit(LOCKS / "run.lock", "pypi")
