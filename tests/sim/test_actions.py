"""Events of the cluster in a run: failing hosts, actions of the operator, and its maps. They are
the same in every cloud, and on time."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from laissez.market import SetControls, SetFloor, Topology
from laissez.sim.clouds.market_cloud import MarketCloud
from laissez.sim.outages import hosts
from laissez.sim.results import RunResult
from laissez.sim.scenario import (
    ActionTable,
    Band,
    ClusterTable,
    ControlsTable,
    FailuresTable,
    FloorTable,
    MarketTable,
    Scenario,
    ScenarioError,
)
from laissez.sim.scenario_file import read_scenario, write_scenario
from laissez.sim.setting import Setting
from laissez.sim.simulation import Simulation
from laissez.sim.workloads.population import draw
from laissez.units import HOUR_US, MICRO_PER_DOLLAR, SECOND_US
from support.sim_world import DEAR, PLANNERS, at, guests, leaf, opened, tiny

pytestmark = pytest.mark.once

MINUTE = 60 * SECOND_US
FAILING = FailuresTable(mtbf_hours=0.3, repair_hours=0.1)
GPUS = {"h100": 16, "a100": 8}
MIX = {"batch": 1.0}
ALL = ("market", "fcfs", "fcfs-p")
every_cloud = pytest.mark.parametrize("cloud", ALL)


def scenario(count: int = 3, **more: object) -> Scenario:
    """Batches on three hosts, for half an hour."""
    return msgspec.structs.replace(tiny(count, None, GPUS, mix=MIX), **more)


def act(at_minutes: float, **what: object) -> ActionTable:
    return ActionTable(at_minutes=at_minutes, **what)  # type: ignore[arg-type]


def outages(simulation: Simulation) -> list[tuple[int, str, str]]:
    """Write down when which leaf goes and comes back."""
    cloud, seen = simulation.cloud, list[tuple[int, str, str]]()
    gone, back = cloud.take_offline, cloud.bring_online

    def take_offline(leaf: str) -> None:
        seen.append((simulation.kernel.now, "offline", leaf))
        gone(leaf)

    def bring_online(leaf: str) -> None:
        seen.append((simulation.kernel.now, "online", leaf))
        back(leaf)

    cloud.take_offline, cloud.bring_online = take_offline, bring_online  # type: ignore[method-assign]
    return seen


def simulated(scenario: Scenario, cloud: str, seed: int = 1) -> Simulation:
    return Simulation(scenario, draw(scenario, seed, PLANNERS), cloud, seed, PLANNERS)


def run(scenario: Scenario, cloud: str = "market") -> RunResult:
    return Setting(scenario, 1, PLANNERS).run(cloud)


# -- failures


def test_the_same_hosts_fail_at_the_same_instants_in_every_cloud() -> None:
    seen = []
    for cloud in ALL:
        simulation = simulated(scenario(failures=FAILING), cloud)
        seen.append(outages(simulation))
        simulation.run()
    assert seen[0] == seen[1] == seen[2]
    assert {"offline", "online"} == {word for _, word, _ in seen[0]}
    first = [leaf for at, _, leaf in seen[0] if at == seen[0][0][0]]
    assert 8 == len(first) and 1 == len({leaf.rpartition("/")[0] for leaf in first}), (
        "a host fails with all its GPUs"
    )


@every_cloud
def test_gpu_hours_and_money_add_up_when_hosts_fail(cloud: str) -> None:
    result = run(scenario(failures=FAILING), cloud)
    assert "taken_offline" in {lease.reason for lease in result.leases}
    assert (
        sum(one.revocations for one in result.tenants)
        >= sum(lease.reason == "taken_offline" for lease in result.leases)
        > 0
    )
    assert (
        abs(
            sum(one.held_hours for one in result.tenants)
            + result.idle_hours
            - result.gpus * result.hours
        )
        < 1e-9
    )
    assert abs(sum(one.cost for one in result.tenants) - result.revenue) < 1e-9


def test_hosts_fail_only_if_the_scenario_says_so_and_never_in_runs_alone() -> None:
    assert "taken_offline" not in {lease.reason for lease in run(scenario()).leases}
    assert Setting(scenario(), 1).alone == Setting(scenario(failures=FAILING), 1).alone


def test_hosts_fail_or_leaves_in_trees_without_hosts() -> None:
    named = Topology.of(["a/x/g1", "a/x/g2", "b/y/g1"], {"a": ("type", "host", "gpu")})
    assert {"a/x": ["a/x/g1", "a/x/g2"], "b/y/g1": ["b/y/g1"]} == hosts(named)


# -- actions


@every_cloud
def test_a_node_is_offline_exactly_between_the_two_actions(cloud: str) -> None:
    """All H100s are gone for five minutes. Their leases end at once, and none begins meanwhile."""
    acts = (act(10, offline="h100"), act(15, online="h100"))
    result = run(scenario(actions=acts), cloud)
    leases = [lease for lease in result.leases if lease.leaf.startswith("h100/")]
    assert not [lease for lease in leases if lease.start < 15 * MINUTE and lease.end > 10 * MINUTE]
    assert {"taken_offline"} == {lease.reason for lease in leases if lease.end == 10 * MINUTE}
    assert [lease for lease in leases if lease.start >= 15 * MINUTE]


def test_a_repair_does_not_end_the_operators_maintenance() -> None:
    """The hosts fail and are repaired again and again; from the tenth minute on the operator wants
    none of them back."""
    simulation = simulated(
        scenario(failures=FAILING, actions=(act(10, offline="h100"), act(10, offline="a100"))),
        "fcfs",
    )
    seen = outages(simulation)
    simulation.run()
    assert [at for at, word, _ in seen if word == "online"] and not [
        at for at, word, _ in seen if word == "online" and at >= 10 * MINUTE
    ]
    assert 24 == len({leaf for _, _, leaf in seen})


def test_a_floor_is_set_on_time_in_the_market_alone() -> None:
    """No tenant stays at 10,000 dollars; a cloud with list prices has no floors."""
    acts = (act(10, floor=FloorTable(node="h100", price=10_000.0)),)
    charged = {
        point.at_s: point.leased
        for point in run(scenario(actions=acts)).prices
        if point.tree == "h100"
    }
    assert charged[540.0] > 0 == max(leased for at, leased in charged.items() if at >= 600)
    assert run(scenario(actions=acts), "fcfs") == run(scenario(), "fcfs")


def test_controls_hold_from_the_start_or_from_an_action_on() -> None:
    acts = (act(5, controls=ControlsTable(node="h100/zone1", fall=Band(share=0.2, seconds=300.0))),)
    simulation = simulated(
        scenario(
            market=MarketTable(rise=Band(share=0.5, seconds=60.0), hold_seconds=120.0), actions=acts
        ),
        "market",
    )
    simulation.run()
    controls = {one.node: one for one in simulation.cloud.market.controls()}  # type: ignore[attr-defined]
    assert {"h100", "a100", "h100/zone1"} == set(controls)
    assert (500_000, 60 * SECOND_US, 120 * SECOND_US) == (
        controls["a100"].rise.fraction_ppm,
        controls["a100"].rise.interval_us,
        controls["a100"].hold_us,
    )
    assert (200_000, None) == (
        controls["h100/zone1"].fall.fraction_ppm,
        controls["h100/zone1"].rise,
    )


def test_a_hold_ends_when_it_is_due() -> None:
    """The floor rises above a limit while the lease is held: it is lost when its hold ends, not
    with the next command."""
    cloud = opened("market", h100=1)
    assert isinstance(cloud, MarketCloud)
    cloud.operate(SetControls("h100", hold_us=1200 * SECOND_US))
    (ann,) = guests(cloud, ("ann",))
    ann.asks("h100")
    at(cloud, 300)
    cloud.operate(SetFloor("h100", 2 * DEAR))
    at(cloud, 3600)
    assert [(1200 * SECOND_US, "lost", leaf(0))] == ann.news[1:]


def test_flash_fees_are_part_of_the_cost() -> None:
    result = run(
        scenario(cluster=ClusterTable(gpus={"h100": 3}), market=MarketTable(flash_seconds=600.0))
    )
    fees = (
        result.revenue - sum(lease.charge for lease in result.leases) / HOUR_US / MICRO_PER_DOLLAR
    )
    assert fees > 0
    assert abs(sum(one.cost for one in result.tenants) - result.revenue) < 1e-9


# -- maps


MAPS = """
[floors]
settle_s = 0

[base.h100]
price = "4.00"
floor_max = "9000.00"

[signals.power]
source = "csv"
file = "power.csv"
column = "watts"

[maps.zone1]
kind = "power"
nodes = ["h100/zone1"]
signal = "power"
cap = 0.8
comfortable = 0.1
weight = 1000.0
stale_after_s = 7200
"""


def maps_file(folder: Path, text: str = MAPS) -> Path:
    """The power of a row jumps to its cap after ten minutes, and stays there."""
    (folder / "power.csv").write_text("time,watts\n0,0.5\n600000000,0.8\n36000000000,0.8\n")
    (folder / "maps.toml").write_text(text)
    return folder / "maps.toml"


def test_maps_follow_the_places_and_times_of_their_trace(tmp_path: Path) -> None:
    simulation = simulated(scenario(maps=str(maps_file(tmp_path))), "market")
    market = simulation.cloud.market  # type: ignore[attr-defined]
    floors: dict[int, tuple[int, int]] = {}

    def look() -> None:
        floors[simulation.kernel.now // MINUTE] = (
            market.floor("h100/zone1"),
            market.floor("h100/zone2"),
        )

    for minutes in (1, 9, 11):
        simulation.kernel.at(minutes * MINUTE, look)
    simulation.run()
    calm = floors[9][1]
    assert floors[1][0] == floors[1][1] and floors[9] == (calm, calm)
    assert 4004 * MICRO_PER_DOLLAR == floors[11][0] and floors[11][1] <= calm
    assert {10 * MINUTE} == {
        lease.end for lease in simulation.cloud.leases() if lease.reason == "floor_raised"
    }


def test_every_run_reads_its_maps_again_and_other_clouds_have_none(tmp_path: Path) -> None:
    pressed = scenario(maps=str(maps_file(tmp_path)))
    setting = Setting(pressed, 1)
    assert setting.run("market") == setting.run("market")
    assert setting.run("fcfs") == run(scenario(), "fcfs")


def test_a_maintenance_window_of_the_maps_takes_leaves_offline(tmp_path: Path) -> None:
    window = (
        '\n[maintenance.zone1]\nnodes = ["h100/zone1"]\nstart = 1970-01-01T00:10:00Z\nend ='
        " 1970-01-01T00:15:00Z\nlead_s = 60\n"
    )
    simulation = simulated(
        scenario(maps=str(maps_file(tmp_path, MAPS.partition("[signals")[0] + window))), "market"
    )
    seen = outages(simulation)
    simulation.run()
    assert {(10 * MINUTE, "offline"), (15 * MINUTE, "online")} == {
        (at, word) for at, word, _ in seen
    }
    assert 8 == sum(word == "online" for _, word, _ in seen)


# -- as a file


def test_actions_and_failures_can_be_written_to_a_file_and_read_back(tmp_path: Path) -> None:
    acts = (
        act(10, floor=FloorTable(node="h100", price=4.0)),
        act(12.5, controls=ControlsTable(node="a100", hold_seconds=60.0)),
        act(15, online="h100"),
    )
    whole = scenario(
        actions=acts,
        failures=FAILING,
        market=MarketTable(rise=Band(share=0.5, seconds=60.0)),
        maps=str(maps_file(tmp_path)),
    )
    (tmp_path / "scenario.toml").write_text(write_scenario(whole))
    assert whole == read_scenario(tmp_path / "scenario.toml")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[failures]\nmtbf_hours = 0", "failures.mtbf_hours"),
        ("[failures]\nmtbf = 3", "failures.mtbf"),
        ("[market]\nrise = { share = 0.5 }", "market.rise.seconds"),
        ("[[actions]]\nat_minutes = 5", "actions[0].at_minutes"),
        ('[[actions]]\nat_minutes = 5\noffline = "a"\nonline = "a"', "actions[0].at_minutes"),
        ('[[actions]]\nat_minutes = -5\noffline = "a"', "actions[0].at_minutes"),
        (
            '[[actions]]\nat_minutes = 5\nfloor = { node = "h100", price = 10001 }',
            "actions[0].floor.price",
        ),
        ('maps = "nowhere.toml"', "maps"),
        ('start = "nowhere.market"', "start"),
    ],
)
def test_impossible_settings_are_refused_with_their_place(
    tmp_path: Path, text: str, place: str
) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(f"demand = 1.0\n{text}\n")
    with pytest.raises(ScenarioError) as refused:
        read_scenario(file)
    assert f"{file}: {place}: expected " in str(refused.value)


@every_cloud
def test_an_unknown_node_is_refused_with_its_place(cloud: str) -> None:
    with pytest.raises(
        ScenarioError,
        match=r"actions\[1\].floor.node: expected a node of the cluster, .* found 'h100/zone9'",
    ):
        simulated(
            scenario(
                actions=(
                    act(1, online="h100"),
                    act(1, floor=FloorTable(node="h100/zone9", price=1.0)),
                )
            ),
            cloud,
        )


def test_maps_that_ask_a_server_are_refused(tmp_path: Path) -> None:
    asks = MAPS.replace(
        'source = "csv"\nfile = "power.csv"\ncolumn = "watts"',
        'source = "prometheus"\nurl = "http://127.0.0.1:1"\nquery = "x"',
    )
    with pytest.raises(
        ScenarioError, match=r"signals.power.source: expected csv or python in a simulation"
    ):
        simulated(scenario(maps=str(maps_file(tmp_path, asks))), "market")
