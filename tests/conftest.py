"""Fixtures that tests of every folder may use. Nothing starts until a test asks for it."""

from tests.matrix.fixtures import homeserver, people, proxy

__all__ = ["homeserver", "people", "proxy"]
