"""What the operator's maps report: their readings and how hard they press on prices. Kept in memory
only: after a restart it fills with the next reports.

Bounded in every direction: runners, maps of each, points of each map and of all maps together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from operator import itemgetter
from typing import Final, TypeAlias

from msgspec.structs import asdict

from laissez.units import HOUR_US, SECOND_US, format_time, parse_time
from laissez.wire.inframaps import InfraMaps, InfraMapsReport, MapReport, MapShown, RunnerShown

RUNNERS_MAX: Final = 16
POINTS_PER_MAP_MAX: Final = 360  # an hour at the usual pace of ten seconds
POINTS_MAX: Final = 100_000  # of all maps: an answer with all of them is some megabytes
LATE_AFTER_TURNS: Final = 3
SILENT_MAX_US: Final = HOUR_US

# when it was heard, the runner's time, value, pressure
Point: TypeAlias = tuple[int, int, float | None, float]


class Series:
    """The values and pressures of one map, oldest first, by the runner's clock, each with the time
    at which the service heard of it."""

    def __init__(self) -> None:
        self._points: list[Point] = []

    def add(self, heard: int, at: int, reported: MapReport, points_max: int) -> None:
        """The same time again is a report sent twice; an earlier one means that the runner's clock
        was set back, and begins anew."""
        last = self._points[-1][1] if self._points else at - 1
        if at == last:
            return
        value = reported.signals[0].value if reported.signals else None
        pressure = max((one.pressure for one in reported.pressures), default=0.0)
        self._points.append((heard, at, value, pressure))
        self.keep_latest(1 if at < last else points_max)

    def keep_latest(self, points: int) -> None:
        del self._points[:-points]

    def after(
        self, since: int | None, written: Callable[[int], str]
    ) -> Iterator[tuple[str, float | None, float]]:
        """What was heard after `since`."""
        first = 0 if since is None else bisect_right(self._points, since, key=itemgetter(0))
        for _, at, value, pressure in self._points[first:]:
            yield written(at), value, pressure


class Runner:
    """The last report of a runner, when the service heard it, and the series of its maps."""

    report: InfraMapsReport
    heard: int

    def __init__(self) -> None:
        self.series: dict[str, Series] = {}

    def take(self, report: InfraMapsReport, now: int, points_max: int) -> None:
        self.report = report
        self.heard = now
        at = parse_time(report.at)
        self.series = {each.name: self.series.get(each.name) or Series() for each in report.maps}
        for each in report.maps:
            self.series[each.name].add(now, at, each, points_max)

    def is_late(self, now: int) -> bool:
        return now - self.heard > self._late_after_us

    def is_gone(self, now: int) -> bool:
        return now - self.heard > max(SILENT_MAX_US, self._late_after_us)

    @property
    def _late_after_us(self) -> float:
        return LATE_AFTER_TURNS * self.report.pace_s * SECOND_US

    def shown(self, name: str, now: int, since: int | None) -> RunnerShown:
        report = self.report
        written = cache(format_time)  # its maps were read at the same times, thousands of them
        maps = tuple(
            [
                MapShown(
                    **asdict(each), history=tuple(self.series[each.name].after(since, written))
                )
                for each in report.maps
            ]
        )
        return RunnerShown(
            name, report.at, report.pace_s, self.is_late(now), maps, report.floors, report.alarms
        )


class Board:
    """The runners that were heard of lately."""

    def __init__(self, points_max: int = POINTS_MAX) -> None:
        self._points_max = points_max
        self._runners: dict[str, Runner] = {}

    def take(self, name: str, report: InfraMapsReport, now: int) -> None:
        """A report, whose texts have been checked."""
        runner = self._runners.setdefault(name, Runner())
        others = [
            one
            for each in self._runners.values()
            if each is not runner
            for one in each.series.values()
        ]
        points_max = max(
            1, min(POINTS_PER_MAP_MAX, self._points_max // max(1, len(report.maps) + len(others)))
        )
        runner.take(report, now, points_max)
        for one in others:  # some of them may not report for long
            one.keep_latest(points_max)
        self._forget(now)

    def shown(self, now: int, since: int | None) -> InfraMaps:
        self._forget(now)
        return InfraMaps(
            format_time(now),
            tuple([self._runners[name].shown(name, now, since) for name in sorted(self._runners)]),
        )

    def _forget(self, now: int) -> None:
        """Those that have gone, and of too many the one that has been silent for longest."""
        self._runners = {
            name: runner for name, runner in self._runners.items() if not runner.is_gone(now)
        }
        while len(self._runners) > RUNNERS_MAX:
            del self._runners[min(self._runners, key=lambda name: self._runners[name].heard)]
