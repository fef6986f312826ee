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

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_ALLOWED = 3
EXIT_NOT_FOUND = 4
EXIT_UNREACHABLE = 5
EXIT_UNKNOWN = 6
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143  # as a shell reports it: 128 and the signal's number


def is_ours(error: Exception) -> bool:
    """An operating error is an exception class that we defined; everything else that gets this far is a bug."""
    return type(error).__module__.partition(".")[0] == "laissez" and not isinstance(error, AssertionError)


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
