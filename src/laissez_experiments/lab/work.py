"""Doing cells: on all cores, each once, with its result kept at once. A cell that fails does not
stop the others."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Final

from laissez.workers import cores, deaf_to_interrupts, worker_pool
from laissez_experiments.lab.cell import Cell
from laissez_experiments.lab.store import Store, StoreError

LOOK_S: Final = 0.5  # between two looks at finished cells
DIED: Final = "a worker process died: out of memory, perhaps, and fewer workers would do"
LOST: Final = "it was done and is not there: has somebody changed the folder?"

OnDone = Callable[[Cell, str], None]


def do(
    cells: Iterable[Cell],
    store: Store,
    on_done: OnDone = lambda cell, why: None,
    workers: int | None = None,
) -> None:
    """Do the cells that the store does not have. `on_done` gets each as soon as it is done, with
    the reason if it failed.

    Only two errors end the work early: results that cannot be kept, and a worker that died.
    """
    missing = [cell for cell in dict.fromkeys(cells) if not store.has(cell)]
    for cell in missing:
        # a file that is not whole would look as if it were done
        store.path(cell).unlink(missing_ok=True)
    together = grouped(cell for cell in missing if not cell.is_alone)
    if together:
        _do_together(together, store, on_done, min(workers or cores(), len(together)))
    for cell in missing:
        if cell.is_alone:
            on_done(cell, _done(cell, store))


def grouped(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Cells by group, the longest group first, so that none keeps a core busy alone at the end."""
    groups: dict[tuple[type[Cell], Hashable], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((type(cell), cell.group), []).append(cell)
    return sorted(groups.values(), key=lambda group: -sum(cell.weight for cell in group))


def _do_together(groups: Sequence[list[Cell]], store: Store, on_done: OnDone, workers: int) -> None:
    if workers == 1:
        for group in groups:
            for cell in group:
                on_done(cell, _done(cell, store))
        return
    with worker_pool(workers) as pool:
        with deaf_to_interrupts():
            jobs = {pool.submit(_do_group, group, store) for group in groups}
        waiting = [cell for group in groups for cell in group]

        def ends(cell: Cell, why: str = "") -> None:
            waiting.remove(cell)
            on_done(cell, why)

        while jobs:
            ended, jobs = wait(jobs, timeout=LOOK_S, return_when=FIRST_EXCEPTION)
            failed = [one for job in ended for one in _failures(job)]
            for cell in [cell for cell in waiting if store.path(cell).exists()]:
                ends(cell)
            for cell, why in failed:
                ends(cell, why)
        for cell in tuple(waiting):
            ends(cell, LOST)


def _do_group(group: Sequence[Cell], store: Store) -> list[tuple[Cell, str]]:
    """The cells that failed, with their reasons."""
    return [(cell, why) for cell in group if (why := _done(cell, store))]


def _done(cell: Cell, store: Store) -> str:
    """Empty if all went well; else the error and its place."""
    try:
        store.put(cell, cell.run())
    except StoreError:
        raise
    except Exception as error:
        return f"{cell}: {described(error)}"
    return ""


def described(error: Exception) -> str:
    """The error with its place in the code."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{why} ({Path(place.filename).name}, line {place.lineno})"


def _failures(job: Future[list[tuple[Cell, str]]]) -> list[tuple[Cell, str]]:
    try:
        return job.result()
    except BrokenProcessPool:
        raise StoreError(DIED) from None
