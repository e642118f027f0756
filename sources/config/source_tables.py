"""What `sources.toml` can say of repositories, forges and folders of notes. Written as in `sources.config.model`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct, field

from sources.config.forms import (
    DURATION,
    FOLDER,
    GIT_URL,
    GLOB,
    HTTP_URL,
    NAME,
    OWNER,
    PATH,
    SIZE,
    Each,
    whole,
)
from sources.config.units import HOUR_MS


class Validate(Struct, frozen=True, kw_only=True):
    """`[repo.validate]`, `[notes.validate]`, `[forge.validate]`: rules for front matter. A fault stops that source.

    What the index holds of it stays as it was, and the fault names file and field. Markdown files are held to the
    rules; which files those are is for `include` and `exclude` to say.
    """

    required: Annotated[tuple[str, ...], "Fields that each Markdown file must have, and not empty."] = ()
    allowed: Annotated[
        Mapping[str, tuple[str, ...]], "Field to the values it may have; of a list each. It may be missing."
    ] = field(default_factory=dict)


class Repo(Struct, frozen=True, kw_only=True):
    """`[[repo]]`: one git repository. Only what it tracks is read, and nothing in it is ever run."""

    name: Annotated[str, NAME, "What hits and `repo:` call it."]
    url: Annotated[str, GIT_URL, "Where it is. No credentials in it."]
    branch: Annotated[str | None, "Branch to read, or a ref spelt out like `refs/tags/stable`; default: its HEAD."] = (
        None
    )
    credential: Annotated[
        str | None, NAME, "For a private one over https: name of the credential that holds `user:token`."
    ] = None
    include: Annotated[
        tuple[str, ...], Each(GLOB), "Only files that match one of these; empty: every text the indexer knows."
    ] = ()
    exclude: Annotated[tuple[str, ...], Each(GLOB), "Files that are left out; wins over `include`."] = ()
    public: Annotated[bool, "Whether everyone may read it. The bot shows others only where they are listed."] = False
    timeout_ms: Annotated[int | None, DURATION, "For this one; default: `refresh.source_timeout`."] = None
    max_file_bytes: Annotated[int, SIZE, "Larger files are skipped and counted."] = 1 << 20
    sections: Annotated[
        tuple[str, ...], "Sections of script headers; empty: PURPOSE, OPERATIONAL MODEL and the four others."
    ] = ()
    validate: Annotated[Validate, ""] = field(default_factory=Validate)


class Forge(Struct, frozen=True, kw_only=True):
    """`[[forge]]`: the repositories of organisations and users of one forge, each a source of its own.

    A repository that appears is read at the next refresh; one that vanishes or may not be read any more leaves the
    index; a renamed or transferred one keeps what is indexed. docs/forges.md has more.
    """

    name: Annotated[str, NAME, "What hits and `repo:` call it, before the repository's own name."]
    kind: Annotated[Literal["forgejo", "gitea", "github", "gitlab"], "What it runs."]
    url: Annotated[str, HTTP_URL, "Where people see it, like `https://codeberg.org`. No credentials in it."]
    organisations: Annotated[
        tuple[str, ...], Each(OWNER), "Whose repositories are read; at GitLab groups, with the groups below them."
    ] = ()
    users: Annotated[tuple[str, ...], Each(OWNER), "Users whose repositories are read."] = ()
    credential: Annotated[
        str | None, NAME, "Name of the credential that holds a token: for all that is not public, and for rate limits."
    ] = None
    include: Annotated[
        tuple[str, ...],
        Each(GLOB),
        "Only repositories that match one of these; without a `/` it is about the name, with one about `owner/name`.",
    ] = ()
    exclude: Annotated[tuple[str, ...], Each(GLOB), "Repositories that are left out; wins over `include`."] = ()
    visibility: Annotated[
        tuple[Literal["public", "internal", "private"], ...],
        "Repositories of these are read. The bot shows only public ones to everyone.",
    ] = ("public",)
    leave_out: Annotated[
        tuple[Literal["archived", "empty", "fork", "mirror", "template"], ...], "Repositories that are one of these."
    ] = ("fork",)
    include_files: Annotated[
        tuple[str, ...], Each(GLOB), "In each repository only files that match one of these; as `include` of a repo."
    ] = ()
    exclude_files: Annotated[tuple[str, ...], Each(GLOB), "Files that are left out; wins over `include_files`."] = ()
    parallel: Annotated[int, whole(1, 64), "Repositories of it that are contacted at the same time."] = 8
    trust_ms: Annotated[
        int,
        DURATION,
        "How long git is not asked again while the forge says that nothing was pushed; `0s`: git is always asked. "
        "GitLab does not say it reliably, so there git is always asked.",
    ] = 24 * HOUR_MS
    timeout_ms: Annotated[int | None, DURATION, "For each repository; default: `refresh.source_timeout`."] = None
    max_file_bytes: Annotated[int, SIZE, "Larger files are skipped and counted."] = 1 << 20
    sections: Annotated[
        tuple[str, ...], "Sections of script headers; empty: PURPOSE, OPERATIONAL MODEL and the four others."
    ] = ()
    validate: Annotated[Validate, ""] = field(default_factory=Validate)


class Notes(Struct, frozen=True, kw_only=True):
    """`[[notes]]`: a folder of Markdown. An allow list: `paths`, then `include`, then `exclude`, which wins."""

    name: Annotated[str, NAME, "What hits and `repo:` call it."]
    root: Annotated[Path, PATH, "The folder."]
    paths: Annotated[tuple[str, ...], Each(FOLDER), "Folders or files under the root that are read; `.` is all of it."]
    include: Annotated[tuple[str, ...], Each(GLOB), "Only files that match one of these."] = ("**/*.md",)
    exclude: Annotated[tuple[str, ...], Each(GLOB), "Files that are left out."] = ()
    public: Annotated[bool, "Whether everyone may read it. The bot shows others only where they are listed."] = False
    max_file_bytes: Annotated[int, SIZE, "Larger files are skipped and counted."] = 1 << 20
    max_drop_percent: Annotated[
        int,
        whole(1, 100),
        "When more of the folder's files than this vanish at once, nothing is removed and the run says so: a disk "
        "that is not mounted looks like that.",
    ] = 50
    validate: Annotated[Validate, ""] = field(default_factory=Validate)
