"""Counts of leaves by host: they agree with the hosts by name, and adding or removing a leaf
changes the size of one host."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laissez.tenants.cache import Cache
from laissez.tenants.paths import tree_of
from laissez.tenants.sailor.hosts import HostLayout, host_sizes, resized
from laissez.tenants.sailor.what_if import HeldNodes

pytestmark = pytest.mark.once

LAYOUT = HostLayout(leaf_words=4, gpus_per_host=4)
leaves = st.builds(
    "{}/rack{}/host{}/gpu{}".format,
    st.sampled_from(("h100", "a100")),
    *(st.integers(0, 1) for _ in range(3)),
)
# the last one is a host
scopes = st.sampled_from(("h100", "a100", "a100/rack1", "a100/rack1/host0"))
sets = st.lists(st.one_of(leaves, scopes), max_size=12).map(tuple)


@settings(max_examples=50)
@given(held=sets, node=st.one_of(leaves, scopes))
def test_a_layout_counts_gpus_per_host_and_one_more_makes_one_host_larger(
    held: tuple[str, ...], node: str
) -> None:
    here = HeldNodes(held, LAYOUT)
    assert host_sizes(LAYOUT.hosts(held)) == here.sizes
    host = LAYOUT.host_of(node)
    before = here.hosts.get(host, 0) if host else 0
    more = resized(here.sizes, tree_of(node), before, before + 1)
    assert host_sizes(LAYOUT.hosts((*held, node))) == more
    assert here.sizes == resized(more, tree_of(node), before + 1, before)


def test_several_hosts_may_come_at_once() -> None:
    assert (("a100", (2,)), ("h100", (4, 1, 1))) == resized(
        (("a100", (2,)), ("h100", (4,))), "h100", 0, 1, 2
    )


def test_a_memo_computes_once_and_forgets_the_oldest() -> None:
    asked: list[int] = []
    memo: Cache[int, int] = Cache(2, lambda number: asked.append(number) or number * number)  # type: ignore[func-returns-value]
    assert [1, 4, 1, 9, 1] == [memo[number] for number in (1, 2, 1, 3, 1)]
    assert [1, 2, 3, 1] == asked
    assert 2 == len(memo)
