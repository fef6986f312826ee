"""The engines among the leaves held. A leaf is one GPU; an engine needs all of its GPUs on one
host.

At most one engine of each type is under construction at a time: the fullest. Leaves of any other
unfinished engine are of no use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from laissez.tenants.dynamo.profile import EngineProfile
from laissez.tenants.paths import parent_of, tree_of


def leaves_by_host(held: Sequence[str], tree: str) -> dict[str, list[str]]:
    """The leaves of one type by their hosts, in order. An entry that is the host of another entry
    stands for some leaf of that host."""
    mine = sorted(leaf for leaf in held if tree_of(leaf) == tree)
    hosts = {parent_of(leaf) for leaf in mine}
    grouped: dict[str, list[str]] = {}
    for leaf in mine:
        grouped.setdefault(leaf if leaf in hosts else parent_of(leaf), []).append(leaf)
    return grouped


def engines(held: Sequence[str], profile: EngineProfile) -> list[tuple[str, ...]]:
    """The whole engines of one type, each as its leaves."""
    size = profile.gpus
    return [
        tuple(group[at : at + size])
        for group in leaves_by_host(held, profile.gpu).values()
        for at in range(0, len(group) - size + 1, size)
    ]


def unfinished(held: Sequence[str], profile: EngineProfile) -> tuple[str, int] | None:
    """The host of the engine under construction, and how many leaves it still needs."""
    started = [
        (profile.gpus - rest, host)
        for host, leaves in leaves_by_host(held, profile.gpu).items()
        if (rest := len(leaves) % profile.gpus)
    ]
    if not started:
        return None
    missing, host = min(started)
    return host, missing


def useful(held: Sequence[str], profiles: Mapping[str, EngineProfile]) -> tuple[int, ...]:
    """The numbers of leaves in engines, whole or under construction, by type in order."""
    counts = dict.fromkeys(profiles, 0)
    for leaf in held:
        tree = tree_of(leaf)
        if tree in counts:
            counts[tree] += 1
    for tree, profile in profiles.items():
        if profile.gpus > 1 and counts[tree]:
            started = unfinished(held, profile)
            counts[tree] = len(engines(held, profile)) * profile.gpus
            counts[tree] += profile.gpus - started[1] if started else 0
    return tuple(counts.values())
