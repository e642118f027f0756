"""What a probe is and what it finds."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from ipaddress import ip_address
from typing import Final, Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from index.errors import SourcesError
from sources.config.model import Config
from sources.credentials import Credentials
from sources.remedies import parted

_NEAR: Final = (".localhost", ".local", ".internal", ".home.arpa", ".lan")
"""Ends of names that lead nowhere in the internet."""


class Verdict(StrEnum):
    OK = "ok"
    WARN = "warn"  # works, with something to know or to do
    FAIL = "fail"


class Finding(Struct, frozen=True):
    """One row of the table. `detail` says what was found, `remedy` what to do; never a credential."""

    name: str
    verdict: Verdict
    detail: str
    remedy: str = ""


class Probe(Protocol):
    """Tries one subsystem and reports all of it. Waits for nothing without a bound; writes nothing.

    A fault of the thing probed is a `Finding`, not an error; a `SourcesError` that escapes becomes a row too.
    """

    async def __call__(self, config: Config, credentials: Credentials, /) -> Sequence[Finding]: ...


def failure(name: str, error: SourcesError) -> Finding:
    """The row of an error, whose message ends in its remedy, in brackets."""
    detail, remedy = parted(str(error))
    if detail.startswith(name):  # the row says it already
        detail = detail.partition(": ")[2] or detail
    return Finding(name, Verdict.FAIL, detail, remedy)


def in_the_clear(name: str, url: str) -> Iterator[Finding]:
    """A warning where everybody on the way could read the token: http to what looks like a host of the internet."""
    parts = urlsplit(url)
    if parts.scheme == "http" and _is_far(parts.hostname or ""):
        detail = f"{parts.hostname} is asked over http, so that the token can be read on the way"
        yield Finding(f"{name} http", Verdict.WARN, detail, "write https")


def _is_far(host: str) -> bool:
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(_NEAR)
