"""The configuration of the command line's tests."""

from tests.cli.conftest import community

__all__ = ["community"]
