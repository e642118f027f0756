"""What counts as old, missing or out of step, and how bad it is. Pure."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.audit import (
    DAY_MS,
    Check,
    Drift,
    Facts,
    Finding,
    Gap,
    Limits,
    Look,
    Page,
    Severity,
    Upgrade,
    Upkeep,
    failing,
    findings,
)
from index.model import RoomId, SourceId

NOW_MS = int(datetime(2026, 11, 29, 12, tzinfo=UTC).timestamp() * 1000)
TODAY = date(2026, 11, 29)
HOUR_MS = 3_600_000
SOURCE = SourceId("repo:handbook")


def audit(**facts: object) -> tuple[Finding, ...]:
    return findings(Facts(**facts), Limits(), now_ms=NOW_MS)  # type: ignore[arg-type] # named fields of Facts


def verified(days_ago: int) -> list[str]:
    text = (TODAY - timedelta(days=days_ago)).isoformat()
    return [one.check.value for one in audit(pages=[Page(SOURCE, "a.md", text)])]


def test_a_page_is_due_soon_before_it_is_stale() -> None:
    assert verified(0) == verified(149) == []
    assert verified(150) == verified(180) == ["due_soon"]
    assert verified(181) == ["stale"]


@pytest.mark.parametrize(("text", "said"), [("last week", "is no date"), ("2027-01-01", "still to come")])
def test_a_date_that_cannot_be_is_stale(text: str, said: str) -> None:
    [one] = audit(pages=[Page(SOURCE, "a.md", text)])
    assert (one.check, one.severity, said in one.detail) == (Check.STALE, Severity.ERROR, True)


def test_a_refresh_that_is_dated_in_the_future_is_told_since_it_cannot_be_overdue() -> None:
    assert audit(upkeep=[Upkeep(SOURCE, NOW_MS + 4 * 60_000)]) == ()
    [one] = audit(upkeep=[Upkeep(SOURCE, NOW_MS + 99 * DAY_MS), Upkeep(SourceId("notes:n"), NOW_MS)])
    assert (one.check, one.severity, one.subject) == (Check.CLOCK, Severity.ERROR, SOURCE)
    assert "is dated 2027-03-08 12:00 UTC, which is still to come" in one.detail and "set the clock" in one.remedy
    rooms = [Upkeep(SourceId(f"chat:!{name}:x"), 10**17 + number) for number, name in enumerate("abc")]
    [one] = audit(upkeep=rooms)
    assert one.subject == "chat" and one.detail.startswith("3 sources, the furthest: its refresh is dated beyond")
    # What is judged as on an earlier day was no clock's fault.
    earlier = Facts(upkeep=[Upkeep(SOURCE, NOW_MS)], gathered_ms=NOW_MS)
    assert findings(earlier, Limits(), now_ms=NOW_MS - 30 * DAY_MS) == ()


def test_a_source_is_overdue_when_no_refresh_reached_it_for_long() -> None:
    assert audit(upkeep=[Upkeep(SOURCE, NOW_MS - 26 * HOUR_MS), Upkeep(SourceId("notes:n"), None)]) == ()
    [one] = audit(upkeep=[Upkeep(SOURCE, NOW_MS - 75 * HOUR_MS, "login refused")])
    assert (one.check, one.severity, one.subject) == (Check.REFRESH_OVERDUE, Severity.ERROR, SOURCE)
    assert one.detail == "up to date 3 days ago; since then: login refused"


def test_a_thousand_rooms_are_overdue_in_one_line() -> None:
    old = [Upkeep(SourceId(f"chat:!r{number}:hs"), NOW_MS - number * DAY_MS) for number in range(2, 1_000)]
    old += [Upkeep(SourceId(f"forge:codeberg/o/r{number}"), 0) for number in range(9)]
    assert [(one.subject, one.detail.split(",")[0]) for one in audit(upkeep=old)] == [
        ("chat", "998 sources"),
        ("forge:codeberg", "9 sources"),
    ]


@pytest.mark.parametrize(
    ("drift", "severity"),
    [
        (Drift.CHANGED, Severity.WARNING),
        (Drift.VANISHED, Severity.ERROR),
        (Drift.UNKNOWN, Severity.WARNING),
        (Drift.NEVER, Severity.ERROR),
        (Drift.UNCONFIGURED, Severity.WARNING),
    ],
)
def test_each_drift_has_its_severity(drift: Drift, severity: Severity) -> None:
    [one] = audit(looks=[Look(SOURCE, drift, "x"), Look(SOURCE, Drift.NONE)])
    assert (one.check, one.severity) == (Check.INDEX_DRIFT, severity)


def test_another_contract_is_an_error_and_a_newer_scrubber_a_warning() -> None:
    found = audit(contract=["embedder: a -> b"], mending=["scrubber: 1 -> 2"])
    assert [(one.check, one.severity) for one in found] == [
        (Check.CONTRACT_DRIFT, Severity.ERROR),
        (Check.CONTRACT_DRIFT, Severity.WARNING),
    ]


def test_texts_may_wait_a_day_for_their_vectors() -> None:
    assert audit(pending=5, pending_since_ms=NOW_MS - DAY_MS) == ()
    assert audit(pending=0, pending_since_ms=0) == audit(pending=5) == ()
    [one] = audit(pending=5, pending_since_ms=NOW_MS - DAY_MS - 1)
    assert one.check is Check.PENDING_VECTORS


def test_a_room_that_went_on_elsewhere_names_where_and_what_to_do() -> None:
    [one] = audit(upgrades=[Upgrade("#a:hs", RoomId("!heir"))])
    assert (one.check, one.severity, one.subject) == (Check.ROOM_UPGRADED, Severity.WARNING, "#a:hs")
    assert "!heir" in one.detail and "roster" in one.remedy and "chat.exclude" in one.remedy


def test_open_gaps_are_told_by_room_and_folders_one_by_one() -> None:
    found = audit(gaps=[Gap("#a:hs", 0), Gap("#a:hs", NOW_MS), Gap("#b:hs", NOW_MS)], uncovered=["/wiki/x", "/wiki/y"])
    assert [one.subject for one in found] == ["#a:hs", "#b:hs", "/wiki/x", "/wiki/y"]
    assert found[0].detail.startswith("2 parts")


@given(st.lists(st.sampled_from(list(Drift)), max_size=5))
def test_the_worst_comes_first_whatever_the_order_of_the_facts(drifts: list[Drift]) -> None:
    pages = [Page(SOURCE, "a.md", "2026-06-20"), Page(SOURCE, "b.md", "2020-01-01")]
    found = audit(looks=[Look(SOURCE, drift) for drift in drifts], pages=pages, uncovered=["x"], contract=["y"])
    severities = [one.severity for one in found]
    assert severities == sorted(severities, key=lambda one: one is Severity.WARNING)
    assert found[0].check is Check.CONTRACT_DRIFT


def test_what_fails_follows_from_the_least_that_was_asked_for() -> None:
    found = audit(pages=[Page(SOURCE, "a.md", "2020-01-01")], uncovered=["x"])
    assert failing(found, Severity.WARNING) == found
    assert [one.check for one in failing(found, Severity.ERROR)] == [Check.STALE]
    assert failing(found, None) == ()
