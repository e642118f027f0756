"""Chat brought up to date: all rooms of the reader account, in one order of things.

1. Whoever must be forgotten goes first: purges and erased users, before anybody is asked anything.
2. Whose token is it, which rooms is it in. Rooms that it left are out of every search from here on.
3. Gates: the state of rooms never seen, and of a few others in turn, since syncs do not tell every change. Refused
   rooms are hidden, then erased. No message was requested so far.
4. One sync, of admitted rooms alone; gates again for the rooms it names; what it says is stored; the token moves.
5. History: rooms that are new are read from their beginning, gaps are filled.
6. What the homeserver does not tell: lost events, retention. Then purges that were ordered meanwhile.

A quiet homeserver costs a constant number of requests, however many rooms there are. A room that fails is told and
tried again in the next run; a dead token ends the run at once; when time is over, what was read stays read.
"""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Final

import structlog
from msgspec import structs

from index.errors import CredentialError, MatrixError, SourcesError
from index.model import RoomId, SourceId, UserId
from index.store import purges as purge_store
from index.store import rooms as room_store
from index.store.rooms import DONE
from index.wording import counted
from ingest.chat import admission
from ingest.chat.absence import show_again
from ingest.chat.content import Scrub
from ingest.chat.following import ACCOUNT, SINCE, follow, open_gap, save_since
from ingest.chat.history import begin_again, read_rooms
from ingest.chat.purging import apply_purges, erase_users, rules_of
from ingest.chat.reconciling import reconcile
from ingest.chat.renaming import rename_documents
from ingest.chat.rescrubbing import scrub_again
from ingest.chat.room import Room, new_room, room_of
from ingest.chat.run import Run, policy_of
from ingest.chat.settings import ChatSettings
from ingest.report import Outcome, SourceReport
from ingest.writing import Writer
from matrix.errors import RefusedError
from matrix.reading import RoomReader

log = structlog.get_logger()

SOURCE_PREFIX: Final = "chat:"
_BAD_REQUEST: Final = 400


def account_source(user: UserId) -> SourceId:
    """The reader account itself, under which a run reports what concerns all of its rooms."""
    return SourceId(f"{SOURCE_PREFIX}{user}")


@dataclass(frozen=True, slots=True)
class ChatWorker:
    """All rooms of one account."""

    settings: ChatSettings
    open_reader: Callable[[], AbstractAsyncContextManager[RoomReader]]
    scrub: Scrub
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    draw: random.Random = random.Random()  # noqa: RUF009 which events are sampled may differ from run to run

    @property
    def source(self) -> SourceId:
        return account_source(self.settings.user)

    def owns(self, source: SourceId) -> bool:
        return source.startswith(SOURCE_PREFIX)

    async def refresh(self, writer: Writer, *, is_full: bool) -> Sequence[SourceReport]:
        start = time.monotonic()
        now_ms = self.now_ms()
        notes = await self._forget(writer, now_ms)
        outcome = Outcome.UPDATED if notes else Outcome.UNCHANGED
        if is_full:
            await begin_again(writer)
        async with self.open_reader() as reader:
            run, fault = await self._refresh(reader, writer, now_ms, notes)
        if given_meanwhile := await self._purge(writer, now_ms):
            notes += given_meanwhile
            outcome = Outcome.UPDATED
        reports = []
        if run is not None:
            failed = {source.id for source in await writer.store.sources() if source.fault is not None}
            every = [tally.report(run.rooms[room]) for room, tally in run.tallies.items()]
            told = {report.source for report in every}
            if fault is None:  # those that are well again, in silence
                every += [SourceReport(r.source, Outcome.UNCHANGED) for r in run.rooms.values() if r.source not in told]
            reports = [one for one in every if _is_worth_telling(one) or one.source in failed]
        own = SourceReport(self.source, outcome, notes=tuple(notes))
        if fault is not None:
            is_credential = isinstance(fault, CredentialError)
            own = structs.replace(own, outcome=Outcome.FAILED, fault=str(fault), is_credential_fault=is_credential)
        seconds = time.monotonic() - start
        return [structs.replace(own, seconds=seconds), *reports]

    async def _forget(self, writer: Writer, now_ms: int) -> list[str]:
        """Without the homeserver: what the scrubber has learned, purges, erased users. Returns what was done."""
        notes = []
        if rescrubbed := await scrub_again(writer, self.settings, self.scrub, now_ms):
            notes.append(f"{counted(rescrubbed, 'stored message was', 'stored messages were')} scrubbed again")
        notes += await self._purge(writer, now_ms)
        erased = await erase_users(writer, self.settings, now_ms)
        if erased.events:
            notes.append(f"erased {counted(erased.events, 'message')} of users that chat.erased_users names")
        return notes

    async def _purge(self, writer: Writer, now_ms: int) -> list[str]:
        return [
            f"purged {counted(purged.events, 'message')} in {counted(len(purged.rooms), 'room')}"
            for _, purged in await apply_purges(writer, self.settings, now_ms)
        ]

    async def _refresh(
        self, reader: RoomReader, writer: Writer, now_ms: int, notes: list[str]
    ) -> tuple[Run | None, SourcesError | None]:
        """What was done, and what ended it early. `StoreError` ends it without any token moving."""
        run: Run | None = None
        try:
            run = await self._begin(reader, writer, now_ms, notes)
            rotation = await self._gate(run)
            run.stop_at_end()
            await self._follow(run, notes)
            await show_again(run)
            await rename_documents(run)
            await read_rooms(run)
            run.stop_at_end()
            await reconcile(run, rotation, self.draw)
            run.stop_at_end()
        except (MatrixError, CredentialError) as error:
            return run, error
        return run, None

    async def _begin(self, reader: RoomReader, writer: Writer, now_ms: int, notes: list[str]) -> Run:
        """Who are we, and which rooms are ours? A room that we are not in any more is hidden at the end of this."""
        await reader.check_account(self.settings.user)
        if ignored := await reader.ignored_users():
            users = counted(len(ignored), "user")
            notes.append(f"the reader ignores {users}, whose messages are missing (empty its ignore list)")
        direct = await reader.direct_rooms()
        alias_rooms = await self._resolve(reader, writer, notes)
        joined = await reader.joined_rooms()
        store = writer.store
        account = await store.value(ACCOUNT)
        since = await store.value(SINCE) if account == self.settings.user else None
        run = Run(
            reader=reader,
            writer=writer,
            settings=self.settings,
            scrub=self.scrub,
            now_ms=now_ms,
            since=since or "",
            policy=policy_of(self.settings, alias_rooms),
            purges=rules_of(await purge_store.purges(store.connection)),
            rooms={record.id: room_of(record) for record in await room_store.rooms(store.connection)},
            direct_rooms=direct,
        )
        for room in list(run.rooms.values()):
            if room.record.is_joined != (room.id in joined):
                run.rooms[room.id] = room.knowing(replace(room.facts, is_joined=room.id in joined))
        await admission.judge(run)
        for room_id in joined - run.rooms.keys():
            run.rooms[room_id] = new_room(room_id)
        if not run.since:
            is_other = account not in (None, self.settings.user)
            await self._take_first_token(run, "another account reads now" if is_other else "the sync token was lost")
        return run

    async def _resolve(self, reader: RoomReader, writer: Writer, notes: list[str]) -> set[RoomId]:
        """Where excluded aliases lead, and where they ever led: an alias that moves frees no room."""
        for alias in sorted(self.settings.excluded_aliases):
            try:
                room = await reader.resolve(alias)
            except MatrixError:
                notes.append(
                    f"{alias} could not be resolved: only rooms that call themselves so are excluded"
                    " (is chat.exclude right? a room's id needs no look-up)"
                )
                continue
            if room is not None:
                async with writer.transaction() as store:
                    await room_store.remember_alias(store.connection, alias, room)
        known = await room_store.aliases(writer.store.connection)
        return {room for alias, rooms in known.items() if alias in self.settings.excluded_aliases for room in rooms}

    async def _take_first_token(self, run: Run, why: str) -> None:
        """The first one ever, or in place of one that is no use: then rooms look for what they may have missed."""
        batch = await run.reader.sync_blind(None)
        for room in list(run.rooms.values()):
            if room.record.is_admitted and room.record.phase == DONE:
                run.tally(room.id).notes.append(f"{why}: its end is read again")
                await open_gap(run, room, batch.next_batch, until=None)
        await save_since(run, batch.next_batch)

    async def _gate(self, run: Run) -> list[Room]:
        """Look at what was never seen, and at the rooms that were not looked at for longest; returns the latter."""
        here = [room for room in run.rooms.values() if room.record.is_joined]
        unseen = [room.id for room in here if room.record.state_ms == 0]
        seen = sorted((room for room in here if room.record.state_ms), key=lambda room: (room.record.state_ms, room.id))
        rotation = seen[: self.settings.state_rotation]

        async def look(room: Room) -> None:
            await admission.look(run, room)

        await run.each([*unseen, *(room.id for room in rotation)], look)
        await admission.judge(run)
        await admission.erase_refused(run)
        return rotation

    async def _follow(self, run: Run, notes: list[str]) -> None:
        try:
            await follow(run)
        except RefusedError as refused:
            if refused.status != _BAD_REQUEST:
                raise
            notes.append("the homeserver does not know our sync token any more: a new one was taken")
            await self._take_first_token(run, "the sync token was lost")
            await follow(run)  # that token may be up to two minutes old


def _is_worth_telling(report: SourceReport) -> bool:
    return report.outcome is not Outcome.UNCHANGED or bool(report.notes)
