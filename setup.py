"""Compile `laissez.market` with mypyc where possible. The rest of the package's metadata is in
pyproject.toml.

The compiled form is optional and complete or absent: an install does not fail without it.
`LAISSEZ_BUILD` can change that:

    auto          the default: compile if mypy and a C compiler are there and the compile succeeds,
                  else say so and use the Python sources
    compiled      a market that cannot be compiled is an error
    interpreted   do not compile
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import cast

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = Path("src", "laissez")
# mypyc cannot compile msgspec structs and enums; the others here are never hot
INTERPRETED = ("__init__", "answers", "commands", "events", "reasons", "snapshot", "spec")
# modules around the market that every command passes through
AROUND = (
    "exchange/accounts",
    "exchange/caps",
    "exchange/codec",
    "exchange/exchange",
    "exchange/names",
    "server/event_log",
    "server/gateway",
    "server/admission",
    "server/counts",
    "server/rate_limits",
    "server/fair_queue",
    "server/websocket/connection",
    "server/websocket/session",
    "wire/codec",
    "units",
    "wire/decoding",
    "wire/ids",
    "wire/rendering",
)
COMPILED = tuple(
    sorted(
        str(path)
        for path in (*PACKAGE.glob("market/*.py"), *(PACKAGE / f"{name}.py" for name in AROUND))
        if path.stem not in INTERPRETED and path.exists()
    )
)
# mypyc adds `__mypyc`; one library holds all modules. `laissez._form` looks for it.
LIBRARY = "laissez.compiled"

BUILDS = ("auto", "compiled", "interpreted")
# reading metadata must not compile anything
COMMANDS_THAT_BUILD = {"build", "build_ext", "bdist_wheel", "editable_wheel", "install", "develop"}


def asked_build() -> str:
    build = os.environ.get("LAISSEZ_BUILD") or "auto"
    if build not in BUILDS:
        raise SystemExit(f"LAISSEZ_BUILD must be one of {', '.join(BUILDS)}; it is {build!r}")
    return build


def compiler_works() -> bool:
    """Whether a file that needs Python's headers compiles: a compiler alone, without the headers,
    is not enough."""
    from setuptools._distutils.ccompiler import new_compiler
    from setuptools._distutils.sysconfig import customize_compiler

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("#include <Python.h>\n")
        try:
            compiler = new_compiler()
            customize_compiler(compiler)
            with Silenced():
                compiler.compile(
                    [str(source)],
                    output_dir=folder,
                    include_dirs=[sysconfig.get_path("include"), sysconfig.get_path("platinclude")],
                )
        except Exception:  # any failure means that it does not work
            return False
    return True


class Silenced:
    """Redirect file descriptors: the compiler is another process, so replacing `sys.stdout` is not
    enough."""

    def __enter__(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self.kept = [os.dup(1), os.dup(2)]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.close(nowhere)

    def __exit__(self, *_: object) -> None:
        for descriptor, kept in zip((1, 2), self.kept, strict=True):
            os.dup2(kept, descriptor)
            os.close(kept)


def give_up(why: str) -> None:
    """Print why the market stays interpreted, or stop if a compiled one is required."""
    if asked_build() == "compiled":
        raise SystemExit(f"laissez: the market was not compiled: {why}")
    print(
        "laissez: the market was not compiled, its Python sources will run, several times slower:"
        f" {why}",
        file=sys.stderr,
    )


def extensions() -> list[Extension]:
    if (
        asked_build() == "interpreted"
        or not COMPILED
        or not COMMANDS_THAT_BUILD.intersection(sys.argv)
    ):
        return []
    if not compiler_works():
        give_up("there is no working C compiler with Python's headers")
        return []
    try:
        from mypyc.build import mypycify

        # No configuration file: our strict type checks must not decide whether it compiles.
        return cast(
            "list[Extension]",
            mypycify(
                # A separate cache: `make test` checks types at the same time, and mypy's SQLite
                # cache allows only one writer.
                ["--config-file=", "--cache-dir=build/mypyc-cache", *COMPILED],
                opt_level="3",
                group_name=LIBRARY,
            ),
        )
    except ImportError as error:
        give_up(f"mypyc (package mypy) is missing: {error}")
    # mypycify prints a module's errors, then exits
    except (Exception, SystemExit) as error:
        give_up(f"mypyc stopped with {error!r}")
    return []


class BuildMarket(build_ext):
    """Builds every extension or leaves none: a partly compiled market cannot be imported, and an
    old build does not match new sources."""

    def run(self) -> None:
        if self.inplace:
            for old in PACKAGE.rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
                old.unlink()
        super().run()
        if self.inplace:
            for new in PACKAGE.rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
                # Unchanged C code is not recompiled, but `laissez._form` compares modification
                # times.
                new.touch()

    def build_extensions(self) -> None:
        try:
            super().build_extensions()
        except Exception as error:
            for extension in self.extensions:
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            self.extensions = []
            give_up(f"the C compiler failed: {error}")


if __name__ == "__main__":
    setup(ext_modules=extensions(), cmdclass={"build_ext": BuildMarket})
