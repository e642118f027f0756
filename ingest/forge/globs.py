"""Patterns of `include` and `exclude`, for repositories and notes alike, in the manner of .gitignore.

Pure. A pattern without a slash (`*.md`, `drafts`) matches a file or folder of that name anywhere; with one
(`docs/*.md`, `/README.md`) it is tied to the root. `**` stands for any number of folders. A pattern that matches a
folder covers all below it; a trailing slash says folders only. `*`, `?` and `[a-z]`, `[!a-z]` stay inside one name.
Case counts. There is no `!`: `exclude` wins over `include`.
"""

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

_Step = re.Pattern[str] | None  # one name, or any number of folders (`**`)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which paths of a source are read. An empty `include` lets everything in; `exclude` wins."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def covers(self, path: str) -> bool:
        return self.includes(path) and not self.excludes(path)

    def includes(self, path: str) -> bool:
        return not self.include or matches_any(self.include, path)

    def excludes(self, path: str) -> bool:
        return matches_any(self.exclude, path)

    def digest(self, *more: object) -> str:
        """Differs when anything that decides about a path differs; `more` are further deciding settings."""
        told = repr((self.include, self.exclude, more)).encode("utf-8", "backslashreplace")
        return blake2b(told, digest_size=8).hexdigest()


def matches_any(patterns: Iterable[str], path: str) -> bool:
    return any(matches(pattern, path) for pattern in patterns)


def matches(pattern: str, path: str) -> bool:
    """Whether `pattern` covers the file at `path`, which is relative and uses `/`.

    Takes time proportional to the number of names in both, whatever the pattern: all readings of `**` are followed
    at once, and one name is matched by the regular expressions of `fnmatch`, which do not backtrack.
    """
    steps, is_folder_only = _compiled(pattern)
    names = path.split("/")
    if not steps:
        return False
    # A pattern that ends in a folder needs a name below that folder.
    last = len(names) - 1 if is_folder_only else len(names)
    at = _past_folders(steps, {0})
    for number, name in enumerate(names):
        if number >= last:
            return False
        at = _past_folders(steps, {after for here in at if (after := _after(steps, here, name)) is not None})
        if len(steps) in at:
            return True
        if not at:
            return False
    return False


def _after(steps: tuple[_Step, ...], here: int, name: str) -> int | None:
    step = steps[here]
    if step is None:
        # At the end, `docs/**` is everything below docs: the next name settles it.
        return here + 1 if here == len(steps) - 1 else here
    return here + 1 if step.match(name) else None


def _past_folders(steps: tuple[_Step, ...], at: set[int]) -> set[int]:
    """`**` may stand for no folder at all, except at the end, where something has to be inside."""
    reached = set(at)
    for here in at:
        while here < len(steps) - 1 and steps[here] is None:
            here += 1
            reached.add(here)
    return reached


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> tuple[tuple[_Step, ...], bool]:
    body = pattern.removesuffix("/")
    is_tied = "/" in body
    names = [name for name in body.split("/") if name not in ("", ".")]
    if names and not is_tied and names[0] != "**":
        names.insert(0, "**")
    steps: list[_Step] = []
    for name in names:
        if name != "**":
            steps.append(re.compile(fnmatch.translate(name)))
        elif not steps or steps[-1] is not None:
            steps.append(None)
    return tuple(steps), pattern.endswith("/")
