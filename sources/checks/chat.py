"""Probe of chat: whose token it is, which rooms it is in, and what of that a refresh would make. No message is read."""

from collections.abc import Iterator, Sequence

from index.errors import SourcesError
from index.model import UserId
from index.wording import counted
from sources.checks.base import Finding, Verdict, failure, in_the_clear
from sources.config.model import Config
from sources.credentials import Credentials


async def probe(config: Config, credentials: Credentials) -> Sequence[Finding]:
    if config.chat is None:
        return []
    from ingest.chat.reader import open_reader
    from matrix.budget import CHECK_BUDGET
    from sources.config.chat import chat_settings, reader_token

    settings = chat_settings(config.chat)
    clear = list(in_the_clear("chat", config.chat.homeserver))
    try:
        async with open_reader(settings, reader_token(credentials), budget=CHECK_BUDGET) as reader:
            await reader.check_account(UserId(config.chat.user))
            joined = await reader.joined_rooms()
            ignored = await reader.ignored_users()
            unresolved = [alias for alias in sorted(settings.excluded_aliases) if await reader.resolve(alias) is None]
    except SourcesError as error:
        return [failure("chat", error), *clear]
    return [*_findings(config.chat.user, len(joined), len(ignored), unresolved), *clear]


def _findings(user: str, joined: int, ignored: int, unresolved: Sequence[str]) -> Iterator[Finding]:
    if joined:
        yield Finding("chat", Verdict.OK, f"{user} is in {counted(joined, 'room')}")
    else:
        remedy = "let it join, see docs/chat.md or `sources roster`"
        yield Finding("chat", Verdict.WARN, f"{user} is in no room", remedy)
    if ignored:
        remedy = "empty its ignore list"
        yield Finding(
            "chat ignored",
            Verdict.WARN,
            f"the reader ignores {counted(ignored, 'user')}, whose words are missing",
            remedy,
        )
    for alias in unresolved:
        remedy = "correct it, or write the room's id"
        yield Finding(f"chat {alias}", Verdict.WARN, "is excluded and leads to no room now", remedy)
