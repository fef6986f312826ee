"""For every test: no secret may leak into a log, a problem, a metric or the standard error of a
process, and no price into a service's log.

Hypothesis has no deadlines, so no test fails because the machine is busy.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

import hypothesis
import pytest

import laissez
from support.secrecy import WATCH


def pytest_configure() -> None:
    """Begin before test modules are imported, because they import functions by name."""
    WATCH.begin()
    hypothesis.settings.register_profile("laissez", deadline=None)
    hypothesis.settings.load_profile("laissez")


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    WATCH.begin_with_the_service()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Check the output of processes that share the test's standard error."""
    report = yield
    if call.when == "call":
        WATCH.look(report.capstderr, "standard error of a test")
    return report


@pytest.fixture(autouse=True, scope="session")
def no_secret_in_files() -> Iterator[None]:
    yield
    WATCH.look_into_files()
    assert [] == WATCH.new_findings()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("sources") and laissez.market_form() == "compiled":
        pytest.skip("replaces functions of the sources: set LAISSEZ_MARKET=interpreted")


@pytest.fixture(autouse=True)
def no_secret_in_logs() -> Iterator[None]:
    yield
    assert [] == WATCH.new_findings()
