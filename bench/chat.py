"""What chat costs: first reading at several sizes, a refresh in which nothing happened, and one hundred new messages.

    python -m bench.chat --eval EVAL [--sizes 10000 100000 1000000] [--rooms 10 300] [--runs 5]
    python -m bench.chat --eval EVAL --synapse 3000

Each refresh is the program's own command in a process of its own, without embedding, against the recorded homeserver
of `bench.recorded`, which runs in another process: peaks are the refresh's alone. `cpu` beside the seconds says how
much of them was work: on a machine that others use, compare that. With `--synapse` the messages are first sent to a
throw-away Synapse, which then serves them; its own share of the time is large.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from bench.output import load, say
from bench.processes import Finished, run_alone
from bench.recorded import READER, record
from sources.demo.homeserver import Homeserver

_NEW = 100
_UNFINISHED = 3  # exit of a refresh in which a source failed, or ran out of time


class Recorded:
    """The homeserver of `bench.recorded`, in its own process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = f"http://127.0.0.1:{self._answer()}"

    def say(self, count: int) -> None:
        self._order(f"say {count}")

    def requests(self) -> int:
        """Since the last time."""
        return int(self._order("count"))

    def _order(self, line: str) -> str:
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()


@contextmanager
def recorded(folder: Path, test_sets: Path, *, messages: int, rooms: int | None, kept_back: int) -> Iterator[Recorded]:
    command = [sys.executable, "-m", "bench.recorded", "--eval", str(test_sets), "--messages", str(messages)]
    command += ["--kept-back", str(kept_back), "--lines", str(folder / "lines")]
    command += [] if rooms is None else ["--rooms", str(rooms)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Recorded(process)
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait()


class Host:
    """A configuration with chat alone, without embedding, and the credential that belongs to it."""

    def __init__(self, folder: Path, url: str, user: str, token: str) -> None:
        self.index = folder / "state" / "index.sqlite"
        credentials = folder / "credentials"
        credentials.mkdir(mode=0o700)
        file = credentials / "matrix-reader-token"
        file.touch(mode=0o600)
        file.write_text(token)
        config = folder / "sources.toml"
        config.write_text(
            f'state_dir = "{folder / "state"}"\n[embed]\nkind = "off"\n[chat]\nhomeserver = "{url}"\nuser = "{user}"\n'
        )
        program = [sys.executable, "-c", "from sources.cli.main import main; main()"]
        self._refresh = [*program, "--config", str(config), "--credentials-dir", str(credentials), "refresh", "--json"]

    def refresh(self, *, may_be_unfinished: bool = False) -> Finished:
        return run_alone(self._refresh, accepted=(0, _UNFINISHED) if may_be_unfinished else (0,))


def first_readings(asked: argparse.Namespace, messages: int) -> None:
    """One size: all of it read, then nothing new, then one hundred new messages a few times."""
    with (
        tempfile.TemporaryDirectory() as name,
        recorded(Path(name), asked.eval, messages=messages, rooms=None, kept_back=_NEW * asked.runs) as server,
    ):
        host = Host(Path(name), server.url, READER, "bench")
        first = host.refresh(may_be_unfinished=True)
        passes = 1
        peak, seconds, cpu = first.peak_mb, first.seconds, first.cpu_seconds
        while _is_unfinished(first):  # the time of one run is bounded
            first = host.refresh(may_be_unfinished=True)
            passes += 1
            peak, seconds, cpu = max(peak, first.peak_mb), seconds + first.seconds, cpu + first.cpu_seconds
        megabytes = host.index.stat().st_size / 1e6
        idle = [host.refresh() for _ in range(asked.runs)]
        fresh = []
        for _ in range(asked.runs):
            server.say(_NEW)
            fresh.append(host.refresh())
            told = json.loads(fresh[-1].output.splitlines()[-1])
            if not any(one["documents"] for one in told["sources"]):
                raise SystemExit(f"the new messages were not read: {fresh[-1].output}")
    fresh_peak = max(one.peak_mb for one in fresh)
    say(
        f"{messages:<9} {seconds:<7.1f} {cpu:<7.1f} {messages / seconds:<9.0f} {messages / cpu:<7.0f} {peak:<8.0f}"
        f" {megabytes:<7.0f} {passes:<5} {_median(idle):<22} {_median(fresh):<22} {fresh_peak:.0f}"
    )


def idle_rooms(asked: argparse.Namespace, rooms: int) -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        recorded(Path(name), asked.eval, messages=rooms * 20, rooms=rooms, kept_back=0) as server,
    ):
        host = Host(Path(name), server.url, READER, "bench")
        host.refresh()
        counts, runs = [], []
        for _ in range(asked.runs):
            server.requests()
            runs.append(host.refresh())
            counts.append(server.requests())
    say(f"{rooms:<9} {statistics.median(counts):<9.0f} {_median(runs)}")


def through_synapse(asked: argparse.Namespace) -> None:
    """As many messages as asked for, sent to one room each of a real homeserver, then read from it."""
    with tempfile.TemporaryDirectory() as name, Homeserver(Path(name) / "synapse") as homeserver:
        folder = Path(name)
        author, reader = homeserver.register("author"), homeserver.register("reader")
        lines = folder / "lines"
        rooms = record(asked.eval, lines, messages=asked.synapse, rooms=8)
        client = f"{homeserver.url}/_matrix/client/v3"
        wrote = {"Authorization": f"Bearer {author.token}"}
        with httpx.Client(timeout=60, trust_env=False) as http, lines.open("rb") as talk:
            for room in rooms:
                made = http.post(
                    f"{client}/createRoom", json={"preset": "public_chat", "name": room.name}, headers=wrote
                )
                there = made.raise_for_status().json()["room_id"]
                joined = http.post(
                    f"{client}/join/{there}", json={}, headers={"Authorization": f"Bearer {reader.token}"}
                )
                joined.raise_for_status()
                for number, start in enumerate(room.starts):
                    talk.seek(start)
                    content = {"msgtype": "m.text", "body": json.loads(talk.readline())["body"] or "-"}
                    url = f"{client}/rooms/{there}/send/m.room.message/{number}"
                    http.put(url, json=content, headers=wrote).raise_for_status()
        host = Host(folder, homeserver.url, reader.user, reader.token)
        first = host.refresh()
        idle = [host.refresh() for _ in range(asked.runs)]
    say(
        f"Synapse: {asked.synapse} messages in {first.seconds:.1f} s ({first.cpu_seconds:.1f} s of work):"
        f" {asked.synapse / first.seconds:.0f} events/s, peak {first.peak_mb:.0f} MB; then nothing new: {_median(idle)}"
    )


def _is_unfinished(run: Finished) -> bool:
    return any(one["fault"] for one in json.loads(run.output.splitlines()[-1])["sources"])


def _median(runs: list[Finished]) -> str:
    seconds = statistics.median(run.seconds for run in runs)
    return f"{seconds:.2f} s ({statistics.median(run.cpu_seconds for run in runs):.2f} s cpu)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="the folder with chat/replay.py and chat/rooms")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--rooms", type=int, nargs="*", default=[10, 300])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--synapse", type=int, help="only this: as many messages through a real homeserver")
    asked: Any = parser.parse_args()
    say(load())
    if asked.synapse:
        through_synapse(asked)
        return
    if asked.rooms:
        say("rooms     requests  nothing new")
    for rooms in asked.rooms:
        idle_rooms(asked, rooms)
    if asked.sizes:
        say(
            "messages  seconds cpu_s   events/s  /cpu_s  peak_MB  file_MB runs  nothing new            "
            f"{_NEW} new messages       peak_MB"
        )
    for messages in asked.sizes:
        first_readings(asked, messages)
    say(load())


if __name__ == "__main__":
    main()
