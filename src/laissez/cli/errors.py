"""The exit codes of `laissez`: one for each kind of failure, so that scripts can distinguish them.

0  success
1  a check failed, or the market refused the request
2  wrong usage, or the command could not be run as asked
3  no valid key, or a key without the permission
4  not found
5  the server cannot be reached, or cannot serve now
6  the request was sent and no answer came: the command may or may not have been carried out
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_ALLOWED = 3
EXIT_NOT_FOUND = 4
EXIT_UNREACHABLE = 5
EXIT_UNKNOWN = 6
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143  # as a shell reports it: 128 and the signal's number

# The code that opens a file handles these itself, so that one of them here is a bug.
_EXPECTED = (errno.ENOENT, errno.EEXIST)
_FILE_NAME_MAX = 200
_VARIABLES = "LAISSEZ_"  # the prefix of our environment variables


class NotText(Exception):
    """An argument or variable is not UTF-8. It may hold a key, so it is not shown."""


def is_ours(error: Exception) -> bool:
    """Operating errors are exception classes of ours; all other exceptions are bugs."""
    return type(error).__module__.startswith("laissez") and not isinstance(error, AssertionError)


def error_message(error: Exception) -> str | None:
    """The line to print for an operating error, ours or the system's about a file. None for a bug,
    which keeps its traceback."""
    if is_ours(error):
        return str(error)
    if not isinstance(error, OSError) or error.filename is None or error.errno in _EXPECTED:
        return None
    return f"{str(error.filename)[:_FILE_NAME_MAX]}: {error.strerror}"


def exit_code(error: Exception) -> int:
    """The exit code for an operating error."""
    if not type(error).__module__.startswith("laissez.client"):
        return EXIT_USAGE  # without loading the client
    from laissez.client import errors

    unreachable = (errors.ConnectionFailed, errors.UnexpectedAnswer, errors.Unavailable)
    codes: tuple[tuple[type[Exception] | tuple[type[Exception], ...], int], ...] = (
        (errors.OutcomeUnknown, EXIT_UNKNOWN),
        ((*unreachable, errors.RateLimited), EXIT_UNREACHABLE),
        ((errors.Unauthenticated, errors.Forbidden), EXIT_NOT_ALLOWED),
        (errors.NotFound, EXIT_NOT_FOUND),
    )
    for kinds, code in codes:
        if isinstance(error, kinds):
            return code
    if isinstance(error, errors.ApiError):
        return EXIT_FAILED if error.status < 500 else EXIT_UNREACHABLE
    return EXIT_USAGE


def require_utf8(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Reject arguments and variables that are not UTF-8. Python hides such bytes in characters
    that no server takes and no terminal shows."""
    texts = {f"argument {number}": argument for number, argument in enumerate(arguments, 1)}
    ours = sorted(name for name in environment if name.startswith(_VARIABLES))
    texts |= {name: environment[name] for name in ours}
    for name, text in texts.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise NotText(
                f"{name}: expected text in UTF-8, found other bytes after {error.start} characters"
            ) from None
