"""Runs Synapse for as long as somebody holds the other end of standard input.

Started by path, in a process of its own: `python -P synapse_process.py <Synapse's arguments>`. When the parent ends,
however it ends, the kernel closes the pipe and this process goes too; nothing is left running.

Its SQLite does not wait for the disk, which halves the time of most requests. What was committed outlives the end of
the process all the same; only a power cut could lose it.
"""

import os
import runpy
import sqlite3
import threading
from functools import wraps

_connect = sqlite3.connect


@wraps(_connect)
def _connect_unsynced(*args, **kwargs):  # type: ignore[no-untyped-def]  # as sqlite3.connect, whatever that takes
    connection = _connect(*args, **kwargs)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sqlite3.connect = _connect_unsynced
    runpy.run_module("synapse.app.homeserver", run_name="__main__", alter_sys=True)
