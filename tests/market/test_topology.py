import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import laissez
from laissez.market import topology
from laissez.market.topology import Topology, TopologyError

LEVELS = {"h100": ("type", "zone", "host", "gpu")}
PATHS = (
    "h100/a/host0/gpu0",
    "h100/a/host0/gpu1",
    "h100/a/host1/gpu0",
    "h100/a/spare",
    "h100/b/host0/gpu0",
    "tpu",
)
SMALL = Topology.of(PATHS, LEVELS)


def refusal(*arguments: Any, **named: Any) -> str:
    with pytest.raises(TopologyError) as error:
        Topology.of(*arguments, **named)
    return str(error.value)


def slow_order(paths: list[str]) -> list[str]:
    return sorted(paths, key=lambda path: path.split("/"))


@st.composite
def forests(draw: st.DrawFn) -> list[str]:
    """Leaf paths of a random uneven forest, shuffled; characters that sort before and after the
    slash are frequent."""
    names = st.text("ab09.-_", min_size=1, max_size=3).filter(lambda name: name not in (".", ".."))
    paths = draw(
        st.lists(
            st.lists(names, min_size=1, max_size=5).map("/".join),
            min_size=1,
            max_size=20,
            unique=True,
        )
    )
    inner = {path[:end] for path in paths for end in range(len(path)) if path[end] == "/"}
    return draw(st.permutations([path for path in paths if path not in inner]))


def test_leaves_nodes_and_roots_are_in_path_order() -> None:
    assert PATHS == SMALL.leaves
    assert ("h100", "tpu") == SMALL.roots
    assert (
        "h100",
        "h100/a",
        "h100/a/host0",
        "h100/a/host0/gpu0",
        "h100/a/host0/gpu1",
        "h100/a/host1",
    ) == SMALL.nodes[:6]


def test_paths_are_compared_part_by_part() -> None:
    assert ("t/a/x", "t/a-b/x", "t/a.b/x") == Topology.of(["t/a.b/x", "t/a-b/x", "t/a/x"]).leaves


def test_questions_about_a_node_are_answered() -> None:
    assert "h100/a" in SMALL and "h100/c" not in SMALL and ["h100"] not in SMALL
    assert SMALL.is_leaf("tpu") and SMALL.is_leaf("h100/a/spare") and not SMALL.is_leaf("h100/b")
    assert ("h100/a/host0", "h100/a/host1", "h100/a/spare") == SMALL.children("h100/a")
    assert () == SMALL.children("tpu")
    assert (4, 5) == SMALL.leaf_range("h100/b")
    assert 5 == SMALL.leaf_count("h100")


def test_levels_are_counted_from_the_root() -> None:
    assert LEVELS["h100"] == SMALL.level_names("h100")
    assert () == SMALL.level_names("tpu")
    assert ["type", "zone", "host", "host", "gpu"] == [
        SMALL.level_of(path)
        for path in ("h100", "h100/b", "h100/b/host0", "h100/a/spare", "h100/b/host0/gpu0")
    ]
    assert SMALL.level_of("tpu") is None


def test_the_host_of_a_gpu_is_its_ancestor_at_that_level() -> None:
    assert "h100/a/host0" == SMALL.ancestor("h100/a/host0/gpu1", "host")
    assert "h100/a/host0" == SMALL.ancestor("h100/a/host0", "host")
    assert "h100" == SMALL.ancestor("h100/a/spare", "type")


@pytest.mark.parametrize(
    ("path", "level", "message"),
    [
        ("h100/a", "host", "h100/a: is at level zone, above level host"),
        ("h100/a", "row", "h100/a: no level 'row'; the levels of h100 are: type, zone, host, gpu"),
        ("tpu", "type", "tpu: no level 'type'; the levels of tpu are: not named"),
        ("h200", "type", "h200: no such node"),
    ],
)
def test_ancestor_at_a_level_that_is_not_on_the_path_is_refused(
    path: str, level: str, message: str
) -> None:
    with pytest.raises(TopologyError) as error:
        SMALL.ancestor(path, level)
    assert message == str(error.value)


@pytest.mark.parametrize(
    "question",
    [
        "is_leaf",
        "children",
        "leaf_range",
        "leaf_count",
        "level_of",
        "level_names",
    ],
)
@pytest.mark.parametrize("path", ["h200", "h100/", "/h100", "", "h100/a/host0/gpu2"])
def test_questions_about_an_unknown_node_are_refused(question: str, path: str) -> None:
    with pytest.raises(TopologyError, match="no such node"):
        getattr(SMALL, question)(path)


def test_only_roots_have_level_names() -> None:
    with pytest.raises(TopologyError, match="h100/a: is not the root of a tree"):
        SMALL.level_names("h100/a")


def test_equal_topologies_have_equal_leaves_and_levels() -> None:
    same = Topology.of(reversed(PATHS), {"h100": list(LEVELS["h100"]), "tpu": []})
    assert same == Topology.of(PATHS, {"h100": LEVELS["h100"]})
    assert hash(same) == hash(SMALL)
    assert SMALL != Topology.of(PATHS)
    assert SMALL != Topology.of(PATHS[1:], LEVELS)
    assert SMALL != "h100"


def test_repr_shows_trees_and_their_sizes() -> None:
    assert "<Topology of 6 leaves (h100: 5, tpu: 1)>" == repr(SMALL)
    assert repr(Topology.of(f"t{number}" for number in range(10))).endswith(
        "t7: 1, and 2 more trees)>"
    )


BAD_NAME = "expected a name of 1 to 64 letters, digits, '.', '_' or '-', found "


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([], "topology: expected at least one leaf, found none"),
        ("h100/a", "topology: expected a list of paths, found the text 'h100/a'"),
        (["h100", 5], "topology: expected a path as text, found int"),
        (["a/b", "a/b"], "a/b: appears twice"),
        (["a/b/c", "a/b", "a/b-c"], "a/b: is a leaf, and 'a/b/c' is below it"),
        (["a/b/c/d", "a"], "a: is a leaf, and 'a/b/c/d' is below it"),
        (["a//b"], "a//b: " + BAD_NAME + "''"),
        (["a/"], "a/: " + BAD_NAME + "''"),
        ([""], ": " + BAD_NAME + "''"),
        (["a/../b"], "a/../b: " + BAD_NAME + "'..'"),
        (["a/b c"], "a/b c: " + BAD_NAME + "'b c'"),
        (["a/gpu[0-1]"], "a/gpu[0-1]: " + BAD_NAME + "'gpu[0-1]'"),
        (["é"], "é: " + BAD_NAME + "'é'"),
        (["a\n"], "a\n: " + BAD_NAME + "'a\\n'"),
        (["a/" + "x" * 65], f"a/{'x' * 65}: {BAD_NAME}'{'x' * 65}'"),
        (
            ["/".join("abcdefghijklmnopq")],
            "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q: is deeper than 16 levels",
        ),
    ],
)
def test_bad_paths_are_refused(paths: Any, message: str) -> None:
    assert message == refusal(paths)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"h200": ["type"]}, "levels: expected the name of a tree, found 'h200'"),
        ({"h100/a": ["type"]}, "levels: expected the name of a tree, found 'h100/a'"),
        ({7: ["type"]}, "levels: expected the name of a tree, found int"),
        ({"tpu": "type"}, "tpu: expected a list of level names, found 'type'"),
        ({"tpu": 1}, "tpu: expected a list of level names, found int"),
        ({"tpu": [1]}, "levels of tpu: " + BAD_NAME + "int"),
        ({"tpu": ["a", "a"]}, "tpu: a level name appears twice in: a, a"),
        (
            {"tpu": ["a", "b"]},
            "tpu: expected 1 level names, as many as the tree is deep, found 2: a, b",
        ),
        (
            {"h100": ["a", "b"]},
            "h100: expected 4 level names, as many as the tree is deep, found 2: a, b",
        ),
    ],
)
def test_bad_levels_are_refused(levels: Any, message: str) -> None:
    assert message == refusal(PATHS, levels)


def test_deepest_path_and_longest_name_are_allowed() -> None:
    path = "/".join(["x" * 64] * 16)
    assert (path,) == Topology.of([path]).leaves


def test_endless_paths_are_refused_at_the_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1_000_000 == topology.LEAVES_MAX
    # a million takes the sources long, all the more when they are watched
    most = 1_000_000 if laissez.market_form() == "compiled" else 10_000
    monkeypatch.setattr(topology, "LEAVES_MAX", most)
    taken = 0

    def paths() -> Iterator[str]:
        nonlocal taken
        for taken in range(1, 10**12):
            yield str(taken)

    assert f"topology: has more than {most} leaves" == refusal(paths())
    assert most + 1 == taken


def test_long_text_is_cut_in_messages() -> None:
    assert len(refusal(["x" * 100_000])) < 600


@given(forests())
def test_every_answer_agrees_with_the_paths_alone(paths: list[str]) -> None:
    found = Topology.of(paths)
    nodes = slow_order(
        list({"/".join(path.split("/")[:depth]) for path in paths for depth in range(1, 17)})
    )
    leaves = slow_order(paths)
    assert tuple(leaves) == found.leaves
    assert tuple(nodes) == found.nodes
    assert tuple(node for node in nodes if "/" not in node) == found.roots
    for node in nodes:
        below = [leaf for leaf in leaves if (leaf + "/").startswith(node + "/")]
        first, end = found.leaf_range(node)
        assert tuple(below) == found.leaves[first:end]
        assert len(below) == found.leaf_count(node)
        assert (node in paths) == found.is_leaf(node)
        below = [each for each in nodes if each.rpartition("/")[0] == node]
        assert tuple(below) == found.children(node)


@given(forests(), st.booleans())
def test_mapping_reads_back_to_an_equal_topology(paths: list[str], named: bool) -> None:
    depths = {path.split("/")[0]: 0 for path in paths}
    for path in paths:
        depths[path.split("/")[0]] = max(depths[path.split("/")[0]], path.count("/") + 1)
    levels = (
        {root: [f"level{number}" for number in range(depth)] for root, depth in depths.items()}
        if named
        else {}
    )
    found = Topology.of(paths, levels)
    assert found == Topology.from_mapping(found.to_mapping())


def test_mapping_shows_lists_of_leaves_and_marks_leaves_beside_trees() -> None:
    a = {"host0": ["gpu0", "gpu1"], "host1": ["gpu0"], "spare": "leaf"}
    h100 = {"levels": ["type", "zone", "host", "gpu"], "tree": {"a": a, "b": {"host0": ["gpu0"]}}}
    assert {"h100": h100, "tpu": {"tree": "leaf"}} == SMALL.to_mapping()


def test_reserved_names_survive_the_round_trip() -> None:
    found = Topology.of(["h100/levels/x", "h100/tree", "leaf/leaf"])
    assert found == Topology.from_mapping(found.to_mapping())


def test_many_leaves_are_small() -> None:
    paths = [
        f"h100/zone-{z}/row{r}/rack{k:02}/host{h}/gpu{g}"
        for z in range(5)
        for r in range(5)
        for k in range(25)
        for h in range(4)
        for g in range(8)
    ]
    tracemalloc.start()
    found = Topology.of(paths)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 20_000 == len(found.leaves)
    assert kept / len(paths) < 300  # bytes
