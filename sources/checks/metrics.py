"""Probe of the metrics file: its folder is there and can be written to, and the library is installed."""

import os
from collections.abc import Sequence

from index.errors import ConfigError
from sources.checks.base import Finding, Verdict, failure
from sources.config.model import Config
from sources.credentials import Credentials
from sources.metrics.textfile import ensure_library

_NAME = "metrics"


async def probe(config: Config, _credentials: Credentials) -> Sequence[Finding]:
    file = config.metrics.textfile
    if file is None:
        return []
    try:
        ensure_library()
    except ConfigError as error:
        return [failure(_NAME, error)]
    if not file.parent.is_dir():
        return [Finding(_NAME, Verdict.FAIL, f"{file.parent} is not there", "make it; node_exporter must read it too")]
    if not os.access(file.parent, os.W_OK | os.X_OK):
        detail = f"{file.parent} is not writable for this user"
        return [Finding(_NAME, Verdict.WARN, detail, "run as the service's user, or see docs/monitoring.md")]
    return [Finding(_NAME, Verdict.OK, str(file))]
