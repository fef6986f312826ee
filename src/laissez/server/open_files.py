"""How many connections there may be: no more than the system lets this process have files open.
Past that it could not even write a snapshot."""

from __future__ import annotations

import resource

# for the journal, snapshots, previews, logs, and the connection that is told that there are too
# many
KEPT_FREE = 100


def connections_possible(wanted: int) -> int:
    """Of the connections that are wanted; asks the system for as many open files as they need."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + KEPT_FREE
    if allowed != resource.RLIM_INFINITY and allowed < needed:
        allowed = needed if most == resource.RLIM_INFINITY else min(needed, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    return wanted if allowed == resource.RLIM_INFINITY else max(1, min(wanted, allowed - KEPT_FREE))
