"""Front matter: the fields above a page that become its payload.

Pure. Front matter stands at the very beginning between lines of `---` (YAML) or `+++` (TOML), and only when it parses
to a mapping; a page may well begin with a thematic break. Every scalar is read as the text that stands there, so that
`level: 010` stays `010`. A field of the wrong type is left out and named in a fault; unknown fields are ignored.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Final

import yaml

from index.model import Payload

_MAX_BYTES: Final = 64 * 1024
_MAX_VALUE: Final = 300  # code points of one value
_MAX_VALUES: Final = 100
_TEXTS: Final = ("level", "confidence", "period")
_LISTS: Final = ("tags", "area", "tech")
_YES: Final = frozenset({"true", "yes", "on"})
_NO: Final = frozenset({"false", "no", "off"})
_YAML: Final = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML: Final = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LOOKS_LIKE_FIELD: Final = re.compile(r"\s*[\w\"'-]+\s*[:=]")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`lines` is how many lines of the file it takes, fences included: 0 when there is none."""

    lines: int = 0
    title: str | None = None
    payload: Payload = field(default_factory=dict)
    faults: tuple[str, ...] = ()  # "tags: expected a list of words, found a mapping"


def front_matter(text: str, scrub: Callable[[str], str]) -> FrontMatter:
    """Read the front matter of a page whose lines end in line feeds. Values are scrubbed."""
    try:
        raw, lines = _parsed(text)
    except FrontMatterError as error:
        return FrontMatter(faults=(f"front matter: {error}; read as text",))
    return _validated(raw, lines, scrub) if lines else FrontMatter()


def raw_fields(text: str) -> Mapping[str, tuple[str, ...]]:
    """Every field of a page with the texts of its values, not scrubbed; of a list each, of an empty field none.

    Raises `FrontMatterError` for what was meant as front matter and cannot be read.
    """
    return {str(name): _texts(str(name), value) for name, value in _parsed(text)[0].items()}


class FrontMatterError(ValueError):
    """What is wrong, without the text around it."""


def _parsed(text: str) -> tuple[Mapping[object, object], int]:
    """The fields and how many lines they take; no fields and no lines when there is no front matter."""
    matter = _YAML.match(text[: _MAX_BYTES + 1]) or _TOML.match(text[: _MAX_BYTES + 1])
    if matter is None:
        return {}, 0
    body = matter.group(1)
    try:
        raw = tomllib.loads(body) if text.startswith("+") else _load_yaml(body)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if not _LOOKS_LIKE_FIELD.match(body):
            return {}, 0
        raise FrontMatterError(_problem(error)) from error
    if not isinstance(raw, Mapping):
        return {}, 0
    return raw, matter.group(0).count("\n") + (not matter.group(0).endswith("\n"))


def _texts(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) and name in _LISTS:
        value = value.split(",")
    items = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    found = []
    for item in items[:_MAX_VALUES]:
        try:
            text = _text(item)
        except ValueError:
            text = str(item) if isinstance(item, str) else _name_of(item)
        found.append(text.removeprefix("#") if name in _LISTS else text)
    return tuple(text for text in found if text)


class _PlainLoader(yaml.BaseLoader):
    """Scalars stay text, tags build nothing, and an alias, which can blow a line up to gigabytes, is refused."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def _load_yaml(body: str) -> object:
    return yaml.load(body, Loader=_PlainLoader)


def _problem(error: Exception) -> str:
    """What is wrong, without the text around it, which may hold anything."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"not valid YAML in line {error.problem_mark.line + 2}"
    if isinstance(error, RecursionError):
        return "nested too deep"
    return "not valid TOML" if isinstance(error, tomllib.TOMLDecodeError) else "not valid YAML"


def _validated(raw: Mapping[object, object], lines: int, scrub: Callable[[str], str]) -> FrontMatter:
    payload: dict[str, str | tuple[str, ...]] = {}
    faults: list[str] = []
    title: str | None = None
    readers: dict[str, Callable[[object], str | tuple[str, ...]]] = {
        "title": _text,
        **dict.fromkeys(_TEXTS, _text),
        **dict.fromkeys(_LISTS, _list),
        "last_verified": _day,
        "public": _claim,
    }
    for name, read in readers.items():
        if name not in raw:
            continue
        try:
            value = read(raw[name])
        except ValueError as error:
            faults.append(f"{name}: {error}")
            continue
        value = scrub(value).strip() if isinstance(value, str) else tuple(scrub(item).strip() for item in value)
        if name == "title":
            title = str(value) or None
        elif value:
            payload[name] = value
    return FrontMatter(lines, title, payload, tuple(faults))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if value is None or (isinstance(value, str) and value in {"null", "~"}):
        return ""
    if isinstance(value, str | int | float):
        text = " ".join(str(value).split())
        if len(text) > _MAX_VALUE:
            raise ValueError(f"longer than {_MAX_VALUE} characters")
        return text
    raise ValueError(f"expected a text, found {_name_of(value)}")


def _list(value: object) -> tuple[str, ...]:
    """A list of words, or words parted by commas. Doubles are left out, the order stays."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, Sequence):
        value = [value]
    if len(value) > _MAX_VALUES:
        raise ValueError(f"more than {_MAX_VALUES} values")
    try:
        words = [_text(item).removeprefix("#") for item in value]
    except ValueError as error:
        raise ValueError(f"expected a list of words: {error}") from None
    return tuple(dict.fromkeys(word for word in words if word))


def _day(value: object) -> str:
    text = _text(value)
    try:
        return datetime.fromisoformat(text).date().isoformat() if text else ""
    except ValueError:
        raise ValueError("expected a date such as 2026-11-29") from None


def _claim(value: object) -> str:
    text = _text(value).casefold()
    if text in _YES:
        return "true"
    if text in _NO:
        return "false"
    if not text:
        return ""
    raise ValueError("expected true or false")


def _name_of(value: object) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, Sequence) else type(value).__name__
