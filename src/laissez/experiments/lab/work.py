"""Doing cells: on all cores, each once, and kept as soon as it is done."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final

from laissez.experiments.lab.cell import Cell
from laissez.experiments.lab.store import Store
from laissez.sim.workers import cores, deaf_to_interrupts, worker_pool

LOOK_S: Final = 0.5  # between two looks at what is done


class CellFailed(Exception):
    """A cell ended with an error; the message names it. What others came to is kept."""


def do(cells: Iterable[Cell], store: Store, on_done: Callable[[Cell], None] = lambda cell: None, workers: int | None = None) -> Mapping[Cell, Any]:
    """What every cell came to: taken from the store, or done now. `on_done` is told of each that is done now, as soon as it is."""
    wanted = list(dict.fromkeys(cells))
    found = {cell: result for cell in wanted if (result := store.get(cell)) is not None}
    missing = [cell for cell in wanted if cell not in found]
    for cell in missing:
        store.path(cell).unlink(missing_ok=True)  # a file that is not whole would look as if it were done
    together = grouped(cell for cell in missing if not cell.is_alone)
    if together:
        _do_together(together, store, on_done, min(workers or cores(), len(together)))
    for cell in missing:
        if cell.is_alone:
            store.put(cell, _done(cell))
            on_done(cell)
    for cell in missing:
        found[cell] = store.get(cell)
    return found


def grouped(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Cells by group, the longest group first, so that no core is left over with one at the end."""
    groups: dict[tuple[type[Cell], Hashable], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((type(cell), cell.group), []).append(cell)
    return sorted(groups.values(), key=lambda group: -sum(cell.weight for cell in group))


def _do_together(groups: Sequence[list[Cell]], store: Store, on_done: Callable[[Cell], None], workers: int) -> None:
    if workers == 1:
        for group in groups:
            for cell in group:
                store.put(cell, _done(cell))
                on_done(cell)
        return
    with worker_pool(workers) as pool:
        with deaf_to_interrupts():
            jobs = {pool.submit(_do_group, group, store) for group in groups}
        waiting = [cell for group in groups for cell in group]
        while jobs:
            ended, jobs = wait(jobs, timeout=LOOK_S, return_when=FIRST_EXCEPTION)
            for job in ended:
                _check(job, waiting)
            for cell in [cell for cell in waiting if store.path(cell).exists()]:
                waiting.remove(cell)
                on_done(cell)


def _do_group(group: Sequence[Cell], store: Store) -> None:
    for cell in group:
        store.put(cell, _done(cell))


def _done(cell: Cell) -> Any:
    try:
        return cell.run()
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise CellFailed(f"{cell}: {why} ({os.path.basename(place.filename)}, line {place.lineno})") from error


def _check(job: Future[None], waiting: Sequence[Cell]) -> None:
    try:
        job.result()
    except BrokenProcessPool:
        raise CellFailed(f"a worker process died with {len(waiting)} cells not done: out of memory, perhaps, and fewer workers would do") from None
