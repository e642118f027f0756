"""The bot's life: it takes commands from its own sync and speaks, while others follow and keep order.

One task follows each account's sync, one keeps order, one resumes what was left undone, one speaks for each command. A
fault that nobody foresaw ends them all and the program with them; its unit starts it again.
"""

import asyncio
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import structlog

from bot.budget import Budget, Verdict
from bot.command import Address, Request, read_request
from bot.following import Follower, patiently, within
from bot.inbox import changes_in, eased_in, echoes_in, inviter_of, is_listed, whole_timeline
from bot.keeping import Keeper, Reload
from bot.library import Library
from bot.memory import Memory, News, Taken
from bot.notify import Notifier
from bot.places import Places
from bot.rooms import Eye, Rooms
from bot.settings import OLDEST_COMMAND_MS, BotSettings
from bot.speaking import Speaker, now_ms
from bot.withdrawal import Withdrawals
from index.errors import MatrixError
from index.model import EventId, RoomId
from matrix.errors import RefusedError, UnavailableError
from matrix.records import Invitation, RoomUpdate, SyncBatch
from matrix.sending import RoomSender
from matrix.shape import RawEvent, text_at

log = structlog.get_logger()

TICK_S: Final = 2.0
AT_ONCE: Final = 4
"""Commands that are answered side by side."""
GOODBYE_S: Final = 5.0
MOST_RESUMES: Final = 2
"""Of one command by one process, while the homeserver is well: what is limited for long is not sent late."""
STUCK_S: Final = 180.0
"""Without a sync that ended, well or not, the watchdog is not fed: an outage is no reason to be started again."""
START_MORE_S: Final = 60
"""Asked of the service manager again and again while the start waits for the homeserver."""


class Bot:
    def __init__(
        self,
        me: Eye,
        sender: RoomSender,
        *,
        memory: Memory,
        library: Library,
        rooms: Rooms,
        places: Places,
        withdrawals: Withdrawals,
        speaker: Speaker,
        reader: Eye | None = None,
        reload: Reload | None = None,
        notifier: Notifier | None = None,
    ) -> None:
        """`reader` is the account that looks into rooms besides the bot's own."""
        self._me = me
        self._reader = reader
        self._sender = sender
        self._memory = memory
        self._rooms = rooms
        self._places = places
        self._speaker = speaker
        self._notifier = notifier or Notifier()
        self._keeper = Keeper(memory, library, rooms, places, withdrawals, reload=reload, settle_in=self._settle_in)
        self._stop = asyncio.Event()
        self._follower = Follower(me, memory, self._stop)
        self._budget = Budget(per_user=places.settings.per_user, per_room=places.settings.per_room)
        self._address = Address(me.user)
        self._limit = asyncio.Semaphore(AT_ONCE)
        self._speaking: dict[EventId, asyncio.Task[None]] = {}
        self._resumed: dict[EventId, int] = {}
        self._intake = asyncio.Lock()  # between a command being stored and being in hand
        self.ready = asyncio.Event()
        """Set when commands that are sent from now on will be taken."""
        self._group: asyncio.TaskGroup

    @property
    def turned_s(self) -> float:
        """When, on the monotonic clock, it was last seen to go on: the watchdog is fed while that is not long ago."""
        return self._follower.turned_s

    def stop(self) -> None:
        """End in good order: nothing new is taken, answers under way get a moment."""
        self._stop.set()
        self._keeper.wake()

    def want_reload(self) -> None:
        self._keeper.want_reload()

    async def run(self) -> None:
        """Until `stop`. Raises CredentialError for a dead token, and what nobody foresaw."""
        telling = asyncio.create_task(self._tell_the_manager())
        try:
            await self._live()
        finally:
            telling.cancel()

    async def _live(self) -> None:
        try:
            await patiently(self._begin, self._stop)
            if self._stop.is_set():
                return
            async with asyncio.TaskGroup() as self._group:
                self._group.create_task(self._follower.run(self._take))
                if self._reader is not None:
                    self._group.create_task(Follower(self._reader, self._memory, self._stop).run(self._look))
                self._group.create_task(self._keeper.run(self._stop))
                self._group.create_task(self._resume_again_and_again())
                await self._stop.wait()
                self._notifier.tell("STOPPING=1")
                if self._speaking:
                    await asyncio.wait(self._speaking.values(), timeout=GOODBYE_S)
                for task in self._speaking.values():
                    task.cancel()
        except ExceptionGroup as group:
            raise _first(group) from None
        log.info("bot.stopped")

    async def _begin(self) -> None:
        await self._me.reader.check_account(self._me.user)
        if self._reader is not None:
            await self._reader.reader.check_account(self._reader.user)
        await self._rooms.look_around()
        await self._memory.free_stuck()
        await self._settle_in(self._places.settings)
        self._budget.recall(await self._memory.recent(now_ms() - 60_000))
        log.info("bot.started", rooms=len(self._places.permitted), joined=len(self._me.joined))

    async def _settle_in(self, settings: BotSettings) -> None:
        """Look up rooms and names; leave where there is nothing to do, if that is wanted."""
        await self._places.resolve(settings)
        self._budget.per_user, self._budget.per_room = settings.per_user, settings.per_room
        names = list(settings.names)
        for room in sorted(self._me.joined)[:1]:
            content = await self._me.reader.state_content(room, "m.room.member", self._me.user)
            names += [name for name in [text_at(content or {}, "displayname")] if name]
        self._address = Address(self._me.user, settings.prefix, tuple(names))
        for room in sorted(self._me.joined) if settings.leaves else ():
            if not await self._places.is_business(room):
                await self._leave(room, "bot.left_room")

    # What syncs bring

    async def _take(self, batch: SyncBatch, since: str | None) -> None:
        """A batch of the bot's own sync: what is in it is stored with the place behind it, then done."""
        joined = self._me.joined
        self._rooms.note(self._me, batch)
        if since is not None and any(update.room not in joined for update in batch.joined):
            await self._places.resolve()  # it may be what a permitted room was upgraded to
        for update in batch.left:
            if update.room in self._places.permitted:
                log.warning("bot.put_out", room_id=update.room)
        began_s = asyncio.get_running_loop().time()
        taken: dict[EventId, Taken] = {}
        asked: dict[EventId, Request] = {}
        events: list[RawEvent] = []
        for update in _updates(self._me, batch) if since is not None else ():
            timeline = await whole_timeline(
                self._me.reader, update, self._me.user, is_blind=batch.is_blind, since=since, now_ms=now_ms()
            )
            events += [*update.timeline, *timeline]
            if not self._places.may_be_heard(update.room):
                continue
            for event in timeline:
                request = self._request(update.room, event)
                if request is None or request.event in taken:
                    continue
                verdict = self._budget.ask(request.sender, update.room, now_ms())
                taken[request.event] = Taken(request.event, update.room, request.sender, request.sent_ms, verdict)
                asked[request.event] = request
        eased = eased_in(_updates(self._me, batch), self._me.user, joined)
        async with self._intake:
            for one in await self._store(self._me, batch, events, list(taken.values()), eased):
                if one.verdict is not Verdict.SILENCE:
                    self._speak(one, asked[one.event], began_s)
        for invitation in batch.invited:
            await self._consider(invitation)
        if not self.ready.is_set():
            self.ready.set()
            self._notifier.tell("READY=1")

    async def _look(self, batch: SyncBatch, since: str | None) -> None:
        """A batch of the reader's sync: only what it says of facts and of what is quoted."""
        if self._reader is not None:
            self._rooms.note(self._reader, batch)
            await self._store(self._reader, batch, [one for update in batch.joined for one in update.timeline])

    async def _store(
        self,
        eye: Eye,
        batch: SyncBatch,
        events: Iterable[RawEvent],
        taken: Iterable[Taken] = (),
        eased: Collection[RoomId] = (),
    ) -> list[Taken]:
        events = list(events)
        changes = changes_in(_updates(eye, batch), events)
        news = News(
            taken=list(taken),
            echoes=echoes_in(events, self._me.user),
            gone=changes.gone,
            edited=changes.edited,
            unclear=changes.unclear,
            eased=eased,
        )
        fresh = await self._memory.take(eye.user, batch.next_batch, news, now_ms=now_ms())
        if await self._moves_a_direct_chat(batch):
            self._keeper.want_judgement()
        self._keeper.wake()
        return fresh

    async def _moves_a_direct_chat(self, batch: SyncBatch) -> bool:
        """Whether somebody came into one, or an asker of one came or went anywhere."""
        moved = {
            (update.room, text_at(event, "state_key"))
            for update in batch.joined
            for event in update.timeline
            if text_at(event, "type") == "m.room.member"
        }
        askers, rooms = await self._memory.direct_chats() if moved else (frozenset(), frozenset())
        return any(room in rooms or user in askers for room, user in moved)

    def _request(self, room: RoomId, event: RawEvent) -> Request | None:
        request = read_request(event, self._address)
        if request is None or request.sender in self._places.settings.ignored:
            return None
        return self._speaker.placed(room, request) if now_ms() - request.sent_ms <= OLDEST_COMMAND_MS else None

    async def _consider(self, invitation: Invitation) -> None:
        if is_listed(inviter_of(invitation, self._me.user), self._places.settings.inviters):
            try:
                await self._sender.join(invitation.room)
            except MatrixError as error:
                log.warning("bot.not_joined", room_id=invitation.room, why=type(error).__name__)
            else:
                log.info("bot.joined_room", room_id=invitation.room)
        elif self._places.settings.leaves:
            await self._leave(invitation.room, "bot.invitation_declined")

    async def _leave(self, room: RoomId, said: str) -> None:
        try:
            await self._sender.leave(room)
        except MatrixError as error:
            log.warning("bot.not_left", room_id=room, why=type(error).__name__)
        else:
            log.info(said, room_id=room)

    # Answering

    def _speak(self, taken: Taken, request: Request, began_s: float) -> None:
        async def speak() -> None:
            try:
                async with self._limit:
                    before = (self._rooms.changes, self._keeper.judgements)
                    await self._speaker.handle(taken, request, began_s=began_s)
                if before != (self._rooms.changes, self._keeper.judgements):
                    self._keeper.want_judgement()  # it may rest on what was so when it was begun
            except Exception:
                # Whatever it was, the next start must not run into it again.
                await self._memory.done(taken.event)
                raise

        if self._stop.is_set():
            return  # the next start takes it up
        task = self._group.create_task(speak())
        self._speaking[taken.event] = task
        task.add_done_callback(lambda _: self._speaking.pop(taken.event, None))

    async def _tell_the_manager(self) -> None:
        """That the start takes longer while the homeserver is away, and then that all is well while syncs end."""
        while not self._stop.is_set():
            if not self.ready.is_set():
                self._notifier.tell(f"EXTEND_TIMEOUT_USEC={START_MORE_S * 1_000_000}")
            elif time.monotonic() - self.turned_s < STUCK_S:
                self._notifier.tell("WATCHDOG=1")
            await within(TICK_S, self._stop)

    async def _resume_again_and_again(self) -> None:
        while not self._stop.is_set():
            if self._follower.is_in_touch:
                try:
                    await self._resume()
                except (UnavailableError, RefusedError) as error:
                    log.info("bot.not_resumed", why=type(error).__name__)
            await within(TICK_S, self._stop)

    async def _resume(self) -> None:
        """Commands that were taken and not answered: before a kill, or in an outage of the homeserver."""
        async with self._intake:
            waiting = [taken for taken in await self._memory.pending() if taken.event not in self._speaking]
        for taken in waiting:
            tries = self._resumed[taken.event] = self._resumed.get(taken.event, 0) + 1
            request = None
            if tries <= MOST_RESUMES and now_ms() - taken.sent_ms <= OLDEST_COMMAND_MS:
                event = await self._me.reader.event(taken.room, taken.event, is_patient=False)
                request = None if event is None else self._request(taken.room, event)
            if request is None:
                log.info("bot.command_given_up", event_id=taken.event, room_id=taken.room)
                await self._memory.done(taken.event)
                self._resumed.pop(taken.event, None)
            else:
                self._speak(taken, request, asyncio.get_running_loop().time())


def _updates(eye: Eye, batch: SyncBatch) -> Sequence[RoomUpdate]:
    """A blind sync tells of no room what happened in it: anything may have, in each."""
    if not batch.is_blind:
        return batch.joined
    return [
        RoomUpdate(room, timeline=(), is_limited=True, prev_batch=None, state=(), account_data=())
        for room in sorted(eye.joined)
    ]


def _first(group: ExceptionGroup[Exception]) -> Exception:
    """The one that ended the others."""
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, ExceptionGroup) else inner
