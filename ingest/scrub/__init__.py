"""The scrubber: text in, the same text without credentials out. Pure; see README.md."""

from ingest.scrub.model import Finding
from ingest.scrub.scrubber import SCRUB_VERSION, contains_secret, explain, scrub, scrub_all

__all__ = ["SCRUB_VERSION", "Finding", "contains_secret", "explain", "scrub", "scrub_all"]
