"""The community of tests/cli, for the tools."""

from tests.cli.conftest import community, indexed

__all__ = ["community", "indexed"]
