"""The delays between attempts to send a request or to reconnect."""

from __future__ import annotations

import pytest

from laissez.client import ConnectionFailed, Forbidden, RateLimited
from laissez.client.retries import DELAY_MAX_S, Reconnection, backoff_s

pytestmark = pytest.mark.once


def test_backoff_is_exponential_with_jitter_and_honours_retry_after() -> None:
    lost = ConnectionFailed("lost")
    assert all(0.05 <= backoff_s(0, lost) <= 0.1 for _ in range(50))
    assert all(0.4 <= backoff_s(3, lost) <= 0.8 for _ in range(50))
    assert backoff_s(1000, lost) <= DELAY_MAX_S
    assert backoff_s(0, RateLimited("rate_limited", "why", 429, retry_after=7)) >= 7


def test_reconnection_gives_up_after_its_timeout_and_success_restarts_it() -> None:
    reconnection, error = Reconnection(10.0), ConnectionFailed("lost")
    assert 0 < reconnection.delay(100.0, error) <= 5
    with pytest.raises(ConnectionFailed):
        reconnection.delay(110.0, error)
    reconnection.succeeded()
    assert 0 < reconnection.delay(110.0, error) <= 5
    with pytest.raises(Forbidden):
        reconnection.delay(110.0, Forbidden("forbidden", "why", 403))
