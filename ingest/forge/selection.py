"""Which of a forge's repositories are read. Pure; each that is not has a reason, which reports count."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from ingest.forge.globs import matches
from ingest.forge.listed import Flag, Listed, Visibility

DEFAULT_LEFT_OUT: Final = frozenset({Flag.FORK})


@dataclass(frozen=True, slots=True)
class Selection:
    """An empty `include` takes all; `exclude` wins. A pattern without a slash is about the name alone, one with a
    slash about `owner/name`; capitals do not matter, as on the forges."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    visibilities: frozenset[Visibility] = frozenset({Visibility.PUBLIC})
    left_out: frozenset[Flag] = DEFAULT_LEFT_OUT

    def reason_against(self, repo: Listed) -> str | None:
        """None for a repository that is read."""
        if repo.visibility not in self.visibilities:
            return repo.visibility.value
        if self.include and not _matches_any(self.include, repo.full_name):
            return "not included"
        if _matches_any(self.exclude, repo.full_name):
            return "excluded"
        return next((flag.value for flag in Flag if flag in repo.flags & self.left_out), None)

    def digest(self, *more: object) -> str:
        """Differs when another selection, or another of `more`, was meant."""
        told = repr((self.include, self.exclude, sorted(self.visibilities), sorted(self.left_out), more))
        return blake2b(told.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()


def _matches_any(patterns: Iterable[str], full_name: str) -> bool:
    name = full_name.casefold()
    return any(
        matches(pattern.casefold(), name if "/" in pattern.rstrip("/") else name.rpartition("/")[2])
        for pattern in patterns
    )
