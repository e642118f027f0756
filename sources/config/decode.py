"""From parsed TOML to records, driven by their annotations. Knows no setting by name.

Pure. Each value is read on its own, so that one fault does not hide the next: that is why no library converts the
whole at once. Few types are needed, since what a type cannot say is a `Form`.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeGuard, TypeVar, Union, get_args, get_origin

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from sources.config.forms import Each, Form, FormError, shown

T = TypeVar("T", bound=Struct)
Check = Callable[[object], Iterable["Problem"]]


class Problem(Struct, frozen=True):
    """One thing wrong, with the key path it stands at."""

    key: str
    problem: str
    remedy: str


class Setting(Struct, frozen=True):
    """One field of a table, as its annotation declares it."""

    field: FieldInfo
    key: str  # as written in the file
    type: Any  # without None and Annotated
    form: Form | Each | None
    explanation: str

    @property
    def is_required(self) -> bool:
        return self.field.required

    @property
    def default(self) -> object:
        """The value when the file says nothing; only for settings that are not required."""
        factory = self.field.default_factory
        return self.field.default if factory is NODEFAULT else factory()

    @property
    def table(self) -> type[Struct] | None:
        """The record behind `[key]` or `[[key]]`; None for a plain value."""
        kind = get_args(self.type)[0] if self.is_array else self.type
        return kind if _is_record(kind) else None

    @property
    def is_array(self) -> bool:
        return get_origin(self.type) is tuple and _is_record(get_args(self.type)[0])


def _is_record(type_: object) -> TypeGuard[type[Struct]]:
    return isinstance(type_, type) and issubclass(type_, Struct)


@cache
def settings(table: type[Struct]) -> tuple[Setting, ...]:
    """The settings of a record of `sources.config.model`, in the order they are declared."""
    found = []
    for field in fields(table):
        type_, *extras = get_args(field.type)
        forms = [extra for extra in extras if isinstance(extra, Form | Each)]
        texts = [extra for extra in extras if isinstance(extra, str)]
        key = field.name.removesuffix("_ms").removesuffix("_bytes")
        found.append(Setting(field, key, _without_none(type_), forms[0] if forms else None, " ".join(texts)))
    return tuple(found)


class Decoder:
    """Reads tables and gathers the problems. `check` tells what is wrong between the settings of a table."""

    def __init__(self, base: Path, check: Check) -> None:
        self._base = base
        self._check = check
        self.problems: list[Problem] = []

    def table(self, table: type[T], raw: Mapping[str, object], at: str = "") -> T | None:
        """One table. None when something in it was wrong; `problems` then holds at least one line more."""
        known = {setting.key: setting for setting in settings(table)}
        before = len(self.problems)
        self.problems.extend(_unknown(key, known, at) for key in raw if key not in known)
        values: dict[str, object] = {}
        for key, setting in known.items():
            if key in raw:
                try:
                    values[setting.field.name] = self._value(setting, raw[key], at + key)
                except FormError as fault:
                    self.problems.append(Problem(at + key, fault.problem, fault.remedy))
            elif setting.is_required:
                what = setting.explanation.split(". ")[0].rstrip(".")
                self.problems.append(Problem(at + key, "is missing", f"add it: {what}"))
        if len(self.problems) > before:
            return None
        made = table(**values)
        self.problems.extend(Problem((at + one.key).rstrip("."), one.problem, one.remedy) for one in self._check(made))
        return made

    def _value(self, setting: Setting, raw: object, at: str) -> object:
        table = setting.table
        if table is not None and setting.is_array:
            return self._array(table, raw, at)
        if table is not None:
            if not isinstance(raw, dict):
                raise FormError(f"expected a table, found {shown(raw)}", f"write it as [{at}]")
            return self.table(table, raw, f"{at}.")
        if isinstance(setting.form, Form):
            return setting.form.read(raw, self._base)
        return self._plain(setting.type, setting.form.form if setting.form else None, raw, at)

    def _plain(self, type_: Any, form: Form | None, raw: object, at: str) -> object:
        """A value, or a list or table of values, of which each has `form` if there is one."""
        origin, arguments = get_origin(type_), get_args(type_)
        if origin is tuple and isinstance(raw, list):
            items = {f"{at}[{number}]": one for number, one in enumerate(raw, 1)}
            return tuple(self._elements(items, arguments[0], form).values())
        if origin is Mapping and isinstance(raw, dict):
            items = {f"{at}.{_quoted(key)}": one for key, one in raw.items()}
            return dict(zip(raw, self._elements(items, arguments[1], form).values(), strict=False))
        if form and origin not in (tuple, Mapping):
            return form.read(raw, self._base)
        return _typed(type_, raw)

    def _array(self, table: type[Struct], raw: object, at: str) -> tuple[object, ...]:
        if not isinstance(raw, list) or not all(isinstance(one, dict) for one in raw):
            raise FormError(f"expected tables, found {shown(raw)}", f"write each as [[{at}]]")
        tables = [self.table(table, one, f"{at}[{number}].") for number, one in enumerate(raw, 1)]
        seen: dict[str, int] = {}
        for number, one in enumerate(raw, 1):
            name = one.get("name")
            if isinstance(name, str) and seen.setdefault(name.casefold(), number) != number:
                place = f"{at}[{seen[name.casefold()]}]"
                self.problems.append(
                    Problem(f"{at}[{number}].name", f"{shown(name)} is taken by {place}", "choose another")
                )
        return tuple(tables)

    def _elements(self, items: Mapping[str, object], type_: Any, form: Form | None) -> dict[str, object]:
        """Each element under its place; faulty ones are left out and named."""
        read: dict[str, object] = {}
        for at, raw in items.items():
            try:
                read[at] = self._plain(type_, form, raw, at)
            except FormError as fault:
                self.problems.append(Problem(at, fault.problem, fault.remedy))
        return read


def _typed(type_: Any, raw: object) -> object:
    """The types that settings without a form have. Exact: no "true" for true, no 1 for true."""
    choices = get_args(type_) if get_origin(type_) is Literal else ()
    if type(raw) is type_ or (isinstance(raw, str) and raw in choices):
        return raw
    import difflib

    near = difflib.get_close_matches(raw, choices, 1) if isinstance(raw, str) else []
    remedy = f'did you mean "{near[0]}"?' if near else _REMEDIES.get(get_origin(type_) or type_, "change it")
    raise FormError(f"expected {expected(type_)}, found {shown(raw)}", remedy)


_REMEDIES: Final[Mapping[Any, str]] = {
    tuple: 'write it in brackets, like ["one", "two"]',
    str: "write it in quotes",
    bool: "write true or false without quotes",
    Mapping: "write it as a table",
}


def expected(type_: Any) -> str:
    """A type in words."""
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Literal:
        return "one of " + ", ".join(f'"{choice}"' for choice in arguments)
    if origin is tuple:
        return f"a list, each {expected(arguments[0])}"
    if origin is not None and issubclass(origin, Mapping):
        return f"a table of names, each to {expected(arguments[1])}"
    return {bool: "true or false", str: "a text in quotes"}[type_]


_SECRETIVE = ("token", "password", "passwd", "secret", "api_key", "apikey", "key")


def _unknown(key: str, known: Mapping[str, Setting], at: str) -> Problem:
    import difflib  # here and above: only those who made a mistake wait for it

    place = at + _quoted(key)
    if any(part in key.casefold() for part in _SECRETIVE) and not difflib.get_close_matches(key, known, 1, 0.8):
        remedy = "secrets are read only from the credential directory: see credentials.example"
    elif near := difflib.get_close_matches(key.replace("-", "_").casefold(), known, 1):
        remedy = f"did you mean {near[0]}?"
    else:
        remedy = f"known here: {', '.join(known)}"
    return Problem(place, "is not a known key", remedy)


def _quoted(key: str) -> str:
    """A key as it would be written in a dotted path."""
    is_bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if is_bare and len(key) <= 40 else shown(key)


def _without_none(type_: Any) -> Any:
    if get_origin(type_) in (Union, UnionType):
        kinds = [kind for kind in get_args(type_) if kind is not NoneType]
        return kinds[0] if len(kinds) == 1 else type_
    if get_origin(type_) is Annotated:
        return get_args(type_)[0]
    return type_
