"""Answers outlive what they quote unless somebody takes them back: this does.

An answer goes when a message that it quotes was redacted, edited or purged, or when its source left the audience of the
room. Going means that the whole answer is redacted, for an edit would leave the old text in the room's history; where
the host prefers edits, the hit alone is replaced as long as this process remembers the rest.
"""

import random
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

import structlog

from bot.answers import Answers, Spoken
from bot.checking import Checker
from bot.library import Library
from bot.memory import Given, Memory, Quote
from bot.places import Places
from bot.render import Results, lines, notice, results
from index.errors import MatrixError
from index.model import EventId, RoomId, SourceId, UserId
from matrix.budget import backoff_s
from matrix.errors import RefusedError
from matrix.sending import RoomSender

log = structlog.get_logger()

REASON: Final = "a message that was quoted here was withdrawn"
WITHDRAWN: Final = "(withdrawn: what was quoted here is gone; ask again for what is left)"
MOST_REMEMBERED: Final = 500


@dataclass(frozen=True, slots=True)
class _Page:
    page: Results
    quotes: tuple[tuple[Quote, ...], ...]


class _Waiting:
    """Answers with which something failed, and when each is tried again: one that never succeeds holds up no other."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failed: dict[EventId, tuple[int, float]] = {}  # how often, and until when it waits

    def is_due(self, command: EventId) -> bool:
        return self._failed.get(command, (0, 0.0))[1] <= self._clock()

    def failed(self, command: EventId) -> None:
        failures = self._failed.get(command, (0, 0.0))[0] + 1
        self._failed[command] = (failures, self._clock() + backoff_s(failures, random.random()))

    def succeeded(self, command: EventId) -> None:
        self._failed.pop(command, None)


class Withdrawals:
    def __init__(
        self,
        memory: Memory,
        sender: RoomSender,
        places: Places,
        answers: Answers,
        checker: Checker,
        library: Library,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._memory = memory
        self._sender = sender
        self._places = places
        self._answers = answers
        self._checker = checker
        self._library = library
        self._pages: OrderedDict[EventId, _Page] = OrderedDict()
        self._waiting = _Waiting(clock)

    def remember(self, command: EventId, spoken: Spoken) -> None:
        """For edits: what an answer holds besides the hit that goes. In memory alone."""
        if spoken.page is not None and self._places.settings.withdraw == "edit":
            self._pages[command] = _Page(spoken.page, spoken.quotes)
            while len(self._pages) > MOST_REMEMBERED:
                self._pages.popitem(last=False)

    async def look_again(self) -> None:
        """At answers of which a sync has put something in doubt."""
        for given in await self._due("doubtful"):
            try:
                is_well = not await self._changed(given.quotes)
            except MatrixError as error:
                log.info("bot.doubt_stays", answer_id=given.event, why=type(error).__name__)
                self._waiting.failed(given.command)
                continue
            self._waiting.succeeded(given.command)
            await self._memory.settle(given.command, "shown" if is_well else "going", unless_going=True)

    async def judge_all(self) -> bool:
        """All answers by what the index holds and what each audience is now: after a refresh, a reload, a new rule.

        False when of some not everything could be known.
        """
        is_complete = True
        by_listener: dict[tuple[RoomId, UserId | None], list[Given]] = {}
        for given in await self._memory.in_state("shown", "doubtful"):
            by_listener.setdefault((given.room, given.asker if given.is_direct else None), []).append(given)
        for (room, _), some in by_listener.items():
            try:
                outside, unknown = await self._outside(room, some)
                is_complete = is_complete and not unknown
            except MatrixError as error:
                log.info("bot.audience_not_known", room_id=room, why=type(error).__name__)
                outside, is_complete = frozenset(), False
            missing = await self._library.missing([quote for given in some for quote in given.quotes])
            for given in some:
                if any(quote in missing or quote.source in outside for quote in given.quotes):
                    await self._memory.settle(given.command, "going")
        return is_complete

    async def carry_out(self) -> None:
        """Take back what is going. What the homeserver does not take now is tried again, less and less often."""
        for given in await self._due("going"):
            try:
                state = "gone" if await self._take_back(given) else "shown"
            except RefusedError as refused:
                # We are not in that room any more, or may not even redact our own words there. Both can change.
                log.warning("bot.answer_stays", answer_id=given.event, room_id=given.room, status=refused.status)
                state = "stuck"
            except MatrixError as error:
                log.info("bot.withdrawal_waits", answer_id=given.event, why=type(error).__name__)
                self._waiting.failed(given.command)
                continue
            self._waiting.succeeded(given.command)
            await self._memory.settle(given.command, state)

    async def _due(self, state: str) -> list[Given]:
        return [given for given in await self._memory.in_state(state) if self._waiting.is_due(given.command)]

    async def _outside(self, room: RoomId, some: Sequence[Given]) -> tuple[frozenset[SourceId], frozenset[SourceId]]:
        """Sources of these answers that their listener may not see now, and those of which that is not known.

        A room that is not permitted any more is let be. A direct chat that somebody else came into is none any more.
        """
        quoted = frozenset(quote.source for given in some for quote in given.quotes)
        listener = await self._places.listener(room, some[0].asker)
        if listener is None:
            is_over = some[0].is_direct and self._places.settings.direct is not None
            return quoted if is_over else frozenset(), frozenset()
        scope = await self._answers.scope(listener, some[0].asker)
        return quoted - (scope.audience.sources or frozenset()) - scope.unknown, quoted & scope.unknown

    async def _changed(self, quotes: Collection[Quote]) -> list[Quote]:
        """Those that do not read as they were quoted."""
        changed = []
        for quote in quotes:
            if quote.event is None:
                continue
            heard = await self._checker.look(RoomId(quote.source.partition(":")[2]), quote.event)
            if heard is None or heard.edit != quote.edit:
                changed.append(quote)
        return changed

    async def _take_back(self, given: Given) -> bool:
        """True when nothing of the answer is left."""
        if given.event is None:
            return False
        if self._places.settings.withdraw == "redact":
            await self._sender.redact(given.room, given.event, transaction=_key("redact", given.command), reason=REASON)
            log.info("bot.answer_redacted", answer_id=given.event, room_id=given.room)
            return True
        known = self._pages.pop(given.command, None)
        left = None if known is None else await self._without_gone(known, given)
        if left is None or all(shown.is_withdrawn for shown in left.page.shown):
            pieces = lines(WITHDRAWN)
        else:
            pieces = results(left.page, prefix=self._places.settings.prefix)
            self._pages[given.command] = left
        content = notice(pieces)
        state = _key("edit", given.command, str(content["body"]))
        await self._sender.edit(given.room, given.event, content, transaction=state)
        log.info("bot.answer_edited", answer_id=given.event, room_id=given.room)
        if given.command in self._pages:
            await self._memory.keep_only(
                given.command, [one for some in self._pages[given.command].quotes for one in some]
            )
            return False
        return True

    async def _without_gone(self, known: _Page, given: Given) -> _Page:
        missing = await self._library.missing(given.quotes)
        outside, _ = await self._outside(given.room, [given])
        shown, quotes = [], []
        for hit, quoted in zip(known.page.shown, known.quotes, strict=True):
            is_gone = any(quote in missing or quote.source in outside for quote in quoted)
            is_gone = is_gone or bool(await self._changed(quoted))
            shown.append(replace(hit, lines=(), place="", link=None, is_withdrawn=True) if is_gone else hit)
            quotes.append(() if is_gone else quoted)
        return _Page(replace(known.page, shown=tuple(shown)), tuple(quotes))


def _key(*parts: str) -> str:
    """A transaction id: the same intention has the same one, also after a restart."""
    return blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def answer_key(command: EventId) -> str:
    """Under it a command is answered, once."""
    return _key("answer", command)
