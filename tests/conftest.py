"""Fixtures that tests of every folder may use. Nothing starts until a test asks for it."""

import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.dictionaries import dictionaries
from tests.matrix.fixtures import homeserver, people, proxy

__all__ = ["dictionaries", "homeserver", "people", "proxy"]

# A busy machine is no failure: examples are bounded by number, tests by pytest's time limit.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def logging_as_it_came() -> Iterator[None]:
    """A test that ran the command line has set up logging for its own streams: the next one finds it as it came."""
    yield
    if (structlog := sys.modules.get("structlog")) is not None:
        structlog.reset_defaults()
