"""What `sources.toml` can say: one frozen dataclass per table, one field per setting.

The annotation of a field holds its form and its explanation; `load` and `reference` read both. A field whose name ends
in `_ms` or `_bytes` is written without that ending in the file, with a unit in its value. Fields without a default
must be given. What depends on more than one setting is checked in `rules`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from sources.config.forms import (
    COMMAND,
    DURATION,
    FOLDER,
    GIT_URL,
    GLOB,
    HTTP_URL,
    LANGUAGE,
    MODEL,
    NAME,
    OWNER,
    PATH,
    PREFIX,
    ROOM,
    SEEN,
    SIZE,
    USER,
    USERS,
    Each,
    number,
    whole,
)
from sources.config.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

Override = Literal["not-dm", "not-bridged", "was-bridged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """`[index]`: where and how the index is kept."""

    engine: Annotated[Literal["sqlite"], "What ranks: one SQLite file."] = "sqlite"
    languages: Annotated[
        tuple[str, ...],
        Each(LANGUAGE),
        "Languages whose inflected words find each other. A change needs `sources refresh --full`.",
    ] = ("en", "cs", "de")


@dataclass(frozen=True, slots=True, kw_only=True)
class Embed:
    """`[embed]`: where vectors come from. A change of model, dimension or prefix needs `sources refresh --full`."""

    kind: Annotated[
        Literal["local", "http", "off", "hashing"],
        "In this process without a network, an endpoint, none at all, or word hashes (for trials).",
    ] = "local"
    model: Annotated[
        str,
        MODEL,
        "For `local`: `e5`, or a folder with `tokenizer.json` and an ONNX model, written with a `/`. "
        "For `http`: the name that the server knows.",
    ] = "e5"
    threads: Annotated[int, whole(0, 256), "For `local`: threads to compute with; 0: one per core."] = 0
    url: Annotated[str | None, HTTP_URL, "For `http`: the service's base, like `http://localhost:11434`."] = None
    api: Annotated[
        Literal["openai", "ollama"], "For `http`: which protocol it speaks (`/v1/embeddings` or `/api/embed`)."
    ] = "openai"
    api_key_credential: Annotated[
        str | None, NAME, "For `http`: name of the credential that holds the key; none is sent without it."
    ] = None
    dimension: Annotated[
        int | None,
        whole(8, 8192),
        "Numbers per vector. Needed for `http`, where another number is refused; a local model says it itself.",
    ] = None
    query_prefix: Annotated[
        str | None, PREFIX, "Put before a question; default: what the model was trained with, else nothing."
    ] = None
    document_prefix: Annotated[str | None, PREFIX, "Put before a text that is indexed; default as above."] = None
    max_tokens: Annotated[
        int, whole(0, 1_000_000), "For `http`: what the model reads at once, to report what it cuts; 0: unknown."
    ] = 0
    connect_timeout_ms: Annotated[int, DURATION, "For `http`: until the service answers at all."] = 2 * SECOND_MS
    query_timeout_ms: Annotated[
        int, DURATION, "For `http`: for a question, all tries together; then the answer is given without vectors."
    ] = 2_500
    document_timeout_ms: Annotated[
        int, DURATION, "For `http`: for one batch while indexing; a server may load its model first."
    ] = 2 * MINUTE_MS
    batch_texts: Annotated[int, whole(1, 2048), "Texts that are embedded at a time, at most."] = 32
    batch_size_bytes: Annotated[int, SIZE, "Bytes of text that are embedded at a time, at most."] = 64_000


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorWeights:
    """`[search.vector_weight]`: what a place in the vector ranking counts against one in the lexical ranking.

    The defaults are measured; docs/quality.md has the figures.
    """

    chat: Annotated[float, number(0, 4), "For chat."] = 0.2
    forge: Annotated[float, number(0, 4), "For repositories."] = 1.0
    notes: Annotated[float, number(0, 4), "For notes."] = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """`[[search.route]]`: questions of one shape lift hits of a section or kind. Rows add to the built-in table."""

    name: Annotated[str, NAME, "What `--explain` calls it. The name of a built-in row replaces that row."]
    phrases: Annotated[
        tuple[str, ...],
        "Openings of such questions, like `what stops`; `*` stands for one or more words, `set*` for all words that "
        "begin so. Case and diacritics do not matter.",
    ]
    sections: Annotated[tuple[str, ...], "Header sections that are lifted."] = ()
    kinds: Annotated[
        tuple[Literal["header", "readme", "manual", "template", "doc", "note", "window"], ...],
        "Kinds of document that are lifted.",
    ] = ()
    factor: Annotated[float, number(0.1, 10), "What the score is multiplied by."] = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """`[search]`: how hits are ranked."""

    limit: Annotated[int, whole(1, 100), "Hits in an answer unless asked otherwise."] = 10
    candidates: Annotated[int, whole(10, 1000), "Places of each ranking that take part in the fusion."] = 100
    floor: Annotated[
        float | None,
        number(-1, 1),
        "Cosine below which a hit that only the vectors found counts as weak; default: calibrated for the model.",
    ] = None
    vector_weight: Annotated[VectorWeights, ""] = field(default_factory=VectorWeights)
    route: Annotated[tuple[Route, ...], ""] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """`[ask]`: the model that `sources ask` has answers written by. What it is sent are passages of your sources."""

    kind: Annotated[
        Literal["off", "openai"], "Off, or an endpoint that speaks OpenAI's protocol (`/v1/chat/completions`)."
    ] = "off"
    url: Annotated[str | None, HTTP_URL, "The service's base, like `http://localhost:11434`."] = None
    model: Annotated[str | None, MODEL, "The name that the server knows."] = None
    api_key_credential: Annotated[
        str | None, NAME, "Name of the credential that holds the key; none is sent without it."
    ] = None
    passages: Annotated[int, whole(1, 50), "Hits that an answer may rest on, at most."] = 8
    max_context_bytes: Annotated[int, SIZE, "Bytes of text that are sent with a question, at most."] = 24_000
    temperature: Annotated[
        float | None, number(0, 2), "Sent when it is given; some models refuse every value but their own."
    ] = None
    connect_timeout_ms: Annotated[int, DURATION, "Until the service can be reached."] = 5 * SECOND_MS
    silence_timeout_ms: Annotated[int, DURATION, "For each silence of the service; it may load its model first."] = (
        MINUTE_MS
    )
    timeout_ms: Annotated[int, DURATION, "For a whole answer, all tries together."] = 5 * MINUTE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """`[audit]`: what `sources audit` holds against a source."""

    horizon_ms: Annotated[int, DURATION, "A page whose `last_verified` is older than this is stale."] = 180 * DAY_MS
    due_soon_ms: Annotated[int, DURATION, "This long before it is stale a page is due soon."] = 30 * DAY_MS
    refresh_overdue_ms: Annotated[
        int, DURATION, "A source that no refresh brought up to date for this long is overdue."
    ] = 26 * HOUR_MS
    pending_overdue_ms: Annotated[int, DURATION, "Texts may wait this long for their vectors."] = 24 * HOUR_MS
    alert_credential: Annotated[
        str | None, NAME, "Name of the credential with the address that `--alert` writes to, as Apprise takes it."
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """`[refresh]`: the one run that writes."""

    parallel: Annotated[int, whole(1, 64), "Sources that are contacted at the same time."] = 4
    source_timeout_ms: Annotated[
        int, DURATION, "For one source; after it that source has failed and the others go on."
    ] = 10 * MINUTE_MS
    silence_timeout_ms: Annotated[
        int, DURATION, "For each silence of git; while something arrives a fetch may go on."
    ] = MINUTE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """`[log]`: what goes to standard error. Never text, questions or credentials: names, ids, counts, durations."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"], "The least that is logged; `-v` and `--quiet` change it."
    ] = "info"
    format: Annotated[Literal["auto", "plain", "json"], "`auto`: plain lines; JSON lines suit a collector."] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validate:
    """`[repo.validate]`, `[notes.validate]`, `[forge.validate]`: rules for front matter. A fault stops that source.

    What the index holds of it stays as it was, and the fault names file and field. Markdown files are held to the
    rules; which files those are is for `include` and `exclude` to say.
    """

    required: Annotated[tuple[str, ...], "Fields that each Markdown file must have, and not empty."] = ()
    allowed: Annotated[
        Mapping[str, tuple[str, ...]], "Field to the values it may have; of a list each. It may be missing."
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repo:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """`[[notes]]`: a folder of Markdown. An allow list: `paths`, then `include`, then `exclude`, which wins."""

    name: Annotated[str, NAME, "What hits and `in:` call it."]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """`[chat]`: the rooms that the reader account is joined to. Without it no chat is read; see docs/chat.md."""

    homeserver: Annotated[str, HTTP_URL, "Base URL of the reader's homeserver."]
    user: Annotated[str, USER, "The reader account; a token of another account is refused."]
    exclude: Annotated[
        tuple[str, ...], Each(ROOM), "Rooms that are never read, by id (`!hash` of room version 12 too) or alias."
    ] = ()
    encrypted_rooms: Annotated[
        Literal["skip", "refuse"], "Skip encrypted messages and count them, or refuse the whole room."
    ] = "skip"
    history: Annotated[
        tuple[Literal["world_readable", "shared", "invited", "joined"], ...],
        "Rooms are read only while their history visibility is one of these.",
    ] = ("world_readable", "shared")
    notices: Annotated[bool, "Whether notices of bots are indexed."] = False
    service_accounts: Annotated[
        tuple[str, ...],
        Each(USER),
        "Accounts that make no room a conversation of two, and whose messages are not read.",
    ] = ()
    puppets: Annotated[
        tuple[str, ...],
        "Globs of user ids that bridges use, like `@_irc_*:example.org`, beside those the program knows.",
    ] = ()
    overrides: Annotated[
        Mapping[str, Override],
        "Room id to a verdict that you know better: `not-dm`, `not-bridged`, or `was-bridged` (the bridge is gone: "
        "what is said from now on is read).",
    ] = field(default_factory=dict)
    erased_users: Annotated[
        tuple[str, ...], Each(USER), "Users whose messages are erased and stay out, here since servers do not tell."
    ] = ()
    grace_ms: Annotated[
        int, DURATION, "How long a room that the reader left is kept, hidden, before it is erased; `0s`: not at all."
    ] = 24 * HOUR_MS
    gap_ms: Annotated[int, DURATION, "A silence this long ends a window of messages."] = HOUR_MS
    max_window_bytes: Annotated[int, SIZE, "A window of messages is not larger than this."] = 1_400
    concurrency: Annotated[int, whole(1, 32), "Rooms that are read at the same time."] = 4
    timeout_ms: Annotated[int, DURATION, "For one request to the homeserver."] = 30 * SECOND_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class BotRoom:
    """`[[bot.room]]`: a room in which the bot answers. Everywhere else it keeps silent.

    What an answer quotes is read by everyone in that room, and by those who join it later.
    """

    room: Annotated[str, ROOM, "By id or alias. The bot has to be in it."]
    sees: Annotated[
        tuple[str, ...],
        Each(SEEN),
        "What may be quoted there. `here`: the room itself, unless newcomers may not read back in it; `public`: rooms "
        "that anyone may join and read; a room by id or alias, whatever it is; `forge:public` and `notes:public`: "
        "repositories and notes that are marked public; `repo:name`, `notes:name` or `forge:name/owner/repository`: "
        "that one, also a private one.",
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """`[bot]`: the account that answers `!search` in rooms. docs/bot.md says how to set it up."""

    homeserver: Annotated[str, HTTP_URL, "Base URL of the bot's homeserver."]
    user: Annotated[str, USER, "The bot's account, an own one; a token of another account is refused."]
    prefix: Annotated[str, COMMAND, "What a command begins with. The bot's name with a colon works too."] = "!search"
    names: Annotated[tuple[str, ...], "Further names that it answers to, beside its display name and its id."] = ()
    looks_with: Annotated[
        Literal["bot", "reader"],
        "Whose eyes check each quoted message before it is shown: the bot's, which then has to be in each room that it "
        "quotes, or also those of the reader in [chat], whose credential the bot then needs.",
    ] = "bot"
    direct: Annotated[bool, "Whether it answers in direct chats, which may not be encrypted."] = False
    direct_sees: Annotated[
        tuple[str, ...],
        Each(SEEN),
        "What may be quoted there. `joined`: rooms that the asker is in at that moment; the rest as for rooms.",
    ] = ("joined",)
    inviters: Annotated[
        tuple[str, ...], Each(USERS), "Whose invitations it accepts: ids, or globs like `@*:example.org`."
    ] = ()
    leaves: Annotated[
        bool, "Whether it leaves rooms that are neither listed nor a direct chat, and declines other invitations."
    ] = False
    ignore: Annotated[tuple[str, ...], Each(USER), "Other bots, whose messages are never answered."] = ()
    per_user: Annotated[int, whole(1, 1000), "Commands of one person that are answered in a minute."] = 6
    per_room: Annotated[int, whole(1, 1000), "Commands in one room that are answered in a minute."] = 20
    hits: Annotated[int, whole(1, 10), "Hits on one page of an answer."] = 5
    beat_ms: Annotated[
        int,
        DURATION,
        "Answers leave at multiples of this after the question, so that their time tells nothing of hidden rooms.",
    ] = 500
    stale_after_ms: Annotated[int, DURATION, "An answer says so when its sources were last read longer ago."] = (
        26 * HOUR_MS
    )
    withdraw: Annotated[
        Literal["redact", "edit"],
        "What happens to an answer when something that it quotes goes: it is redacted, or the hit is edited out of it, "
        "which leaves the old text in the room's history.",
    ] = "redact"
    remember_ms: Annotated[int, DURATION, "How long an answer is withdrawn when something that it quotes goes."] = (
        90 * 24 * HOUR_MS
    )
    contact: Annotated[str | None, "Who runs it, for `about`: a name, an address."] = None
    room: Annotated[tuple[BotRoom, ...], ""] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Top level: what stands before the first table."""

    state_dir: Annotated[Path, PATH, "Where the index, clones and built models are kept."] = Path("/var/lib/sources")
    index: Annotated[Index, ""] = field(default_factory=Index)
    embed: Annotated[Embed, ""] = field(default_factory=Embed)
    search: Annotated[Search, ""] = field(default_factory=Search)
    ask: Annotated[Ask, ""] = field(default_factory=Ask)
    audit: Annotated[Audit, ""] = field(default_factory=Audit)
    refresh: Annotated[Refresh, ""] = field(default_factory=Refresh)
    log: Annotated[Log, ""] = field(default_factory=Log)
    repo: Annotated[tuple[Repo, ...], ""] = ()
    forge: Annotated[tuple[Forge, ...], ""] = ()
    notes: Annotated[tuple[Notes, ...], ""] = ()
    chat: Annotated[Chat | None, ""] = None
    bot: Annotated[Bot | None, ""] = None

    @property
    def index_file(self) -> Path:
        """The SQLite file that holds the index, and for every engine the writer's own records."""
        return self.state_dir / "index.sqlite"
