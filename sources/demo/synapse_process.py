"""Runs Synapse for as long as somebody holds the other end of standard input.

Started by path, in a process of its own: `python -P synapse_process.py <Synapse's arguments>`. When the parent ends,
however it ends, this process goes too; nothing is left running.

Its SQLite does not wait for the disk, which halves the time of most requests. What was committed outlives the end of
the process all the same; only a power cut could lose it. Transactions run in the reactor's thread, as in Synapse's
own tests: to hand each to another thread and back took a fifth of the processor's time.

With SOURCES_ROOM_AGE_MS in the environment rooms are made that much in the past, so that there is room for what an
application service says in the past: who reads them may not believe a message older than its room.
"""

import os
import runpy
import sqlite3
import time
from functools import wraps

from sources.leash import end_with_parent

_connect = sqlite3.connect


@wraps(_connect)
def _connect_unsynced(*args, **kwargs):  # type: ignore[no-untyped-def]  # as sqlite3.connect, whatever that takes
    connection = _connect(*args, **kwargs)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def _use_database_in_reactor() -> None:
    """Each transaction is a turn of the reactor of its own, so that requests go on side by side as they would."""
    from twisted.enterprise.adbapi import ConnectionPool
    from twisted.internet.task import deferLater

    def run_with_connection(self, function, *args, **kwargs):  # type: ignore[no-untyped-def]  # as Twisted has it
        return deferLater(self._reactor, 0, self._runWithConnection, function, *args, **kwargs)

    ConnectionPool.runWithConnection = run_with_connection


def _age_rooms(age_ms: int) -> None:
    from synapse.events.builder import EventBuilderFactory

    build = EventBuilderFactory.for_room_version

    @wraps(build)
    def build_aged(self, room_version, event):  # type: ignore[no-untyped-def]  # as Synapse has it
        if event["type"] == "m.room.create":
            made_ms = event.get("origin_server_ts") or time.time_ns() // 1_000_000
            event = {**event, "origin_server_ts": made_ms - age_ms}
        return build(self, room_version, event)

    EventBuilderFactory.for_room_version = build_aged


if __name__ == "__main__":
    end_with_parent()
    sqlite3.connect = _connect_unsynced
    _use_database_in_reactor()
    if age := os.environ.get("SOURCES_ROOM_AGE_MS"):
        _age_rooms(int(age))
    runpy.run_module("synapse.app.homeserver", run_name="__main__", alter_sys=True)
