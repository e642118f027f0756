"""What went wrong elsewhere, as its public reports tell it, and the test that shows that it does not go wrong here.

Those reports that concern a whole refresh of chat and are nobody else's are tests of this file.
"""

import re
from pathlib import Path

import pytest

from index.embed.hashing import HashingEmbedder
from index.engines.sqlite.engine import SqliteEngine
from index.errors import QueryError
from index.search import Mode, Searcher, SearchSettings
from tests.chat.host import KEYS, Host
from tests.matrix.people import Person

TESTS = Path(__file__).parents[1]
HERE = "chat/test_reports.py"

REPORTS = {
    "matrix-nio/matrix-nio#564": (
        "chat/test_chat_gates.py",
        "test_the_create_event_of_an_upgraded_room_of_version_12_is_read",
    ),
    "home-assistant/core#181489": (
        HERE,
        "test_a_room_whose_id_is_a_hash_without_a_server_can_be_excluded_and_asked_for",
    ),
    "NousResearch/hermes-agent#3280": ("chat/test_chat_faults.py", "test_a_dead_token_ends_the_run_after_one_request"),
    "mindroom-ai/mindroom#1626": (
        "chat/test_chat_refresh.py",
        "test_thirty_messages_through_a_timeline_of_five_are_all_there_in_order",
    ),
    "mindroom-ai/mindroom#1679": (
        "chat/test_chat_faults.py",
        "test_an_index_that_cannot_be_written_leaves_every_token_where_it_was",
    ),
    "matrix-org/synapse#12903, matrix-nio/matrix-nio#342": (
        "matrix/test_records.py",
        "test_a_page_without_an_end_is_the_last_and_an_empty_one_with_an_end_is_not",
    ),
    "element-hq/element-web#33966, element-hq/element-web#12386": (
        HERE,
        "test_a_message_redacted_in_a_gap_leaves_no_hit_no_count_and_no_vector",
    ),
    "syphon-org/syphon#242, element-hq/synapse#5364": (
        "chat/test_chat_forgetting.py",
        "test_forged_edits_change_nothing_and_are_kept_nowhere",
    ),
    "matrix-org/matrix-rust-sdk#5581": (
        "chat/test_chat_ledger.py",
        "test_the_newest_edit_wins_by_time_and_then_by_id",
    ),
    "topcheer/ggcode#1222": ("chat/test_chat_content.py", "test_only_the_leading_fallback_of_a_reply_is_cut_off"),
    "matrix-org/synapse#6124": (HERE, "test_a_message_redacted_in_a_gap_leaves_no_hit_no_count_and_no_vector"),
    "element-hq/synapse#18192": ("text/test_word_keys.py", "test_a_question_finds_the_text"),
    "matrix-org/matrix-appservice-bridge#529": (
        "chat/test_chat_gates.py",
        "test_bridge_state_of_any_key_refuses",
    ),
    "octos-org/octos#1546, maubot/gitlab#9": (
        "bot/test_bot_in_rooms.py",
        "test_the_bot_keeps_silent_about_all_that_is_not_asked_of_it",
    ),
    "NousResearch/hermes-agent#16932": (
        "bot/test_bot_texts.py",
        "test_no_text_of_strangers_becomes_markup_or_a_ping",
    ),
    "dfuchss/matrix-joinlink#20": ("bot/test_bot_leaks.py", "test_no_room_reads_another_one_through_the_bot"),
    "pvliesdonk/markdown-vault-mcp#321": (HERE, "test_no_question_about_chat_is_syntax"),
}


@pytest.mark.parametrize("report", REPORTS)
def test_every_report_has_its_test(report: str) -> None:
    file, test = REPORTS[report]
    assert re.search(rf"^(?:async )?def {test}\(", (TESTS / file).read_text(), re.MULTILINE), report


async def test_a_room_whose_id_is_a_hash_without_a_server_can_be_excluded_and_asked_for(
    host: Host, alice: Person, reader: Person
) -> None:  # report 2
    asked, excluded = [await alice.create_room(name, version="12") for name in ("Kitchen", "Cellar")]
    for room in (asked, excluded):
        assert ":" not in room
        await reader.join(room)
        await alice.say(room, "kettle")
    host.set(excluded=(excluded,))
    await host.refresh()
    assert await host.found(f"kettle in:{asked}")
    assert not await host.found(f"kettle in:{excluded}")
    assert await host.reason(excluded) == "excluded"


async def test_a_message_redacted_in_a_gap_leaves_no_hit_no_count_and_no_vector(
    host: Host, alice: Person, reader: Person
) -> None:  # reports 9 and 19
    host.embedder = HashingEmbedder()
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    regretted = await alice.say(room, "regretted")
    await host.refresh()
    (vector,) = await vectors(host)
    assert await shown(host, "regretted") == (1, 0)
    await alice.redact(room, regretted)
    for _ in range(9):
        await alice.say(room, "hello", msgtype="m.notice")
    host.set(timeline_limit=3)
    await host.refresh()
    assert await shown(host, "regretted") == (0, 0)
    assert await vectors(host) == []
    assert vector not in b"".join(path.read_bytes() for path in host.folder.iterdir() if path.is_file())
    dump = await host.dump()
    assert (dump["chunks"], dump["documents"]) == ([], [])
    assert [row[4:] for row in dump["sources"] if row[0] == f"chat:{room}"] == [(0, 0)]


async def test_no_question_about_chat_is_syntax(host: Host, alice: Person, reader: Person) -> None:  # report 31
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "run flag_check.exe and not foo bar")
    await host.refresh()
    for question in ('"foo', '"foo" "', "NOT foo", "foo*", "foo NEAR(bar)", "flag_check", "^foo", "(foo"):  # report 20
        assert await host.found(question), question
    assert not await host.found("a:b")
    for question in ("*", "-foo", "(((", '"'):
        with pytest.raises(QueryError, match="holds no word to look for"):
            await host.found(question)


async def vectors(host: Host) -> list[bytes]:
    async with host.opened() as store:
        rows = await store.connection.execute_fetchall("SELECT data FROM vector")
    return [bytes(row[0]) for row in rows]


async def shown(host: Host, question: str) -> tuple[int, int]:
    """Hits, and how many more are said to be there."""
    async with host.opened() as store:
        searcher = Searcher(SqliteEngine(store, KEYS), KEYS, host.embedder, SearchSettings(), scrub=host.scrub)
        answer = await searcher.search([question], limit=5, mode=Mode.HYBRID)
    return len(answer.hits), answer.more
