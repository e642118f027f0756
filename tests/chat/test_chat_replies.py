"""What answers a purged message: gone with it, or without what it quotes, in whatever order all of it came."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.model import EventId, RoomId, UserId
from ingest.chat.content import Content, without_quotes
from ingest.chat.events import Edited, Extracted, Pruned, Redacted, Said
from ingest.chat.rules import Purge, Rules, Why
from ingest.chat.windows import Bounds
from sources.conversation import newest_words
from tests.chat.memory_room import MemoryRoom
from tests.chat.raw_events import raw_edit, raw_message

ROOM = RoomId("!room:here")
ANN, BOB = UserId("@ann:here"), UserId("@bob:here")
NOBODY = UserId("")


def said(event: str, text: str, *, to: str | None = None, sender: UserId = ANN, ms: int = 1_000) -> Said:
    reply_to = None if to is None else EventId(to)
    return Said(EventId(event), ROOM, sender, ms, "m.room.message", Content(text), reply_to=reply_to)


def edited(event: str, target: str, text: str, *, sender: UserId = ANN, ms: int = 2_000) -> Edited:
    return Edited(EventId(event), ROOM, sender, ms, "m.room.message", EventId(target), Content(text))


def room(*purges: Purge) -> MemoryRoom:
    return MemoryRoom(ROOM, Rules(created_ms=0, now_ms=10**9, purges=purges), Bounds(gap_ms=60_000, max_bytes=200))


def forget(event: str) -> Pruned:
    """How an order reaches what is stored: see `ingest.chat.storing.forget`."""
    return Pruned(EventId(event), ROOM, NOBODY, 0)


TALK = (
    said("$m", "secret"),
    said("$r", "> secret\n\nanswer", to="$m", sender=BOB),
    edited("$e", "$r", "> secret\n\nchanged answer", sender=BOB),
    said("$rr", "> answer\n\nanswer to that", to="$r"),
    said("$other", "> secret of others\n\nunmoved"),
)


def test_direct_replies_go_along_and_what_answers_those_stands_without_quotations() -> None:
    kept = room()
    kept.take(TALK)
    kept.take([forget("$m")], why=Why.PURGED_WITH_REPLIES)
    assert kept.texts() == {"$rr": "answer to that", "$other": "> secret of others\n  \n  unmoved"}
    assert {event: grave.why for event, grave in kept.tombstones.items()} == {
        "$m": Why.PURGED_WITH_REPLIES,
        "$r": Why.PURGED,
    }


def test_replies_that_are_kept_lose_their_quotations_in_every_revision() -> None:
    kept = room()
    kept.take(TALK)
    kept.take([forget("$m")], why=Why.PURGED)
    assert kept.texts()[EventId("$r")] == "changed answer"
    kept.take([edited("$late", "$r", "> secret\n\nlate", sender=BOB, ms=9_000)])
    assert kept.texts()[EventId("$r")] == "late"
    assert "> secret\n\n" not in repr(kept.rows)
    assert kept.texts()[EventId("$rr")] == "> answer\n  \n  answer to that"
    kept.take([Redacted(EventId("$x"), ROOM, BOB, 1, EventId("$late"))])
    assert kept.texts()[EventId("$r")] == "changed answer"


@pytest.mark.parametrize("why", [Why.PURGED, Why.PURGED_WITH_REPLIES])
def test_a_reply_that_comes_after_the_purge_is_held_to_it(why: Why) -> None:
    kept = room()
    kept.take([forget("$m")], why=why)
    for record in TALK[1:]:
        kept.take([record])
    assert ("$r" in kept.texts()) == (why is Why.PURGED)
    assert "> secret\n\n" not in repr(kept.rows)


def test_a_message_that_was_redacted_before_it_was_purged_is_answered_by_nothing_any_more() -> None:
    kept = room()
    kept.take([*TALK, Redacted(EventId("$x"), ROOM, ANN, 1, EventId("$m"))])
    assert "$r" in kept.texts()
    kept.take([forget("$m")], why=Why.PURGED_WITH_REPLIES)
    assert kept.texts().keys() == {"$rr", "$other"}


def test_a_redaction_leaves_replies_as_their_writers_wrote_them() -> None:
    kept = room()
    kept.take(TALK)
    kept.take([Redacted(EventId("$x"), ROOM, ANN, 1, EventId("$m"))])
    assert kept.texts()[EventId("$r")].startswith("> secret")


def test_a_standing_order_for_one_message_finds_replies_although_that_never_comes() -> None:
    for takes_replies in (True, False):
        kept = room(Purge(ROOM, event=EventId("$m"), takes_replies=takes_replies))
        kept.take(TALK[1:])
        assert ("$r" in kept.texts()) is not takes_replies
        assert "> secret\n\n" not in repr(kept.rows)


def test_an_order_for_one_message_within_a_time_does_not_judge_replies_to_what_it_cannot_see() -> None:
    kept = room(Purge(ROOM, event=EventId("$m"), before_ms=0, takes_replies=True))
    kept.take(TALK)
    assert kept.texts().keys() == {"$m", "$r", "$rr", "$other"}


def test_what_a_message_of_an_old_file_answers_is_learned_without_touching_it() -> None:
    from dataclasses import replace

    kept = room()
    kept.take(TALK)
    before = dict(kept.documents)
    kept.rows[EventId("$r")] = replace(kept.rows[EventId("$r")], reply_to=None)
    kept.rendered.clear()
    changes = kept.take(TALK)
    assert kept.rows[EventId("$r")].reply_to == "$m"
    assert ([row.event for row in changes.put], kept.rendered, kept.documents) == (["$r"], [], before)
    kept.take(TALK)
    kept.take([forget("$m")], why=Why.PURGED_WITH_REPLIES)
    assert "$r" not in kept.texts()


IDS = [EventId(f"$e{n}") for n in range(8)]
ORDERS = [
    (),
    (Purge(ROOM, event=IDS[0], takes_replies=True),),
    (Purge(ROOM, event=IDS[0]),),
    (Purge(ROOM, sender=BOB),),
    (Purge(None, sender=BOB, takes_replies=True), Purge(ROOM, event=IDS[1])),
    (Purge(ROOM, after_ms=40_000, before_ms=80_000, takes_replies=True),),
]


@st.composite
def histories(draw: st.DrawFn) -> list[Extracted]:
    records: list[Extracted] = []
    for n, event in enumerate(IDS[: draw(st.integers(2, len(IDS)))]):
        sender = draw(st.sampled_from([ANN, BOB]))
        ms = draw(st.integers(0, 4)) * 40_000
        target = draw(st.sampled_from([other for other in IDS if other != event]))
        text = f"> quoted {n}\ntext {n}"
        match draw(st.sampled_from(["said", "reply", "reply", "edit"])):
            case "said":
                records.append(said(event, text, sender=sender, ms=ms))
            case "reply":
                records.append(said(event, text, to=target, sender=sender, ms=ms))
            case _:
                records.append(edited(event, target, text, sender=sender, ms=ms))
    return records


def expected(history: Sequence[Extracted], purges: Sequence[Purge]) -> dict[EventId, str]:
    """The rules over the whole set at once."""
    originals = {record.event: record for record in history if isinstance(record, Said)}
    edits = [record for record in history if isinstance(record, Edited)]
    gone: dict[EventId, bool] = {}  # to whether its replies go as well
    for record in history:
        if isinstance(record, Said | Edited):
            events = (record.event, record.target) if isinstance(record, Edited) else (record.event,)
            for purge in purges:
                if purge.covers(ROOM, events, record.sender, (record.claimed_ms,)):
                    gone[record.event] = gone.get(record.event, False) or purge.takes_replies
    named = {purge.event: purge.takes_replies for purge in purges if purge.event is not None}
    lost = {**named, **gone}
    doomed = {record.event for record in originals.values() if record.reply_to and lost.get(record.reply_to)}
    lost |= {event: False for event in doomed if event not in lost}
    texts = {}
    for event, original in originals.items():
        if event in lost:
            continue
        valid = [
            edit for edit in edits if edit.target == event and edit.sender == original.sender and edit.event not in lost
        ]
        content = max(valid, key=lambda edit: (edit.claimed_ms, edit.event)).content if valid else original.content
        if original.reply_to in lost:
            content = without_quotes(content)
        texts[event] = content.text.replace("\n", "\n  ")
    return texts


@settings(max_examples=300)
@given(histories(), st.sampled_from(ORDERS), st.randoms(use_true_random=False), st.integers(1, 4))
def test_any_order_of_arrival_ends_in_the_same_texts(
    history: list[Extracted], purges: tuple[Purge, ...], shuffler: random.Random, batch_size: int
) -> None:
    arrivals = history + shuffler.sample(history, k=len(history) // 2)
    shuffler.shuffle(arrivals)
    kept = room(*purges)
    for start in range(0, len(arrivals), batch_size):
        kept.take(arrivals[start : start + batch_size])
    assert kept.texts() == expected(history, purges)


def test_a_reply_read_afresh_shows_no_quotation_that_the_index_does_not_have() -> None:
    quoting = {"m.relates_to": {"m.in_reply_to": {"event_id": "$m"}}}
    raw = raw_message("$r", quoting, body="> not on top: secret\nanswer")
    plain = raw_message("$other", body="> secret of others\nunmoved")
    assert newest_words(raw, ROOM, "> not on top: secret\n  answer") == "> not on top: secret\nanswer"
    assert newest_words(raw, ROOM, "answer") == "answer"
    for one in (raw, plain):
        edit = raw_edit("$e", one["event_id"], "> secret\nchanged since")
        one["unsigned"] = {"m.relations": {"m.replace": edit}}
    assert newest_words(raw, ROOM, "answer") == "changed since"
    assert newest_words(plain, ROOM, "> secret of others\n  unmoved") == "> secret\nchanged since"
