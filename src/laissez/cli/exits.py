"""How `laissez` ends: a code for each kind of failure, so that a script can tell them apart.

0  all well
1  a check failed, or the market refused
2  wrong usage, or it could not be run as asked
3  no valid key, or one that may not do this
4  there is no such thing
5  the server cannot be reached, or cannot serve now
6  the request was sent and no answer came: it may or may not have been carried out
"""

from __future__ import annotations

import errno

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_ALLOWED = 3
EXIT_NOT_FOUND = 4
EXIT_UNREACHABLE = 5
EXIT_UNKNOWN = 6
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143  # as a shell reports it: 128 and the signal's number


def is_ours(error: Exception) -> bool:
    """An operating error is an exception class that we defined; everything else that gets this far
    is a bug."""
    return type(error).__module__.startswith("laissez") and not isinstance(error, AssertionError)


# What a system says of a file that somebody named. That one is not there, or is there already, is
# for whoever looks for it to tell.
_OF_FILES = frozenset(
    {
        errno.EACCES,
        errno.EDQUOT,
        errno.EIO,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOSPC,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    }
)
_NAME_SHOWN_MAX = 200


def told(error: Exception) -> str | None:
    """What is said of an operating error: one of ours, or the system's of a file. None of a bug,
    which keeps its traceback."""
    if is_ours(error):
        return str(error)
    if isinstance(error, OSError) and error.errno in _OF_FILES and error.filename is not None:
        return f"{str(error.filename)[:_NAME_SHOWN_MAX]}: {error.strerror}"
    return None


def exit_code(error: Exception) -> int:
    """The code for an error of ours."""
    if not type(error).__module__.startswith("laissez.client"):
        return EXIT_USAGE  # and the client stays unloaded
    from laissez.client.errors import (
        ApiError,
        ConnectionFailed,
        Forbidden,
        NotFound,
        OutcomeUnknown,
        RateLimited,
        Unauthenticated,
        Unavailable,
        UnexpectedAnswer,
    )

    if isinstance(error, OutcomeUnknown):
        return EXIT_UNKNOWN
    if isinstance(error, ConnectionFailed | UnexpectedAnswer | Unavailable | RateLimited):
        return EXIT_UNREACHABLE
    if isinstance(error, Unauthenticated | Forbidden):
        return EXIT_NOT_ALLOWED
    if isinstance(error, NotFound):
        return EXIT_NOT_FOUND
    if isinstance(error, ApiError):
        return EXIT_FAILED if error.status < 500 else EXIT_UNREACHABLE
    return EXIT_USAGE
