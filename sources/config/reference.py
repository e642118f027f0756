"""docs/configuration.md, made from the model: `python -m sources.config.reference > docs/configuration.md`. Pure.

A test compares the page with what this gives, so no setting can be undocumented.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sources.config.decode import Setting, expected, settings
from sources.config.forms import DURATION, SIZE, Each
from sources.config.model import Config
from sources.config.units import format_duration, format_size

_OPENING: Final = """\
# Configuration

<!-- Made from the code: python -m sources.config.reference > docs/configuration.md -->

One file, `sources.toml`: the one given with `--config`, else `$SOURCES_CONFIG`, else `./sources.toml`, else
`/etc/sources/sources.toml`. `sources.example.toml` shows every setting. `sources check` reads the file and tries
everything it names.

- An unknown key, a wrong type or a contradiction is an error that names file, key, problem and remedy; all of them are
  told at once. Tables of an array are counted from 1: `repo[2].url` is the `url` of the second `[[repo]]`.
- Durations and sizes are texts with a unit: `"30s"`, `"10m"`, `"24h"`, `"7d"`; `"500 B"`, `"2 kB"` (2,000 bytes),
  `"4 MiB"` (4,194,304 bytes). A number without a unit is refused.
- `~` at the start of a path is your home folder; a relative path starts at the folder of the file. Variables are not
  expanded.
- A name is up to 64 letters, digits, dots, dashes and underscores.
- Globs are those of .gitignore: `*.md` matches anywhere, `docs/*.md` from the root, `**` any number of folders.
- Secrets never stand here: see `credentials.example`.
"""


def page() -> str:
    return "\n".join((_OPENING, *_tables(Config, "", is_array=False)))


def _tables(table: type, at: str, *, is_array: bool) -> Iterator[str]:
    first, _, rest = (table.__doc__ or "").partition("\n")
    heading = f"[[{at}]]" if is_array else f"[{at}]"
    about = first.partition(": ")[2]
    yield f"## `{heading}`\n" if at else "## Top level\n"
    yield f"{about[:1].upper()}{about[1:]}\n"
    if rest.strip():
        yield "\n".join(line.strip() for line in rest.strip().splitlines()) + "\n"
    plain = [setting for setting in settings(table) if setting.table is None]
    if plain:
        yield "| Key | Value | Default | Meaning |\n| --- | --- | --- | --- |"
        for setting in plain:
            cells = (f"`{setting.key}`", kind(setting), _default(setting), setting.explanation)
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        yield ""
    for setting in settings(table):
        if setting.table is not None:
            yield from _tables(setting.table, f"{at}.{setting.key}".lstrip("."), is_array=setting.is_array)


def kind(setting: Setting) -> str:
    """What may stand there, in words."""
    if isinstance(setting.form, Each):
        return f"a list, each {setting.form.form.expected}"
    return setting.form.expected if setting.form else expected(setting.type)


def written(setting: Setting, value: object) -> str:
    """A value as TOML."""
    if setting.form is DURATION and isinstance(value, int):
        return f'"{format_duration(value)}"'
    if setting.form is SIZE and isinstance(value, int):
        return f'"{format_size(value)}"'
    return _toml(value)


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str() | Path():
            return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
        case tuple():
            return f"[{', '.join(_toml(one) for one in value)}]"
        case dict():
            return "{}" if not value else "{ " + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value.items()) + " }"
        case _:
            return str(value)


def _default(setting: Setting) -> str:
    if setting.is_required:
        return "needed"
    return "" if setting.default is None else f"`{written(setting, setting.default)}`"


if __name__ == "__main__":
    sys.stdout.write(page())
