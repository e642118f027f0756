"""Chat that the configuration does not name any more: out of every search at once, erased after the grace time.

A table that is mistyped, or taken out for a while, costs a moment of search and not the history of all rooms. How long
the grace time is stood in that table, so each run of chat notes it beside its token.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from index.model import Corpus, RoomId, SourceId, UserId
from index.store.store import Source, Store
from ingest.chat.following import ACCOUNT, GRACE
from ingest.chat.history import begin_again
from ingest.chat.purging import apply_purges
from ingest.chat.run import Run
from ingest.chat.settings import ChatSettings
from ingest.report import Outcome, SourceReport
from ingest.writing import Writer

_SINCE: Final = "chat.absent_ms"
"""Entry of `meta`: the first run without a table; empty while there is one. It goes with the account."""


@dataclass(frozen=True, slots=True)
class AbsentChat:
    """In place of the worker of an account, while what was read of its rooms is kept."""

    source: SourceId
    settings: ChatSettings
    since_ms: int

    @property
    def erased_ms(self) -> int:
        return self.since_ms + self.settings.grace_ms

    def owns(self, source: SourceId) -> bool:
        return source.startswith("chat:")

    async def refresh(self, writer: Writer, *, is_full: bool) -> Sequence[SourceReport]:
        shown = [source for source in await _chat(writer.store) if not source.is_hidden]
        async with writer.transaction() as store:
            for source in shown:
                await store.hide(source.id, is_hidden=True)
            await store.set_value(_SINCE, str(self.since_ms))
        if is_full:
            await begin_again(writer)  # once the table is back
        purged = await apply_purges(writer, self.settings, time.time_ns() // 1_000_000)
        ends = datetime.fromtimestamp(self.erased_ms / 1000, UTC)
        note = (
            "[chat] is not configured any more: its rooms are out of every search, and erased from"
            f" {ends:%Y-%m-%d %H:%M} UTC on (put it back to keep them)"
        )
        outcome = Outcome.UPDATED if shown or purged else Outcome.UNCHANGED
        return [SourceReport(self.source, outcome, notes=(note,))]


async def absent_chat(
    store: Store, *, orders: Path | None = None, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
) -> list[AbsentChat]:
    """For a configuration without `[chat]`. None when nothing was read of any room, or its time is over: what no
    worker owns is erased.
    """
    settings = await absent_settings(store, orders)
    if settings is None:
        return []
    now = now_ms()
    kept = AbsentChat(await _account(store), settings, min(await _since(store) or now, now))  # now: the clock was ahead
    return [kept] if now < kept.erased_ms else []


async def absent_settings(store: Store, orders: Path | None) -> ChatSettings | None:
    """What is known of the account whose rooms the index holds, without its table; None where it holds no room."""
    if not await _chat(store):
        return None
    user = await store.value(ACCOUNT) or (await _account(store)).partition(":")[2]
    settings = ChatSettings("", UserId(user), orders=orders)
    grace = await store.value(GRACE)
    return settings if grace is None else replace(settings, grace_ms=int(grace))


async def erased_from(store: Store) -> int | None:
    """When rooms whose table is gone are erased; None before the first run without it."""
    since_ms = await _since(store)
    return None if since_ms is None else since_ms + int(await store.value(GRACE) or 0)


async def show_again(run: Run) -> None:
    """The table is back, and what was redacted meanwhile is known: what may be read is found again."""
    if await _since(run.writer.store) is None:
        return
    async with run.writer.transaction() as store:
        for source in await _chat(store):
            room = run.rooms.get(RoomId(source.id.partition(":")[2]))
            is_ours = source.id == f"chat:{run.settings.user}"
            if source.is_hidden and (is_ours or (room is not None and room.record.is_admitted)):
                await store.hide(source.id, is_hidden=False)
        await store.set_value(_SINCE, "")


async def _since(store: Store) -> int | None:
    said = await store.value(_SINCE)
    return int(said) if said else None


async def _account(store: Store) -> SourceId:
    """The source of the account, or of some room: a run that was killed before its end has left only those."""
    known = [source.id for source in await _chat(store)]
    return next((source for source in known if source.startswith("chat:@")), known[0])


async def _chat(store: Store) -> list[Source]:
    return [source for source in await store.sources() if source.corpus is Corpus.CHAT]
