"""From `sources.toml` to `Config`, once, with every problem named at one time.

A problem is one line: file, key, what is wrong, what to write instead. Tables of an array are counted from 1, as in
`repo[2].url`.
"""

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from index.errors import ConfigError
from sources.config.decode import Decoder
from sources.config.model import Config
from sources.config.rules import contradictions

PLACES: Final = (Path("sources.toml"), Path("/etc/sources/sources.toml"))
_MAX_BYTES: Final = 1 << 20


def find(given: Path | None, environment: Mapping[str, str] = os.environ, places: Sequence[Path] = PLACES) -> Path:
    """The file to read: the one given, else `$SOURCES_CONFIG`, else the first of `places` that is there."""
    if given is not None:
        return given
    if named := environment.get("SOURCES_CONFIG"):
        return Path(named)
    for place in places:
        if place.exists():
            return place
    tried = " nor ".join(str(place) for place in places)
    raise ConfigError(
        f"no configuration: neither {tried} is there (copy sources.example.toml to one of them, or name a file "
        "with --config)"
    )


def load(path: Path) -> Config:
    """Read and check one file; ConfigError has a line for each problem found."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror} (check the path and its permissions)") from error
    if len(data) > _MAX_BYTES:
        raise ConfigError(f"{path}: is larger than 1 MiB (is it the right file?)")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}: line {line}: is not UTF-8 (save the file as UTF-8)") from error
    return parse(text, name=str(path), base=path.resolve().parent)


def parse(text: str, *, name: str, base: Path) -> Config:
    """Pure. `name` is what messages call the file, `base` the folder that relative paths start at."""
    try:
        raw = tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: is not TOML: {_plain(str(error))} (mend that line)") from error
    except (RecursionError, ValueError, OverflowError) as error:
        raise ConfigError(f"{name}: is not TOML: nested too deeply or a value out of range (mend it)") from error
    decoder = Decoder(base, contradictions)
    config = decoder.table(Config, raw)
    if decoder.problems or config is None:
        lines = [f"{name}: {one.key}: {one.problem} ({one.remedy})" for one in decoder.problems]
        raise ConfigError("\n".join(lines))
    return config


def _plain(message: str) -> str:
    """tomllib's message on one line, without control characters that stood in the file."""
    return "".join(c if c.isprintable() else "?" for c in message)[:200]
