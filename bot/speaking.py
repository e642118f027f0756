"""One command from its taking to its answer: once, in time, and so that a kill at any line changes neither.

    taken (with the place in the sync) -> intended (with all that is quoted) -> sent under a transaction id that
    follows from the command -> done

Killed before `done` the command is answered again under the same transaction id, and the homeserver keeps the first.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable

import structlog

from bot.answers import Answers, Spoken
from bot.budget import Verdict
from bot.command import More, Request
from bot.memory import Given, Memory, Quote, Taken
from bot.places import Places
from bot.render import busy, notice, remedy, replying, too_slow
from bot.settings import ANSWER_TIMEOUT_S, OLDEST_COMMAND_MS
from bot.withdrawal import Withdrawals, answer_key
from index.errors import CredentialError, SourcesError
from index.model import EventId, RoomId
from matrix.errors import RefusedError, UnavailableError
from matrix.sending import RoomSender

log = structlog.get_logger()


class Speaker:
    def __init__(
        self,
        memory: Memory,
        sender: RoomSender,
        places: Places,
        answers: Answers,
        withdrawals: Withdrawals,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._memory = memory
        self._sender = sender
        self._places = places
        self._answers = answers
        self._withdrawals = withdrawals
        self._sleep = sleep

    def placed(self, room: RoomId, request: Request) -> Request | None:
        """As it is to be answered, in the thread that it goes on with; None for a reaction that asks nothing."""
        return self._answers.placed(room, request)

    async def handle(self, taken: Taken, request: Request, *, began_s: float) -> None:
        """`began_s` is when the command came, on the event loop's clock."""
        if now_ms() - taken.sent_ms > OLDEST_COMMAND_MS:
            log.info("bot.command_too_old", event_id=taken.event, room_id=taken.room)
            await self._memory.done(taken.event)
            return
        spoken = await self._spoken(taken.room, request, taken.verdict)
        if spoken is None:
            await self._memory.done(taken.event)
            return
        is_direct = taken.room not in self._places.permitted
        given = Given(taken.event, taken.room, taken.sender, is_direct, None, _flat(spoken))
        await self._memory.intend(given, now_ms=now_ms())
        await self._wait_for_beat(began_s)
        answer = await self._send(taken, request, spoken)
        if answer is None:
            return
        await self._memory.sent(taken.event, answer)
        self._withdrawals.remember(taken.event, spoken)
        if spoken.page is not None:
            self._answers.given(taken.room, taken.sender, answer)
        took_ms = round((asyncio.get_running_loop().time() - began_s) * 1000)
        log.info("bot.answered", event_id=taken.event, room_id=taken.room, hits=len(spoken.quotes), took_ms=took_ms)

    async def _spoken(self, room: RoomId, request: Request, verdict: Verdict) -> Spoken | None:
        prefix = self._places.settings.prefix
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                listener = await self._places.listener(room, request.sender)
                if listener is None:
                    return None
                if await self._answers.is_encrypted(room):
                    log.info("bot.room_encrypted", event_id=request.event, room_id=room)
                    return None
                if verdict is Verdict.NOTE:
                    return Spoken(busy(prefix, self._places.settings.per_user))
                return await self._answers.answer(room, request, listener)
        except TimeoutError:
            log.warning("bot.answer_too_slow", event_id=request.event, room_id=room)
            return Spoken(too_slow())
        except CredentialError:
            raise
        except SourcesError as error:
            # Its message may repeat what was asked: only its kind is logged.
            log.info("bot.answer_failed", event_id=request.event, room_id=room, why=type(error).__name__)
            return Spoken(remedy(error, prefix))

    async def _wait_for_beat(self, began_s: float) -> None:
        passed_s = asyncio.get_running_loop().time() - began_s
        await self._sleep(until_beat_s(passed_s, self._places.settings.beat_s))

    async def _send(self, taken: Taken, request: Request, spoken: Spoken) -> EventId | None:
        """None when it was not taken: a refusal ends the command, an outage leaves it for the next try."""
        command = request.command
        to = command.answer if isinstance(command, More) and command.answer else taken.event
        content = replying(notice(spoken.pieces), to=to, thread=request.thread)
        try:
            return await self._sender.send(taken.room, content, transaction=answer_key(taken.event))
        except RefusedError as refused:
            log.warning("bot.answer_refused", event_id=taken.event, room_id=taken.room, status=refused.status)
            await self._memory.done(taken.event)
        except UnavailableError as error:
            log.warning("bot.answer_not_taken", event_id=taken.event, room_id=taken.room, why=type(error).__name__)
        return None


def until_beat_s(passed_s: float, beat_s: float) -> float:
    """Answers leave at full beats after the question, so that their time tells nothing of what is not shown."""
    return max(0.0, max(1, math.ceil(passed_s / beat_s)) * beat_s - passed_s) if beat_s > 0 else 0.0


def _flat(spoken: Spoken) -> tuple[Quote, ...]:
    return tuple(quote for some in spoken.quotes for quote in some)


def now_ms() -> int:
    return time.time_ns() // 1_000_000
