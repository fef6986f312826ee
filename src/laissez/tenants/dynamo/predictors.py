"""Predict the load of the next interval from the ones before it: the request rate, the input and
the output length have one predictor each.

The service is idle before its first request, and that says nothing about later: leading zeros are
skipped. A mean over no requests is no number and counts as 0. Dynamo's default, ARIMA, is left out
because it needs `pmdarima`; its newer Kalman filter follows a trend without it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

Q_LEVEL: Final = 1.0
Q_TREND: Final = 0.1
R: Final = 10.0
POINTS_MIN: Final = 5
DOUBT: Final = 1000.0  # variance of the first level and trend: nothing is known of them


class Predictor(Protocol):
    """Gets one value per interval and predicts the next."""

    def add(self, value: float) -> None: ...

    def next(self) -> float: ...


class Constant:
    """The next interval is like the last."""

    def __init__(self) -> None:
        self.points = 0
        self.last = 0.0

    def add(self, value: float) -> None:
        known = max(0.0, value) if value == value else 0.0  # noqa: PLR0124  not a number
        if known or self.points:
            self.points += 1
            self.last = known
            self.learn(known)

    def learn(self, value: float) -> None:
        """Nothing but the last value is kept."""

    def next(self) -> float:
        return self.last


class Kalman(Constant):
    """A local linear trend; before five points the last value."""

    def __init__(self, q_level: float = Q_LEVEL, q_trend: float = Q_TREND, r: float = R) -> None:
        super().__init__()
        self.q_level, self.q_trend, self.r = q_level, q_trend, r
        self.level = self.trend = 0.0
        self.var_level, self.covar, self.var_trend = DOUBT, 0.0, DOUBT

    def learn(self, value: float) -> None:
        if self.points == 1:
            self.level = value
            return
        expected = self.level + self.trend
        var_level = self.var_level + 2 * self.covar + self.var_trend + self.q_level
        covar = self.covar + self.var_trend
        var_trend = self.var_trend + self.q_trend
        gain_level, gain_trend = var_level / (var_level + self.r), covar / (var_level + self.r)
        surprise = value - expected
        self.level, self.trend = (
            expected + gain_level * surprise,
            self.trend + gain_trend * surprise,
        )
        self.var_level, self.covar, self.var_trend = (
            (1 - gain_level) * var_level,
            (1 - gain_level) * covar,
            var_trend - gain_trend * covar,
        )

    def next(self) -> float:
        if self.points < POINTS_MIN:
            return self.last
        return max(0.0, self.level + self.trend)


class Steady:
    """Up at once, down slowly: the highest of the last few values and predictions.

    An engine that is given up costs a cold start when the next burst comes. Kubernetes' autoscaler
    waits as well, by default five minutes.
    """

    def __init__(self, intervals: int, inner: Callable[[], Predictor] = Kalman) -> None:
        self._inner = inner()
        self._last: deque[float] = deque(maxlen=max(1, intervals))

    def add(self, value: float) -> None:
        self._inner.add(value)
        self._last.append(max(value if value == value else 0.0, self._inner.next()))  # noqa: PLR0124

    def next(self) -> float:
        return max(self._last, default=0.0)
