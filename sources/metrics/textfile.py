"""The file that node_exporter's textfile collector reads: read back, written whole or not at all.

`prometheus_client` writes and reads the format, so that label values are escaped by whoever defined how.
"""

import fcntl
import math
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from index.errors import ConfigError, SourcesError
from sources.metrics.families import BY_NAME, FAMILIES, Type
from sources.metrics.samples import Samples

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_MODE: Final = 0o644
"""For the collector, which is another user; a unit's UMask= would keep it out."""
_MAX_BYTES: Final = 8 << 20


class MetricsError(SourcesError):
    """The metrics could not be written."""


def update(path: Path, change: Callable[[Samples], Samples]) -> None:
    """Replace the file by what `change` makes of it, in one step for whoever reads it. Raises `MetricsError`.

    Two runs that end at once wait for each other, so no count is lost. A run that is killed leaves the former file,
    and at most one `.new` beside it, which the next run overwrites.
    """
    try:
        with (path.parent / f".{path.name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _replace(path, render(change(read(path))))
    except OSError as error:
        remedy = "check [metrics] textfile, and that this user may write to its folder"
        raise MetricsError(f"{path}: metrics could not be written: {error.strerror} ({remedy})") from error


def _replace(path: Path, page: bytes) -> None:
    new = path.with_name(f".{path.name}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, _MODE)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, _MODE)
        file.write(page)
        file.flush()
        os.fsync(descriptor)
    new.replace(path)


def read(path: Path) -> Samples:
    """What the last run left. Nothing where there is no file, or where it cannot be understood: it is made anew."""
    parser = _prometheus_parser()
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode()
        families = list(parser(text))
    except (OSError, ValueError, IndexError, KeyError, TypeError):
        return {}
    found = {}
    for sample in (sample for family in families for sample in family.samples):
        known = BY_NAME.get(sample.name)
        if known is not None and set(sample.labels) == set(known.labels) and math.isfinite(sample.value):
            found[sample.name, tuple(sample.labels[label] for label in known.labels)] = float(sample.value)
    return found


def render(samples: Samples) -> bytes:
    """Families in the order of their table, each with its help and type."""
    from prometheus_client.exposition import generate_latest

    return generate_latest(_Collector(samples))


class _Collector:
    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    def collect(self) -> "Iterator[Metric]":
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        rows = sorted(self._samples.items())
        for family in FAMILIES:
            kind = CounterMetricFamily if family.type is Type.COUNTER else GaugeMetricFamily
            metric = kind(family.name, family.help, labels=family.labels)
            for (name, labels), value in rows:
                if name == family.name:
                    metric.add_metric(list(labels), value)
            if metric.samples:
                yield metric


def ensure_library() -> None:
    """Raises ConfigError where `prometheus_client` is not installed."""
    _prometheus_parser()


def _prometheus_parser() -> "Callable[[str], Iterable[Metric]]":
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError as error:
        raise ConfigError(
            "metrics.textfile: package prometheus-client is not installed (install the extra metrics: docs/install.md)"
        ) from error
    return text_string_to_metric_families
