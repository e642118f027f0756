"""What `sources check` says of the bot, and when its answers leave."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.speaking import until_beat_s
from sources.checks.base import Verdict
from sources.checks.bot import probe
from tests.bot.town import Town
from tests.matrix.people import Person


async def test_check_tells_where_the_bot_can_answer(town: Town, alice: Person) -> None:
    room = await town.room(alice)
    absent = await alice.create_room("Without it")
    assert [one.verdict for one in await probe(town.config, town.credentials)] == [Verdict.WARN]
    town.permit({room: ["here"], absent: ["here"], "#nowhere:hs.test": ["here"]})
    found = {one.name: one for one in await probe(town.config, town.credentials)}
    assert "answers in 1 room" in found["bot"].detail
    assert "not in that room" in found[f"bot {absent}"].detail and "no room" in found["bot #nowhere:hs.test"].detail
    town.give_token("matrix-bot-token", alice.token)
    assert [one.verdict for one in await probe(town.config, town.credentials)] == [Verdict.FAIL]


@pytest.mark.parametrize(("passed_s", "left_s"), [(0.0, 0.5), (0.2, 0.3), (0.5, 0.0), (0.7, 0.3)])
def test_answers_leave_at_full_beats(passed_s: float, left_s: float) -> None:
    assert until_beat_s(passed_s, 0.5) == pytest.approx(left_s)


@given(st.floats(0, 100), st.floats(0.01, 10))
def test_the_time_of_an_answer_tells_only_which_beat_it_was_ready_for(passed_s: float, beat_s: float) -> None:
    beats = (passed_s + until_beat_s(passed_s, beat_s)) / beat_s
    assert beats == pytest.approx(round(beats)) and round(beats) >= 1
    assert until_beat_s(passed_s, 0.0) == 0.0
