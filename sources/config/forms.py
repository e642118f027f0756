"""The forms a value of the configuration can have: durations, sizes, URLs, globs, Matrix ids, names.

Pure. A form reads what stood in the file and returns what the program uses, or raises `FormError`, which knows the
problem and the remedy but not the place. Forms stand in the annotations of `sources.config.model`. Patterns are
compiled when a value is held against them, since no file has all forms.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from sources.config.units import parse_duration, parse_size


class FormError(ValueError):
    """What is wrong with one value, and what to write instead."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy


class Form(Struct, frozen=True):
    """`read` gets the raw value and the folder of the configuration file, to which relative paths belong."""

    expected: str  # completes "expected ..."; shown in the reference as the kind of value
    read: Callable[[object, Path], object]


class Each(Struct, frozen=True):
    """A list whose elements all have one form."""

    form: Form


def shown(raw: object) -> str:
    """A value for an error message: short and on one line. Whoever prints the message scrubs it."""
    if isinstance(raw, dict):
        return "a table"
    if isinstance(raw, list):
        return "a list"
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, int) and abs(raw) > 10**18:
        return "a huge number"  # Python refuses to print the largest
    text = repr(raw) if isinstance(raw, str) else str(raw)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _text(raw: object, expected: str) -> str:
    if not isinstance(raw, str):
        raise FormError(f"expected {expected}, found {shown(raw)}", "write it in quotes")
    if any(ord(c) < 32 or 127 <= ord(c) < 160 for c in raw):
        raise FormError("holds a control character", "remove it")
    if raw != raw.strip() or not raw:
        raise FormError("is empty or has blanks around it", "write the value alone")
    return raw


def _duration(raw: object, _base: Path) -> int:
    like = 'write it like "30s", "10m", "24h" or "7d"'
    return _with_unit(raw, "a duration", parse_duration, units=("s", "m", "h", "d"), like=like)


def _size(raw: object, _base: Path) -> int:
    like = 'write it like "500 B", "2 kB" or "4 MiB"'
    return _with_unit(raw, "a size", parse_size, units=(" B", " kB", " MiB"), like=like)


def _with_unit(raw: object, what: str, read: Callable[[str], int], *, units: Sequence[str], like: str) -> int:
    """`read` raises ValueError; `like` says how it is written."""
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        *others, last = [f'"{shown(raw)}{unit}"' for unit in units]
        raise FormError(f"the number {shown(raw)} has no unit", f"write it as {', '.join(others)} or {last}")
    text = _text(raw, what)
    try:
        return read(text)
    except ValueError as fault:
        raise FormError(f"{fault}, found {shown(text)}", like) from None


def _path(raw: object, base: Path) -> Path:
    text = _text(raw, "a path")
    if "$" in text:
        raise FormError("variables are not expanded in paths", "write the path out; only a leading ~ is expanded")
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        raise FormError("the home folder of ~ is not known", "write the path out") from None
    return base / path


_SCHEMES: Final = ("https", "http", "ssh", "git", "file")
_SCP: Final = r"(?:[A-Za-z0-9_.-]+@)?[A-Za-z0-9.-]{2,}:[^/\\].*|(?:[A-Za-z0-9_.-]+@)[A-Za-z0-9.-]+:.*"


def _git_url(raw: object, base: Path) -> str:
    text = _text(raw, "a URL that git can clone, or a path")
    if text.startswith("-"):
        raise FormError("starts with a dash, which git would take as an option", "write a URL or a path")
    if "::" in text:
        raise FormError(
            "names a git transport helper, which could run a command", "use https, ssh, git, file or a path"
        )
    if "://" in text:
        return _split(text, _SCHEMES, user_is_fine=text.lower().startswith(("ssh://", "git+ssh://")))
    if re.fullmatch(_SCP, text):
        return text
    return str(_path(text, base))


def _http_url(raw: object, _base: Path) -> str:
    text = _text(raw, "an http or https URL")
    if "://" not in text:
        raise FormError(f"{shown(text)} has no scheme", "write it like https://example.org")
    return _split(text, ("https", "http"), user_is_fine=False).rstrip("/")


def _split(text: str, schemes: tuple[str, ...], *, user_is_fine: bool) -> str:
    try:
        parts = urlsplit(text)
        host, _port = parts.hostname, parts.port
    except ValueError:
        raise FormError("is not a URL", "write it like https://example.org/path") from None
    if parts.scheme not in schemes:
        raise FormError(f"expected one of {', '.join(schemes)}, found {shown(parts.scheme)}", "change the scheme")
    if not host and parts.scheme != "file":
        raise FormError("names no host", "write it like https://example.org/path")
    if parts.password is not None or (parts.username is not None and not user_is_fine):
        raise FormError(
            "holds a user name or password",
            "remove it: secrets are read only from the credential directory, see credentials.example",
        )
    if any(c.isspace() for c in text):
        raise FormError("holds a blank", "write %20 for it")
    return text


_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"


def _name(raw: object, _base: Path) -> str:
    text = _text(raw, "a name")
    if not re.fullmatch(_NAME, text):
        raise FormError(f"{shown(text)} cannot be a name", "use up to 64 letters, digits, dots, dashes and underscores")
    return text


_OWNER: Final = r"[A-Za-z0-9_.][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.][A-Za-z0-9_.-]*)*"


def _owner(raw: object, _base: Path) -> str:
    text = _text(raw, "the name of an organisation or a user")
    if not re.fullmatch(_OWNER, text) or {".", ".."} & set(text.split("/")) or len(text) > 255:
        raise FormError(f"{shown(text)} cannot be an owner", "write the name as in its address, like community")
    return text


def _glob(raw: object, _base: Path) -> str:
    text = _text(raw, "a glob")
    if text.startswith("!"):
        raise FormError(f"{shown(text)} negates", "there is no !: what `exclude` lists wins over `include`")
    if text.startswith("~") or ".." in text.split("/") or "\\" in text:
        raise FormError(f"{shown(text)} leaves its source", "write it relative to the source, with / between folders")
    return text


def _folder(raw: object, _base: Path) -> str:
    text = _text(raw, "a path inside the root")
    if text.startswith(("/", "~")) or ".." in text.split("/") or "\\" in text:
        raise FormError(f"{shown(text)} leaves its root", "write it relative to the root, with / between folders")
    return text


_SERVER: Final = r"[A-Za-z0-9.\-]+(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?"
_ROOM_ID: Final = rf"(?a)![^\s:]{{1,250}}(?::(?:{_SERVER}))?"  # v12 ids have no server
_ALIAS: Final = rf"#[^\s:]{{1,250}}:(?:{_SERVER})"
_USER_ID: Final = rf"@[^\s:]{{1,250}}:(?:{_SERVER})"


def _room(raw: object, _base: Path) -> str:
    text = _text(raw, "a room id or alias")
    if not (re.fullmatch(_ROOM_ID, text) or re.fullmatch(_ALIAS, text)):
        raise FormError(f"{shown(text)} is neither a room id nor an alias", "write !id, !id:server or #alias:server")
    return text


def _room_id(raw: object, _base: Path) -> str:
    text = _text(raw, "a room id")
    if not re.fullmatch(_ROOM_ID, text):
        raise FormError(f"{shown(text)} is not a room id", "write !id or !id:server; `sources rooms` shows them")
    return text


def _user(raw: object, _base: Path) -> str:
    text = _text(raw, "a user id")
    if not re.fullmatch(_USER_ID, text):
        raise FormError(f"{shown(text)} is not a user id", "write it in full: @name:server")
    return text


def _user_glob(raw: object, _base: Path) -> str:
    text = _text(raw, "a user id, or a glob of them")
    if not re.fullmatch(_USER_ID, text):
        raise FormError(f"{shown(text)} is not tied to a server", "write @name:server, or @*:server for all of one")
    return text


_SEEN_SOURCE: Final = r"(?a)(?:repo|notes):[A-Za-z0-9][A-Za-z0-9._-]{0,63}|forge:[^\s:]{1,250}"


def _seen(raw: object, base: Path) -> str:
    text = _text(raw, "what may be seen")
    if text in ("here", "joined", "public", "forge:public", "notes:public") or re.fullmatch(_SEEN_SOURCE, text):
        return text
    try:
        return _room(text, base)
    except FormError:
        remedy = 'write "here", "public", "forge:public", "notes:public", "repo:name", "notes:name", or a room'
        raise FormError(f"{shown(text)} names nothing that could be seen", remedy) from None


def _command(raw: object, _base: Path) -> str:
    text = _text(raw, "a prefix of commands")
    if any(c.isspace() for c in text) or len(text) > 40 or text.isalnum():
        raise FormError(f"{shown(text)} cannot begin a command", 'write one word with a sign, like "!search"')
    return text


def _language(raw: object, _base: Path) -> str:
    from index.text.languages import KNOWN

    text = _text(raw, "a language code")
    if text not in KNOWN:
        raise FormError(f"there are no rules for {shown(text)}", f"known: {', '.join(sorted(KNOWN))}")
    return text


def _prefix(raw: object, _base: Path) -> str:
    if not isinstance(raw, str):
        raise FormError(f"expected a text, found {shown(raw)}", "write it in quotes")
    if len(raw) > 500:
        raise FormError("is longer than 500 characters", "shorten it")
    return raw


def _model(raw: object, base: Path) -> str:
    text = _text(raw, "the name of a model or a folder")
    return str(_path(text, base)) if text.startswith(("/", "./", "../", "~")) else text


def whole(least: int, most: int) -> Form:
    """A whole number in a range, both ends included."""

    def read(raw: object, _base: Path) -> int:
        if isinstance(raw, bool) or not isinstance(raw, int):
            raise FormError(
                f"expected a whole number, found {shown(raw)}", f"write one from {least} to {most}, no quotes"
            )
        if not least <= raw <= most:
            raise FormError(f"{shown(raw)} is out of range", f"write a whole number from {least} to {most}")
        return raw

    return Form(f"a whole number from {least} to {most}", read)


def number(least: float, most: float) -> Form:
    """A number in a range, both ends included."""

    def read(raw: object, _base: Path) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            raise FormError(
                f"expected a number, found {shown(raw)}", f"write one from {least:g} to {most:g}, no quotes"
            )
        if not least <= raw <= most:  # NaN is never in range
            raise FormError(f"{shown(raw)} is out of range", f"write a number from {least:g} to {most:g}")
        return float(raw)

    return Form(f"a number from {least:g} to {most:g}", read)


DURATION: Final = Form("a duration", _duration)
SIZE: Final = Form("a size", _size)
PATH: Final = Form("a path", _path)
GIT_URL: Final = Form("a URL that git can clone, or a local path", _git_url)
HTTP_URL: Final = Form("an http or https URL", _http_url)
NAME: Final = Form("a name", _name)
OWNER: Final = Form("the name of an organisation or a user", _owner)
GLOB: Final = Form("a glob", _glob)
FOLDER: Final = Form("a path inside the root", _folder)
ROOM: Final = Form("a room id or alias", _room)
ROOM_ID: Final = Form("a room id", _room_id)
USER: Final = Form("a user id", _user)
USERS: Final = Form("a user id, or a glob of them", _user_glob)
SEEN: Final = Form("a room, a source, or a word for several", _seen)
COMMAND: Final = Form("a word with a sign", _command)
LANGUAGE: Final = Form("a language code", _language)
MODEL: Final = Form("the name of a model, or a folder", _model)
PREFIX: Final = Form("a text", _prefix)
