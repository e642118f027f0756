"""Asking a remote where its branch is, with `git ls-remote`, or by a look at the files of a local repository."""

import re
from collections.abc import Callable
from typing import Final

from ingest.forge.faults import Fault, GitError, Login
from ingest.forge.git import Git
from ingest.forge.remote import (
    Head,
    full_ref,
    has_password,
    is_commit,
    local_head,
    local_path,
    may_carry_login,
    origin,
    shown,
)
from ingest.forge.running import Patience

_MAX_BRANCHES_SHOWN: Final = 5
_SPEAKS_GIT: Final = re.compile(
    r"packet: .*< (version [12]$|0{40,64} capabilities|# service=git-upload-pack$)", re.MULTILINE
)


class Remote:
    """One address and branch. `ask_login` gives user name and password, and is called late."""

    def __init__(
        self,
        git: Git,
        url: str,
        branch: str | None,
        ask_login: Callable[[], tuple[str, str]] | None,
        *,
        about: str,
        patience: Patience,
    ) -> None:
        self._git = git
        self._local = local_path(url)
        self._url = url if self._local is None or url.startswith("file://") else str(self._local)
        self._branch = branch
        self._ask_login = ask_login
        self._about = about
        self._patience = patience

    @property
    def url(self) -> str:
        """As git is told; a local path in full, since git is started elsewhere."""
        return self._url

    def plainly_at(self, commit: str | None) -> Head | None:
        """The head of a local repository when a look at its files shows that it is still at `commit`."""
        if self._local is None or commit is None:
            return None
        head = local_head(self._local, self._branch)
        return head if head is not None and head.commit == commit else None

    async def head(self) -> Head | None:
        """What the remote's branch is at; None when it answers as a repository without any commit."""
        branch = self._branch
        wanted = full_ref(branch) if branch else "HEAD"
        refs, symrefs = await self._ls_remote(wanted)
        if wanted in refs:
            return Head(refs[wanted], branch or symrefs.get("HEAD", "HEAD").removeprefix("refs/heads/"))
        others, _ = await self._ls_remote()
        branches = sorted(ref.removeprefix("refs/heads/") for ref in others if ref.startswith("refs/heads/"))
        if branches:
            named = ", ".join(branches[:_MAX_BRANCHES_SHOWN]) + (", …" if len(branches) > _MAX_BRANCHES_SHOWN else "")
            missing = f"has no branch {branch!r}" if branch else "its HEAD names a branch that does not exist"
            raise GitError(self._about, Fault.MISSING, shown(missing), shown(f"set branch to one of: {named}"))
        return None

    async def _ls_remote(self, *wanted: str) -> tuple[dict[str, str], dict[str, str]]:
        """Refs to commits, and symbolic refs to refs. A peeled tag (`^{}`) stands for the tag."""
        if has_password(self._url):
            raise GitError(
                self._about, Fault.LOGIN, "its url holds a credential", "move it into the credential directory"
            )
        is_listing_all = not wanted
        output = await self._git.run(
            ["ls-remote", "--symref", "--", self._url, *wanted, *(f"{name}^{{}}" for name in wanted if name != "HEAD")],
            about=self._about,
            patience=self._patience,
            login=self.login(),
            max_bytes=64 << 20,
            trace_packets=is_listing_all,
        )
        refs: dict[str, str] = {}
        symrefs: dict[str, str] = {}
        for line in output.stdout.decode("utf-8", "surrogateescape").split("\n"):
            told, _, name = line.partition("\t")
            if told.startswith("ref: "):
                symrefs[name] = told.removeprefix("ref: ")
            elif is_commit(told):
                refs[name.removesuffix("^{}")] = told
        # A web page that is answered with 200 looks like an empty repository, but does not speak git's protocol.
        if is_listing_all and not refs and not _SPEAKS_GIT.search(output.stderr):
            raise GitError(self._about, Fault.MISSING, "answers, but not as a git repository", "check the url")
        return refs, symrefs

    def login(self) -> Login | None:
        """For the server of this address alone; None when it wants none or there is none."""
        if self._ask_login is None or not origin(self._url):
            return None
        if not may_carry_login(self._url):
            raise GitError(self._about, Fault.LOGIN, "its credential would travel unencrypted", "use https in its url")
        username, password = self._ask_login()
        return Login(origin(self._url), username, password)
