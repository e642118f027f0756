"""The bot's life: it follows its own sync, takes commands, takes back answers, and keeps its list of rooms fresh.

Three kinds of tasks: one follows each account's sync, one keeps things in order (`_keep`), one speaks for each command.
A fault that nobody foresaw ends them all and the program with them; its unit starts it again.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

import structlog

from bot.budget import Budget, Verdict
from bot.command import Address, Request, read_request
from bot.inbox import (
    bot_filter,
    changes_in,
    echoes_in,
    inviter_of,
    is_listed,
    whole_timeline,
)
from bot.library import Library
from bot.memory import Memory, News, Taken
from bot.notify import Notifier
from bot.places import Places
from bot.rooms import KEPT_S, Eye, Rooms
from bot.settings import OLDEST_COMMAND_MS, BotSettings
from bot.speaking import Speaker, now_ms
from bot.withdrawal import Withdrawals
from index.errors import ConfigError, MatrixError, StoreError
from index.model import EventId
from matrix.budget import backoff_s
from matrix.errors import RefusedError, UnavailableError
from matrix.records import Invitation, RoomUpdate, SyncBatch
from matrix.sending import RoomSender
from matrix.shape import RawEvent, text_at

log = structlog.get_logger()

POLL_MS: Final = 25_000
TICK_S: Final = 2.0
AT_ONCE: Final = 4
"""Commands that are answered side by side."""
GOODBYE_S: Final = 5.0
MOST_RESUMES: Final = 2
"""Of one command by one process, while the homeserver is well: what is limited for long is not sent late."""
_BLIND_AFTER: Final = 3  # syncs that failed in a row while the homeserver is alive
_SILENT_S: Final = 180.0  # without a sync that came back, the watchdog is not fed

T = TypeVar("T")


class Reload(Protocol):
    async def __call__(self, *, is_forced: bool) -> BotSettings | None:
        """New settings when there are any. ConfigError when they cannot be used: the old ones stay."""


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
        self._library = library
        self._rooms = rooms
        self._places = places
        self._withdrawals = withdrawals
        self._speaker = speaker
        self._reload = reload
        self._notifier = notifier or Notifier()
        self._budget = Budget(per_user=places.settings.per_user, per_room=places.settings.per_room)
        self._address = Address(me.user)
        self._limit = asyncio.Semaphore(AT_ONCE)
        self._speaking: dict[EventId, asyncio.Task[None]] = {}
        self._tries: dict[EventId, int] = {}
        self._intake = asyncio.Lock()  # between a command being stored and being in hand
        self._wake = asyncio.Event()
        self._stop = asyncio.Event()
        self._wants_judgement = True
        self._wants_reload = False
        self._synced_s = 0.0
        self._is_in_touch = False
        self.ready = asyncio.Event()
        """Set when commands that are sent from now on will be taken."""
        self._group: asyncio.TaskGroup

    def stop(self) -> None:
        """End in good order: nothing new is taken, answers under way get a moment."""
        self._stop.set()
        self._wake.set()

    def want_reload(self) -> None:
        self._wants_reload = True
        self._wake.set()

    async def run(self) -> None:
        """Until `stop`. Raises CredentialError for a dead token, and what nobody foresaw."""
        try:
            await self._patiently(self._begin)
            if self._stop.is_set():
                return
            async with asyncio.TaskGroup() as self._group:
                self._group.create_task(self._follow(self._me, self._take))
                if self._reader is not None:
                    self._group.create_task(self._follow(self._reader, self._look))
                self._group.create_task(self._keep())
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
        if settings.leaves:
            for room in self._me.joined:
                if not await self._places.is_business(room):
                    log.info("bot.left_room", room_id=room)
                    await self._sender.leave(room)

    # Following syncs

    async def _follow(self, eye: Eye, take: Callable[[SyncBatch, str | None], Awaitable[None]]) -> None:
        token = await self._memory.token(eye.user)
        filter_id = await self._patiently(lambda: eye.reader.upload_filter(bot_filter()))
        failures, is_first = 0, True
        while not self._stop.is_set() and filter_id is not None:
            try:
                batch = await self._unless_stopped(self._next(eye, token, filter_id, failures, is_first=is_first))
            except RefusedError as refused:
                # The place is lost: go on from now. What was quoted meanwhile is looked at by the next refresh.
                log.warning("bot.sync_lost", user_id=eye.user, status=refused.status)
                token, failures = None, failures + 1
                await self._pause(failures)
            except UnavailableError as error:
                failures += 1
                self._is_in_touch &= eye is not self._me
                log.info("bot.sync_failed", user_id=eye.user, failures=failures, why=type(error).__name__)
                await self._pause(failures)
            else:
                if batch is None:
                    return
                await take(batch, token)
                token, failures, is_first = batch.next_batch, 0, False
                self._wake.set()

    async def _next(self, eye: Eye, token: str | None, filter_id: str, failures: int, *, is_first: bool) -> SyncBatch:
        if token is None:
            return await eye.reader.sync_blind(None)
        if failures >= _BLIND_AFTER and await eye.reader.is_alive():
            return await eye.reader.sync_blind(token)  # one event that the homeserver cannot serve
        # Synapse lets equal requests share one answer, and one whose asker was killed may wait out its whole time.
        # The first one only catches up: nobody should wait to hear that we are here.
        wait_ms = 0 if is_first else POLL_MS - random.randrange(1_000)
        return await eye.reader.sync(token, filter_id=filter_id, wait_ms=wait_ms, attempts=1)

    async def _take(self, batch: SyncBatch, since: str | None) -> None:
        """A batch of the bot's own sync: what is in it is stored with the place behind it, then done."""
        self._rooms.note(self._me, batch)
        began_s = asyncio.get_running_loop().time()
        taken: dict[EventId, Taken] = {}
        asked: dict[EventId, tuple[Request, Verdict]] = {}
        events: list[RawEvent] = []
        for update in self._updates(self._me, batch) if since is not None else ():
            timeline = await whole_timeline(
                self._me.reader, update, self._me.user, is_blind=batch.is_blind, since=since, now_ms=now_ms()
            )
            events += [*update.timeline, *timeline]
            if not self._places.may_be_heard(update.room):
                continue
            for event in timeline:
                request = self._request(event)
                if request is None or request.event in taken:
                    continue
                verdict = self._budget.ask(request.sender, update.room, now_ms())
                is_done = verdict is Verdict.SILENCE
                taken[request.event] = Taken(request.event, update.room, request.sender, request.sent_ms, is_done)
                asked[request.event] = request, verdict
        async with self._intake:
            for one in await self._store(self._me, batch, events, list(taken.values())):
                if not one.is_done:
                    self._speak(one, *asked[one.event], began_s)
        for invitation in batch.invited:
            await self._consider(invitation)
        self._synced_s, self._is_in_touch = time.monotonic(), True
        if not self.ready.is_set():
            self.ready.set()
            self._notifier.tell("READY=1")

    def _updates(self, eye: Eye, batch: SyncBatch) -> Sequence[RoomUpdate]:
        """A blind sync tells of no room what happened in it: anything may have, in each."""
        if not batch.is_blind:
            return batch.joined
        return [
            RoomUpdate(room, timeline=(), is_limited=True, prev_batch=None, state=(), account_data=())
            for room in sorted(eye.joined)
        ]

    async def _look(self, batch: SyncBatch, since: str | None) -> None:
        """A batch of the reader's sync: only what it says of facts and of what is quoted."""
        if self._reader is not None:
            self._rooms.note(self._reader, batch)
            await self._store(self._reader, batch, [one for update in batch.joined for one in update.timeline], [])

    async def _store(
        self, eye: Eye, batch: SyncBatch, events: Iterable[RawEvent], taken: Iterable[Taken]
    ) -> list[Taken]:
        events = list(events)
        changes = changes_in(self._updates(eye, batch), events)
        moved = {text_at(event, "state_key") for event in events if text_at(event, "type") == "m.room.member"}
        if moved and moved & await self._memory.direct_askers():
            self._wants_judgement = True
        news = News(list(taken), echoes_in(events, self._me.user), changes.gone, changes.edited, changes.unclear)
        return await self._memory.take(eye.user, batch.next_batch, news, now_ms=now_ms())

    def _request(self, event: RawEvent) -> Request | None:
        request = read_request(event, self._address)
        if request is None or request.sender in self._places.settings.ignored:
            return None
        return request if now_ms() - request.sent_ms <= OLDEST_COMMAND_MS else None

    async def _consider(self, invitation: Invitation) -> None:
        settings = self._places.settings
        inviter = inviter_of(invitation, self._me.user)
        try:
            if is_listed(inviter, settings.inviters):
                await self._sender.join(invitation.room)
                log.info("bot.joined_room", room_id=invitation.room)
            elif settings.leaves:
                await self._sender.leave(invitation.room)
                log.info("bot.invitation_declined", room_id=invitation.room)
        except MatrixError as error:
            log.warning("bot.invitation_failed", room_id=invitation.room, why=type(error).__name__)

    # Answering

    def _speak(self, taken: Taken, request: Request, verdict: Verdict, began_s: float) -> None:
        async def speak() -> None:
            try:
                async with self._limit:
                    await self._speaker.handle(taken, request, verdict, began_s=began_s)
            except Exception:
                # Whatever it was, the next start must not run into it again.
                await self._memory.done(taken.event)
                raise

        task = self._group.create_task(speak())
        self._speaking[taken.event] = task
        task.add_done_callback(lambda _: self._speaking.pop(taken.event, None))

    async def _resume(self) -> None:
        """Commands that were taken and not answered: before a kill, or in an outage of the homeserver."""
        async with self._intake:
            waiting = [taken for taken in await self._memory.pending() if taken.event not in self._speaking]
        for taken in waiting:
            tries = self._tries[taken.event] = self._tries.get(taken.event, 0) + 1
            request = None
            if tries <= MOST_RESUMES and now_ms() - taken.sent_ms <= OLDEST_COMMAND_MS:
                event = await self._me.reader.event(taken.room, taken.event, is_patient=False)
                request = None if event is None else self._request(event)
            if request is None:
                log.info("bot.command_given_up", event_id=taken.event, room_id=taken.room)
                await self._memory.done(taken.event)
                self._tries.pop(taken.event, None)
            else:
                self._speak(taken, request, Verdict.ANSWER, asyncio.get_running_loop().time())

    # Keeping order

    async def _keep(self) -> None:
        looked_s = tidied_s = time.monotonic()
        index_state: object = None
        changes = self._rooms.changes
        while not self._stop.is_set():
            await self._woken()
            await self._reload_if_wanted()
            if time.monotonic() - self._synced_s < _SILENT_S:
                self._notifier.tell("WATCHDOG=1")
            try:
                if self._is_in_touch:
                    await self._resume()
                if time.monotonic() - looked_s > KEPT_S:
                    looked_s = time.monotonic()
                    await self._rooms.look_around()
                    await self._places.resolve()
                state = await self._library.state()
                if self._wants_judgement or (state, self._rooms.changes) != (index_state, changes):
                    index_state, changes, self._wants_judgement = state, self._rooms.changes, False
                    await self._withdrawals.judge_all()
                await self._withdrawals.look_again()
                await self._withdrawals.carry_out()
            except (UnavailableError, RefusedError, StoreError) as error:
                log.info("bot.order_not_kept", why=type(error).__name__)
            if time.monotonic() - tidied_s > KEPT_S:
                tidied_s = time.monotonic()
                await self._memory.tidy(now_ms=now_ms(), answers_kept_ms=self._places.settings.answers_kept_ms)

    async def _woken(self) -> None:
        try:
            async with asyncio.timeout(TICK_S):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    async def _reload_if_wanted(self) -> None:
        is_asked, self._wants_reload = self._wants_reload, False
        if self._reload is None:
            return
        try:
            settings = await self._reload(is_forced=is_asked)
            if settings is None:
                return
            await self._settle_in(settings)
        except ConfigError as error:
            log.error("bot.reload_failed", problem=str(error))
        except MatrixError as error:
            self._wants_reload = True  # again at the next turn
            log.warning("bot.reload_waits", why=type(error).__name__)
        else:
            self._wants_judgement = True
            log.info("bot.reloaded", rooms=len(self._places.permitted))

    # Waiting

    async def _unless_stopped(self, asking: Awaitable[SyncBatch]) -> SyncBatch | None:
        """None when the end came first; what was asked is dropped then, and asked again by the next start."""
        task = asyncio.ensure_future(asking)
        stopped = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            stopped.cancel()
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T | None:
        """Through outages; None when the end came first."""
        failures = 0
        while not self._stop.is_set():
            try:
                return await ask()
            except UnavailableError as error:
                failures += 1
                log.info("bot.homeserver_not_there", failures=failures, why=type(error).__name__)
                await self._pause(failures)
        return None

    async def _pause(self, failures: int) -> None:
        try:
            async with asyncio.timeout(backoff_s(failures, random.random())):
                await self._stop.wait()
        except TimeoutError:
            pass


def _first(group: ExceptionGroup[Exception]) -> Exception:
    """The one that ended the others."""
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, ExceptionGroup) else inner
