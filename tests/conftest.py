"""Fixtures that tests of every folder may use. Nothing starts until a test asks for it."""

from tests.matrix.fixtures import homeserver, people

__all__ = ["homeserver", "people"]
