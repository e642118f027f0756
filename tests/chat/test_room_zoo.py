"""Every kind of room, message, edit and redaction, in one index, against a real homeserver with room versions 9 to 12.

What is in each room is said in three phases: before the first refresh, between two refreshes (where a sync leaves
most of it out), and after. Each message holds a word that nobody else says; after every refresh all words are asked
for, by a search and in the bytes of all files, and what is known of them is compared with one table.
"""

import asyncio
import time

from tests.chat.host import Host
from tests.chat.zoo import Kept, Words
from tests.chat.zoo_rooms import VERSIONS, Rooms
from tests.chat.zoo_talk import Talk
from tests.matrix.people import People, Person

HOUR_MS = 3_600_000


async def test_all_that_may_be_read_is_found_and_nothing_else_is_kept(
    host: Host, people: People, alice: Person, reader: Person
) -> None:
    bob, mallory = await people.register("bob"), await people.register("mallory")
    admin, puppet = await people.register("root", is_admin=True), await people.puppet("_bridge_zoo")
    words = Words(seed=11)
    rooms = Rooms(host, people, alice, (bob, mallory), reader, admin, words)
    talks = []
    for version in VERSIONS:
        room = await alice.create_room(f"Talk {version}", version=version)
        for person in (reader, mallory, puppet):
            await person.join(room)
        talks.append(Talk(room, f"version {version}", alice, mallory, puppet, time.time_ns() // 1_000_000, words))
    host.set(timeline_limit=8, page_limit=20)

    await asyncio.gather(*(talk.before() for talk in talks), rooms.before())
    await refresh_and_compare(host, rooms, words)

    await asyncio.gather(*(talk.between() for talk in talks), rooms.between())
    await refresh_and_compare(host, rooms, words)

    await asyncio.gather(*(talk.after() for talk in talks), rooms.after())
    await refresh_and_compare(host, rooms, words)

    rooms.time_is_over()
    host.now_ms = time.time_ns() // 1_000_000 + 25 * HOUR_MS
    await refresh_and_compare(host, rooms, words, is_full=True)

    assert len(words.table) > 400 and set(words.table.values()) == set(Kept)


async def refresh_and_compare(host: Host, rooms: Rooms, words: Words, *, is_full: bool = False) -> None:
    report = await host.refresh(is_full=is_full)
    assert report.failed == ()
    assert await rooms.verdicts() == rooms.reasons
    differences = await words.differences(host)
    assert not differences, "\n".join(differences)
