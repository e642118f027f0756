"""What one setting demands of another. Pure; runs on tables whose values are right one by one."""

from collections.abc import Iterator
from pathlib import Path

from sources.config.chat_tables import Bot, BotRoom, Chat
from sources.config.decode import Problem
from sources.config.engine_tables import Qdrant
from sources.config.forms import ROOM_ID, FormError
from sources.config.model import Ask, Audit, Config, Embed, Index, Metrics, Refresh, Route, Search
from sources.config.source_tables import Forge, Notes, Repo, Validate


def contradictions(table: object) -> Iterator[Problem]:
    """Every pair of settings of one table that cannot both be meant; keys are relative to the table."""
    match table:
        case Index():
            if not table.languages:
                yield Problem("languages", "is empty", 'name at least one, like ["en"]')
            if table.engine == "qdrant" and table.qdrant.url is None:
                yield Problem("qdrant.url", 'is missing, and engine = "qdrant" needs it', "add it, or change engine")
        case Qdrant():
            yield from _some_time("query_timeout", table.query_timeout_ms)
            yield from _some_time("write_timeout", table.write_timeout_ms)
        case Embed():
            yield from _embed(table)
        case Search():
            if table.candidates < table.limit:
                yield Problem("candidates", f"is less than limit ({table.limit})", "raise it")
        case Route():
            yield from _route(table)
        case Ask():
            yield from _ask(table)
        case Audit():
            if table.due_soon_ms > table.horizon_ms:
                yield Problem("due_soon", "is longer than horizon, so every page would be due", "shorten it")
        case Refresh():
            yield from _some_time("source_timeout", table.source_timeout_ms)
            yield from _some_time("silence_timeout", table.silence_timeout_ms)
        case Metrics():
            if table.textfile is not None and table.textfile.suffix != ".prom":
                yield Problem("textfile", "does not end in .prom, so node_exporter would not read it", "name it so")
        case Repo():
            yield from _repo(table)
        case Forge():
            yield from _forge(table)
        case Notes():
            yield from _notes(table)
        case Validate():
            for name, values in table.allowed.items():
                if not values:
                    yield Problem(f"allowed.{name}", "allows no value", "list the values, or remove the line")
        case Chat():
            yield from _chat(table)
        case Bot():
            yield from _bot(table)
        case BotRoom():
            if "joined" in table.sees:
                yield Problem("sees", "holds joined, which is for direct chats", 'write "here", or list rooms')
        case Config():
            yield from _together(table)


def _some_time(key: str, duration_ms: int | None) -> Iterator[Problem]:
    if duration_ms == 0:
        yield Problem(key, "leaves no time for anything", 'write it like "10m"')


def _some_size(key: str, size_bytes: int) -> Iterator[Problem]:
    if size_bytes == 0:
        yield Problem(key, "would skip every file", 'write it like "1 MiB"')


def _embed(embed: Embed) -> Iterator[Problem]:
    if embed.kind == "http":
        for key, value in (("url", embed.url), ("dimension", embed.dimension)):
            if value is None:
                yield Problem(key, 'is missing, and kind = "http" needs it', "add it, or change kind")
    else:
        for key, value in (("url", embed.url), ("api_key_credential", embed.api_key_credential)):
            if value is not None:
                remedy = f'remove it, or write kind = "http" instead of "{embed.kind}"'
                yield Problem(key, 'belongs to kind = "http"', remedy)
    if embed.kind == "local" and embed.model != "e5" and "/" not in embed.model:
        remedy = 'write "e5", or the path of a folder, like "./models/mine"'
        yield Problem("model", f"there is no built-in model {embed.model[:40]!r}", remedy)
    yield from _some_time("connect_timeout", embed.connect_timeout_ms)
    yield from _some_time("document_timeout", embed.document_timeout_ms)
    yield from _some_time("query_timeout", embed.query_timeout_ms)


def _ask(ask: Ask) -> Iterator[Problem]:
    if ask.kind != "off":
        for key, value in (("url", ask.url), ("model", ask.model)):
            if value is None:
                yield Problem(key, f'is missing, and kind = "{ask.kind}" needs it', "add it, or change kind")
    if ask.max_context_bytes < 1_000:
        yield Problem("max_context", "is too small for one passage", 'write "4 kB" or more')
    yield from _some_time("connect_timeout", ask.connect_timeout_ms)
    yield from _some_time("silence_timeout", ask.silence_timeout_ms)
    yield from _some_time("timeout", ask.timeout_ms)


def _route(route: Route) -> Iterator[Problem]:
    if not any(phrase.strip(" *") for phrase in route.phrases):
        yield Problem("phrases", "holds no words", 'write some, like ["what stops"]')
    if not route.sections and not route.kinds:
        yield Problem("", "lifts nothing", "name sections or kinds")


def _repo(repo: Repo) -> Iterator[Problem]:
    yield from _some_size("max_file", repo.max_file_bytes)
    yield from _some_time("timeout", repo.timeout_ms)
    if repo.credential is not None and not repo.url.startswith(("https://", "http://")):
        yield Problem("credential", "is only for https", "write an https url, or remove it")
    branch = repo.branch
    if branch is not None and (
        not branch.isprintable()
        or branch.startswith(("-", "/"))
        or ".." in branch
        or any(c in " ~^:?*[\\" for c in branch)
        or not branch
    ):
        yield Problem("branch", "cannot be the name of a branch", 'write it like "main"')


def _forge(forge: Forge) -> Iterator[Problem]:
    if not forge.organisations and not forge.users:
        yield Problem("organisations", "names nobody, and neither does users", 'write it like ["community"]')
    if not forge.visibility:
        yield Problem("visibility", "is empty, so no repository would be read", 'write ["public"]')
    if forge.credential is None and (hidden := [one for one in forge.visibility if one != "public"]):
        yield Problem("visibility", f"asks for {' and '.join(hidden)}, which need a token", "add credential")
    yield from _some_size("max_file", forge.max_file_bytes)
    yield from _some_time("timeout", forge.timeout_ms)


def _notes(notes: Notes) -> Iterator[Problem]:
    if not notes.paths:
        yield Problem("paths", "is empty, so nothing would be read", 'list folders, or ["."] for all of the root')
    yield from _some_size("max_file", notes.max_file_bytes)
    if notes.root == Path("/"):
        yield Problem("root", "is the whole file system", "name the folder that holds the notes")


def _chat(chat: Chat) -> Iterator[Problem]:
    if not chat.history:
        yield Problem("history", "is empty, so no room would be read", 'write ["world_readable", "shared"]')
    if chat.max_window_bytes < 200:
        yield Problem("max_window", "is too small for one message", 'write "200 B" or more')
    yield from _some_time("gap", chat.gap_ms)
    yield from _some_time("timeout", chat.timeout_ms)
    for room in chat.overrides:
        try:
            ROOM_ID.read(room, Path())
        except FormError as fault:
            yield Problem("overrides", fault.problem, fault.remedy)
    for number, glob in enumerate(chat.puppets, 1):
        if not glob.startswith("@") or ":" not in glob:
            remedy = 'write it like "@_irc_*:example.org"'
            yield Problem(f"puppets[{number}]", "is not a glob of user ids tied to a server", remedy)
    if chat.user in chat.erased_users:
        yield Problem("erased_users", "names the reader itself", "remove it")


def _bot(bot: Bot) -> Iterator[Problem]:
    yield from _some_time("remember", bot.remember_ms)
    if "here" in bot.direct_sees:
        yield Problem("direct_sees", "holds here, and a direct chat is not indexed", 'write "joined", or list rooms')
    if bot.beat_ms > 10_000:
        yield Problem("beat", "keeps everyone waiting for longer than 10 s", 'write it like "500ms"')
    if bot.user in bot.ignore:
        yield Problem("ignore", "names the bot itself, which is ignored anyway", "remove it")
    seen: dict[str, int] = {}
    for number, one in enumerate(bot.room, 1):
        if seen.setdefault(one.room, number) != number:
            yield Problem(f"room[{number}].room", f"is room[{seen[one.room]}] again", "make them one table")


def _together(config: Config) -> Iterator[Problem]:
    bot, chat = config.bot, config.chat
    if bot is None:
        return
    if bot.looks_with == "reader" and chat is None:
        yield Problem("bot.looks_with", "is reader, and there is no [chat]", 'add [chat], or write "bot"')
    if chat is not None and bot.user == chat.user:
        yield Problem("bot.user", "is the reader of [chat]", "make an account for the bot: the reader never speaks")
