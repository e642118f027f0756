"""One private bare clone of one repository, in the state directory: made, brought up to date, mended.

Bare and shallow: the newest commit with its trees and blobs, no work tree. A new clone is built beside the old one
and takes its place by a rename, so a kill leaves either. A kernel lock, held by the git processes too, keeps two
runs apart; what a killed one left (lock files, half packs) is swept away by the next that holds the lock.
"""

import asyncio
import errno
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

from ingest.forge.faults import Fault, GitError, Login
from ingest.forge.git import Git
from ingest.forge.remote import Head, full_ref, is_commit
from ingest.forge.running import Output, Patience

_TIP: Final = "refs/sources/head"
_MENDABLE: Final = frozenset({Fault.DAMAGED, Fault.LOCKED})
_MAX_PACKS: Final = 40
_MOST_REPACKED_BYTES: Final = 256 << 20
"""Larger clones are joined only when they have very many packs: see `has_former`."""
_LEFT_BEHIND: Final = (
    "*.lock", "refs/**/*.lock", "objects/pack/tmp_*", "objects/pack/*.lock", "objects/pack/*.keep", "objects/??/tmp_*",
)  # fmt: skip
"""By git when it is killed. A fetch marks its new pack with `.keep`, and one so marked would never be joined."""
_LOCK_POLL_S: Final = 0.05
_LONGEST: Final = 30
_FETCH: Final = (
    "fetch", "--progress", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance",
    "--no-write-commit-graph", "--update-shallow",
)  # fmt: skip


class Clone:
    """`folder` holds the clones of all sources; `path_name` or, if empty, source's name and address name this one.

    `patience` is for short calls; a fetch that makes progress may take 30 times as long in all.
    """

    def __init__(
        self, folder: Path, name: str, url: str, git: Git, *, about: str, patience: Patience, path_name: str = ""
    ) -> None:
        self.path = folder / (path_name or clone_name(name, url))
        self._patience = patience
        self._long_patience = Patience(patience.idle_s, patience.idle_s * _LONGEST)
        self._git = git
        self._url = url
        self._about = about

    async def tip(self) -> str | None:
        """The newest commit that was fetched; None when there is no usable clone."""
        if not (self.path / "HEAD").exists():
            return None
        output = await self.ask(["rev-parse", "--verify", "--quiet", f"{_TIP}^{{commit}}"], fine=(0, 1, 128))
        commit = output.stdout.decode("ascii", "replace").strip()
        return commit if output.status == 0 and is_commit(commit) else None

    async def ask(
        self, arguments: Sequence[str | bytes], *, fine: tuple[int, ...] = (0,), max_bytes: int = 1 << 20
    ) -> Output:
        """A call that reads the clone."""
        return await self._git.run(
            arguments, about=self._about, patience=self._patience, clone=self.path, fine=fine, max_bytes=max_bytes
        )

    async def update(self, head: Head, branch: str | None, login: Login | None, *, is_damaged: bool = False) -> str:
        """Fetch the newest commit and return it. A clone that is damaged, or said to be (or is not there at all), is
        made afresh, once."""
        async with self._locked() as lock:
            await asyncio.to_thread(self._sweep)
            if is_damaged:
                return await self._rebuild(head, branch, login, lock)
            try:
                await self._tidy(lock)
                await self._fetch(self.path, branch, login, lock)
                tip = await self.tip()
            except GitError as error:
                if error.fault not in _MENDABLE:
                    raise
                tip = None
            return tip or await self._rebuild(head, branch, login, lock)

    async def _rebuild(self, head: Head, branch: str | None, login: Login | None, lock: int) -> str:
        new, old = self._beside("new"), self._beside("old")
        kind = "sha256" if len(head.commit) == 64 else "sha1"
        try:
            await self._git.run(
                ["init", "--quiet", "--bare", "--template=", f"--object-format={kind}", str(new)],
                about=self._about,
                patience=self._patience,
                hold=(lock,),
            )
            await self._fetch(new, branch, login, lock)
            if self.path.exists():
                self.path.rename(old)
            new.rename(self.path)
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            await asyncio.to_thread(_remove, new, old)
        tip = await self.tip()
        if tip is None:
            raise GitError(self._about, Fault.MISSING, "its branch names no commit", "check the branch")
        return tip

    async def _fetch(self, clone: Path, branch: str | None, login: Login | None, lock: int) -> None:
        refspec = f"+{full_ref(branch) if branch else 'HEAD'}:{_TIP}"
        for depth in (["--depth=1"], []):
            try:
                await self._git.run(
                    [*_FETCH, *depth, "--", self._url, refspec],
                    about=self._about,
                    patience=self._long_patience,
                    clone=clone,
                    login=login,
                    hold=(lock,),
                )
            except GitError as error:
                if depth and "shallow capabilities" in str(error):  # a plain file server; take the history too
                    continue
                raise
            return

    def has_former(self) -> bool:
        """Whether there may be more than the newest commit with its files, in a clone that is not too large."""
        packs = self._packs()
        try:
            return len(packs) > 1 and sum(pack.stat().st_size for pack in packs) <= _MOST_REPACKED_BYTES
        except OSError:  # another process is joining them
            return False

    async def forget_former(self) -> None:
        """Leave nothing but the newest commit with its files: a forced push may have taken the former back for good."""
        async with self._locked() as lock:
            await asyncio.to_thread(self._sweep)
            await self._join_packs(lock)

    async def _tidy(self, lock: int) -> None:
        """Join the packs of many fetches; before one, while the commit that the cursor names is still the tip."""
        if len(self._packs()) > _MAX_PACKS:
            with suppress(GitError):  # the fetch that follows says what is wrong
                await self._join_packs(lock)

    def _packs(self) -> list[Path]:
        return list((self.path / "objects" / "pack").glob("*.pack"))

    async def _join_packs(self, lock: int) -> None:
        """With `-d` what no commit reaches is dropped. Git says nothing while it works, so silence is no fault."""
        await self._git.run(
            ["repack", "-a", "-d", "--quiet"],
            about=self._about,
            patience=Patience(self._long_patience.total_s, self._long_patience.total_s),
            clone=self.path,
            hold=(lock,),
        )

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[int]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self._beside("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            await self._wait_for(lock)
            yield lock
        finally:
            os.close(lock)

    async def _wait_for(self, lock: int) -> None:
        loop = asyncio.get_running_loop()
        end_s = loop.time() + self._patience.total_s
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if loop.time() >= end_s:
                    raise GitError(
                        self._about, Fault.LOCKED, "another process is fetching it", "wait for it and run refresh again"
                    ) from None
                await asyncio.sleep(_LOCK_POLL_S)
            else:
                return

    def _sweep(self) -> None:
        """Remove what a killed run left. Only while holding the lock: nobody else is writing here."""
        if not self.path.exists() and (old := self._beside("old")).exists():
            with suppress(OSError):
                old.rename(self.path)  # killed between the two renames
        _remove(self._beside("new"), self._beside("old"))
        for pattern in _LEFT_BEHIND:
            for left in self.path.glob(pattern):
                left.unlink(missing_ok=True)
        for left in self.path.glob("objects/tmp_objdir-*"):
            _remove(left)

    def _beside(self, what: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{what}")

    def _unwritable(self, error: OSError) -> GitError:
        why = errno.errorcode.get(error.errno or 0, "") + f" {error.strerror}"
        return GitError(
            self._about, Fault.DISK, f"its private clone cannot be written: {why.strip()}", "check the state directory"
        )


def clone_name(name: str, url: str) -> str:
    """The folder of a source's clone: readable, safe, and another one when the address changes."""
    readable = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)[:40]
    told = "\0".join((name, url)).encode("utf-8", "surrogateescape")
    return f"{readable}-{blake2b(told, digest_size=8).hexdigest()}.git"


def forget_others(folder: Path, keep: set[str]) -> list[str]:
    """Remove clones of sources that are no longer configured; `keep` are names from `clone_name`."""
    gone = []
    if folder.is_dir():
        for path in sorted(folder.glob("*.git")):
            if path.name not in keep and (path / "objects").is_dir():
                _remove(path, path.with_name(path.name + ".lock"))
                gone.append(path.name)
    return gone


def _remove(*paths: Path) -> None:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink(missing_ok=True)
