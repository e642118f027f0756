"""A recorded homeserver: rooms of the chat test set, repeated to a wanted number of messages, served as Synapse would.

    python -m bench.recorded --eval EVAL --messages 100000 [--rooms 300] --lines FILE

It answers what a refresh asks, from a file of lines and a table of where each begins, so that a million messages
cost it little memory and an answer little time: what is measured against it is the refresh. The first line on
standard output is its port; each line `say N` on standard input makes N more messages visible, spread over the
rooms as their talk is, and is answered by `said`; `count` is answered by the requests since the last count.
It ends when standard input does.
"""

import argparse
import asyncio
import json
import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import parse_qs, unquote, urlsplit

from bench.output import say
from bench.test_sets import load_module

READER: Final = "@reader:bench.example"
_CREATOR: Final = "@founder:bench.example"
_UNTIL_MS: Final = 1_767_225_600_000  # the first of January 2026: when the newest recorded message was sent
_TIMELINE: Final = 100  # events of one room in a sync, as in Synapse

Answer = tuple[int, object]


@dataclass(slots=True)
class Recording:
    """One room: where in the file its messages stand, oldest first, and how many of them were said already."""

    name: str
    starts: array = field(default_factory=lambda: array("Q"))  # type: ignore[type-arg]  # no subscript at run time
    said: int = 0

    @property
    def id(self) -> str:
        return f"!{self.name}:bench.example"


def record(folder: Path, file: Path, *, messages: int, rooms: int | None) -> list[Recording]:
    """Write `messages` lines of talk to `file`. `rooms` None keeps the rooms of the test set, else parts them anew."""
    replay = load_module(folder / "chat" / "replay.py")
    talk = replay.read_rooms([str(folder / "chat" / "rooms")])
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    made = []
    at = 0
    with file.open("wb") as out:
        for name, want in replay.shares(talk, messages).items():
            room = Recording(name)
            for line in replay.replay(name, talk[name], want, "1", _UNTIL_MS, False, False):  # noqa: FBT003
                data = encode(line).encode() + b"\n"
                out.write(data)
                room.starts.append(at)
                at += len(data)
            made.append(room)
    if rooms is not None:
        every = array("Q", chain.from_iterable(room.starts for room in made))
        ends = [len(every) * number // rooms for number in range(rooms + 1)]
        made = [Recording(f"room{number}", every[start:past]) for number, (start, past) in enumerate(pairwise(ends))]
    return [room for room in made if room.starts]


class RecordedServer:
    """HTTP/1.1 by hand: the answers are the measured program's food, so they should cost next to nothing here."""

    def __init__(self, rooms: list[Recording], lines: BinaryIO, *, kept_back: int) -> None:
        """`kept_back` messages are not said yet, the newest of each room in its share."""
        self._rooms = {room.id: room for room in rooms}
        self._lines = lines
        self._log: list[tuple[str, int]] = []  # what was said since the beginning: room and place
        self.requests = 0
        total = sum(len(room.starts) for room in rooms)
        for room in rooms:
            room.said = len(room.starts) - kept_back * len(room.starts) // total

    def say(self, count: int) -> int:
        """Make more messages visible, in turn where there are some; returns how many."""
        said = 0
        while said < count:
            waiting = [room for room in self._rooms.values() if room.said < len(room.starts)]
            if not waiting:
                break
            for room in waiting[: count - said]:
                self._log.append((room.id, room.said))
                room.said += 1
                said += 1
        return said

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await _head(reader):
                self.requests += 1
                method, target, length = head
                await reader.readexactly(length)
                status, value = self._answer(method, target)
                body = value if isinstance(value, bytes) else json.dumps(value).encode()
                writer.write(
                    b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                    % (status, len(body))
                )
                writer.write(body)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _answer(self, method: str, target: str) -> Answer:
        parts = urlsplit(target)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        match [unquote(step) for step in parts.path.split("/")[4:]]:
            case ["account", "whoami"]:
                return 200, {"user_id": READER, "device_id": "BENCH", "is_guest": False}
            case ["joined_rooms"]:
                return 200, {"joined_rooms": list(self._rooms)}
            case ["sync"]:
                return 200, self._sync(asked)
            case ["user", _, "filter"] if method == "POST":
                return 200, {"filter_id": "0"}
            case ["user", _, "rooms", _, "tags"]:
                return 200, {"tags": {}}
            case ["rooms", room, "state"] if room in self._rooms:
                return 200, self._state(self._rooms[room])
            case ["rooms", room, "messages"] if room in self._rooms:
                return 200, self._messages(self._rooms[room], asked)
            case ["rooms", room, "event", event] if room in self._rooms:
                return self._find(self._rooms[room], event)
        return 404, {"errcode": "M_NOT_FOUND", "error": "not recorded"}

    def _event(self, room: Recording, place: int) -> Mapping[str, object]:
        self._lines.seek(room.starts[place])
        line = json.loads(self._lines.readline())
        content: dict[str, object] = {"msgtype": "m.text", "body": line["body"]}
        if line["reply_to"]:
            content["m.relates_to"] = {"m.in_reply_to": {"event_id": line["reply_to"]}}
        return {
            "type": "m.room.message",
            "event_id": f"{line['event']}-{place}",
            "sender": f"@{line['sender']}:bench.example",
            "room_id": room.id,
            "origin_server_ts": line["ts_ms"],
            "content": content,
            "unsigned": {"age": 1_000},
        }

    def _messages(self, room: Recording, asked: Mapping[str, str]) -> object:
        limit = int(asked.get("limit", "10"))
        if asked.get("dir") == "f":
            first = int(asked["from"][1:]) if "from" in asked else 0
            past = min(first + limit, room.said)
            page = [self._event(room, place) for place in range(first, past)]
            end = {} if past == first else {"end": f"t{past}"}
            return {"chunk": page, "start": f"t{first}", **end}
        past = int(asked["from"][1:]) if asked.get("from", "").startswith("t") else room.said
        bound = int(asked["to"][1:]) if asked.get("to", "").startswith("t") else 0
        first = max(bound, past - limit)
        page = [self._event(room, place) for place in reversed(range(first, past))]
        end = {} if first <= bound else {"end": f"t{first}"}
        return {"chunk": page, "start": f"t{past}", **end}

    def _sync(self, asked: Mapping[str, str]) -> object:
        joined: dict[str, object] = {}
        since = int(asked["since"].removeprefix("s").partition("_")[0]) if "since" in asked else len(self._log)
        fresh: dict[str, list[int]] = {}
        for room, place in self._log[since:]:
            fresh.setdefault(room, []).append(place)
        for room, places in fresh.items():
            shown = places[-_TIMELINE:]
            joined[room] = {
                "timeline": {
                    "events": [self._event(self._rooms[room], place) for place in shown],
                    "limited": len(shown) < len(places),
                    "prev_batch": f"t{shown[0]}",
                },
                "state": {"events": []},
                "account_data": {"events": []},
                "ephemeral": {"events": []},
            }
        return {"next_batch": f"s{len(self._log)}_0", "rooms": {"join": joined}}

    def _state(self, room: Recording) -> object:
        created: dict[str, object] = {"creator": _CREATOR, "room_version": "10"}
        contents: list[tuple[str, str, dict[str, object]]] = [
            ("m.room.create", "", created),
            ("m.room.name", "", {"name": room.name}),
            ("m.room.join_rules", "", {"join_rule": "public"}),
            ("m.room.history_visibility", "", {"history_visibility": "shared"}),
            ("m.room.power_levels", "", {"users": {_CREATOR: 100}}),
        ]
        users = (_CREATOR, READER, "@anna:bench.example", "@bert:bench.example")
        contents += (("m.room.member", user, {"membership": "join"}) for user in users)
        return [
            {
                "type": kind,
                "state_key": key,
                "content": content,
                "sender": key if kind == "m.room.member" else _CREATOR,
                "event_id": f"$state{number}-{room.name}",
                "room_id": room.id,
                "origin_server_ts": 1_000 + number,
            }
            for number, (kind, key, content) in enumerate(contents)
        ]

    def _find(self, room: Recording, event: str) -> Answer:
        place = int(event.rpartition("-")[2])
        if place >= room.said:
            return 404, {"errcode": "M_NOT_FOUND", "error": "not said yet"}
        return 200, self._event(room, place)


async def _head(reader: asyncio.StreamReader) -> tuple[str, str, int] | None:
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, target, _ = lines[0].split(" ")
    length = next((int(line.partition(":")[2]) for line in lines if line.lower().startswith("content-length:")), 0)
    return method, target, length


async def _run(server: RecordedServer) -> None:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    say(str(listening.sockets[0].getsockname()[1]))
    while line := (await asyncio.to_thread(sys.stdin.readline)).split():
        if line[0] == "say":
            say(f"said {server.say(int(line[1]))}")
        else:
            say(str(server.requests))
            server.requests = 0
    listening.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--eval", type=Path, required=True, help="the folder with chat/replay.py and chat/rooms")
    parser.add_argument("--messages", type=int, required=True)
    parser.add_argument("--rooms", type=int, help="how many; default: those of the test set")
    parser.add_argument("--kept-back", type=int, default=0, help="messages that are said on order only")
    parser.add_argument("--lines", type=Path, required=True, help="a file to write the recording to")
    asked = parser.parse_args()
    rooms = record(asked.eval, asked.lines, messages=asked.messages + asked.kept_back, rooms=asked.rooms)
    with asked.lines.open("rb") as lines:
        asyncio.run(_run(RecordedServer(rooms, lines, kept_back=asked.kept_back)))


if __name__ == "__main__":
    main()
