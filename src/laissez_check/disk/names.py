"""The names that a disk has kept, and the unsynced creations, renamings and deletions: a folder
has to be synced, too."""

from __future__ import annotations

import os
import random
from typing import NamedTuple

from laissez_check.disk.image import Image


class Folder:
    pass


FOLDER = Folder()
Node = Image | Folder


class _Step(NamedTuple):
    """The change that one operation made to a folder: kept as a whole or not at all."""

    folder: str
    names: dict[str, Node | None]  # None: gone


class Names:
    """The names that the disk has seen. Others are not its business."""

    def __init__(self) -> None:
        self._now: dict[str, Node | None] = {}
        self._kept: dict[str, Node] = {}
        self._steps: list[_Step] = []

    def __contains__(self, path: str) -> bool:
        return path in self._now

    def __getitem__(self, path: str) -> Node | None:
        return self._now[path]

    def adopt(self, path: str, node: Node | None) -> None:
        """Note a name as it was before the first change."""
        self._now[path] = node
        if node is not None:
            self._kept[path] = node

    def put(self, path: str, node: Node | None) -> None:
        self._step(os.path.dirname(path), {path: node})

    def rename(self, old: str, new: str, node: Node) -> None:
        self._step(os.path.dirname(new), {old: None, new: node})

    def sync(self, folder: str) -> None:
        for step in self._steps:
            if step.folder == folder:
                _take(self._kept, step)
        self._steps = [step for step in self._steps if step.folder != folder]

    def after_power_failure(self, draw: random.Random) -> dict[str, Node]:
        """Keep some of the steps, in their order. Files in a lost folder are lost with it."""
        share = draw.choice((0.0, 0.5, 1.0))
        kept = dict(self._kept)
        for step in self._steps:
            if draw.random() < share:
                _take(kept, step)
        lost = self.lost_folders(kept)
        return {
            path: node
            for path, node in kept.items()
            if not any(path.startswith(f"{folder}{os.sep}") for folder in lost)
        }

    def lost_folders(self, kept: dict[str, Node]) -> list[str]:
        return [
            path
            for path, node in self._now.items()
            if isinstance(node, Folder) and path not in kept
        ]

    def _step(self, folder: str, names: dict[str, Node | None]) -> None:
        self._now.update(names)
        self._steps.append(_Step(folder, names))


def _take(kept: dict[str, Node], step: _Step) -> None:
    for path, node in step.names.items():
        if node is None:
            kept.pop(path, None)
        else:
            kept[path] = node
