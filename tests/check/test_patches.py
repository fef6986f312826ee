"""Attributes replaced for a while, and the bugs of a module."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from laissez_check.patches import Patch, bugs_among, replaced

pytestmark = pytest.mark.once


def forgets() -> list[Patch]:
    return []


def _helper() -> list[Patch]:
    return []


def count() -> int:
    return 0


def test_replaced_attributes_are_restored_after_an_error() -> None:
    thing = SimpleNamespace(price=1)
    with pytest.raises(RuntimeError), replaced([(thing, "price", 2)]):
        assert thing.price == 2
        raise RuntimeError
    assert thing.price == 1


def test_the_bugs_of_a_module_are_its_public_functions_that_return_patches() -> None:
    assert {"forgets": forgets} == bugs_among(globals())
