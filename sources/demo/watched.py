"""Runs a module as the main program for as long as somebody holds the other end of standard input.

Started by path, in a process of its own: `python -P watched.py <module> <its arguments>`. When the parent ends, however
it ends, the kernel closes the pipe and this process goes too; nothing is left running.
"""

import os
import runpy
import sys
import threading


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
