"""What git's complaints mean: one table from its words to a fault, a problem and a remedy. Pure."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from index.errors import CredentialError, ForgeError
from ingest.forge.remote import shown


class Fault(StrEnum):
    TIMEOUT = "timeout"
    LOGIN = "login"  # wanted and not given, or refused
    MISSING = "missing"  # nothing there, or something else than a repository
    NETWORK = "network"
    DISK = "disk"
    LOCKED = "locked"
    DAMAGED = "damaged"  # the private clone is at fault; made afresh once
    NO_GIT = "no-git"
    TOO_MUCH = "too-much"  # more output than anybody asked for
    OTHER = "other"


class GitError(ForgeError):
    """A git process failed. The message is complete; `fault` is for those who can do something about it."""

    def __init__(self, about: str, fault: Fault, problem: str, remedy: str) -> None:
        super().__init__(f"{about}: {problem} ({remedy})")
        self.fault = fault


class LoginError(GitError, CredentialError):
    """The login that was given is refused or cannot be used."""


@dataclass(frozen=True, slots=True)
class Login:
    """What a server is told when it asks. `origin` is the `https://host:port` that may be told."""

    origin: str
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Row:
    """`words` are searched in what git says, lower case, quoted names taken out; any one of them will do."""

    words: tuple[str, ...]
    fault: Fault
    problem: str
    remedy: str

    def pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(self.words))


# The first row that matches counts. git speaks English to us: LC_ALL is C.
_ROWS: Final = (
    _Row(
        ("no space left on device", "disk quota exceeded", "file too large", "read-only file system", "signal 25"),
        Fault.DISK,
        "its private clone cannot be written",
        "make room in the state directory",
    ),
    _Row(
        ("could not read username", "could not read password", "terminal prompts disabled"),
        Fault.LOGIN,
        "asks for a login: private, or not there",
        "check the url, or give the source a credential",
    ),
    _Row(
        ("authentication failed", "returned error: 40[13]", r"permission denied \(", "access denied"),
        Fault.LOGIN,
        "refused the login",
        "check the credential and what it may read",
    ),
    _Row(
        ("host key verification failed",),
        Fault.LOGIN,
        "its ssh host key is not known",
        "add it to known_hosts of the user that runs refresh",
    ),
    _Row(
        ("certificate .*failed", "certificate problem", "certificate subject name"),
        Fault.NETWORK,
        "its certificate is not accepted",
        "check the url; an authority of your own has to be trusted by this machine",
    ),
    _Row(
        ("transport '' not allowed", "unable to find remote helper", "protocol '' is not supported"),
        Fault.MISSING,
        "no transport that may be used",
        "use https, ssh or a path",
    ),
    _Row(
        ("unable to create ''", "cannot lock ref"),
        Fault.LOCKED,
        "its private clone is locked",
        "run refresh again",
    ),
    _Row(
        ("couldn't find remote ref", "remote ref .* not found"),
        Fault.MISSING,
        "the branch went while it was fetched",
        "run refresh again",
    ),
    _Row(
        (
            "mismatched algorithms", "bad object", "corrupt", "loose object", "not a valid object", "pack has bad",
            "packfile .* (is|cannot)", "bad tree", "not a tree object", "invalid sha1 pointer", "bad ref", "bad config",
            "unable to (read|parse|find|open) (object|commit|tree|sha1|loose|[0-9a-f]{40})", "shallow file", "inflate",
            "could not (parse|get) object", "did not send all necessary", "missing (blob|tree|commit)", "malformed",
            "unresolved delta", "is broken", "not our ref", "bad signature",
        ),
        Fault.DAMAGED,
        "objects are damaged, in its private clone or at the source",
        "run `git fsck` at the source; the clone has been made afresh already",
    ),
    _Row(
        (
            "does not appear to be a git repository", "not a git repository", "repository .*not found",
            "does not exist", "not valid: is this a git", "returned error: 404", "unable to parse remote",
        ),
        Fault.MISSING,
        "no git repository there",
        "check the url",
    ),
    _Row(
        (
            "could not resolve", "failed to connect", "couldn't connect", "connection (refused|timed out|reset)",
            "unable to access", "rpc failed", "hung up", "early eof", "unexpected disconnect", "certificate", "ssl",
            "network is unreachable", "no route to host", "returned error: 5", "operation too slow", "protocol error",
            "could not read from remote", "expected flush", "unable to look up", "invalid index-pack output",
            "unable to rewind", "invalid server response", "bad pack header", "expected ",
        ),
        Fault.NETWORK,
        "cannot be reached",
        "check the network and the other side; the next run tries again",
    ),
)  # fmt: skip
_COMPILED: Final = tuple((row.pattern(), row) for row in _ROWS)
_QUOTED_NAME: Final = re.compile(r"'[^'\n]*'")
_QUOTED_CHARACTERS: Final = 160


def explain(about: str, status: int, stderr: str, login: Login | None = None) -> GitError:
    """The error for a git process that ended with `status` and said `stderr`."""
    said = _QUOTED_NAME.sub("''", stderr).lower()
    quoted = _telling_line(stderr, (login.password,) if login else ())
    for words, row in _COMPILED:
        if words.search(said):
            kind = LoginError if login and row.fault is Fault.LOGIN else GitError
            return kind(about, row.fault, f"{row.problem}: {quoted}" if quoted else row.problem, row.remedy)
    told = f"git ended with status {status}" + (f": {quoted}" if quoted else " and no word")
    return GitError(about, Fault.OTHER, told, "try the same by hand with git; the next run tries again")


def _telling_line(stderr: str, secrets: tuple[str, ...]) -> str:
    lines = [line.strip() for line in re.split(r"[\r\n]+", stderr) if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "ERROR:"))] or lines[-1:]
    text = shown(telling[0] if telling else "", *secrets)
    return text if len(text) <= _QUOTED_CHARACTERS else text[:_QUOTED_CHARACTERS] + "…"
