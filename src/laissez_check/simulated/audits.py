"""What an auditor finds in the data folder that a world leaves behind, whatever its disk has been
through."""

from __future__ import annotations

from pathlib import Path

from laissez.server.audit.verify import verify
from laissez_check.bills.compare import audit_bills
from laissez_check.finding import Finding


def check_audits(folder: Path) -> None:
    verdict = verify(folder)
    if not verdict.ok:
        raise Finding(f"D3: {verdict.problems[0]}")
    report = audit_bills(folder)
    if not report.ok:
        raise Finding(f"A2: {report.findings[0] if report.findings else report.unknown}")
