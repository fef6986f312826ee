"""What it costs the server to be looked at: consoles that follow every leaf while every price
moves, and previews of a change."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import httpx
import msgspec

from laissez.client import Client
from laissez.wire.requests import SetFloor
from laissez_bench import cluster
from laissez_bench.cores import cpu_seconds
from laissez_bench.service import LEAVES, TENANTS, running, world

FOLLOWERS = (0, 1, 8)
MOVES_PER_SECOND = 5  # as often as levels are told
FLOORS = ("2.00", "2.50")  # of the root, so that the rate of nearly every leaf moves with it
PREVIEWED = "6.00"  # above most limits
PREVIEWS = 5


class Row(msgspec.Struct):
    """`cpu_share` is of one core; `longest_ms` the longest that a change of the floor took to be
    answered."""

    followers: int
    cpu_share: float
    messages_per_second: float  # to each follower
    megabytes_per_second: float  # the same
    longest_ms: float
    leaves: int


class Looked(msgspec.Struct):
    rows: list[Row]
    preview_ms: float  # the median
    preview_ends: int  # leases that would end


def measure(
    seconds: float, step: Callable[[str], None], leaves: int = LEAVES, tenants: int = TENANTS
) -> Looked:
    step("making the market")
    with world(leaves, tenants) as made, running(made.base / "made") as at:
        url = f"http://{at.host}:{at.port}"
        key = (made.base / "made" / cluster.OPERATOR_KEY).read_text().strip()
        with Client(url, key) as operator:
            rows = []
            for followers in FOLLOWERS:
                step(f"{followers} followers")
                rows.append(
                    _looked_at(operator, Followers(followers, url, key), at.pid, seconds, leaves)
                )
            step("previews")
            return Looked(rows, *_previewed(operator))


def _looked_at(
    operator: Client, followers: Followers, pid: int, seconds: float, leaves: int
) -> Row:
    with followers:
        # the whole has been sent to everybody before anything is counted
        _move(operator, 1.0 / MOVES_PER_SECOND)
        cpu, began, messages, size = (
            cpu_seconds(pid),
            time.monotonic(),
            followers.messages,
            followers.bytes,
        )
        longest = _move(operator, seconds)
        followers.wait_for_more_than(messages)
        passed = time.monotonic() - began
        each = max(1, followers.count) * passed
        return Row(
            followers.count,
            round((cpu_seconds(pid) - cpu) / passed, 3),
            round((followers.messages - messages) / each, 2),
            round((followers.bytes - size) / each / 1e6, 6),
            round(longest * 1000, 1),
            leaves,
        )


def _move(operator: Client, seconds: float) -> float:
    """Move every price, evenly spread over so many seconds; the longest that one change took."""
    longest = 0.0
    began = time.monotonic()
    for turn in range(max(1, round(seconds * MOVES_PER_SECOND))):
        time.sleep(max(0.0, began + turn / MOVES_PER_SECOND - time.monotonic()))
        asked = time.monotonic()
        operator.set_floor("h100", FLOORS[turn % 2])
        longest = max(longest, time.monotonic() - asked)
    return longest


def _previewed(operator: Client) -> tuple[float, int]:
    took: list[float] = []
    for _ in range(PREVIEWS):
        asked = time.monotonic()
        done = operator.preview([SetFloor(node="h100", price=PREVIEWED)])
        took.append(time.monotonic() - asked)
    return round(sorted(took)[PREVIEWS // 2] * 1000, 1), done.leases_ended


class Followers:
    """So many streams of levels, each read in a thread of its own; entered once all of them have
    been sent the whole."""

    def __init__(self, count: int, url: str, key: str) -> None:
        self.count = count
        self.messages = 0
        self.bytes = 0
        self._url = url
        self._headers = {"Authorization": f"Bearer {key}", "Accept": "text/event-stream"}
        self._begun = threading.Barrier(count + 1)
        self._counting = threading.Condition()
        self._over = False

    def __enter__(self) -> None:
        for _ in range(self.count):
            threading.Thread(target=self._follow, daemon=True).start()
        self._begun.wait(timeout=60)

    def __exit__(self, *_: object) -> None:
        # each leaves with the next message that it is sent, if only the server's last
        self._over = True

    def wait_for_more_than(self, messages: int) -> None:
        """A slow machine may send the last change late; the clock runs until it has arrived."""
        if self.count:
            with self._counting:
                self._counting.wait_for(lambda: self.messages > messages, timeout=60)

    def _follow(self) -> None:
        waiting = True
        with httpx.stream(
            "GET", f"{self._url}/v1/levels", headers=self._headers, timeout=30
        ) as stream:
            for piece in stream.iter_bytes():
                with self._counting:
                    self.bytes += len(piece)
                    self.messages += piece.count(b"event: ")
                    self._counting.notify_all()
                if waiting:
                    self._begun.wait(timeout=60)
                    waiting = False
                if self._over:
                    return
