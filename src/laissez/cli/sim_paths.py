"""Where results go. What could not be written later, when hours of simulation are done, is refused
now."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile

import typer

from laissez.sim.boxplot import PlotError, check_plot


def new_file(path: Path | None) -> Path | None:
    if path is not None and (reason := unwritable(path)):
        raise typer.BadParameter(
            f"expected a file in a folder that can be written to, found {str(path)!r}: {reason}"
        )
    return path


def plot_file(path: Path | None) -> Path | None:
    if path is not None:
        new_file(path)
        try:
            check_plot(path)
        except PlotError as error:
            raise typer.BadParameter(str(error)) from None
    return path


def out_folder(path: Path | None) -> Path | None:
    if path is not None:
        try:
            path.mkdir(parents=True, exist_ok=True)
            _try_out(path)
        except OSError as error:
            raise typer.BadParameter(
                "expected a folder that can be written to, or a place for one, found"
                f" {str(path)!r}: {error.strerror}"
            ) from None
    return path


def own_folder(path: Path, mark: str) -> Path:
    """A folder for us alone: new, empty, or one that we filled before, as the folder called `mark`
    in it tells."""
    if (
        path.is_dir()
        and os.access(path, os.R_OK)
        and any(path.iterdir())
        and not (path / mark).is_dir()
    ):
        raise typer.BadParameter(
            f"expected a new folder, an empty one, or one of an earlier run, found {str(path)!r}"
            " with other things in it"
        )
    out_folder(path)
    return path


def unwritable(file: Path) -> str | None:
    """Why a file of that name cannot be written; None if it can."""
    try:
        if file.is_dir():
            return "it is a folder"
        if not file.parent.is_dir():
            return f"there is no folder {str(file.parent)!r}"
        if file.exists():
            return None if os.access(file, os.W_OK) else "it is there and cannot be written to"
        _try_out(file.parent)
    except OSError as error:
        return error.strerror
    return None


def _try_out(folder: Path) -> None:
    """Only a file that was made there shows that one can be: who may do everything may still not
    write to /sys."""
    TemporaryFile(dir=folder).close()
