"""The planner: as good as trying every plan where that can be done, always the same, and never
better with fewer GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.tenants.sailor.builtin import builtin_profile
from laissez.tenants.sailor.hosts import Hosts, HostSizes, host_sizes
from laissez.tenants.sailor.iteration import (
    Group,
    Plan,
    Stage,
    iteration_time,
    split_layers,
)
from laissez.tenants.sailor.model import Profile
from laissez.tenants.sailor.planner import Planner
from support.tenant_world import fits

pytestmark = pytest.mark.once

# Best plan of one type, samples per second on 4, 8, 16, 32, 64 GPUs, by Sailor's own formulas with
# its own profiles (every message between hosts).
BEST = {
    ("OPT-350", "a100"): (19.7, 38.1, 71.0, 132.8, 241.1),
    ("OPT-350", "h100"): (45.6, 90.6, 178.6, 346.6, 650.1),
    ("GPT-Neo-2.7", "a100"): (5.9, 11.7, 23.0, 44.3, 82.3),
    ("GPT-Neo-2.7", "h100"): (15.7, 31.3, 61.9, 120.9, 230.4),
}
SMALL = builtin_profile("OPT-350", 32)
PLANNER = Planner(SMALL)


def hosts_of(sizes: HostSizes) -> Hosts:
    return {
        (gpu, f"{gpu}/{at}"): tuple(f"{gpu}/{at}/{n}" for n in range(size))
        for gpu, each in sizes
        for at, size in enumerate(each)
    }


def samples_per_second(profile: Profile, plan: Plan) -> float:
    return profile.global_batch / iteration_time(profile, plan)


def every_plan(profile: Profile, hosts: Hosts) -> Iterator[Plan]:
    """Every plan whose GPU types each have one tp and whose layers are split evenly, wherever its
    groups are."""
    gpus = sorted({gpu for gpu, _ in hosts})
    for microbatch, tps in product((1, 2, 4, 8), product((1, 2, 4), repeat=len(gpus))):
        tp = dict(zip(gpus, tps, strict=True))
        groups = [
            Group(gpu, host, leaves[at : at + tp[gpu]])
            for (gpu, host), leaves in hosts.items()
            for at in range(0, len(leaves) - tp[gpu] + 1, tp[gpu])
        ]
        for stages, replicas in product(range(1, len(groups) + 1), repeat=2):
            for chosen in (
                permutations(groups, stages * replicas) if stages * replicas <= len(groups) else ()
            ):
                rows = [chosen[at * replicas : (at + 1) * replicas] for at in range(stages)]
                plan = Plan(
                    microbatch,
                    tuple(
                        Stage(count, row)
                        for count, row in zip(
                            split_layers(profile.layers, stages), rows, strict=True
                        )
                    ),
                )
                if fits(profile, plan):
                    yield plan


@pytest.mark.parametrize(
    ("sizes", "lost"),
    [
        ((("a100", (3,)),), 0.0),
        ((("a100", (2, 2)),), 0.0),
        ((("a100", (2, 1)),), 0.0),
        ((("h100", (1, 1, 1)),), 0.0),
        ((("a100", (1,)), ("h100", (1, 1))), 0.0),
        ((("a100", (2,)), ("h100", (2,))), 0.0),
        # a first segment of one stage before one of three is not in the search space
        ((("a100", (3, 1)),), 0.12),
    ],
)
def test_the_planner_finds_the_best_of_all_plans(sizes: HostSizes, lost: float) -> None:
    best = max(samples_per_second(SMALL, plan) for plan in every_plan(SMALL, hosts_of(sizes)))
    assert (1 - lost) * best <= PLANNER.speed(sizes) * (1 + 1e-9)
    assert PLANNER.speed(sizes) <= best * (1 + 1e-9)


@pytest.mark.parametrize(("model", "gpu"), list(BEST))
def test_the_best_plans_of_one_type_are_those_of_sailors_formulas(model: str, gpu: str) -> None:
    planner = Planner(builtin_profile(model))
    for count, expected in zip((4, 8, 16, 32, 64), BEST[model, gpu], strict=True):
        apart, together = (
            planner.speed(((gpu, (1,) * count),)),
            planner.speed(((gpu, (4,) * (count // 4)),)),
        )
        assert 0.88 * expected <= apart <= together <= 1.15 * expected
        assert min(abs(apart / expected - 1), abs(together / expected - 1)) < 0.05


def test_a_plan_uses_each_leaf_once_and_lists_the_others() -> None:
    hosts = hosts_of((("a100", (8, 5, 3)), ("h100", (4, 2, 1))))
    plan = PLANNER.plan(hosts)
    assert plan is not None
    used = [leaf for stage in plan.stages for group in stage.replicas for leaf in group.leaves]
    assert sorted([*used, *plan.unused]) == sorted(
        leaf for leaves in hosts.values() for leaf in leaves
    )
    assert fits(SMALL, plan)
    assert samples_per_second(SMALL, plan) == PLANNER.speed(host_sizes(hosts))


def test_tensor_parallel_groups_stay_in_a_host() -> None:
    plan = Planner(builtin_profile("GPT-Neo-2.7", 8)).plan(hosts_of((("a100", (4, 4)),)))
    assert plan is not None
    for stage in plan.stages:
        for group in stage.replicas:
            assert all(leaf.startswith(group.host + "/") for leaf in group.leaves)


def test_the_same_gpus_give_the_same_plan_in_any_order() -> None:
    hosts = hosts_of((("a100", (3, 2, 2)), ("h100", (2, 1))))
    backwards = {key: tuple(reversed(leaves)) for key, leaves in reversed(list(hosts.items()))}
    assert PLANNER.plan(hosts) == Planner(SMALL).plan(backwards)


def test_a_planner_bounds_its_cache() -> None:
    planner = Planner(SMALL, cached_max=2)
    speeds = [planner.speed((("a100", (count,)),)) for count in (1, 2, 3, 1)]
    assert speeds[0] == speeds[3]
    assert 2 == len(planner._cache)


def test_gpus_without_a_profile_and_too_little_memory_give_no_plan() -> None:
    assert 0 == PLANNER.speed(())
    assert 0 == PLANNER.speed((("v100", (8,)),))
    assert Planner(builtin_profile("GPT-Neo-2.7")).plan(hosts_of((("a100", (1,)),))) is None


sizes_of_hosts = st.lists(st.integers(1, 8), max_size=4).map(
    lambda each: tuple(sorted(each, reverse=True))
)


@settings(max_examples=15)
@given(a100=sizes_of_hosts, h100=sizes_of_hosts)
def test_speed_is_never_negative_or_infinite_and_apart_is_no_faster(
    a100: tuple[int, ...], h100: tuple[int, ...]
) -> None:
    speed = PLANNER.speed((("a100", a100), ("h100", h100)))
    apart = PLANNER.speed((("a100", (1,) * sum(a100)), ("h100", (1,) * sum(h100))))
    assert 0 <= apart <= speed * (1 + 1e-9) < float("inf")
    assert (speed > 0) == bool(a100 or h100)
