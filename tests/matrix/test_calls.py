"""What a session is for bounds what it can send."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.calls import Mode, check_allowed, client_path
from matrix.errors import ForbiddenCallError, RefusedError

READS = ["sync", "joined_rooms", "rooms/!a/messages", "account/whoami"]
FILTER = ("POST", "user/%40me%3Ahs/filter")
MEMBERSHIP = [("POST", "join/%23a%3Ahs"), ("POST", "rooms/!a/leave")]
SPEECH = [("PUT", "rooms/!a/send/m.room.message/1"), ("PUT", "rooms/!a/redact/%24b/1")]
NEVER = [
    ("PUT", "rooms/!a/typing/%40me%3Ahs"),
    ("PUT", "presence/%40me%3Ahs/status"),
    ("POST", "rooms/!a/read_markers"),
    ("POST", "rooms/!a/receipt/m.read/%24b"),
    ("PUT", "rooms/!a/state/m.room.name/"),
    ("PUT", "profile/%40me%3Ahs/displayname"),
    ("POST", "rooms/!a/invite"),
    ("POST", "rooms/!a/kick"),
    ("POST", "rooms/!a/forget"),
    ("POST", "logout"),
    ("POST", "user/%40me%3Ahs/filter/more"),
    ("DELETE", "rooms/!a"),
]


def is_allowed(mode: Mode, method: str, rest: str) -> bool:
    try:
        check_allowed(mode, method, f"/_matrix/client/v3/{rest}")
    except ForbiddenCallError:
        return False
    return True


@pytest.mark.parametrize("mode", Mode)
def test_every_mode_reads_and_none_does_what_is_nobodys_business(mode: Mode) -> None:
    assert all(is_allowed(mode, "GET", rest) for rest in READS)
    assert is_allowed(mode, *FILTER)
    assert not any(is_allowed(mode, *call) for call in NEVER)


def test_the_reader_writes_nothing_the_roster_moves_and_the_bot_speaks() -> None:
    allowed = {mode: [call for call in MEMBERSHIP + SPEECH if is_allowed(mode, *call)] for mode in Mode}
    assert allowed == {Mode.READER: [], Mode.ROSTER: MEMBERSHIP, Mode.BOT: MEMBERSHIP + SPEECH}


def test_nothing_outside_the_client_api_is_asked_for() -> None:
    for path in ("/_synapse/admin/v1/rooms", "/_matrix/federation/v1/version", "/"):
        with pytest.raises(ForbiddenCallError):
            check_allowed(Mode.BOT, "GET", path)


@given(st.text(min_size=1))
def test_no_id_escapes_its_place_in_a_path(hostile: str) -> None:
    try:
        path = client_path("rooms", hostile, "state")
    except RefusedError:
        assert hostile in (".", "..")
        return
    assert path.count("/") == 6
    assert path.isascii()
    assert not set(path) & set("?# \n")
