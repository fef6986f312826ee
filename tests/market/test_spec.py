import json
import re
import string
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laissez.market.spec import Form, parse_topology
from laissez.market.topology import LEAVES_MAX, Topology, TopologyError
from support.paths import REFERENCE

PAGE = REFERENCE / "topology.md"


def refusal(mapping: object) -> str:
    with pytest.raises(TopologyError) as error:
        Topology.from_mapping(mapping)
    return str(error.value)


def text_refusal(text: str, form: Any) -> str:
    with pytest.raises(TopologyError) as error:
        parse_topology(text, form)
    return str(error.value)


def leaves(tree: object) -> tuple[str, ...]:
    """The leaves of a written tree, without the name of their root."""
    return tuple(path.removeprefix("t/") for path in Topology.from_mapping({"t": tree}).leaves)


def test_examples_of_the_page_describe_the_same_topology() -> None:
    examples: list[tuple[Form, str]] = re.findall(
        r"```(toml|yaml|json)\n(.*?)```", PAGE.read_text(), re.DOTALL
    )
    hosts = [f"h100/zone-a/rack{rack:02}/host{host}" for rack in range(1, 25) for host in range(4)]
    hosts += [f"h100/zone-b/rack01/host{host}" for host in range(4)]
    gpus = [f"{host}/gpu{gpu}" for host in hosts for gpu in range(8)]
    expected = Topology.of(
        ["tpu", "h100/zone-b/rack01/spare", *gpus],
        {"h100": ["type", "zone", "rack", "host", "gpu"]},
    )
    assert ["toml", "yaml", "json"] == [form for form, _ in examples]
    for form, text in examples:
        assert expected == parse_topology(text, form)
    assert "host" == expected.level_of("h100/zone-b/rack01/spare")


def test_names_on_the_page_expand_as_it_says() -> None:
    assert tuple(f"zone-{each}" for each in "abc") == leaves(["zone-[a,b,c]"])
    assert tuple(sorted(f"host{each}" for each in (0, 1, 2, 3, 8, 12, 13, 14, 15))) == leaves(
        ["host[0-3,8,12-15]"]
    )
    assert 8 == len(leaves(["rack[1-4]-[left,right]"]))
    assert "gpu10" == leaves(["gpu[0-11]"])[2]
    assert "gpu02" == leaves(["gpu[00-15]"])[2]
    assert ("tree",) == leaves({"tree": ["tree"]})


def test_a_tree_is_a_mapping_or_a_list_or_a_leaf() -> None:
    assert ("a/x", "a/y", "b", "c") == leaves({"a": ["y", "x"], "b": None, "c": "leaf"})
    assert ("t",) == leaves(None) == leaves("leaf")
    assert ("leaf",) == leaves(["leaf"]) == leaves({"leaf": None})


def test_levels_apply_to_every_tree_of_a_range() -> None:
    found = Topology.from_mapping({"h[1-2]": {"levels": ["type", "gpu"], "tree": ["gpu0"]}})
    assert ("type", "gpu") == found.level_names("h1") == found.level_names("h2")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("x", ["x"]),
        ("x[7]", ["x7"]),
        ("[07]", ["07"]),
        ("x[8-11]", ["x8", "x9", "x10", "x11"]),
        ("x[08-11]y", ["x08y", "x09y", "x10y", "x11y"]),
        ("x[000-001]", ["x000", "x001"]),
        ("[a,b][1-2]", ["a1", "a2", "b1", "b2"]),
        (
            "x[999999999999999998-999999999999999999]",
            ["x999999999999999998", "x999999999999999999"],
        ),
    ],
)
def test_ranges_are_expanded(pattern: str, names: list[str]) -> None:
    assert tuple(sorted(names)) == leaves([pattern])


@given(st.integers(0, 200), st.integers(0, 60), st.integers(0, 4))
def test_a_range_has_every_number_once_and_is_padded_as_written(
    first: int, more: int, width: int
) -> None:
    last = first + more
    if width < len(str(last)):
        width = 0
    pattern = f"g[{first:0{width}}-{last:0{width}}]"
    assert {f"g{number:0{width}}" for number in range(first, last + 1)} == set(leaves([pattern]))


BETWEEN = "expected a range such as 01-24, or words such as a,b,c, between the brackets, found "
BAD_NAME = "expected a name of 1 to 64 letters, digits, '.', '_' or '-', found "
TREE = "expected a mapping, a list of leaf names, or null or 'leaf' for a leaf, found "


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({}, "t: is an empty tree; write null or 'leaf' for a leaf"),
        ([], "t: is an empty tree; write null or 'leaf' for a leaf"),
        ({"a": {"b": {}}}, "t/a/b: is an empty tree; write null or 'leaf' for a leaf"),
        ({"a": "gpu0"}, "t/a: " + TREE + "'gpu0'"),
        ({"a": 8}, "t/a: " + TREE + "int"),
        ({"a": True}, "t/a: " + TREE + "bool"),
        ({1: None}, "t: expected a name as text, found int"),
        (["a", None], "t: expected a name as text, found NoneType"),
        ([["a"]], "t: expected a name as text, found list"),
        (["a", "a"], "t: the name 'a' appears twice"),
        ({"host[0-3]": ["a"], "host1": ["b"]}, "t: the name 'host1' appears twice"),
        ({"z": ["g[0-2,1]"]}, "t/z: the name 'g1' appears twice"),
        ({"a/b": None}, "t: " + BAD_NAME + "'a/b'"),
        ({"": None}, "t: " + BAD_NAME + "''"),
        ([".."], "t: " + BAD_NAME + "'..'"),
        (["a[1-2"], "t: " + BAD_NAME + "'a[1-2'"),
        (["a[[1-2]]"], "t: " + BAD_NAME + "'a[1]'"),
        (["a[]"], "t/a[]: " + BETWEEN + "''"),
        (["a[x-z]"], "t/a[x-z]: " + BETWEEN + "'x-z'"),
        (["a[1,]"], "t/a[1,]: " + BETWEEN + "''"),
        (["a[1-2-3]"], "t/a[1-2-3]: " + BETWEEN + "'1-2-3'"),
        (["a[5-2]"], "t/a[5-2]: expected the lower end of a range first, found 5-2"),
        (
            ["a[01-100]"],
            (
                "t/a[01-100]: expected both ends of a padded range to have as many digits, found"
                " 01-100"
            ),
        ),
        (["x" * 63 + "[8-10]"], f"t: '{'x' * 63}[8-10]' makes names longer than 64 characters"),
        ({"levels": ["type", "gpu"]}, "t: expected 'tree' and perhaps 'levels', found 'levels'"),
        (
            {"tree": ["a"], "level": ["b"]},
            "t: expected 'tree' and perhaps 'levels', found 'tree, level'",
        ),
        ({"tree": ["a"], "levels": "b"}, "t: expected a list of level names, found 'b'"),
        (
            {"tree": ["a"], "levels": ["b"]},
            "t: expected 2 level names, as many as the tree is deep, found 1: b",
        ),
    ],
)
def test_bad_trees_are_refused(tree: object, message: str) -> None:
    assert message == refusal({"t": tree})


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (None, "topology: expected a mapping from resource types to trees, found nothing"),
        ({}, "topology: expected a mapping from resource types to trees, found nothing"),
        (["h100"], "topology: expected a mapping from resource types to trees, found list"),
        ({5: None}, "topology: expected a name as text, found int"),
        ({"h[1-2]": None, "h2": None}, "topology: the name 'h2' appears twice"),
        ({"a b": None}, "topology: " + BAD_NAME + "'a b'"),
    ],
)
def test_bad_forests_are_refused(mapping: object, message: str) -> None:
    assert message == refusal(mapping)


def nested(depth: int) -> object:
    tree: object = None
    for _ in range(depth - 1):
        tree = {"a": tree}
    return {"a": tree}


def test_sixteen_levels_are_allowed_and_one_more_is_not() -> None:
    assert ("/".join("a" * 16),) == Topology.from_mapping(nested(16)).leaves
    assert "/".join("a" * 16) + ": is deeper than 16 levels" == refusal(nested(17))


def test_mapping_inside_itself_is_refused() -> None:
    tree: dict[str, object] = {}
    tree["a"] = tree
    assert refusal({"t": tree}).endswith(": is deeper than 16 levels")


@pytest.mark.parametrize(
    "mapping",
    [
        {"t": ["gpu[0-999999999]"]},
        {"t": ["gpu[0-999999999999999999]"]},
        {"t": ["g[0-999][0-999][0-999]"]},
        {"t": ["g[0-999999,1000000-1000001]"]},
        {"t": {"rack[0-9999]": {"host[0-9999]": ["gpu[0-9999]"]}}},
        {"t[0-9999]": ["a[0-9999]"]},
        {
            "t": {
                "a": ["g0"],
                **{f"{letter}[0-999]": ["g[0-999]"] for letter in string.ascii_uppercase},
            }
        },
        {"t": ["g0"], **{f"{letter}[0-999]": ["g[0-999]"] for letter in string.ascii_uppercase}},
    ],
)
def test_too_many_leaves_are_refused_before_expansion(mapping: object) -> None:
    tracemalloc.start()
    try:
        assert refusal(mapping).endswith(f"has more than {LEAVES_MAX} leaves")
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 100 * LEAVES_MAX  # no more than the names of the leaves that are allowed


def test_long_names_are_refused_before_expansion() -> None:
    assert "makes names longer than 64 characters" in refusal(
        {"t": ["x" * 1_000_000 + "[0-999999]"]}
    )


# Seven times more at every level. At the seventh, once is 151,263 leaves, which fit, and so would
# six times more by themselves: the sum is refused.
ALIAS_BOMB = "a: &a [g0, g1, g2, g3, g4, g5, g6, g7, g8]\n" + "".join(
    f"{name}: &{name} {{m: *{below}, 'n[0-5]': *{below}}}\n"
    for below, name in zip("abcdefghij", "bcdefghijk", strict=True)
)


def test_yaml_alias_bomb_is_refused() -> None:
    assert text_refusal(ALIAS_BOMB, "yaml").endswith("has more than 1000000 leaves")


def test_message_about_an_alias_bomb_is_short() -> None:
    assert "topology: expected a mapping from resource types to trees, found list" == text_refusal(
        "\n".join(
            ["- &a [x, x]"]
            + [
                f"- &{name} [{', '.join([f'*{below}'] * 10)}]"
                for below, name in zip("abcdefghij", "bcdefghijk", strict=True)
            ]
        ),
        "yaml",
    )


def test_yaml_mapping_inside_itself_is_refused() -> None:
    assert text_refusal("t: &a {x: *a}", "yaml").endswith("is deeper than 16 levels")


def test_yaml_alias_stands_for_what_it_names() -> None:
    found = parse_topology("t:\n  a: &host [x, y]\n  b: *host\n", "yaml")
    assert ("t/a/x", "t/a/y", "t/b/x", "t/b/y") == found.leaves


def test_yaml_words_and_numbers_are_names_and_null_is_a_leaf() -> None:
    text = "t:\n  1: [on, 1e3, 0x10, 2001-01-01, 007]\n  on: null\n  no: ~\n  null:\n  3.0: leaf\n"
    expected = ["1/007", "1/0x10", "1/1e3", "1/2001-01-01", "1/on", "3.0", "no", "null", "on"]
    assert tuple(f"t/{path}" for path in expected) == parse_topology(text, "yaml").leaves


@pytest.mark.parametrize(
    ("text", "form", "message"),
    [
        ('{"t": {"a": null, "a": null}}', "json", "t: the name 'a' appears twice"),
        ('{"t": {"z": {"a": null, "a": null}}}', "json", "t/z: the name 'a' appears twice"),
        ('{"t": {"tree": ["a"], "tree": ["b"]}}', "json", "t: the name 'tree' appears twice"),
        ('{"t": null, "t": null}', "json", "topology: the name 't' appears twice"),
        (
            "t:\n  a:\n  a:\n",
            "yaml",
            "not valid YAML: line 3: the name 'a' appears twice in one mapping",
        ),
        (
            "t:\n  a:\n  'a':\n",
            "yaml",
            "not valid YAML: line 3: the name 'a' appears twice in one mapping",
        ),
        (
            "t = 'leaf'\nt = 'leaf'\n",
            "toml",
            "not valid TOML: Cannot overwrite a value (at line 2, column 11)",
        ),
    ],
)
def test_name_given_twice_is_refused_in_every_form(text: str, form: Form, message: str) -> None:
    assert message == text_refusal(text, form)


@pytest.mark.parametrize(
    ("text", "form", "message"),
    [
        ('{"t":\n oops}', "json", "not valid JSON: Expecting value: line 2 column 2 (char 7)"),
        ('{"t": 1' + "0" * 5_000 + "}", "json", "not valid JSON: Exceeds the limit"),
        ("t = {\n", "toml", "not valid TOML: "),
        ("t:\n  - [a\n", "yaml", "not valid YAML: line 3: "),
        ("t:\n\ta:\n", "yaml", "not valid YAML: line 2: "),
        ("t:\n---\nu:\n", "yaml", "not valid YAML: line 2: but found another document"),
        ("t: \x00", "yaml", "not valid YAML: unacceptable character"),
        (
            "t:\n  - !include x.yaml\n",
            "yaml",
            "not valid YAML: line 2: expected no tags, found '!include'",
        ),
        (
            "t:\n  ? [a]\n  : b\n",
            "yaml",
            "not valid YAML: line 2: expected a name as text, found a sequence",
        ),
        (
            "u: &u {x: }\nt:\n  <<: *u\n",
            "yaml",
            "not valid YAML: line 3: expected no merge keys, found '<<'",
        ),
        (b"t = 1", "toml", "expected text, found "),
        (None, "json", "expected text, found "),
        ("", "yaml", "topology: expected a mapping from resource types to trees, found nothing"),
        ("", "toml", "topology: expected a mapping from resource types to trees, found nothing"),
        ("t = 0x" + "f" * 10_000, "toml", "t: " + TREE + "int"),
        ("{}", "ini", "expected the form toml, yaml or json, found 'ini'"),
    ],
)
def test_bad_text_is_refused_with_its_line_or_place(text: str, form: Any, message: str) -> None:
    assert text_refusal(text, form).startswith(message)


@pytest.mark.parametrize(
    ("text", "form"),
    [("[" * 100_000, "json"), ("a = " + "[" * 100_000, "toml"), ("[" * 1_000, "yaml")],
)
def test_text_nested_too_deep_for_its_parser_is_refused(text: str, form: Form) -> None:
    assert f"not valid {form.upper()}: nested too deep" == text_refusal(text, form)


@pytest.mark.once  # what reads topologies is never compiled
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_plain_data_is_a_topology_or_a_topology_error(data: object) -> None:
    try:
        found = Topology.from_mapping(data)
    except TopologyError:
        return
    assert found == Topology.from_mapping(found.to_mapping())


@pytest.mark.once
@given(
    st.text(alphabet="abt:{}[]\",'=\n -&*!0129<?|>#\\", max_size=40),
    st.sampled_from(["toml", "yaml", "json"]),
)
def test_any_text_is_a_topology_or_a_topology_error(text: str, form: Form) -> None:
    try:
        found = parse_topology(text, form)
    except TopologyError:
        return
    for other in ("json", "yaml"):
        assert found == parse_topology(json.dumps(found.to_mapping()), other)
