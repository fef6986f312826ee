"""The page of a run: what it holds is the run, and it draws in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from laissez.sim import RunResult
from laissez.sim.clouds.cloud import Lease
from laissez.sim.results import PricePoint, TenantResult
from laissez.sim.timeline import render, write_timeline
from laissez.sim.timeline.page import timeline

pytestmark = pytest.mark.once

SECOND = 1_000_000
HOUR = 3600 * SECOND
DOLLAR = 1_000_000
HOST = "h100/zone1/row1/rack1/host1"
HOSTILE = "</script><script>alert('{{data}}')</script><!-- & \u2028"


def tenant(name: str, kind: str = "batch") -> TenantResult:
    return TenantResult(
        tenant=name,
        kind=kind,
        start_s=0.0,
        end_s=7200.0,
        performance=0.5,
        alone=0.8,
        retention=0.625,
        cost=3.0,
        performance_per_cost=0.5 / 3,
        useful_hours=1.23456,
        reconfiguring_hours=0.25,
        lost_hours=0.125,
        surplus_hours=0.0,
        gains=1,
        moves=0,
        revocations=2,
        decisions=7,
    )


def lease(
    leaf: str,
    name: str,
    start_s: int,
    end_s: int,
    reason: str = "relinquished",
    prices: tuple[tuple[int, int], ...] = (),
) -> Lease:
    pieces = prices or ((start_s * SECOND, 3 * DOLLAR),)
    return Lease(
        leaf,
        name,
        start_s * SECOND,
        end_s * SECOND,
        reason,
        3 * DOLLAR * (end_s - start_s) * SECOND,
        pieces,
    )


def a_run(
    *leases: Lease,
    tenants: tuple[TenantResult, ...] = (tenant("anna", "inference"), tenant("bert")),
) -> RunResult:
    points = [
        PricePoint(at_s=at_s, tree=tree, price=None if at_s else 2.5, charged=3.0, leased=1)
        for at_s in (0.0, 3600.0)
        for tree in ("h100", "a100")
    ]
    return RunResult(
        scenario="two tenants",
        cloud="market",
        seed=3,
        gpus=16,
        hours=2.0,
        demand=1.5,
        tenants=tenants,
        prices=tuple(points),
        leases=leases,
        requests=10,
        revenue=12.345678,
        idle_hours=16.0,
    )


def embedded(page: str) -> Any:
    """The data as a browser finds them: up to the first end of a script."""
    found = re.search(r'<script type="application/json" id="run">(.*?)</script', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1], object_hook=lambda fields: SimpleNamespace(**fields))


def test_the_page_has_every_lease_of_the_run() -> None:
    rising = ((0, 2 * DOLLAR), (60 * SECOND, 4 * DOLLAR))
    leases = (
        lease(f"{HOST}/gpu1", "bert", 0, 600, "outbid", rising),
        lease(f"{HOST}/gpu1", "anna", 600, 4200),
        lease("a100/gpu0", "bert", 900, 1000),
    )
    page = embedded(render(a_run(*leases)))
    shown = [
        (page.leaves[leaf], page.tenants[tenant].name, start, end, page.reasons[reason], *rest)
        for leaf, tenant, start, end, reason, *rest in page.leases
    ]
    assert [
        (f"{HOST}/gpu1", "bert", 0.0, 600.0, "outbid", 0.5, [0.0, 2.0, 60.0, 4.0]),
        (f"{HOST}/gpu1", "anna", 600.0, 4200.0, "relinquished", 3.0, [600.0, 3.0]),
        ("a100/gpu0", "bert", 900.0, 1000.0, "relinquished", 0.0833, [900.0, 3.0]),
    ] == shown


def test_the_page_has_the_results_of_every_tenant_and_the_totals() -> None:
    run = a_run(lease(f"{HOST}/gpu1", "anna", 0, 600))
    page = embedded(render(run))
    assert [
        ("anna", "inference", 0.625, 3.0, [1.2346, 0.25, 0.125, 0.0], 2),
        ("bert", "batch", 0.625, 3.0, [1.2346, 0.25, 0.125, 0.0], 2),
    ] == [
        (one.name, one.kind, one.retention, one.cost, one.hours, one.revocations)
        for one in page.tenants
    ]
    whole = (
        page.scenario,
        page.cloud,
        page.seed,
        page.gpus,
        page.span_s,
        page.retention,
        page.utilisation,
        page.revenue,
    )
    assert ("two tenants", "market", 3, 16, 7200.0, 0.625, 0.5, 12.35) == whole


def test_prices_are_a_series_per_type_with_gaps_while_nothing_is_for_sale() -> None:
    h100, a100 = timeline(a_run())["series"]
    assert {
        "tree": "h100",
        "at_s": (0.0, 3600.0),
        "quoted": (2.5, None),
        "charged": (3.0, 3.0),
        "leased": (1, 1),
    } == h100
    assert "a100" == a100["tree"]


def test_rows_are_sorted_by_type_and_natural_order() -> None:
    leaves = ("a100/host1/gpu0", "h100/host10/gpu0", "h100/host2/gpu10", "h100/host2/gpu9")
    shown = timeline(a_run(*(lease(leaf, "anna", 0, 60) for leaf in leaves)))["leaves"]
    assert ("h100/host2/gpu9", "h100/host2/gpu10", "h100/host10/gpu0", "a100/host1/gpu0") == shown


def test_price_changes_too_small_to_be_seen_are_left_out() -> None:
    prices = ((0, 2 * DOLLAR), (SECOND, 2 * DOLLAR + 1), (2 * SECOND, 5 * DOLLAR))
    (one,) = timeline(a_run(lease("h100/gpu0", "anna", 0, 60, prices=prices)))["leases"]
    assert [0.0, 2.0, 2.0, 5.0] == one[-1]


def test_no_name_can_break_out_of_the_data() -> None:
    run = msgspec.structs.replace(
        a_run(lease("h100/gpu0", HOSTILE, 0, 60), tenants=(tenant(HOSTILE, HOSTILE),)),
        scenario=HOSTILE,
    )
    page, harmless = render(run), render(a_run(lease("h100/gpu0", "anna", 0, 60)))
    assert (HOSTILE, HOSTILE, HOSTILE) == (
        embedded(page).scenario,
        embedded(page).tenants[0].name,
        embedded(page).tenants[0].kind,
    )
    assert harmless.count("<script") == page.count("<script")
    assert harmless.count("</script") == page.count("</script")
    assert "<!-- &" not in page


def test_the_page_is_self_contained() -> None:
    page = render(a_run(lease("h100/gpu0", "anna", 0, 60)))
    assert [] == re.findall(
        r"https?://|\bimport\b\s*[({\"']|@import|<link rel=.stylesheet|\bsrc=|\bfetch\(", page
    )
    assert [] == re.findall(r"\{\{\w+\}\}", page)


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    leases = [
        lease(f"{HOST}/gpu{gpu}", name, 60 * gpu, 600)
        for gpu in range(8)
        for name in ("anna", "bert")
    ]
    for name in ("one.html", "other.html"):
        write_timeline(a_run(*leases), tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "other.html").read_bytes()


BROWSER = next(
    filter(
        None,
        map(shutil.which, ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")),
    ),
    None,
)


@pytest.mark.skipif(
    BROWSER is None, reason="no chromium on the PATH: the page is not run in a browser"
)
def test_a_browser_draws_every_lease_without_errors(tmp_path: Path) -> None:
    leases = [
        lease(f"{HOST}/gpu{gpu}", name, at, at + 600, "outbid")
        for gpu in range(4)
        for at, name in ((60, "anna"), (660, HOSTILE))
    ]
    write_timeline(
        a_run(*leases, tenants=(tenant("anna", "inference"), tenant(HOSTILE))),
        tmp_path / "run.html",
    )
    assert BROWSER is not None
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr",
        "--v=0",
    ]
    command = [
        BROWSER,
        *options,
        "--window-size=1400,1000",
        "--dump-dom",
        (tmp_path / "run.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert [] == [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    drawn = re.search(r'<html[^>]* data-drawn="(\d+)"', done.stdout)
    assert drawn is not None, done.stderr
    assert len(leases) == int(drawn[1])
    assert ["anna", "&lt;/script&gt;"] == [
        name.strip()[:15]
        for name in re.findall(r'<span class="who"[^>]*>(.*?)</span>', done.stdout)
    ]
