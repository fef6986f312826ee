"""A what-if from a real server's journal: it continues from that market, and the past is not
charged again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from laissez.cli.sim import app
from laissez.cli.sim_journal import WhatIfError, find_market
from laissez.exchange.commands import OPERATOR
from laissez.journal import Reader, snapshots
from laissez.market import Market, SetControls, SetFloor, TakeOffline
from laissez.sim.results import RunResult
from laissez.sim.scenario import ScenarioError
from laissez.sim.scenario_file import read_scenario
from laissez.sim.setting import Setting
from laissez.units import CHARGE_PER_MICRO_DOLLAR, format_time
from support.service_world import HOUR_US, World, with_service

pytestmark = pytest.mark.once

DOLLAR = 1_000_000


async def story(world: World) -> None:
    """Ann and Bob hold an H100 each, Ann the only A100, and Bob waits for it; a leaf is offline; an
    hour passed since the last lease began.

    h100 floor 2.00 ann, limit 3 bob, limit 5 a100 floor 1.00 ann, limit 4 bob waits, bid 1.50,
    limit 1.50
    """
    world.gateway.enter(OPERATOR, "", "", SetFloor("h100", 2 * DOLLAR))
    world.gateway.enter(OPERATOR, "", "", SetFloor("a100", 1 * DOLLAR))
    await world.place("ann", "h100", "3")
    await world.place("bob", "h100", "5")
    await world.place("ann", "a100", "4")
    await world.place("bob", "a100", "1.50", "1.50")
    world.gateway.enter(OPERATOR, "", "", TakeOffline("h100/west/rack2/gpu2"))
    await world.gateway.all_durable()
    world.passing.pass_us(HOUR_US)
    world.gateway.enter(OPERATOR, "", "", SetControls("a100", hold_us=60_000_000))
    world.close_books()
    await world.gateway.all_durable()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("server") / "data"
    with_service(folder, story)
    return folder


@pytest.fixture
def journal(told: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(told, tmp_path / "data"))


def what_if(journal: Path, more: str = "", *options: str) -> Path:
    """The scenario that the command writes, for an hour, with something added."""
    out = journal.parent / "what-if.toml"
    done = CliRunner().invoke(
        app, ["from-journal", str(journal), "--out", str(out), *options], catch_exceptions=False
    )
    assert 0 == done.exit_code, done.output
    out.write_text(out.read_text().replace("hours = 3.0", "hours = 1.0") + more)
    return out


def run(path: Path, cloud: str = "market") -> RunResult:
    return Setting(read_scenario(path), 0).run(cloud)


def test_without_actions_all_leases_last_and_an_hour_costs_its_rate(journal: Path) -> None:
    result = run(what_if(journal))
    assert {("ann", "h100"), ("ann", "a100"), ("bob", "h100")} == {
        (lease.tenant, lease.leaf.partition("/")[0]) for lease in result.leases
    }
    assert {("lasting", 0, HOUR_US)} == {
        (lease.reason, lease.start, lease.end) for lease in result.leases
    }
    assert {2 * DOLLAR, 1_500_000} == {
        lease.charge / CHARGE_PER_MICRO_DOLLAR for lease in result.leases
    }
    assert [("ann", "incumbent", 3.50, 2.0), ("bob", "incumbent", 2.00, 1.0)] == [
        (one.tenant, one.kind, one.cost, one.useful_hours) for one in result.tenants
    ]
    assert 5.50 == result.revenue
    assert 1.0 == result.retention


def test_a_raised_floor_ends_exactly_the_leases_below_it(journal: Path) -> None:
    result = run(
        what_if(
            journal, '\n[[actions]]\nat_minutes = 30\nfloor = { node = "h100", price = 4.00 }\n'
        )
    )
    half = HOUR_US // 2
    ended = [
        (lease.tenant, lease.leaf.partition("/")[0], lease.end, lease.reason)
        for lease in result.leases
    ]
    assert {
        ("ann", "h100", half, "floor_raised"),
        ("ann", "a100", HOUR_US, "lasting"),
        ("bob", "h100", HOUR_US, "lasting"),
    } == set(ended)
    assert {"ann": 1.00 + 1.50, "bob": 1.00 + 2.00} == {
        one.tenant: one.cost for one in result.tenants
    }


def test_resting_orders_are_filled_when_a_leaf_is_free(journal: Path) -> None:
    """Ann loses the A100 with its leaf; when that is back, Bob, who waited, has it, at the
    floor."""
    actions = (
        '\n[[actions]]\nat_minutes = 15\noffline = "a100"\n\n[[actions]]\nat_minutes = 30\nonline ='
        ' "a100"\n'
    )
    result = run(what_if(journal, actions))
    (bobs,) = [
        lease for lease in result.leases if lease.tenant == "bob" and lease.leaf.startswith("a100")
    ]
    assert (HOUR_US // 2, HOUR_US, ((HOUR_US // 2, DOLLAR),)) == (bobs.start, bobs.end, bobs.prices)


@pytest.mark.parametrize("cloud", ["fcfs", "fcfs-p"])
def test_other_clouds_start_with_the_same_leases_at_their_list_prices(
    journal: Path, cloud: str
) -> None:
    result = run(what_if(journal, "\n[prices]\nh100 = 6.0\na100 = 1.25\n"), cloud)
    assert {("ann", 6.00 + 1.25), ("bob", 6.00)} == {
        (one.tenant, one.cost) for one in result.tenants
    }
    assert {("lasting", 0, HOUR_US)} == {
        (lease.reason, lease.start, lease.end) for lease in result.leases
    }


def test_the_queue_of_other_clouds_has_the_resting_orders_of_the_market(journal: Path) -> None:
    actions = (
        '\n[[actions]]\nat_minutes = 15\noffline = "a100"\n\n[[actions]]\nat_minutes = 30\nonline ='
        ' "a100"\n'
    )
    result = run(what_if(journal, "\n[prices]\na100 = 1.25\n" + actions), "fcfs")
    (bobs,) = [
        lease for lease in result.leases if lease.tenant == "bob" and lease.leaf.startswith("a100")
    ]
    assert HOUR_US // 2 == bobs.start


def test_new_tenants_join_the_incumbents(journal: Path) -> None:
    own = (
        "count = 2\narrivals_hours = 0.0\nmix = { batch = 1.0 }\n\n[batch]\nhours = [0.5,"
        " 0.5]\ngpus = [1.0, 1.0]\ncold_seconds = [60.0, 60.0]\n"
    )
    path = what_if(journal)
    path.write_text(path.read_text().replace("count = 0", own, 1))
    for cloud in ("market", "fcfs"):
        result = run(path, cloud)
        assert ["incumbent", "incumbent", "batch", "batch"] == [one.kind for one in result.tenants]
        assert all(one.performance > 0 for one in result.tenants[2:])
        assert result.retention == sum(one.retention for one in result.tenants[2:]) / 2
        assert "h100/west/rack2/gpu2" not in {lease.leaf for lease in result.leases}
        assert (
            abs(
                sum(one.held_hours for one in result.tenants)
                + result.idle_hours
                - result.gpus * result.hours
            )
            < 1e-9
        )


def test_maps_use_the_time_of_the_continued_market(journal: Path) -> None:
    """A maintenance window of the real clock, half an hour after the market was taken: it closes
    then, not half an hour after 1970."""
    path = what_if(journal)
    start = format_time(Market.restore(path.with_suffix(".market").read_bytes()).now + HOUR_US // 2)
    maps = (
        '[base.a100]\nprice = "1.00"\nfloor_max = "9.00"\n\n[maintenance.a100]\nnodes ='
        ' ["a100"]\npeak = 0.0\n'
    )
    (journal.parent / "maps.toml").write_text(
        f"{maps}start = {start}\nend = 2030-01-01T00:00:00Z\n"
    )
    path.write_text('maps = "maps.toml"\n' + path.read_text())
    (anns,) = [lease for lease in run(path).leases if lease.leaf.startswith("a100")]
    assert ("ann", HOUR_US // 2, "taken_offline") == (anns.tenant, anns.end, anns.reason)


def test_the_scenario_may_start_after_any_entry_or_at_any_time(journal: Path) -> None:
    def ignore(done: int, of: int) -> None:
        return None

    latest, _ = find_market(journal, None, ignore)
    assert 3 == len(latest.leases())
    times = {}
    for seq in range(1, 40):
        try:
            market, words = find_market(journal, str(seq), ignore)
        except WhatIfError as error:
            assert f"expected an entry up to {seq - 1}" in str(error)
            break
        assert f"after entry {seq}" in words
        times[seq] = market
    assert 0 == len(times[1].leases()) < len(times[seq - 1].leases())
    first = next(each for each, market in times.items() if market.leases())
    assert 1 == len(find_market(journal, format_time(times[first].now), ignore)[0].leases())
    assert 0 == len(find_market(journal, format_time(times[first].now - 1), ignore)[0].leases())
    with pytest.raises(WhatIfError, match="expected a time up to"):
        find_market(journal, "2200-01-01T00:00:00Z", ignore)
    with pytest.raises(WhatIfError, match="--at: expected the number of an entry or a time"):
        find_market(journal, "yesterday", ignore)


def test_a_running_server_can_be_read_and_so_can_its_snapshots(tmp_path: Path) -> None:
    async def running(world: World) -> None:
        await story(world)
        before = world.gateway.exchange.market.digest()
        with Reader.of(folder) as reader:
            tail = reader.tail()
        snapshots.write(folder, tail.last, tail.head, world.gateway.exchange.snapshot())
        (file,) = snapshots.newest_first(folder)
        for source in (folder, file.path):
            market, _ = find_market(source, None, lambda done, of: None)
            assert before == market.digest() == world.gateway.exchange.market.digest()

    folder = tmp_path / "data"
    with_service(folder, running)


def test_impossible_settings_are_refused_with_their_place(journal: Path) -> None:
    path = what_if(journal, '\n[[actions]]\nat_minutes = 1\noffline = "h100/north"\n')
    with pytest.raises(
        ScenarioError,
        match=r"actions\[0\].offline: expected a node of the cluster, .* found 'h100/north'",
    ):
        run(path)
    with pytest.raises(WhatIfError, match=r"what-if\.toml exists"):
        what_if(journal)
    market = path.with_suffix(".market")
    whole = market.read_bytes()
    assert Market.restore(whole).snapshot() == whole
    market.write_bytes(whole[:-1])
    with pytest.raises(ScenarioError, match="start: "):
        run(path)
