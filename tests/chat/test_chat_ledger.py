"""What each message says now, whatever order its edits and redactions came in."""

import random
from collections.abc import Callable, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from index.model import EventId, RoomId, UserId
from ingest.chat.content import Content
from ingest.chat.events import Edited, Extracted, Nothing, Pruned, Redacted, Said
from ingest.chat.rules import Purge, Rules
from ingest.chat.windows import Bounds
from tests.chat.memory_room import MemoryRoom

ROOM = RoomId("!room:here")
ANN, BOB = UserId("@ann:here"), UserId("@bob:here")
RULES = Rules(created_ms=0, now_ms=10**9)
BOUNDS = Bounds(gap_ms=60_000, max_bytes=200)


def said(event: str, text: str, *, sender: UserId = ANN, ms: int = 1_000, **more: object) -> Said:
    is_notice = bool(more.pop("is_notice", False))
    content = Content(text, is_notice=is_notice)
    return Said(EventId(event), ROOM, sender, ms, "m.room.message", content, **more)  # type: ignore[arg-type]


def edited(event: str, target: str, text: str, *, sender: UserId = ANN, ms: int = 2_000, kind: str = "") -> Edited:
    return Edited(EventId(event), ROOM, sender, ms, kind or "m.room.message", EventId(target), Content(text))


def redacted(target: str) -> Redacted:
    return Redacted(EventId(f"$redaction-of-{target}"), ROOM, ANN, 3_000, EventId(target))


def pruned(event: str) -> Pruned:
    return Pruned(EventId(event), ROOM, ANN, 1_000)


def room(rules: Rules = RULES) -> MemoryRoom:
    return MemoryRoom(ROOM, rules, BOUNDS)


def after(*batches: Sequence[Extracted], rules: Rules = RULES) -> dict[EventId, str]:
    kept = room(rules)
    for batch in batches:
        kept.take(batch)
    return kept.texts()


def test_the_newest_edit_wins_by_time_and_then_by_id() -> None:
    one, two, three = (
        edited("$1", "$m", "one", ms=5),
        edited("$2", "$m", "two", ms=9),
        edited("$3", "$m", "three", ms=9),
    )
    zero = said("$m", "zero")
    for order in ([one, two, three], [three, one, two], [two, three, one]):
        assert after([zero], order) == {"$m": "three"}
        assert after(*([record] for record in order), [zero]) == {"$m": "three"}


def test_an_edit_by_somebody_else_leaves_the_text_and_is_not_kept() -> None:
    kept = room()
    kept.take([said("$m", "mine"), edited("$e", "$m", "forged", sender=BOB)])
    assert kept.texts() == {"$m": "mine"}
    assert "forged" not in repr(kept.__dict__)


def test_a_forged_edit_that_waited_for_its_original_is_forgotten_when_that_comes() -> None:
    kept = room()
    kept.take([edited("$e", "$m", "forged", sender=BOB)])
    assert kept.texts() == {}
    changes = kept.take([said("$m", "mine")])
    assert kept.texts() == {"$m": "mine"} and changes.forged == 1
    assert "forged" not in repr(kept.__dict__)


def test_an_edit_of_another_type_or_of_an_edit_or_of_a_state_event_is_refused() -> None:
    assert after([said("$m", "a"), edited("$e", "$m", "b", kind="m.poll.start")]) == {"$m": "a"}
    assert after([said("$m", "a"), edited("$e", "$m", "b"), edited("$f", "$e", "c")]) == {"$m": "b"}
    assert after([edited("$f", "$e", "c")], [edited("$e", "$m", "b")], [said("$m", "a")]) == {"$m": "b"}
    assert after([said("$m", "a", has_state_key=True), edited("$e", "$m", "b")]) == {"$m": "a"}


def test_an_edit_of_an_edit_is_forgotten_whichever_comes_first() -> None:
    records: list[Extracted] = [said("$m", "a"), edited("$e", "$m", "b"), edited("$f", "$e", "chained")]
    for order in (records, records[::-1], [records[1], records[2], records[0]], [records[2], records[0], records[1]]):
        kept = room()
        for record in order:
            kept.take([record])
        assert kept.texts() == {"$m": "b"} and "chained" not in repr(kept.__dict__)


def test_redacting_the_newest_edit_brings_back_the_one_before() -> None:
    history: list[Extracted] = [
        said("$m", "zero"),
        edited("$1", "$m", "one", ms=5),
        edited("$2", "$m", "two", ms=9),
    ]
    assert after(history, [redacted("$2")]) == {"$m": "one"}
    assert after(history, [pruned("$2")], [redacted("$1")]) == {"$m": "zero"}
    # The redacted edit is served again, empty, and once more in full from a cache.
    assert after(history, [pruned("$2")], [edited("$2", "$m", "two", ms=9)]) == {"$m": "one"}


def test_redacting_the_original_takes_all_its_edits_known_and_to_come() -> None:
    kept = room()
    kept.take([said("$m", "zero words"), edited("$1", "$m", "one word")])
    kept.take([redacted("$m")])
    kept.take([edited("$2", "$m", "late word"), said("$m", "zero words"), edited("$1", "$m", "one word")])
    assert kept.texts() == {} and kept.documents == {}
    assert "word" not in repr(kept.__dict__)


def test_a_redaction_may_come_before_what_it_names() -> None:
    assert after([redacted("$m")], [edited("$e", "$m", "b")], [said("$m", "a")]) == {}
    assert after([redacted("$e")], [said("$m", "a")], [edited("$e", "$m", "b")]) == {"$m": "a"}


def test_nothing_restores_a_redacted_message() -> None:
    again = redacted("$redaction-of-$m")
    assert after([said("$m", "a")], [redacted("$m")], [again], [said("$m", "a")]) == {}


def test_an_edit_replaces_only_its_own_window() -> None:
    kept = room()
    kept.take([said(f"$m{n}", f"message number {n}", ms=n * 70_000) for n in range(4)])
    kept.rendered.clear()
    before = dict(kept.documents)
    kept.take([edited("$e", "$m1", "changed")])
    assert kept.rendered == ["$m1"]
    changed = EventId("$m1")
    assert [window for window in before if before[window] != kept.documents[window]] == [changed]
    assert before[changed].id == kept.documents[changed].id
    assert before[changed].revision != kept.documents[changed].revision


def test_a_batch_that_comes_again_touches_nothing() -> None:
    kept = room()
    edits = [edited("$e", "$m", "b"), edited("$f", "$m", "c", sender=BOB)]
    batch: list[Extracted] = [said("$m", "a"), redacted("$x"), *edits]
    kept.take(batch)
    kept.rendered.clear()
    changes = kept.take(batch)
    assert (changes.put, changes.deleted, changes.tombstones, changes.stale_windows) == ((), (), (), frozenset())
    assert kept.rendered == []


def test_an_edit_to_nothing_hides_a_message_and_a_further_one_shows_it_in_its_place() -> None:
    kept = room()
    kept.take([said("$m", "first"), said("$n", "second")])
    kept.take([edited("$e", "$m", "", ms=5)])
    assert kept.texts() == {"$n": "second"}
    kept.take([edited("$f", "$m", "again", ms=6)])
    assert list(kept.texts().items()) == [("$m", "again"), ("$n", "second")]
    assert list(kept.documents) == ["$m"]


def test_notices_are_not_stored_unless_wanted() -> None:
    notice = said("$m", "build failed", is_notice=True)
    kept = room()
    kept.take([notice])
    assert kept.texts() == {} and "build" not in repr(kept.rows)
    assert after([notice], rules=Rules(created_ms=0, now_ms=10**9, keeps_notices=True)) == {"$m": "build failed"}


def test_commands_to_the_bot_are_not_stored_but_talk_about_them_is() -> None:
    kept = room(Rules(created_ms=0, now_ms=10**9, command="!search"))
    kept.take([said("$a", "!search tape"), said("$b", "try !search tape"), said("$c", "!searching for tape")])
    kept.take([said("$d", "!Search reel"), said("$g", "!search", thread_root=EventId("$b"))])  # the bot takes both
    assert list(kept.texts()) == ["$b", "$c"]
    kept.take([edited("$e", "$a", "the tape is broken", ms=5), edited("$f", "$b", "!search reel", ms=5)])
    assert kept.texts() == {"$a": "the tape is broken", "$c": "!searching for tape"}
    assert "reel" not in repr(kept.rows)


def test_silent_senders_leave_no_trace() -> None:
    kept = room(Rules(created_ms=0, now_ms=10**9, silent_senders=frozenset({BOB})))
    kept.take([said("$m", "feed", sender=BOB), edited("$e", "$m", "feed 2", sender=BOB), said("$n", "talk")])
    assert kept.texts() == {"$n": "talk"} and list(kept.rows) == ["$n"]


def test_a_purge_order_holds_for_what_comes_later() -> None:
    orders = (
        Purge(ROOM, sender=BOB),
        Purge(ROOM, after_ms=500, before_ms=600),
        Purge(ROOM, event=EventId("$one")),
        Purge(RoomId("!other"), sender=ANN),
    )
    rules = Rules(created_ms=0, now_ms=10**9, purges=orders)
    batch: list[Extracted] = [
        said("$one", "gone"),
        said("$b", "gone", sender=BOB),
        edited("$late", "$one", "gone too", ms=7_000),
        said("$then", "gone", ms=600),
        said("$kept", "stays", ms=601),
    ]
    kept = room(rules)
    kept.take(batch)
    kept.take(batch[::-1])
    assert kept.texts() == {"$kept": "stays"}
    assert "gone" not in repr(kept.__dict__)


def test_a_message_that_lies_about_its_time_is_kept_with_a_time_inside_the_rooms_life() -> None:
    kept = room(Rules(created_ms=100, now_ms=1_000))
    kept.take([said("$old", "a", ms=0), said("$new", "b", ms=2**53 - 1)])
    assert [row.sent_ms for row in kept.rows.values()] == [100, 1_000 + 300_000]


IDS = [EventId(f"$e{n}") for n in range(9)]


@st.composite
def histories(draw: st.DrawFn) -> list[Extracted]:
    """Events that a server could hold, hostile ones among them: each id is one event for good."""
    records: list[Extracted] = []
    for n, event in enumerate(IDS[: draw(st.integers(2, len(IDS)))]):
        sender = draw(st.sampled_from([ANN, ANN, BOB]))
        ms = draw(st.integers(0, 4)) * 40_000
        match draw(st.sampled_from(["said", "said", "edit", "edit", "edit"])):
            case "said":
                thread = draw(st.sampled_from([None, None, IDS[0]]))
                records.append(said(event, f"text {n}", sender=sender, ms=ms, thread_root=thread))
            case _:
                target = draw(st.sampled_from([other for other in IDS if other != event]))
                text = draw(st.sampled_from([f"text {n}", f"text {n}", ""]))
                records.append(edited(event, target, text, sender=sender, ms=ms))
    ways: list[Callable[[str], Extracted]] = [redacted, pruned]
    withdrawn = draw(st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(ways)), max_size=3))
    records.extend(withdraw(target) for target, withdraw in withdrawn)
    records.append(Nothing(EventId("$reaction"), "no words in this type"))
    return records


def expected(history: Sequence[Extracted]) -> dict[EventId, str]:
    """The rules of the specification, over the whole set at once."""
    gone = {r.target for r in history if isinstance(r, Redacted)} | {r.event for r in history if isinstance(r, Pruned)}
    texts = {}
    for original in history:
        if not isinstance(original, Said) or original.event in gone:
            continue
        revisions = [
            (edit.claimed_ms, edit.event, edit.content.text)
            for edit in history
            if isinstance(edit, Edited)
            and edit.target == original.event
            and edit.sender == original.sender
            and edit.event not in gone
        ]
        text = max(revisions)[2] if revisions else original.content.text
        if text:
            texts[original.event] = text
    return texts


@settings(max_examples=400)
@given(histories(), st.randoms(use_true_random=False), st.integers(1, 4))
def test_any_order_of_arrival_ends_in_the_same_texts(
    history: list[Extracted], shuffler: random.Random, batch_size: int
) -> None:
    arrivals = history + shuffler.sample(history, k=len(history) // 2)
    shuffler.shuffle(arrivals)
    kept = room()
    placed: dict[EventId, EventId] = {}
    for start in range(0, len(arrivals), batch_size):
        kept.take(arrivals[start : start + batch_size], is_backfill=shuffler.random() < 0.3)
        for event, row in kept.rows.items():
            if row.window is not None:
                assert placed.setdefault(event, row.window) == row.window, "moved to another window"
    assert kept.texts() == expected(history)
    gone = {r.target for r in history if isinstance(r, Redacted)} | {r.event for r in history if isinstance(r, Pruned)}
    assert not gone & kept.rows.keys()
    for open_lane in {row.lane for row in kept.windows.values()}:
        assert sum(row.is_open and row.lane == open_lane for row in kept.windows.values()) <= 1


@given(histories())
def test_an_order_of_single_events_and_one_batch_agree(history: list[Extracted]) -> None:
    assert after(history) == after(*([record] for record in history)) == after(*([r] for r in reversed(history)))
