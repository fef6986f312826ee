"""`laissez audit bills`: every invoice worked out again."""

from __future__ import annotations

from dataclasses import asdict, replace

import typer

from laissez.cli.arguments import SinceOption, TenantOption, UntilOption
from laissez.cli.audit import CannotAudit, DataOption, folder_of
from laissez.cli.errors import EXIT_FAILED
from laissez.cli.output import Format, FormatOption
from laissez.cli.progress import counting
from laissez.cli.tables import Column, show, show_json
from laissez_check.bills.audit import Finding
from laissez_check.bills.compare import BillReport, Sum, audit_bills

FINDINGS: list[Column[Finding]] = [
    Column("WHAT", lambda one: one.what),
    Column("ENTRY", lambda one: one.entry, right=True),
    Column("TENANT", lambda one: one.tenant, optional=True),
    Column("LINE", lambda one: one.line, optional=True),
    Column("FROM", lambda one: one.since, optional=True),
    Column("UNTIL", lambda one: one.until, optional=True),
    Column("EXPECTED", lambda one: one.expected, right=True),
    Column("FOUND", lambda one: one.found, right=True),
]
SUMS: list[Column[Sum]] = [
    Column("TENANT", lambda one: one.tenant),
    Column("OWES $", lambda one: one.dollars, right=True),
]


def bills(
    data: DataOption = None,
    tenant: TenantOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Work every invoice out again, from the journal and with other code, and compare it exactly.
    Exit status 1 if one differs."""
    with counting("bills") as on_progress:
        report = audit_bills(folder_of(data), on_progress)
    report = _narrowed(report, tenant, since, until)
    if output is Format.JSON:
        show_json({**asdict(report), "ok": report.ok})
    else:
        _show(report)
    if not report.ok:
        raise typer.Exit(EXIT_FAILED)


def _narrowed(
    report: BillReport, tenant: str | None, since: str | None, until: str | None
) -> BillReport:
    """Only the tenant and the period asked for. Everything is worked out anyway: a bill depends on
    all that others did. A finding of no tenant, such as that bills were not compared, concerns
    all of them."""
    findings = [
        one
        for one in report.findings
        if (tenant is None or one.tenant in (tenant, ""))
        and not (since and one.until and one.until <= since)
        and not (until and one.since and one.since >= until)
    ]
    sums = [one for one in report.sums if tenant in (None, one.tenant)]
    if tenant is not None and not sums and not findings:
        raise CannotAudit(
            f"--tenant: expected a tenant that was ever told anything, found {tenant!r}"
        )
    return replace(report, findings=findings, sums=sums)


def _show(report: BillReport) -> None:
    print(
        f"{report.entries} entries, {report.events} events, {report.leases} leases of"
        f" {report.tenants} tenants: {report.statements} statements with {report.lines} lines and"
        f" {report.running_lines} lines of running bills until {report.until}, {report.revenue} $"
        " in all"
    )
    show(report.sums, SUMS, Format.TABLE, "nobody was charged")
    for kind, count in report.unknown.items():
        print(
            f"not understood: {count} events {kind!r}. Bills may depend on them: use the version"
            " that wrote the journal."
        )
    if report.findings:
        show(report.findings, FINDINGS, Format.TABLE, "")
    else:
        print("every figure is what the journal makes it")
