"""The last line of defence for what leaves the program as a message: known credentials become markers.

The scrubber is loaded at the first call, since the way to a quick answer never needs it.
"""


def redact(text: str) -> str:
    """`text` with everything the scrubber knows as a credential replaced."""
    from ingest.scrub import scrub

    return scrub(text)
