"""The market leaves no cyclic garbage, so its process may switch the garbage collector off."""

from __future__ import annotations

import gc

from laissez_bench.crowd import Crowd
from laissez_bench.market import LOADS, OPERATIONS, Timer


def test_no_operation_leaves_cyclic_garbage() -> None:
    crowd = Crowd(100, 600)
    for operation in OPERATIONS:  # once before, so that what is made on first use is made
        LOADS[operation](crowd, Timer())
    while gc.collect():  # finalizers of what other tests left behind may leave more
        pass
    gc.disable()
    try:
        for operation in OPERATIONS:
            LOADS[operation](crowd, Timer())
            assert (operation, 0) == (operation, gc.collect())
    finally:
        gc.enable()
