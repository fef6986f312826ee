"""List the supported Pythons on this machine, oldest first, one path per line.

    python tests/pythons.py          one of each patch release
    python tests/pythons.py --ends   the oldest and the newest

Looks on PATH, in the system's folders and in pyenv's. An interpreter counts if it can make a
virtual environment with pip in it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

OLDEST, NEWEST = (3, 11), (3, 13)
NAMES = [f"python3.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1)]
VERSION = "import sys, ensurepip, venv; print(*sys.version_info[:3], sys.executable)"


def folders() -> list[Path]:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    return [
        *map(Path, os.get_exec_path()),
        Path("/usr/bin"),
        Path("/usr/local/bin"),
        *sorted(pyenv.glob("3.*/bin")),
    ]


def version(path: Path) -> tuple[tuple[int, ...], str] | None:
    """Version and executable of an interpreter, or None if it does not work."""
    asked = subprocess.run([path, "-c", VERSION], capture_output=True, text=True)
    if asked.returncode != 0:
        return None
    *numbers, executable = asked.stdout.split(maxsplit=3)
    return tuple(map(int, numbers)), executable.strip()


def pythons() -> list[str]:
    found: dict[tuple[int, ...], str] = {}
    for path in [folder / name for folder in folders() for name in NAMES]:
        answer = version(path) if os.access(path, os.X_OK) else None
        if answer is not None and OLDEST <= answer[0][:2] <= NEWEST:
            found.setdefault(*answer)
    return [executable for _, executable in sorted(found.items())]


if __name__ == "__main__":
    every = pythons()
    print(
        *(dict.fromkeys((every[0], every[-1])) if "--ends" in sys.argv and every else every),
        sep="\n",
    )
