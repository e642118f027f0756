"""Exact search over tracked files through `git grep` on a private clone, bounded in lines, width and time."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from index.errors import QueryError
from ingest.forge.faults import GitError
from ingest.forge.git import Git
from ingest.forge.names import path_text
from ingest.forge.running import Patience, Running

_MAX_PATTERN_BYTES: Final = 1000
_MAX_LINE_BYTES: Final = 2000
_BINARY: Final = b"Binary file "


class GrepLine(Struct, frozen=True):
    source: str
    path: str
    line_no: int
    text: str  # at most 2000 bytes of the line, bytes that are no UTF-8 replaced


class GrepResult(Struct, frozen=True):
    commit: str
    lines: tuple[GrepLine, ...]
    binaries: tuple[str, ...]  # files that match and are not text
    is_cut: bool  # there is more than the limit


def check_pattern(pattern: str) -> None:
    """Raise QueryError for what cannot be looked for in a line. To git a line feed would part alternatives."""
    try:
        size_bytes = len(pattern.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise QueryError("pattern: is not UTF-8 (leave the odd characters out)") from None
    if not pattern:
        raise QueryError("pattern: is empty (name the text to find)")
    if "\0" in pattern or "\n" in pattern:
        raise QueryError("pattern: holds a line feed or NUL, and single lines are looked at (give one line of it)")
    if size_bytes > _MAX_PATTERN_BYTES:
        raise QueryError(f"pattern: is {size_bytes} bytes long (at most {_MAX_PATTERN_BYTES} bytes; shorten it)")


async def grep(
    git: Git,
    clone: Path,
    pattern: str,
    *,
    commit: str,
    source: str,
    about: str,
    patience: Patience,
    is_hidden: Callable[[str], bool],
    is_regex: bool,
    ignore_case: bool,
    limit: int,
) -> GrepResult:
    """Fixed text unless `is_regex` (POSIX extended). `is_hidden` says which paths are left out of the result."""
    check_pattern(pattern)
    arguments = ["grep", "-n", "-z", "--no-textconv", "--no-color", "--full-name", "--no-recurse-submodules"]
    arguments += ["-i"] if ignore_case else []
    arguments += ["-E" if is_regex else "-F", "-e", pattern, commit, "--"]
    lines: list[GrepLine] = []
    binaries: list[str] = []
    async with git.open(arguments, about=about, patience=patience, clone=clone) as running:
        async for name, number, text in _found(running, commit.encode() + b":"):
            path = path_text(name)
            if is_hidden(path):
                continue
            if len(lines) + len(binaries) >= limit:
                return GrepResult(commit, tuple(lines), tuple(binaries), is_cut=True)
            if number is None:
                binaries.append(path)
            else:
                lines.append(GrepLine(source, path, number, text.decode("utf-8", "replace").removesuffix("\r")))
        try:
            await running.finish(fine=(0, 1))
        except GitError as error:
            if is_regex and any(
                word in str(error).lower() for word in ("unmatched", "invalid", "regular", "trailing backslash")
            ):
                raise QueryError(
                    f"pattern: not a regular expression git knows: {pattern!r} (leave --regex out for plain text)"
                ) from error
            raise
    return GrepResult(commit, tuple(lines), tuple(binaries), is_cut=False)


async def _found(running: Running, prefix: bytes) -> AsyncIterator[tuple[bytes, int | None, bytes]]:
    """Name, line number (None: a binary file) and text. A name may hold line feeds, a line be of any length."""
    scan = _Scanner(prefix)
    while data := await running.read():
        for found in scan.take(data):
            yield found


class _Scanner:
    """Takes `prefix name NUL number NUL text LF` and `Binary file prefix name matches LF` apart, in any slices."""

    def __init__(self, prefix: bytes) -> None:
        self._prefix = prefix
        self._rest = b""
        self._is_skipping = False  # the tail of an overlong line

    def take(self, data: bytes) -> list[tuple[bytes, int | None, bytes]]:
        self._rest += data
        found = []
        while (one := self._next()) is not None:
            found.append(one)
        return found

    def _next(self) -> tuple[bytes, int | None, bytes] | None:
        if self._is_skipping:
            _, feed, rest = self._rest.partition(b"\n")
            self._rest = rest if feed else b""
            if not feed:
                return None
            self._is_skipping = False
        if self._rest.startswith(_BINARY):
            told, end, rest = self._rest.partition(b" matches\n")
            if not end:
                return None
            self._rest = rest
            return told[len(_BINARY) + len(self._prefix) :], None, b""
        parts = self._rest.split(b"\0", 2)
        if len(parts) < 3:
            return None
        name, number, text = parts
        line, feed, rest = text.partition(b"\n")
        if not feed and len(line) <= _MAX_LINE_BYTES:
            return None
        self._rest = rest
        self._is_skipping = not feed
        return name[len(self._prefix) :], int(number), line[:_MAX_LINE_BYTES]
