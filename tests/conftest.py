"""Fixtures that tests of every folder may use. Nothing starts until a test asks for it."""

from hypothesis import HealthCheck, settings

from tests.matrix.fixtures import homeserver, people, proxy

__all__ = ["homeserver", "people", "proxy"]

# A busy machine is no failure: examples are bounded by number, tests by pytest's time limit.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
