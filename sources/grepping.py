"""Exact lines of what is configured, code included, as the sources are now. What is shown passes the scrubber."""

import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Final

import re2
from msgspec import Struct
from msgspec.structs import replace

from index.errors import QueryError, SourcesError
from ingest.forge.decoding import Decoded, decode
from ingest.forge.grep import GrepLine, check_pattern
from ingest.forge.notes import NotesFolder
from ingest.scrub import scrub
from sources.config.model import Config
from sources.config.settings import notes_settings
from sources.config.source_tables import Notes, Repo
from sources.credentials import Credentials
from sources.forge_sources import ForgeSource, forge_sources
from sources.reading import AnySource, any_named, freshened, repository_of

_MAX_LINE_CHARS: Final = 2000


class Found(Struct, frozen=True):
    """Lines that hold a pattern, source by source. `faults` are sources that could not be looked through at all."""

    lines: tuple[GrepLine, ...]
    binaries: tuple[str, ...]
    is_cut: bool
    notes: tuple[str, ...]
    faults: tuple[str, ...]


async def grep(
    config: Config,
    credentials: Credentials,
    pattern: str,
    *,
    source: str | None = None,
    is_regex: bool = False,
    ignore_case: bool = False,
    limit: int = 1000,
) -> Found:
    """Exact lines in tracked files and in notes. One source failing stops no other.

    Of forges, which can have thousands, only a repository that is named is fetched anew.
    """
    check_pattern(pattern)
    chosen: list[AnySource] = [*config.repo, *await forge_sources(config), *config.notes]
    if source is not None:
        chosen = [await any_named(config, source)]
    lines: list[GrepLine] = []
    binaries: list[str] = []
    notes: list[str] = []
    faults: list[str] = []
    is_cut = False
    has_notes = any(isinstance(one, Notes) for one in chosen)
    matches = _matcher(pattern, is_regex=is_regex, ignore_case=ignore_case) if has_notes else None
    for one in chosen:
        if is_cut:
            break  # nothing of what is left would be shown
        left = limit - len(lines)
        try:
            if not isinstance(one, Notes):
                repository = repository_of(one, config, credentials)
                if source is not None or isinstance(one, Repo):
                    notes += await freshened(repository)
                found = await repository.grep(pattern, is_regex=is_regex, ignore_case=ignore_case, limit=max(left, 1))
                lines += found.lines[:left]
                binaries += [f"{repository.settings.name} {path}" for path in found.binaries]
                is_cut = is_cut or found.is_cut or len(found.lines) > left
            elif matches is not None:
                async for line in _note_lines(one, matches):
                    if len(lines) >= limit:
                        is_cut = True
                        break
                    lines.append(line)
        except QueryError:
            raise
        except SourcesError as error:
            faults.append(str(error))
    if source is None and any(isinstance(one, ForgeSource) for one in chosen):
        notes.append("repositories of forges are as of the last refresh (--source reads one afresh)")
    if source is None:
        notes += _not_looked_through(config, chosen)
    shown = tuple(replace(line, text=scrub(line.text)) for line in lines)
    return Found(shown, tuple(binaries), is_cut, tuple(notes), tuple(faults))


def _not_looked_through(config: Config, chosen: Sequence[AnySource]) -> Iterator[str]:
    if not chosen and not config.forge:
        yield "no repository and no notes are configured (rooms are looked through by `sources search`)"
    known = {one.forge.name for one in chosen if isinstance(one, ForgeSource)}
    for forge in config.forge:
        if forge.name not in known:
            yield f"forge:{forge.name}: none of its repositories was read yet (run `sources refresh`)"


def _matcher(pattern: str, *, is_regex: bool, ignore_case: bool) -> Callable[[str], object]:
    """What each line of notes is asked. RE2 takes time in proportion to the line, whatever the expression."""
    if not is_regex:
        return re.compile(re.escape(pattern), re.IGNORECASE if ignore_case else 0).search
    options = re2.Options()
    options.case_sensitive = not ignore_case
    options.log_errors = False
    try:
        search: Callable[[str], object] = re2.compile(pattern, options).search
    except (re2.error, UnicodeEncodeError):
        raise QueryError(
            "pattern: is not a regular expression that notes can be looked through for "
            "(leave --regex out for plain text; look-ahead and back references are not known)"
        ) from None
    return search


async def _note_lines(notes: Notes, matches: Callable[[str], object]) -> AsyncIterator[GrepLine]:
    folder = NotesFolder(notes_settings(notes))
    changes = await folder.changes({})
    async for note, data in folder.read(changes.put):
        decoded = decode(data)
        if not isinstance(decoded, Decoded):
            continue
        for number, line in enumerate(decoded.text.split("\n"), 1):
            if matches(line):
                yield GrepLine(notes.name, note.path, number, line[:_MAX_LINE_CHARS])
