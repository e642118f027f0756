"""What `sources.toml` can say: one frozen record per table, one field per setting.

The annotation of a field holds its form and its explanation; `load` and `reference` read both. A field whose name ends
in `_ms` or `_bytes` is written without that ending in the file, with a unit in its value. Fields without a default
must be given. What depends on more than one setting is checked in `rules`.
"""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct, field

from sources.config.chat_tables import Bot, Chat
from sources.config.engine_tables import Qdrant
from sources.config.forms import (
    DURATION,
    HTTP_URL,
    LANGUAGE,
    MODEL,
    NAME,
    PATH,
    PREFIX,
    SIZE,
    Each,
    number,
    whole,
)
from sources.config.source_tables import Forge, Notes, Repo
from sources.config.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS


class Index(Struct, frozen=True, kw_only=True):
    """`[index]`: where and how the index is kept."""

    engine: Annotated[
        Literal["sqlite", "qdrant"],
        "What ranks: one SQLite file, or a Qdrant cluster that the writer copies its file into.",
    ] = "sqlite"
    languages: Annotated[
        tuple[str, ...],
        Each(LANGUAGE),
        "Languages whose inflected words find each other. A change needs `sources refresh --full`.",
    ] = ("en", "cs", "de")
    qdrant: Annotated[Qdrant, ""] = field(default_factory=Qdrant)


class Embed(Struct, frozen=True, kw_only=True):
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


class VectorWeights(Struct, frozen=True, kw_only=True):
    """`[search.vector_weight]`: what a place in the vector ranking counts against one in the lexical ranking.

    The defaults are measured; docs/quality.md has the figures.
    """

    chat: Annotated[float, number(0, 4), "For chat, where words do not cover the question."] = 0.2
    forge: Annotated[float, number(0, 4), "For repositories."] = 1.0
    notes: Annotated[float, number(0, 4), "For notes."] = 1.0


class Route(Struct, frozen=True, kw_only=True):
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


class Search(Struct, frozen=True, kw_only=True):
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


class Ask(Struct, frozen=True, kw_only=True):
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


class Audit(Struct, frozen=True, kw_only=True):
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


class Refresh(Struct, frozen=True, kw_only=True):
    """`[refresh]`: the one run that writes."""

    parallel: Annotated[int, whole(1, 64), "Sources that are contacted at the same time."] = 4
    source_timeout_ms: Annotated[
        int, DURATION, "For one source; after it that source has failed and the others go on."
    ] = 10 * MINUTE_MS
    silence_timeout_ms: Annotated[
        int, DURATION, "For each silence of git; while something arrives a fetch may go on."
    ] = MINUTE_MS


class Metrics(Struct, frozen=True, kw_only=True):
    """`[metrics]`: what a refresh leaves for Prometheus to collect. docs/monitoring.md has every metric."""

    textfile: Annotated[
        Path | None,
        PATH,
        "A file ending in `.prom`, in the folder that node_exporter's textfile collector reads; none is written "
        "without it. Needs the extra `metrics`.",
    ] = None


class Log(Struct, frozen=True, kw_only=True):
    """`[log]`: what goes to standard error. Never text, questions or credentials: names, ids, counts, durations."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"], "The least that is logged; `-v` and `--quiet` change it."
    ] = "info"
    format: Annotated[
        Literal["auto", "plain", "json"],
        "`auto`: the journal's own fields below systemd, else plain lines; JSON lines suit a collector.",
    ] = "auto"


class Config(Struct, frozen=True, kw_only=True):
    """Top level: what stands before the first table."""

    state_dir: Annotated[Path, PATH, "Where the index, clones and built models are kept."] = Path("/var/lib/sources")
    index: Annotated[Index, ""] = field(default_factory=Index)
    embed: Annotated[Embed, ""] = field(default_factory=Embed)
    search: Annotated[Search, ""] = field(default_factory=Search)
    ask: Annotated[Ask, ""] = field(default_factory=Ask)
    audit: Annotated[Audit, ""] = field(default_factory=Audit)
    refresh: Annotated[Refresh, ""] = field(default_factory=Refresh)
    metrics: Annotated[Metrics, ""] = field(default_factory=Metrics)
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
