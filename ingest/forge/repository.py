"""From a configured repository and a cursor to what changed, and the bytes of it.

What is read is what the repository tracks: `git ls-tree -r` of the commit, which is to a bare clone what `ls-files`
is to a work tree. Of a local path too only what is committed at its HEAD is read, through a private clone, so nobody's
work tree or index is touched. Whatever way the changes are found, they equal a comparison of the whole trees.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from index.errors import ForgeError
from ingest.forge.asking import Remote
from ingest.forge.clone import Clone
from ingest.forge.faults import Fault, GitError
from ingest.forge.git import Git
from ingest.forge.globs import Scope
from ingest.forge.grep import GrepResult, grep
from ingest.forge.names import path_bytes, path_text
from ingest.forge.position import Position
from ingest.forge.remote import (
    Head,
    is_commit,
    shown,
)
from ingest.forge.running import Patience
from ingest.forge.trees import Entry, Tree, compare, list_tree


@dataclass(frozen=True, slots=True)
class RepoSettings:
    """One repository as configured. `branch` None follows the remote's HEAD, also when that is renamed."""

    name: str
    url: str
    branch: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    timeout_s: float = 60.0
    max_file_bytes: int = 1 << 20
    clone: str = ""  # name of its private clone; empty: made of name and url, so that another address is another clone


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Nothing to do; `commit` is None for a repository that never had one."""

    commit: str | None
    branch: str | None
    position: str | None


@dataclass(frozen=True, slots=True)
class Changes:
    """What the index has to do to be at `commit`. Applying it twice changes nothing.

    `kept` is set when the whole tree was compared: all paths in scope; whatever else the index holds of this source
    has to go. It is None when only the difference to the cursor's commit was looked at; then `removed` says it all.
    """

    commit: str
    branch: str
    position: str  # for the cursor, once everything below is in the index
    put: tuple[Entry, ...]
    removed: tuple[str, ...]
    unchanged_count: int
    skipped: tuple[tuple[str, str], ...]  # path and reason, of what was looked at
    kept: frozenset[str] | None


class Outcome(StrEnum):
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    EMPTY = "empty"  # a repository without a commit
    UNKNOWN = "unknown"  # nothing can be concluded, least of all that something was deleted


@dataclass(frozen=True, slots=True)
class Probe:
    outcome: Outcome
    head: Head | None = None
    error: ForgeError | None = None


class Repository:
    """One source. `clones` is the folder of all private clones; `login` is asked for user name and password, late."""

    def __init__(
        self,
        settings: RepoSettings,
        clones: Path,
        git: Git,
        login: Callable[[], tuple[str, str]] | None = None,
    ) -> None:
        self.settings = settings
        self.about = f"repo {settings.name} ({shown(settings.url)})"
        self._git = git
        self._scope = Scope(settings.include, settings.exclude)
        self._digest = self._scope.digest(settings.max_file_bytes)
        self._patience = Patience(settings.timeout_s, settings.timeout_s)
        self._remote = Remote(git, settings.url, settings.branch, login, about=self.about, patience=self._patience)
        self._clone = Clone(
            clones,
            settings.name,
            self._remote.url,
            git,
            about=self.about,
            patience=self._patience,
            path_name=settings.clone,
        )

    async def probe(self, cursor_position: str | None = None) -> Probe:
        """Ask the remote where it is. Never raises for what the remote does: that is UNKNOWN with the error."""
        position = Position.parse(cursor_position)
        try:
            head = self._remote.plainly_at(position.commit if position else None) or await self._remote.head()
        except GitError as error:
            return Probe(Outcome.UNKNOWN, error=error)
        if head is None:
            return Probe(Outcome.EMPTY)
        is_same = position is not None and position.commit == head.commit and position.scope == self._digest
        return Probe(Outcome.UNCHANGED if is_same else Outcome.CHANGED, head)

    async def changes(self, cursor_position: str | None, known: Mapping[str, str] | None = None) -> Changes | Unchanged:
        """What happened since the cursor. `known` (path to blob, of the index) spares rereading what it holds
        when the commit of the cursor is gone or the configured scope changed."""
        probe = await self.probe(cursor_position)
        if probe.error is not None:
            raise probe.error
        position = Position.parse(cursor_position)
        if probe.head is None:
            if position is None:
                return Unchanged(None, None, None)
            raise GitError(
                self.about,
                Fault.MISSING,
                "has no commits any more; what is indexed stays",
                "if that is meant, take the source out",
            )
        if probe.outcome is Outcome.UNCHANGED:
            return Unchanged(probe.head.commit, probe.head.branch, cursor_position)
        commit = await self._fetched(probe.head)
        head = Head(commit, probe.head.branch)
        try:
            return await self._compared(head, position, known)
        except GitError as error:
            if error.fault is not Fault.DAMAGED:
                raise
        commit = await self._clone.update(head, self.settings.branch, self._remote.login(), is_damaged=True)
        return await self._compared(Head(commit, head.branch), position, known)

    async def read(self, entries: Sequence[Entry]) -> AsyncGenerator[tuple[Entry, bytes], None]:
        """The bytes of each entry in order, through one `git cat-file`, one blob in memory at a time.

        Close it when leaving early (`contextlib.aclosing`). A blob that the clone turns out to lack makes the clone
        anew, once.
        """
        done = 0
        for is_last_try in (False, True):
            try:
                async with aclosing(self._blobs(entries[done:])) as blobs:
                    async for entry, content in blobs:
                        yield entry, content
                        done += 1
            except GitError as error:
                if is_last_try or error.fault is not Fault.DAMAGED:
                    raise
                await self.freshen(is_damaged=True)
            else:
                return

    async def show(self, path: str, commit: str | None = None) -> bytes:
        """The file as tracked at `commit`, or at the newest commit that was fetched; as for `grep`, only `exclude`
        hides files. `path` as in `Entry.path`."""
        commit = await self._commit_or_tip(commit)
        name = path_bytes(path)
        is_shown = path_text(name) == path and not self._scope.excludes(path)
        listed = b""
        # git would see its own places in those steps
        if is_shown and b"\0" not in name and not {b"", b".", b".."}.intersection(name.split(b"/")):
            listed = (await self._clone.ask(["ls-tree", "-z", "-l", "--full-tree", commit, "--", name])).stdout
        for record in listed.split(b"\0"):
            told, _, found = record.partition(b"\t")
            if found == name and told.startswith(b"100"):
                blob, size = told.split()[2:4]
                limit = self.settings.max_file_bytes
                if int(size) > limit:
                    raise ForgeError(f"{self.about}: {path}: {int(size)} bytes are over max_file (raise it)")
                return (await self._clone.ask(["cat-file", "blob", blob], max_bytes=limit)).stdout
        raise ForgeError(f"{self.about}: {path}: no such file at commit {commit[:10]} (see `sources toc`)")

    async def grep(
        self, pattern: str, *, is_regex: bool = False, ignore_case: bool = False, limit: int = 1000
    ) -> GrepResult:
        """Lines of tracked files at the newest commit that was fetched, code included; only `exclude` hides files."""
        commit = await self._commit_or_tip(None)
        return await grep(
            self._git,
            self._clone.path,
            pattern,
            commit=commit,
            source=self.settings.name,
            about=self.about,
            patience=self._patience,
            is_hidden=self._scope.excludes,
            is_regex=is_regex,
            ignore_case=ignore_case,
            limit=limit,
        )

    async def freshen(self, *, is_damaged: bool = False) -> str:
        """Bring the clone to the remote's commit, whatever the cursor says, and return that."""
        head = await self._remote.head()
        if head is None:
            raise GitError(self.about, Fault.MISSING, "has no commits", "push one, or take the source out")
        if is_damaged:
            return await self._clone.update(head, self.settings.branch, self._remote.login(), is_damaged=True)
        return await self._fetched(head)

    async def forget_former(self, commit: str | None) -> None:
        """Once the cursor is at `commit`, the remote's: no other is kept, be it older or fetched by `freshen` meanwhile
        and taken back since. What cannot be done now is done after another refresh."""
        if commit is None or not self._clone.has_former():
            return
        with suppress(GitError):
            if await self._clone.tip() == commit or await self.freshen() == commit:
                await self._clone.forget_former()

    async def _fetched(self, head: Head) -> str:
        """The commit in the clone: `head`'s, or a newer one that was pushed meanwhile."""
        tip = await self._clone.tip()
        if tip == head.commit:
            return tip
        return await self._clone.update(head, self.settings.branch, self._remote.login(), is_damaged=tip is None)

    async def _compared(
        self, head: Head, position: Position | None, known: Mapping[str, str] | None
    ) -> Changes | Unchanged:
        tree = Tree(self._git, self._clone.path, self.about, self._patience, self._scope, self.settings.max_file_bytes)
        if position is not None and position.scope == self._digest:
            if position.commit == head.commit:
                return Unchanged(head.commit, head.branch, self._position(head, position.files))
            difference = await compare(tree, position.commit, head.commit)
            if difference is not None:
                files = position.files + difference.growth
                return Changes(
                    head.commit,
                    head.branch,
                    self._position(head, files),
                    difference.put,
                    difference.removed,
                    max(0, files - len(difference.put)),
                    difference.skipped,
                    None,
                )
        listing = await list_tree(tree, head.commit)
        known = known or {}
        put = tuple(entry for entry in listing.entries if known.get(entry.path) != entry.blob)
        kept = frozenset(entry.path for entry in listing.entries)
        return Changes(
            head.commit,
            head.branch,
            self._position(head, len(kept)),
            put,
            tuple(sorted(known.keys() - kept)),
            len(kept) - len(put),
            listing.skipped,
            kept,
        )

    async def _blobs(self, entries: Sequence[Entry]) -> AsyncGenerator[tuple[Entry, bytes], None]:
        if not entries:
            return
        async with self._git.open(
            ["cat-file", "--batch", "--buffer"],
            about=self.about,
            patience=Patience(self._patience.idle_s, float("inf")),
            clone=self._clone.path,
            takes_input=True,
        ) as running:
            running.feed(entry.blob.encode() + b"\n" for entry in entries)
            for entry in entries:
                told = (await running.line()).split()
                if not told:
                    raise await running.failure()
                if len(told) != 3 or told[1] != b"blob":
                    raise GitError(self.about, Fault.DAMAGED, "its private clone lacks a file", "run refresh again")
                content = await running.exactly(int(told[2]) + 1)
                yield entry, content[:-1]
            await running.finish()

    async def _commit_or_tip(self, commit: str | None) -> str:
        if commit is not None and not is_commit(commit):
            raise ForgeError(f"{self.about}: {shown(commit)!r} is no commit (give all 40 or 64 digits)")
        tip = await self._clone.tip()
        if tip is None:
            raise ForgeError(f"{self.about}: not fetched yet (run `sources refresh`)")
        if commit is None or commit == tip:
            return tip
        if (await self._clone.ask(["cat-file", "-e", f"{commit}^{{commit}}"], fine=(0, 1, 128))).status:
            raise ForgeError(
                f"{self.about}: commit {commit[:10]} is not kept here (leave it out for the newest, {tip[:10]})"
            )
        return commit

    def _position(self, head: Head, files: int) -> str:
        return Position(head.commit, head.branch, self._digest, files).text()
