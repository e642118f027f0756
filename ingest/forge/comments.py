"""The comment at the top of a script, without its comment signs. Pure.

Lines with a sign before them and blocks between two signs are understood, by the extension of the file, and with
` * ` before each line of a block or without. A shebang, `<?php`, an encoding line and directives to tools are passed
over.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePosixPath
from typing import Final

from ingest.forge.languages import BLOCK_SIGNS, LINE_SIGNS, PYTHON, SHELL_SIGNS

_PREAMBLE: Final = re.compile(
    r"#!|---\s*$|%YAML|<\?(?:php|=)?\s*$|declare\s*\([^)]*\)\s*;\s*$|namespace\s+[\w\\]+;\s*$|set\s+nocompatible"
    r"|['\"]use strict['\"];?\s*$|@echo off\s*$|package\s+[\w.]+;?\s*$",
    re.IGNORECASE,
)
_DIRECTIVE: Final = re.compile(
    r"\s*(?:shellcheck\s|-\*-|vim?:\s|ex:\s|eslint|prettier-|@ts-|@flow|jshint|jslint|go:build|\+build|pylint:|type:\s*ignore"
    r"|noqa|ruff:|flake8|mypy:|fmt:|isort:|istanbul|phpcs|rubocop|frozen_string_literal:|yamllint|syntax\s*=|cspell:)",
    re.IGNORECASE,
)
_DOCSTRING: Final = re.compile(r"[rRuUbB]{0,2}(?:\"\"\"|''')")
_LICENCE: Final = re.compile(r"copyright|licen[cs]e|spdx-|all rights reserved|\(c\)\s*\d{4}", re.IGNORECASE)
_LICENCE_WITHIN: Final = 2  # lines
_LETTER: Final = re.compile(r"[^\W\d_]{2}")
_RULE: Final = re.compile(r"\s*([#*/=~_\-;%])\1{7,}\s*$")  # `########` above and below a header
_STARRED: Final = re.compile(r"\s*\*(?!/)")
_TAB_WIDTH: Final = 8


@dataclass(frozen=True, slots=True)
class CommentLine:
    """`number` to `last` are the lines of the file it stands for, from 1: one, unless scrubbing joined some."""

    number: int
    last: int
    text: str  # without the comment sign and the indentation that all lines share


@dataclass(frozen=True, slots=True)
class _Raw:
    lines: tuple[CommentLine, ...]
    end: int  # index of the first line of the file after it


def header_comment(text: str, path: str) -> tuple[CommentLine, ...]:
    """The lines of the comment a script begins with, blank ones inside it included; empty when there is none.

    After a comment that begins as a licence, the next one counts as well, and so does the docstring of a module.
    """
    lines = text.split("\n")
    extension = PurePosixPath(path).suffix.casefold().removeprefix(".")
    found: list[CommentLine] = []
    at = _after_preamble(lines, 0)
    while (raw := _comment_at(lines, at, extension)) is not None:
        kept = _trimmed([line for line in raw.lines if not _DIRECTIVE.match(line.text)])
        if found and kept:
            found.append(CommentLine(kept[0].number - 1, kept[0].number - 1, ""))
        found.extend(kept)
        at = _after_preamble(lines, raw.end)
        is_docstring_next = extension in PYTHON and at < len(lines) and _DOCSTRING.match(lines[at])
        if not is_docstring_next and not _is_not_yet_about_the_script(found):
            break
    return tuple(found) if any(_LETTER.search(line.text) for line in found) else ()


def _is_not_yet_about_the_script(found: Sequence[CommentLine]) -> bool:
    """Nothing so far, or only who may copy it."""
    said = list(islice((line.text for line in found if line.text.strip()), _LICENCE_WITHIN))
    return not said or any(map(_LICENCE.search, said))


def _after_preamble(lines: Sequence[str], at: int) -> int:
    while at < len(lines):
        line = lines[at].strip()
        if line and not _PREAMBLE.match(line):
            break
        at += 1
    return at


def _comment_at(lines: Sequence[str], at: int, extension: str) -> _Raw | None:
    if at >= len(lines):
        return None
    start = lines[at].lstrip().removeprefix("<?php").lstrip()
    for opening, closing in BLOCK_SIGNS.get(extension, ()):
        begun = start.lstrip("rRuUbB") if extension in PYTHON else start
        if begun.startswith(opening):
            return _block_comment(lines, at, begun.removeprefix(opening), closing)
    signs = LINE_SIGNS.get(extension, SHELL_SIGNS)
    if start.startswith(signs) and signs:
        return _line_comment(lines, at, signs)
    return None


def _line_comment(lines: Sequence[str], at: int, signs: Sequence[str]) -> _Raw:
    found: list[CommentLine] = []
    while at < len(lines):
        line = lines[at].lstrip().removeprefix("<?php").lstrip()
        sign = next((sign for sign in signs if line.startswith(sign) or line == sign.strip()), None)
        if sign is None:
            break
        found.append(CommentLine(at + 1, at + 1, _unframed(line[len(sign) :])))
        at += 1
    return _Raw(tuple(_without_margin(found)), at)


def _block_comment(lines: Sequence[str], at: int, rest: str, closing: str) -> _Raw:
    """From the line at `at`, whose text after the opening sign is `rest`, to the closing sign or the end."""
    found: list[CommentLine] = []
    first = at
    while at < len(lines):
        text = rest if at == first else lines[at]
        end = text.find(closing)
        text = text[:end] if end >= 0 else text
        found.append(CommentLine(at + 1, at + 1, text))
        at += 1
        if end >= 0:
            break
    return _Raw(tuple(_without_margin(list(_without_stars(found)))), at)


def _without_stars(found: Sequence[CommentLine]) -> Iterator[CommentLine]:
    """Without the ` *` of each line, when all lines but the first have one."""
    inner = [line for line in found[1:] if line.text.strip()]
    has_stars = bool(inner) and all(_STARRED.match(line.text) for line in inner)
    for index, line in enumerate(found):
        text = line.text
        if index == 0:
            text = " " + text.lstrip("*!").strip() if text.strip("*! \t") else ""
        elif has_stars:
            text = _STARRED.sub("", text, count=1)
        yield replace(line, text=_unframed(text))


def _unframed(text: str) -> str:
    return "" if _RULE.match(text) and not set(text.strip()) & set("=-~") else text.rstrip()


def _without_margin(found: Sequence[CommentLine]) -> Iterator[CommentLine]:
    """Without the indentation that all lines share. A first line right after its opening sign has none of its own."""
    expanded = [replace(line, text=line.text.expandtabs(_TAB_WIDTH)) for line in found]
    indents = [len(line.text) - len(line.text.lstrip()) for line in expanded if line.text.strip()]
    own = indents[1:] if len(indents) > 1 else indents
    margin = min(own, default=0)
    for line in expanded:
        indent = len(line.text) - len(line.text.lstrip())
        yield replace(line, text=line.text[min(margin, indent) :])


def _trimmed(lines: Sequence[CommentLine]) -> list[CommentLine]:
    first, last = 0, len(lines)
    while first < last and not lines[first].text.strip():
        first += 1
    while last > first and not lines[last - 1].text.strip():
        last -= 1
    return list(lines[first:last])
