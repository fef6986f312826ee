"""That what is typed is text. Python hides bytes that are not UTF-8 in characters that no server
takes and no terminal shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

VARIABLES = "LAISSEZ_"  # ours begin like this


class NotText(Exception):
    """An argument or a variable of ours is not UTF-8; the message does not show it, since it may
    hold a key."""


def check_text(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    for number, argument in enumerate(arguments, 1):
        _check(argument, f"argument {number}")
    for name in sorted(environment):
        if name.startswith(VARIABLES):
            _check(environment[name], name)


def _check(text: str, place: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise NotText(
            f"{place}: expected text in UTF-8, found other bytes after {error.start} characters"
        ) from None
