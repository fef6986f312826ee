"""The wheel holds the product and nothing else, and the product works once installed.

It is built from this checkout, installed into a separate environment, and used outside the
checkout. The environment borrows the dependencies installed here, so that nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

import laissez
from support.doc_shell import until_it_serves
from support.paths import ROOT, TESTS

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.xdist_group("build")]

# where compiled modules may lie
PACKAGES = {
    Path("laissez"),
    *(
        Path("laissez", name)
        for name in ("exchange", "market", "server", "server/websocket", "wire")
    ),
}
CORE = (
    "market/__init__.py",
    "market/test_rules_*.py",
    "market/test_topology.py",
    "market/test_snapshot.py",
    "journal/*.py",
    "support/__init__.py",
    "support/stories.py",
    "support/journal_sum.py",
    "support/paths.py",
)
NOT_TAKEN_ALONG = {".pyc", ".so", ".c", ".h"}
NOT_LENT = ("laissezcloud", "__editable__")
OF_SERVER = ("httptools", "prometheus_client", "uvloop")  # the extra `server`


class Installed:
    """An environment with the wheel in it, and a folder outside the checkout to work in."""

    def __init__(self, folder: Path, wheel: Path, without: tuple[str, ...] = ()) -> None:
        self.folder = folder
        python = folder / "venv" / "bin" / "python"
        self.run(sys.executable, "-m", "venv", "--without-pip", "venv")
        packages = Path(self.run(python, "-c", "import site; print(site.getsitepackages()[0])"))
        for lent in Path(sysconfig.get_path("purelib")).iterdir():
            if not lent.name.startswith((*NOT_LENT, *without)):
                (packages / lent.name).symlink_to(lent)
        pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
        self.run(*pip, "--no-deps", "--no-index", "--no-compile", wheel)
        self.python = python
        self.laissez = python.with_name("laissez")

    def run(self, *command: str | Path) -> str:
        done = self.tried(*command)
        assert 0 == done.returncode, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout.strip()

    def tried(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=environment(), capture_output=True, text=True
        )


def environment() -> dict[str, str]:
    """The environment without our settings and without a path to the sources."""
    ours = ("LAISSEZ_", "PYTHONPATH", "COV_", "PYTEST_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build where `make build` did, so that nothing is compiled twice. Remove old sources, which
    setuptools would pack too."""
    for left in (path for path in ROOT.glob("build/lib*/**/*") if path.is_file()):
        if left.suffix != ".so":
            left.unlink()
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


def build(project: Path, folder: Path) -> Path:
    command = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    done = subprocess.run(
        [*command, "--wheel-dir", folder, project],
        env=environment() | {"LAISSEZ_BUILD": laissez.market_form()},
        capture_output=True,
        text=True,
    )
    assert 0 == done.returncode, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def files_of(package: str) -> set[Path]:
    sources = ROOT / "src"
    return {
        path.relative_to(sources)
        for path in (sources / package).rglob("*")
        if path.is_file() and path.suffix not in NOT_TAKEN_ALONG
    }


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Iterator[Installed]:
    with tempfile.TemporaryDirectory(prefix="laissez-wheel-") as folder:
        yield Installed(Path(folder), wheel)


def packed_in(wheel: Path) -> set[Path]:
    packed = map(Path, zipfile.ZipFile(wheel).namelist())
    return {path for path in packed if not path.parts[0].endswith(".dist-info")}


def test_the_checks_are_a_separate_wheel(tmp_path: Path) -> None:
    """Build from a copy: setuptools leaves files in its source folder."""
    ignored = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignored)
    packages = ("laissez_check", "laissez_bench", "laissez_experiments")
    proof = packed_in(build(tmp_path / "src", tmp_path / "wheel"))
    assert set().union(*map(files_of, packages)) == proof


def test_the_wheel_holds_the_product_and_nothing_else(wheel: Path) -> None:
    packed = packed_in(wheel)
    compiled = {path for path in packed if path.suffix == ".so"}
    assert files_of("laissez") == packed - compiled
    assert (laissez.market_form() == "compiled") == bool(compiled)
    assert PACKAGES >= {path.parent for path in compiled}


def test_the_core_tests_pass_on_the_wheel(installed: Installed) -> None:
    tests = installed.folder / "tests"
    for path in [path for pattern in CORE for path in TESTS.glob(pattern)]:
        copy = tests / path.relative_to(TESTS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    shutil.copy(ROOT / "pyproject.toml", installed.folder)  # markers, and warnings as errors
    where = "import laissez.market; print(laissez.market.__file__)"
    assert installed.folder in Path(installed.run(installed.python, "-c", where)).parents
    printed = installed.run(installed.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests)
    assert "passed" in printed and "failed" not in printed, printed


def test_the_service_and_its_console_run_from_the_wheel(installed: Installed) -> None:
    command = [str(installed.laissez), "up", "--still", "--data", "sample", "--port", "0"]
    with (
        tempfile.TemporaryFile() as log,  # watched for secrets, like all logs
        subprocess.Popen(
            command,
            cwd=installed.folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as server,
    ):
        try:
            assert server.stdout is not None
            said = until_it_serves(server.stdout)
            url = next(word for word in said.split() if word.startswith("http://127.0.0.1:"))
            for path, found in (("/", "<title>"), ("/console/js/main.js", "import"), ("/docs", "")):
                with urlopen(url.rstrip("/") + path, timeout=30) as answer:  # noqa: S310  our own
                    assert (200, True) == (answer.status, found in answer.read().decode())
        finally:
            server.terminate()
    assert 0 == server.returncode


def test_the_wheel_describes_itself_and_links_the_rest(installed: Installed) -> None:
    facts = json.loads(installed.run(installed.laissez, "version", "-o", "json"))
    assert (laissez.__version__, laissez.market_form()) == (facts["version"], facts["market"])
    for command in ("check", "bench", "paper"):
        done = installed.tried(installed.laissez, command)
        assert (2, True) == (done.returncode, "is part of laissezcloud-proof" in done.stderr)
    assert 2 == installed.tried(installed.laissez, "audit", "bills").returncode
    assert 0 == installed.tried(installed.laissez, "audit", "verify", "--help").returncode


def test_a_tenant_needs_no_server_extra(wheel: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="laissez-wheel-") as folder:
        tenant = Installed(Path(folder), wheel, without=OF_SERVER)
        tenant.run(tenant.python, "-c", "import laissez.client, laissez.tenants, laissez.sim")
        for command in ("quote", "run", "tenant", "sim", "journal", "audit"):
            tenant.run(tenant.laissez, command, "--help")
        for command in ("serve", "up"):
            done = tenant.tried(tenant.laissez, command)
            assert (2, True) == (done.returncode, "laissezcloud[server]" in done.stderr)
