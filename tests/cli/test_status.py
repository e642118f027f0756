"""`sources status` at three in the morning: the verdict first, each trouble with what to do, ages in words."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from index.audit import Upgrade
from index.model import Corpus, RoomId, SourceId, corpus_of
from index.store.erase import A_LOOK, DEBT
from index.store.store import open_store
from ingest.lock import write_lock
from sources.cli.status import drawn, record
from sources.config.units import DAY_MS, HOUR_MS, MINUTE_MS
from sources.status import SourceStatus, Status, Unread
from sources.troubles import ago, troubles
from tests.cli.conftest import Community

NOW_MS = 1_800_000_000_000
LIMIT_MS = 26 * HOUR_MS


def source(name: str, *, age_ms: int | None = 0, fault: str | None = None, **more: object) -> SourceStatus:
    succeeded_ms = None if age_ms is None else NOW_MS - age_ms
    one = SourceStatus(
        SourceId(name),
        corpus_of(SourceId(name)),
        10,
        is_public=True,
        is_hidden=False,
        tried_ms=NOW_MS,
        succeeded_ms=succeeded_ms,
        fault=fault,
    )
    return replace(one, **more)


def found(*sources: SourceStatus, **more: object) -> Status:
    plain = Status(Path("/srv/index.sqlite"), 10_000_000, None, sources, (), 0, 0, free_bytes=50 << 30)
    return replace(plain, **more)


def told(status: Status) -> list[tuple[str, str, str]]:
    judged = troubles(status, overdue_ms=LIMIT_MS, now_ms=NOW_MS)
    return [(one.subject, one.what, one.remedy) for one in judged]


def page(status: Status, *, is_verbose: bool = False) -> str:
    wrong = troubles(status, overdue_ms=LIMIT_MS, now_ms=NOW_MS)
    return drawn(status, wrong, now_ms=NOW_MS, is_verbose=is_verbose)


def test_when_all_is_well_the_first_line_says_so() -> None:
    text = page(found(source("repo:a", age_ms=12 * MINUTE_MS), source("notes:b", age_ms=HOUR_MS)))
    assert text.splitlines()[0] == "All is well: 20 documents, last refreshed 12 minutes ago."


def test_a_source_that_fails_is_told_with_its_remedy_and_since_when() -> None:
    broken = source("repo:a", age_ms=3 * DAY_MS, fault="git: the server refused the password (write a new one)")
    text = page(found(broken, source("notes:b")))
    assert text.startswith("One thing is wrong; last refreshed now.\n\n1. repo:a: fails, last worked 3 days ago: git")
    assert "   To do: write a new one\n" in text


def test_a_stopped_timer_is_one_trouble_and_not_one_for_each_source() -> None:
    [(subject, what, remedy)] = told(found(*(source(f"repo:{n}", age_ms=2 * DAY_MS) for n in range(50))))
    assert (subject, what) == ("refresh", "nothing was brought up to date for 2 days")
    assert "systemctl list-timers" in remedy


def test_one_source_left_behind_by_the_others_is_told() -> None:
    [(subject, what, _)] = told(found(source("repo:a", age_ms=2 * DAY_MS), source("repo:b")))
    assert (subject, what) == ("repo:a", "was not brought up to date for 2 days, though others were")


@pytest.mark.parametrize(
    ("more", "subject", "in_remedy"),
    [
        ({"missing": (SourceId("repo:new"),)}, "repo:new", "run `sources refresh`"),
        ({"missing": (SourceId("repo:new"),), "running": 7}, "repo:new", "wait for the refresh"),
        ({"pending": 5}, "vectors", "sources check"),
        ({"uncopied": 4}, "cluster", "run `sources refresh`"),
        ({"is_drifted": True}, "vectors", "--full"),
        ({"owes_erasure": True}, "erasure", "run `sources refresh`"),
        ({"waiting_orders": 2}, "erasure", "run `sources refresh` now"),
        ({"waiting_orders": 2, "running": 7}, "erasure", "wait for the refresh"),
        ({"orders_fault": "purges/1.json: not an order (give it again)"}, "erasure", "give it again"),
        ({"free_bytes": 300 << 20}, "disk", "make room"),
        ({"unread": (Unread(RoomId("!r:x"), "#r:x", "suspended", "no_state", "…"),)}, "#r:x", "sources rooms"),
    ],
)
def test_each_lack_is_a_trouble_with_a_remedy(more: dict[str, object], subject: str, in_remedy: str) -> None:
    [(at, _, remedy)] = told(found(source("repo:a"), **more))
    assert at == subject
    assert in_remedy in remedy


def test_a_refused_room_is_as_it_should_be() -> None:
    room = Unread(RoomId("!r:x"), "#r:x", "refused", "direct", "a direct chat")
    status = found(source("repo:a"), unread=(room,), rooms={"admitted": 3, "refused": 1})
    assert told(status) == []
    assert "rooms: 3 admitted, 1 refused (1 direct; see `sources rooms`)" in page(status)
    assert "refused: #r:x: a direct chat" in page(status, is_verbose=True)


def test_an_account_in_no_room_is_no_quiet_success() -> None:
    account = source("chat:@reader:x", documents=0)
    [(subject, what, remedy)] = told(found(account))
    assert (subject, what) == ("chat", "@reader:x is in no room, so nothing is read")
    assert "sources roster" in remedy
    assert told(found(account, rooms={"refused": 1})) == []


def test_two_thousand_rooms_are_one_line_and_their_faults_few() -> None:
    rooms = [source(f"chat:!{n}:x", fault="gone (look)", label=f"#r{n}:x") for n in range(2_000)]
    text = page(found(source("chat:@reader:x", documents=0), *rooms))
    assert "chat (2,001)" in text
    assert "1,997 more of its sources fail" in text
    assert len(text.splitlines()) < 25
    assert len(page(found(*rooms), is_verbose=True).splitlines()) > 2_000


def test_a_hostile_name_moves_no_cursor() -> None:
    assert "\x1b" not in page(found(source("chat:!r:x", fault="\x1b[2J", label="\x1b]0;x\x07", corpus=Corpus.CHAT)))


@pytest.mark.parametrize(
    ("age_ms", "words"), [(-5_000, "now"), (999, "now"), (1_000, "1 second ago"), (DAY_MS * 400, "400 days ago")]
)
def test_ages_are_words(age_ms: int, words: str) -> None:
    assert ago(age_ms) == words


def test_the_record_says_what_the_page_says() -> None:
    status = found(source("repo:a"), pending=2)
    wrong = troubles(status, overdue_ms=LIMIT_MS, now_ms=NOW_MS)
    told = json.loads(json.dumps(record(status, wrong)))
    assert (told["well"], [trouble["subject"] for trouble in told["troubles"]]) == (False, ["vectors"])


def test_a_run_that_ended_before_its_wipe_is_told_and_one_at_work_is_not(indexed: Community) -> None:
    state = indexed.folder / "state"

    async def owe() -> None:
        async with open_store(state / "index.sqlite", is_writer=True) as store, store.transaction():
            await store.set_value(DEBT, A_LOOK)

    asyncio.run(owe())
    assert json.loads(indexed.sources("status", "--json").stdout)["owes_erasure"] is True
    with write_lock(state / "refresh.lock"):
        told = json.loads(indexed.sources("status", "--json").stdout)
    assert (told["owes_erasure"], told["running"]) == (False, os.getpid())


def test_what_is_dated_in_the_future_is_told_and_hides_nothing_that_is_late() -> None:
    late, ahead = source("repo:late", age_ms=30 * HOUR_MS), source("repo:ahead", age_ms=-40 * DAY_MS)
    clock = (
        "repo:ahead",
        "its last refresh is dated 2027-02-24 08:00 UTC, which is still to come: the clock was wrong",
        "set the clock of this machine, then run `sources refresh`, which dates it anew",
    )
    assert told(found(ahead)) == [clock]
    assert [one[0] for one in told(found(late, ahead))] == ["refresh", "repo:ahead"]
    assert told(found(source("repo:near", age_ms=-MINUTE_MS))) == []
    assert "at a time still to come" in page(found(ahead))


def test_an_upgraded_room_is_told_with_what_to_do() -> None:
    heir = Upgrade("#ops:a.example", RoomId("!new:a.example"))
    [(subject, what, remedy)] = told(found(source("repo:a"), upgrades=(heir,)))
    assert (subject, "was upgraded to !new:a.example" in what, "chat.exclude" in remedy) == (
        "#ops:a.example",
        True,
        True,
    )
    several = found(source("repo:a"), upgrades=(heir,) * 4)
    assert told(several)[-1] == (
        "chat", "1 more room upgraded to where the reader is not", "`sources audit` lists them"
    )  # fmt: skip
    told_json = record(several, troubles(several, overdue_ms=LIMIT_MS, now_ms=NOW_MS))
    assert told_json["upgrades"] == [{"room": "#ops:a.example", "heir": "!new:a.example"}] * 4
