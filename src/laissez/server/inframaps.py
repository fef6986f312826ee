"""Reports of the operator's InfraMaps: their readings and the pressure that they add to prices.

They are kept in memory only; after a restart the next reports replace them. Runners, maps per
runner, and points per map and in total are bounded.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from operator import itemgetter
from typing import Final, NamedTuple

from msgspec.structs import asdict

from laissez.units import HOUR_US, SECOND_US, format_time, parse_time
from laissez.wire.inframaps import InfraMaps, InfraMapsReport, MapShown, RunnerShown

RUNNERS_MAX: Final = 16
POINTS_PER_MAP_MAX: Final = 360  # an hour at the usual pace of ten seconds
POINTS_MAX: Final = 100_000  # of all maps together: some megabytes in one answer
LATE_AFTER_TURNS: Final = 3
SILENT_MAX_US: Final = HOUR_US


class Point(NamedTuple):
    heard: int  # by the service's clock
    at: int  # by the runner's clock
    value: float | None
    pressure: float


class Runner:
    """The last report of a runner, when the service heard it, and the points of its maps, oldest
    first."""

    def __init__(self, report: InfraMapsReport, now: int, before: Runner | None) -> None:
        self.report = report
        self.heard = now
        at = parse_time(report.at)
        self.points: dict[str, list[Point]] = {}
        for each in report.maps:
            points = before.points.get(each.name, []) if before is not None else []
            if points and at < points[-1].at:  # the runner's clock was set back
                points = []
            if not points or at > points[-1].at:  # else the report was sent twice
                value = each.signals[0].value if each.signals else None
                pressure = max((one.pressure for one in each.pressures), default=0.0)
                points.append(Point(now, at, value, pressure))
            self.points[each.name] = points

    def is_late(self, now: int) -> bool:
        return now - self.heard > self._late_after_us

    def is_gone(self, now: int) -> bool:
        return now - self.heard > max(SILENT_MAX_US, self._late_after_us)

    @property
    def _late_after_us(self) -> float:
        return LATE_AFTER_TURNS * self.report.pace_s * SECOND_US

    def shown(self, name: str, now: int, since: int | None) -> RunnerShown:
        """The runner with the points that were heard after `since`."""
        report = self.report
        written = cache(format_time)  # thousands of its points have the same times
        maps = []
        for each in report.maps:
            points = self.points[each.name]
            first = 0 if since is None else bisect_right(points, since, key=itemgetter(0))
            history = [(written(one.at), one.value, one.pressure) for one in points[first:]]
            maps.append(MapShown(**asdict(each), history=tuple(history)))
        late = self.is_late(now)
        return RunnerShown(
            name, report.at, report.pace_s, late, tuple(maps), report.floors, report.alarms
        )


class Board:
    """The runners that have reported lately."""

    def __init__(self, points_max: int = POINTS_MAX) -> None:
        self._points_max = points_max
        self._runners: dict[str, Runner] = {}

    def take(self, name: str, report: InfraMapsReport, now: int) -> None:
        """Store a checked report."""
        self._runners[name] = Runner(report, now, self._runners.get(name))
        maps = [points for runner in self._runners.values() for points in runner.points.values()]
        points_max = min(POINTS_PER_MAP_MAX, self._points_max // max(1, len(maps)))
        for points in maps:  # of all runners: some may not report for long
            del points[: -max(1, points_max)]
        self._forget(now)

    def shown(self, now: int, since: int | None) -> InfraMaps:
        self._forget(now)
        runners = sorted(self._runners.items())
        return InfraMaps(
            format_time(now), tuple([runner.shown(name, now, since) for name, runner in runners])
        )

    def _forget(self, now: int) -> None:
        """Forget runners that are gone, and above the bound the longest silent ones."""
        self._runners = {
            name: runner for name, runner in self._runners.items() if not runner.is_gone(now)
        }
        while len(self._runners) > RUNNERS_MAX:
            del self._runners[min(self._runners, key=lambda name: self._runners[name].heard)]
