"""The log events of our own code, found in its syntax trees."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("sources", "bot", "ingest", "matrix", "index")
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}


@dataclass(frozen=True, slots=True)
class LogEvent:
    name: str
    level: str
    keys: frozenset[str]


@cache
def log_events() -> dict[str, LogEvent]:
    """By name. An event that is logged in two places has the keys of both."""
    found: dict[str, LogEvent] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text()
            for event in _events(ast.parse(text), path) if "get_logger" in text else ():
                known = found.get(event.name, event)
                found[event.name] = LogEvent(event.name, event.level, known.keys | event.keys)
    return found


def _events(tree: ast.Module, path: Path) -> Iterator[LogEvent]:
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if not (isinstance(call.func, ast.Attribute) and call.func.attr in LEVELS and _is_log(call.func.value)):
            continue
        keys = frozenset(keyword.arg for keyword in call.keywords if keyword.arg is not None)
        level = "error" if call.func.attr == "exception" else call.func.attr
        for name in _names(call.args[0], tree):
            yield LogEvent(name, level, keys)
        if not list(_names(call.args[0], tree)):
            raise AssertionError(f"{path}:{call.lineno}: an event whose name cannot be read from the code")


def _is_log(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Attribute) and value.func.attr == "get_logger"
    return isinstance(value, ast.Name) and value.id in ("log", "_log")


def _names(argument: ast.expr, tree: ast.Module) -> Iterator[str]:
    """A literal, or, where a parameter is passed on, all literals in the module that look like one."""
    if isinstance(argument, ast.Constant):
        yield str(argument.value)
        return
    logged = {id(call.args[0]) for call in ast.walk(tree) if isinstance(call, ast.Call) and call.args}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        for one in call.args[1:]:
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in logged:
                prefix, dot, rest = one.value.partition(".")
                if dot and prefix.isidentifier() and rest.isidentifier():
                    yield one.value
