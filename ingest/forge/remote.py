"""Where a repository is: addresses as git understands them, and as they may be shown.

Pure, except for `local_head`, which looks at two or three small files of a repository on this machine.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_USERINFO: Final = re.compile(r"(?<=://)[^/\s?#]*@")
_QUERY_VALUE: Final = re.compile(r"([?&][^=&\s]{1,64}=)[^&\s'\"]+")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]+")
_SCP_LIKE: Final = re.compile(r"^[^/]*:")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PACKED_REFS_LIMIT_BYTES: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Head:
    """What a remote answers with: the commit to index, and the branch it is on ("HEAD" when it is on none)."""

    commit: str
    branch: str


def is_commit(text: str) -> bool:
    """Whether this is a full object id, SHA-1 or SHA-256."""
    return _COMMIT.fullmatch(text) is not None


def shown(text: str, *secrets: str) -> str:
    """`text`, one printable line without user names, passwords or query values of the addresses in it."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "…")
    return _UNPRINTABLE.sub(" ", _QUERY_VALUE.sub(r"\1…", _USERINFO.sub("", text))).strip()


def has_password(url: str) -> bool:
    found = _USERINFO.search(url)
    is_token_alone = found is not None and url.lower().startswith(("http://", "https://"))
    return found is not None and (":" in found[0] or is_token_alone)


def local_path(url: str) -> Path | None:
    """The folder or bundle on this machine that `url` names, or None when it is elsewhere."""
    if url.startswith("file://"):
        parts = urlsplit(url)
        return Path(unquote(parts.path)) if parts.netloc in ("", "localhost") else None
    if "://" in url or _SCP_LIKE.match(url):
        return None
    return Path(url).expanduser().absolute()


def origin(url: str) -> str:
    """`https://host:port` of a web address, as a credential is tied to it; empty for all others."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def full_ref(branch: str) -> str:
    """The ref that a configured branch means; one spelt out (`refs/tags/stable`) is taken as it is."""
    return branch if branch.startswith("refs/") else f"refs/heads/{branch}"


def may_carry_login(url: str) -> bool:
    """Only an encrypted connection, or one that does not leave this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost"))


def local_head(path: Path, branch: str | None) -> Head | None:
    """What `git ls-remote` would say of the repository at `path`, without a process; None when that is not plain.

    Only for telling that nothing happened: ten local repositories cost ten reads instead of thirty processes. None
    for a work tree of another repository, reftable, a symbolic link as HEAD, a branch without a commit, and any
    fault; ask git then. A loose ref is looked for before packed-refs, which git writes before it deletes loose ones.
    """
    try:
        folder = path / ".git" if (path / ".git").exists() else path
        head = folder / "HEAD"
        if head.is_symlink() or not (folder / "objects").is_dir() or (folder / "reftable").exists():
            return None
        told = head.read_text("utf-8").strip()
        ref = full_ref(branch) if branch else told.removeprefix("ref:").strip()
        if not branch and not told.startswith("ref:"):
            return Head(told, "HEAD") if is_commit(told) else None
        if not ref.startswith("refs/heads/") or ".." in ref:
            return None
        commit = _loose(folder, ref)
        if commit is None:
            commit = _packed(folder, ref)
        return Head(commit, ref.removeprefix("refs/heads/")) if is_commit(commit) else None
    except (OSError, ValueError):
        return None


def _loose(folder: Path, ref: str) -> str | None:
    try:
        return (folder / ref).read_text("utf-8").strip()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _packed(folder: Path, ref: str) -> str:
    packed = folder / "packed-refs"
    if not packed.exists() or packed.stat().st_size > _PACKED_REFS_LIMIT_BYTES:
        return ""
    wanted = ref.encode()
    for line in packed.read_bytes().splitlines():
        commit, _, name = line.partition(b" ")
        if name == wanted:
            return commit.decode("ascii")
    return ""
