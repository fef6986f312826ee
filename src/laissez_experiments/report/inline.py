"""A figure's SVG file, as part of a page: only its drawing, with ids that are unique in the page.

The marks of `style.of_cloud` and `style.with_tips` become `data-cloud` and `data-tip`, which the
page's script looks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import msgspec

from laissez_experiments.lab.style import CLOUD_MARK, LOOKS, TIP_MARK

SPACE: Final = re.compile(r"\s+")
LONG: Final = re.compile(r"-?\d+\.\d{3,}")
REFERENCE: Final = re.compile(r"url\(#([^)]+)\)")
DROPPED: Final = ("metadata", "style")  # the page's own style sheet has what matplotlib's says
MEASURES: Final = ("d", "x", "y")  # in points, of which no eye sees the hundredth


class Inline(msgspec.Struct, frozen=True):
    """`clouds` are those with parts of their own in it; `tips` the keys of its marks with texts."""

    svg: str
    clouds: Sequence[str]
    tips: Sequence[str]


def inline(svg: str, name: str, label: str) -> Inline:
    """`name` must differ from figure to figure; `label` is read aloud in place of the figure."""
    root = ElementTree.fromstring(svg)  # noqa: S314  matplotlib wrote it
    _only_drawn(root)
    for element in root.iter():
        element.tag = _local(element.tag)
        for attribute in list(element.attrib):
            element.set(_local(attribute), element.attrib.pop(attribute))
        element.text = element.tail = None
    _marks(root)
    _names(root, name)
    _smaller(root)
    clouds, tips = (
        list(dict.fromkeys(filter(None, (element.get(mark) for element in root.iter()))))
        for mark in ("data-cloud", "data-tip")
    )
    root.attrib = {
        "viewBox": root.get("viewBox", ""),
        "role": "group" if tips else "img",
        "aria-label": label,
    }
    return Inline(ElementTree.tostring(root, "unicode"), sorted(clouds, key=_place), tips)


def _place(cloud: str) -> int:
    """Clouds are always in the same order."""
    return list(LOOKS).index(cloud) if cloud in LOOKS else len(LOOKS)


def _local(name: str) -> str:
    """Without its namespace: in a page, HTML knows what belongs to SVG."""
    return name.rpartition("}")[2]


def _only_drawn(element: Element) -> None:
    for child in list(element):
        if _local(child.tag) in DROPPED:
            element.remove(child)
        else:
            _only_drawn(child)
            if _local(child.tag) in ("g", "defs") and not len(child):
                element.remove(child)


def _marks(root: Element) -> None:
    for element in root.iter():
        mark, _, rest = element.get("id", "").partition(":")
        if mark not in (CLOUD_MARK, TIP_MARK):
            continue
        cloud, _, numbered = rest.partition(":")
        del element.attrib["id"]
        if cloud:
            element.set("data-cloud", cloud)
        if mark == TIP_MARK:
            element.set("data-tip", numbered.rpartition(":")[0])


def _names(root: Element, name: str) -> None:
    """Rename the ids that are referred to, and drop all others."""
    used = set(_references(root))
    new: dict[str | None, str] = {}
    for element in root.iter():
        if (old := element.attrib.pop("id", None)) in used:
            new[old] = f"{name}.{len(new)}"
            element.set("id", new[old])
    for element in root.iter():
        for attribute, value in element.attrib.items():
            if attribute == "href" and value.startswith("#"):
                element.set(attribute, f"#{new[value[1:]]}")
            elif "url(#" in value:
                element.set(attribute, REFERENCE.sub(lambda found: f"url(#{new[found[1]]})", value))


def _references(root: Element) -> Iterator[str]:
    for element in root.iter():
        for attribute, value in element.attrib.items():
            if attribute == "href" and value.startswith("#"):
                yield value[1:]
            yield from REFERENCE.findall(value)


def _smaller(root: Element) -> None:
    """Shorten numbers, and move the style that all points of a group share to the group."""
    for element in root.iter():
        for measure in MEASURES:
            if measure in element.attrib:
                element.set(
                    measure,
                    LONG.sub(
                        lambda found: f"{float(found[0]):.2f}",
                        SPACE.sub(" ", element.get(measure, "")).strip(),
                    ),
                )
        looks = {child.get("style", "") for child in element if child.tag == "use"}
        if (
            "style" not in element.attrib
            and len(looks) == 1
            and all(child.tag == "use" and "style" in child.attrib for child in element)
        ):
            element.set("style", looks.pop())
            for child in element:
                del child.attrib["style"]
