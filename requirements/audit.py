"""Look every locked package up in a database of known vulnerabilities: `make audit`.

pip-audit says "no known vulnerabilities" also of what it could not look up, so that is counted here and told. Where no database can be reached
there is no verdict; the next one is tried, and after the last a line says that nothing was audited.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCKS = ("develop.lock", "tools.lock")  # what is needed to run is in the first, too
DATABASES = ("pypi", "osv")
WITHIN_S = 10  # for one answer
ALL_WITHIN_S = 300


def audit(lock: Path, database: str) -> list[dict[str, Any]]:
    """What pip-audit found of each package; nothing if the database could not be asked."""
    asked = ["--require-hashes", "--disable-pip", "--requirement", str(lock), "--vulnerability-service", database]
    shown = ["--progress-spinner", "off", "--format", "json", "--timeout", str(WITHIN_S)]
    try:
        ran = subprocess.run([sys.executable, "-m", "pip_audit", *asked, *shown], capture_output=True, text=True, timeout=ALL_WITHIN_S)
        found: list[dict[str, Any]] = json.loads(ran.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return []
    return [one for one in found if "skip_reason" not in one]


def vulnerable(found: list[dict[str, Any]]) -> list[str]:
    """One line for each that is known."""
    return [
        f"{one['name']} {one['version']}: {known['id']}, mended in {', '.join(known['fix_versions']) or 'no version yet'}"
        for one in found
        for known in one["vulns"]
    ]


def main() -> int:
    folder = Path(__file__).parent
    locked = {line.partition(" ")[0] for name in LOCKS for line in (folder / name).read_text().splitlines() if "==" in line}
    for database in DATABASES:
        found = [one for name in LOCKS for one in audit(folder / name, database)]
        if found:
            lines = vulnerable(found)
            looked_up = {one["name"] for one in found}
            print("\n".join([*lines, f"{len(lines)} known vulnerabilities in {len(looked_up)} packages ({len(locked)} versions are locked)"]))
            return 1 if lines else 0
    print(f"audit skipped: no database of known vulnerabilities could be asked ({', '.join(DATABASES)})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
