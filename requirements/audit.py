"""Look every locked package up in a database of known vulnerabilities: `make audit`.

Exit status 0: all were looked up, and nothing is known. 1: something is. 3: there is no verdict, of
all or of some. pip-audit says "no known vulnerabilities" also of what it could not look up, so that
is told here by name; where a database cannot be asked, the next one is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCKS = ("develop.lock", "docs.lock", "tools.lock")  # the first includes run.lock and build.lock
DATABASES = ("pypi", "osv")
WITHIN_S = 10  # for one answer
ALL_WITHIN_S = 300
KNOWN, NO_VERDICT = 1, 3


class CannotAsk(Exception):
    """pip-audit came to no answer; says why."""


def audit(lock: Path, database: str) -> list[dict[str, Any]]:
    """What pip-audit found of each package that it looked up."""
    asked = [
        "--require-hashes",
        "--disable-pip",
        "--requirement",
        str(lock),
        "--vulnerability-service",
        database,
    ]
    shown = ["--progress-spinner", "off", "--format", "json", "--timeout", str(WITHIN_S)]
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "pip_audit", *asked, *shown],
            capture_output=True,
            text=True,
            timeout=ALL_WITHIN_S,
        )
    except subprocess.TimeoutExpired:
        raise CannotAsk(f"no answer within {ALL_WITHIN_S} s") from None
    try:
        found: list[dict[str, Any]] = json.loads(ran.stdout)["dependencies"]
    except (ValueError, KeyError):
        raise CannotAsk((ran.stderr.strip().splitlines() or ["it said nothing"])[-1]) from None
    looked_up = [one for one in found if "skip_reason" not in one]
    if not looked_up:
        raise CannotAsk(found[0]["skip_reason"] if found else "it names no package")
    return looked_up


def vulnerable(found: list[dict[str, Any]]) -> list[str]:
    """One line for each that is known."""
    return [
        f"{one['name']} {one['version']}: {known['id']}, mended in"
        f" {', '.join(known['fix_versions']) or 'no version yet'}"
        for one in found
        for known in one["vulns"]
    ]


def main() -> int:
    folder = Path(__file__).parent
    locked = {
        line.partition("==")[0]
        for name in LOCKS
        for line in (folder / name).read_text().splitlines()
        if "==" in line
    }
    for database in DATABASES:
        try:
            found = [one for name in LOCKS for one in audit(folder / name, database)]
        except CannotAsk as why:
            print(f"{database} could not be asked: {why}")
            continue
        lines, left_out = vulnerable(found), sorted(locked - {one["name"] for one in found})
        print(
            "\n".join(
                [
                    *lines,
                    f"{len(lines)} known vulnerabilities in {len(found)} packages, by {database}",
                ]
            )
        )
        if left_out:
            print(f"not looked up: {', '.join(left_out)}")
        return KNOWN if lines else NO_VERDICT if left_out else 0
    print("nothing was audited: no database of known vulnerabilities could be asked")
    return NO_VERDICT


if __name__ == "__main__":
    sys.exit(main())
