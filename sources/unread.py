"""What was not read to its end yet, told beside an answer that found nothing certain: it may be there all the same.

Costs a look at each source and room, so it is asked for only then. For who may see everything: what rooms are told is
decided in `bot.answers`, from their audience alone.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from index.engines.base import Catalogue
from index.model import Answer
from index.store.store import open_store
from sources.config.model import Config

_MOST_NAMED: Final = 5


async def told(answer: Answer, config: Config, catalogue: Catalogue) -> Answer:
    """The answer with a note, where what it lacks may not have been read yet."""
    note = None if answer.is_certain else await unread(config, catalogue)
    return answer if note is None else replace(answer, notes=(*answer.notes, note))


async def unread(config: Config, catalogue: Catalogue) -> str | None:
    """One line with its remedy; None when everything was read."""
    from sources.status import configured, group_of, refresh_at_work

    known = [source for source in await catalogue.sources() if not source.is_hidden]
    wanted = configured(config)
    if not known and not wanted:
        return "no source is configured (add a [[repo]], [[forge]], [[notes]] or [chat], then run `sources refresh`)"
    is_at_work = refresh_at_work(config) is not None
    remedy = "a refresh is at work: ask again when it has ended" if is_at_work else "run `sources refresh`"
    if all(source.succeeded_ms is None for source in known):
        return f"nothing was read to its end yet ({remedy})" if known else f"nothing was read yet ({remedy})"
    ids = {source.id for source in known}
    groups = dict.fromkeys(group_of(name) for name in wanted if name not in ids)
    groups |= dict.fromkeys(group_of(source.id) for source in known if source.succeeded_ms is None)
    if config.chat is not None and "chat" not in groups and await _is_reading_rooms(config):
        groups["chat"] = None
    return (
        f"not read to the end yet: {_listed(list(groups))} ({remedy}; `sources status` says more)" if groups else None
    )


async def _is_reading_rooms(config: Config) -> bool:
    """Whether the history of a room is still to be read: with many rooms that takes several runs.

    Only the index file tells; what a cluster has of a room does not change as long as it is read.
    """
    if config.index.engine != "sqlite":
        return False
    from index.store.rooms import DONE, rooms

    async with open_store(config.index_file, is_writer=False) as store:
        records = await rooms(store.connection)
    return any(one.is_joined and one.is_admitted and one.phase != DONE for one in records)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
