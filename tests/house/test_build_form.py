"""How the market is compiled (`setup.py`, LAISSEZ_BUILD) and which form of it runs
(`laissez._form`, LAISSEZ_MARKET).

Most tests use a small checkout with a market of one module, so that they do not depend on the
compiled files here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from support.paths import ROOT

LIBRARY = "compiled__mypyc" + EXTENSION_SUFFIXES[0]
WHICH_FILE = "import laissez.market.money as money; print(money.__file__)"

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.xdist_group("build")]


class Checkout:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.market = folder / "src" / "laissez" / "market"

    def python(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LAISSEZ_", "COV_"))
        }
        environment = inherited | {"PYTHONPATH": str(self.folder / "src")} | variables
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
        )

    def build(self, **variables: str) -> subprocess.CompletedProcess[str]:
        return self.python(
            "setup.py",
            "--quiet",
            "build_ext",
            "--inplace",
            **({"CC": str(quick_compiler(self.folder))} | variables),
        )

    def imported(self, **variables: str) -> str:
        """The name of the file that `laissez.market.money` is imported from."""
        done = self.python("-c", WHICH_FILE, **variables)
        assert 0 == done.returncode, done.stderr
        return Path(done.stdout.strip()).name

    def compiled_files(self) -> list[Path]:
        return sorted([*self.folder.glob("src/**/*.so"), *self.folder.glob("build/lib*/**/*.so")])

    def age_sources(self, seconds: int) -> None:
        """Set the time of every source to `seconds` before (negative: after) the compile."""
        at = (self.market.parent / LIBRARY).stat().st_mtime - seconds
        for source in self.market.glob("*.py"):
            os.utime(source, (at, at))


def quick_compiler(folder: Path) -> Path:
    """The usual compiler without optimisation, which takes most of its time and does not affect
    these tests."""
    compiler = folder / "quick-compiler"
    compiler.write_text('#!/bin/bash\nexec cc "${@/#-O3/-O0}"\n')
    compiler.chmod(0o755)
    return compiler


def make_checkout(folder: Path) -> Checkout:
    checkout = Checkout(folder)
    checkout.market.mkdir(parents=True)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, folder)
    for name in ("__init__.py", "_form.py"):
        shutil.copy(ROOT / "src" / "laissez" / name, checkout.market.parent)
    (checkout.market / "__init__.py").touch()
    (checkout.market / "money.py").write_text(
        "def twice(price: int) -> int:\n    return 2 * price\n"
    )
    return checkout


@pytest.fixture
def fresh(tmp_path: Path) -> Checkout:
    return make_checkout(tmp_path)


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = make_checkout(tmp_path_factory.mktemp("compiled"))
    done = checkout.build()
    assert 0 == done.returncode, done.stderr
    if "no working C compiler" in done.stderr:
        pytest.skip("no C compiler")
    return checkout


@pytest.fixture
def compiled(compiled_once: Checkout, tmp_path: Path) -> Checkout:
    folder = tmp_path / "copy"
    shutil.copytree(compiled_once.folder, folder)
    return Checkout(folder)


@pytest.mark.parametrize("asked", ["auto", "", "compiled"])
def test_the_compiled_form_is_imported_if_it_exists(compiled: Checkout, asked: str) -> None:
    assert "money" + EXTENSION_SUFFIXES[0] == compiled.imported(LAISSEZ_MARKET=asked)


def test_the_sources_are_imported_on_request_despite_a_compiled_form(compiled: Checkout) -> None:
    assert "money.py" == compiled.imported(LAISSEZ_MARKET="interpreted")


def test_the_sources_are_imported_if_nothing_is_compiled(fresh: Checkout) -> None:
    assert "money.py" == fresh.imported()


def test_requesting_a_missing_compiled_form_is_an_error_with_a_remedy(fresh: Checkout) -> None:
    done = fresh.python("-c", "import laissez.market", LAISSEZ_MARKET="compiled")
    assert 1 == done.returncode
    assert (
        "FormError: LAISSEZ_MARKET is 'compiled', but the market is not compiled for this Python"
        in done.stderr
    )
    assert "make build" in done.stderr


def test_outside_a_checkout_the_advice_is_to_install_again(fresh: Checkout) -> None:
    (fresh.folder / "pyproject.toml").unlink()
    done = fresh.python("-c", "import laissez.market", LAISSEZ_MARKET="compiled")
    assert "LAISSEZ_BUILD=compiled pip install" in done.stderr


def test_an_unknown_form_is_refused(fresh: Checkout) -> None:
    done = fresh.python("-c", "import laissez.market", LAISSEZ_MARKET="complied")
    assert 1 == done.returncode
    assert (
        "FormError: LAISSEZ_MARKET must be one of auto, compiled, interpreted; it is 'complied'"
        in done.stderr
    )


def test_a_market_without_its_assertions_is_refused(fresh: Checkout) -> None:
    done = fresh.python("-O", "-c", "import laissez.market")
    assert 1 == done.returncode
    assert "the market's assertions must stay on: run Python without -O" in done.stderr


def test_a_missing_form_is_refused_by_the_market_and_not_by_the_package(fresh: Checkout) -> None:
    program = (
        "import laissez\ntry: laissez.market_form()\nexcept ImportError as error: print(error)"
    )
    done = fresh.python("-c", program, LAISSEZ_MARKET="complied")
    assert 0 == done.returncode
    assert "it is 'complied'" in done.stdout


def test_a_stale_compiled_form_gives_way_to_its_sources_with_a_warning(compiled: Checkout) -> None:
    compiled.age_sources(-10)
    done = compiled.python("-c", WHICH_FILE)
    assert done.stdout.strip().endswith("money.py")
    expected = (
        "the compiled market is older than market/__init__.py, market/money.py, so the Python"
        " sources run; run 'make build' to compile it again"
    )
    assert f"laissez: warning: {expected}\n" == done.stderr


def test_a_stale_compiled_form_runs_with_a_warning_on_request(compiled: Checkout) -> None:
    compiled.age_sources(-10)
    done = compiled.python("-c", WHICH_FILE, LAISSEZ_MARKET="compiled")
    assert done.stdout.strip().endswith(EXTENSION_SUFFIXES[0])
    assert (
        "the compiled market is older than market/__init__.py, market/money.py, and runs all the"
        " same" in done.stderr
    )


def test_outside_a_checkout_file_times_are_ignored(compiled: Checkout) -> None:
    compiled.age_sources(-10)
    (compiled.folder / "pyproject.toml").unlink()
    assert "money" + EXTENSION_SUFFIXES[0] == compiled.imported()


def test_importing_the_package_alone_loads_nothing_heavy(fresh: Checkout) -> None:
    program = (
        "import laissez, sys; print([name for name in ('msgspec', 'typer', 'rich', 'yaml',"
        " 'laissez.market') if name in sys.modules])"
    )
    assert "[]\n" == fresh.python("-c", program).stdout


def test_building_again_picks_up_a_changed_source(compiled: Checkout) -> None:
    (compiled.market / "money.py").write_text(
        "def half(price: int) -> int:\n    return price // 2\n"
    )
    assert 0 == compiled.build().returncode
    done = compiled.python(
        "-c", "from laissez.market.money import half; print(half(8))", LAISSEZ_MARKET="compiled"
    )
    assert ("4\n", "") == (done.stdout, done.stderr)


def test_building_again_after_a_change_without_effect_is_up_to_date(compiled: Checkout) -> None:
    compiled.age_sources(-1)
    assert 0 == compiled.build().returncode
    compiled.age_sources(1)
    assert "" == compiled.python("-c", WHICH_FILE).stderr


def test_a_build_without_a_compiler_succeeds_and_says_so(fresh: Checkout) -> None:
    done = fresh.build(CC="/bin/false")
    assert 0 == done.returncode
    assert "the market was not compiled, its Python sources will run" in done.stderr
    assert [] == fresh.compiled_files()
    assert "money.py" == fresh.imported()


def test_a_build_without_a_compiler_fails_if_a_compiled_market_is_required(fresh: Checkout) -> None:
    done = fresh.build(CC="/bin/false", LAISSEZ_BUILD="compiled")
    assert 1 == done.returncode
    assert "the market was not compiled: there is no working C compiler" in done.stderr


def test_a_compile_that_fails_leaves_no_compiled_files_behind(compiled: Checkout) -> None:
    (compiled.market / "money.py").write_text(
        "def thrice(price: int) -> int:\n    return 3 * price\n"
    )
    done = compiled.build(CC=str(compiler_that_fails_on_the_market(compiled.folder)))
    assert 0 == done.returncode
    assert "the C compiler failed" in done.stderr
    assert [] == compiled.compiled_files()


def compiler_that_fails_on_the_market(folder: Path) -> Path:
    compiler = folder / "compiler"
    compiler.write_text('#!/bin/sh\ncase "$*" in *__native*) exit 1 ;; esac\nexec cc "$@" -O0\n')
    compiler.chmod(0o755)
    return compiler


def test_a_source_that_mypyc_refuses_falls_back_or_fails_as_asked(compiled: Checkout) -> None:
    (compiled.market / "money.py").write_text("def twice(price: int) -> int:\n    return 'two'\n")
    required = compiled.build(LAISSEZ_BUILD="compiled")
    assert 1 == required.returncode
    assert "Incompatible return value type" in required.stdout + required.stderr
    optional = compiled.build()
    assert 0 == optional.returncode
    assert "mypyc stopped" in optional.stderr


def test_an_interpreted_build_compiles_nothing_and_removes_compiled_files(
    compiled: Checkout,
) -> None:
    assert 0 == compiled.build(LAISSEZ_BUILD="interpreted").returncode
    assert [] == list(compiled.folder.glob("src/**/*.so"))


def test_an_unknown_build_is_refused(fresh: Checkout) -> None:
    done = fresh.build(LAISSEZ_BUILD="fast")
    assert 1 == done.returncode
    assert "LAISSEZ_BUILD must be one of auto, compiled, interpreted; it is 'fast'" in done.stderr


def test_building_and_testing_use_the_same_mypy_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pins = [
        requirement
        for requirements in (
            project["build-system"]["requires"],
            project["project"]["optional-dependencies"]["test"],
        )
        for requirement in requirements
        if requirement.startswith("mypy")
    ]
    assert 2 == len(pins)
    assert 1 == len(set(pins))
