"""The homeserver as chat sees it: one session of the reader account, which can do nothing but read."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from ingest.chat.settings import ChatSettings
from matrix.budget import REAL_TIME, Budget, Timing
from matrix.calls import Mode
from matrix.reading import HomeserverReader, RoomReader
from matrix.session import open_session


@asynccontextmanager
async def open_reader(
    settings: ChatSettings, token: Callable[[], str], timing: Timing = REAL_TIME, budget: Budget | None = None
) -> AsyncIterator[RoomReader]:
    """`token` is called when the session begins. Nothing is requested yet. The budget is that of a run, or `budget`."""
    budget = budget or Budget(total_s=settings.total_s, request_timeout_s=settings.request_timeout_s)
    async with open_session(settings.homeserver, token(), Mode.READER, budget, timing) as session:
        yield HomeserverReader(session, settings.user)
